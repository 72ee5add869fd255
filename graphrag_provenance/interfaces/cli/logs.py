"""Logs on stderr, for people or for programs.

Owns: how log lines look and which are shown. The first line that names a run or a trace gives `run_id` and `trace_id` to every line
after it, from whatever thread: a command has one run; a service has many requests and carries nothing. With the format `json` every
line on stderr is one, messages for people too.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.cli.visible import visible_lines
from graphrag_provenance.notation import json_text

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_FORMATS = ("console", "json")
_CARRIED = ("run_id", "trace_id")
_carried: dict[str, Any] = {}
_json = False
_carrying = True


def as_json() -> bool:
    """Whether programs read stderr."""
    return _json


def carry(**ids: str) -> None:
    """Give these ids to every line from here on."""
    _carried.update(ids)


def carry_nothing() -> None:
    """This command does many things at once: each line has the ids that are bound where it is said, and no others."""
    global _carrying
    _carrying = False
    _carried.clear()


def note(event: str, **fields: Any) -> None:
    """A message for the person, as a log line."""
    structlog.get_logger().info(event, **fields)


def fail(event: str, **fields: Any) -> None:
    """Why the command ends, as a log line."""
    structlog.get_logger().error(event, **fields)


def _carry(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name in _CARRIED if _carrying else ():
        if event.get(name):
            _carried[name] = event[name]
        elif name in _carried:
            event[name] = _carried[name]
    return event


def _made_visible(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """What a line for people says of files and sources is text, whatever they hold."""
    return {name: visible_lines(value) if isinstance(value, str) else value for name, value in event.items()}


def configure(level: str | None, form: str) -> None:
    """Sends log lines of at least `level` (default: warning, as JSON info) to stderr. Raises InputError that lists what may be asked
    for."""
    global _json, _carrying
    level = level or ("info" if form == "json" else "warning")
    if level.lower() not in _LEVELS:
        raise InputError(f"There is no log level '{level}'.", hint=f"Use {', '.join(_LEVELS)}.")
    if form not in _FORMATS:
        raise InputError(f"There is no log format '{form}'.", hint=f"Use {' or '.join(_FORMATS)}.")
    renderer: Any = (
        structlog.processors.JSONRenderer(serializer=json_text)
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty() and not os.environ.get("NO_COLOR"))
    )
    _json, _carrying = form == "json", True
    _carried.clear()
    processors: list[Any] = [
        structlog.contextvars.merge_contextvars,
        _carry,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        *(() if _json else (_made_visible,)),
    ]
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level.lower()]),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # the stream of the moment, not that of this call
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=processors, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]))
    logging.basicConfig(handlers=[handler], level=logging.ERROR)
