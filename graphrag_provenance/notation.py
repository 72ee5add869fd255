"""TOML and JSON that somebody wrote, and JSON that we write (spec 1, "What bad input gets").

Owns: that text which is none, whatever is wrong with it, is told by one kind of error: too deep a nest and a number of too many digits
included, for which the parsers have others; and in which words the faults of parsers and models are told. A byte-order mark is skipped;
a line of JSON ends at a line feed and nowhere else; JSON that we write has no character that a terminal obeys. Leaves to others: what the
values mean, and records (`ingest.validate`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_CONTROL = {number: f"\\u{number:04x}" for number in range(0x7F, 0xA0)}
"""What JSON lets stand in a text, and a terminal obeys."""
_LINE_ONE = re.compile(r"(?: at|:) line 1 column (\d+)(?: \(char \d+\))?")
_BOM = "\ufeff"
_DEEP = "it is nested too deeply"
_LONG = "a number has too many digits"


def parse_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text. Raises tomllib.TOMLDecodeError."""
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError(_DEEP) from None
    except ValueError:
        raise tomllib.TOMLDecodeError(_LONG) from None


def parse_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value of a JSON text; `pairs` makes each object. Raises json.JSONDecodeError, or what `pairs` raises."""
    try:
        return json.loads(text.removeprefix(_BOM), object_pairs_hook=pairs, parse_int=_integer)
    except RecursionError:
        raise json.JSONDecodeError(_DEEP, text, 0) from None


def json_text(value: object, **options: Any) -> str:
    """The value as JSON, other scripts as they are, control characters as escapes; what JSON has no form for, as text."""
    return json.dumps(value, ensure_ascii=False, **{"default": str} | options).translate(_CONTROL)


def json_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers. Other characters that end a line of prose may stand in a text of JSON."""
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(" \t\r"))


def problem(error: Mapping[str, Any]) -> str:
    """What a model found wrong, without its place, for somebody who does not know the model's library."""
    match error["type"]:
        case "extra_forbidden":
            return "unknown field"
        case "too_short" if "min_length" in (limits := error.get("ctx", {})):
            return "needs at least one" if limits["min_length"] == 1 else f"needs at least {limits['min_length']}"
    return str(error["msg"]).removeprefix("Value error, ")


def line_fault(error: ValueError) -> str:
    """Why a line is no JSON: the column is enough, since whoever tells it names the line."""
    return _LINE_ONE.sub(r" at column \1", str(error))


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise json.JSONDecodeError(_LONG, digits, 0) from None
