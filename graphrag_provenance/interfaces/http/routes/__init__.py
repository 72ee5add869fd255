"""The endpoints, one module a subject: each asks what its command asks, and answers with the same JSON."""
