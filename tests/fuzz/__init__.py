"""Hostile input to every command: no traceback, a documented exit code, one clear sentence, nothing half-written."""
