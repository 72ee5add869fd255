"""Files that programs report with: quotes, answers, retrievals (spec 4). One JSON object, or one a line.

Owns: reading them. A file is taken whole or not at all: the first thing wrong is an error with its place.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import jiter
from pydantic import ValidationError

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.records import Record
from graphrag_provenance.notation import line_fault, problem

T = TypeVar("T", bound=Record)
MOST_BYTES = 64 * 1024 * 1024
_SHOWN = 3


def read_reports(path: Path, model: type[T]) -> list[T]:
    """The reports of a file (`-`: standard input), in order; at least one. Raises InputError with file and line."""
    name = "standard input" if str(path) == "-" else str(path)
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1) if str(path) == "-" else _bytes(path)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{name} has more than {MOST_BYTES:,} bytes.", hint="Split it.")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\n" in data.strip() and _is_one_value(data):  # an object over several lines
        return [_parse(data, model, name)]
    found = [_parse(line, model, f"{name}:{number}") for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if not found:
        raise InputError(f"{name} holds nothing.", hint="Write one JSON object, or one a line.")
    return found


def to_report(value: Mapping[str, Any] | T, model: type[T]) -> T:
    """A report that a program made itself: one of the model, or the same as a map. Raises InputError for anything else."""
    if isinstance(value, model):
        return value
    name = f"The {model.__name__.removesuffix('Report').lower()}"
    try:
        return _parse(json.dumps(value).encode(), model, name)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name} is no JSON: {error}.", hint=f"Pass a {model.__name__}, or a map of its fields.") from None


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _is_one_value(data: bytes) -> bool:
    try:
        jiter.from_json(data, allow_inf_nan=False)
    except ValueError:
        return False
    return True


def _parse(data: bytes, model: type[T], place: str) -> T:
    try:
        value = jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise InputError(f"{place} is not JSON: {line_fault(error)}.", hint="Write one JSON object, or one a line.") from None
    if not isinstance(value, dict):
        raise InputError(f"{place} is no JSON object.", hint="Write one JSON object, or one a line.")
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the object'}: {problem(e)}" for e in error.errors()[:_SHOWN])
        raise InputError(f"{place}: {told}.") from None
