"""Faults injected into a real server and into the commands that write to it: nothing is lost, nothing is half-written."""
