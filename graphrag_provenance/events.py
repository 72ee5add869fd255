"""Structured events for operators: what a run or an access source has to say (spec 3, runs).

Owns: where an event goes. A program that configured structlog gets it there (the command line does), any other one gets it from
the standard logger `graphrag_provenance`; stdout belongs to the program. Leaves to others: what is said.
"""

from __future__ import annotations

import logging
from typing import Any, Literal

import structlog

_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def report(level: Literal["info", "warning", "error"], event: str, **fields: Any) -> None:
    """Say that something happened."""
    if structlog.is_configured():
        getattr(structlog.get_logger(), level)(event, **fields)
    else:
        told = " ".join(f"{name}={value}" for name, value in fields.items())
        logging.getLogger("graphrag_provenance").log(_LEVELS[level], "%s %s", event, told)
