"""Logs on stderr, for people or for programs.

Owns: how log lines look and which are shown. Whoever knows a run or a trace binds `run_id` or `trace_id`
(`structlog.contextvars.bind_contextvars`), and every line carries it.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import structlog

from graphrag_provenance.errors import InputError

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_FORMATS = ("console", "json")


def configure(level: str, form: str) -> None:
    """Sends log lines of at least `level` to stderr. Raises InputError that lists what may be asked for."""
    if level.lower() not in _LEVELS:
        raise InputError(f"There is no log level '{level}'.", hint=f"Use {', '.join(_LEVELS)}.")
    if form not in _FORMATS:
        raise InputError(f"There is no log format '{form}'.", hint=f"Use {' or '.join(_FORMATS)}.")
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty() and not os.environ.get("NO_COLOR"))
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level.lower()]),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # the stream of the moment, not that of this call
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="%(levelname)s %(name)s: %(message)s")
