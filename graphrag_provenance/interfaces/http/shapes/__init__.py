"""The JSON of every answer, described; one module a subject."""
