"""Trace ids from elsewhere (spec 3, runs; W3C Trace Context).

Owns: what names a trace: 32 lower-case hex digits, not all zero, alone or inside a `traceparent`. Anything else is an error: a
run that cannot be joined with its caller's trace would only look traced.
"""

from __future__ import annotations

import re

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_PARENT = re.compile(r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<parent>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?")


def parse_trace_id(text: str) -> str:
    """The trace id in `text`: one by itself, or that of a `traceparent`. Raises ValueError with what is wrong."""
    if _TRACE_ID.fullmatch(text):
        return text
    match = _PARENT.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is neither a trace id (32 lower-case hex digits) nor a traceparent (00-…-…-01)")
    if match["version"] == "ff" or (match["version"] == "00" and match["more"] is not None):
        raise ValueError(f"'{text}' is no traceparent of version {match['version']}")
    if match["parent"] == "0" * 16 or not _TRACE_ID.fullmatch(match["trace"]):
        raise ValueError(f"'{text}' is a traceparent with an id of zeros only")
    return match["trace"]
