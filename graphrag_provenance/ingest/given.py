"""Input that a program hands over: paths, or the records themselves.

Owns: telling the two apart, and spooling records to a temporary file, one a line, since a load reads its input twice. A record is
written as it is and checked like any other line; only what JSON has no word for is an error here.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest.sources import Source

RECORDS = "records"
"""What the run record calls them, and the reject file."""


@contextmanager
def as_files(given: str | PathLike[str] | Iterable[object]) -> Iterator[list[Path | Source]]:
    """The files to load. Raises InputError for something that is neither a path nor a record, or for both in one list."""
    if isinstance(given, str | PathLike):
        yield [Path(given)]
        return
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise InputError(f"A {type(given).__name__} is nothing to load.", hint="Pass a path, a list of paths, or a list of records.")
    with tempfile.NamedTemporaryFile("w", prefix="gprov-records-", suffix=".jsonl", encoding="utf-8", newline="\n") as spool:
        paths: list[Path | Source] = []
        number = 0
        for number, one in enumerate(given, 1):
            if isinstance(one, str | PathLike) and len(paths) == number - 1:
                paths.append(Path(one))
            elif isinstance(one, Mapping) and not paths:
                spool.write(_line(one, number))
            else:
                raise InputError(f"Number {number} of what is to be loaded is a {type(one).__name__}.",
                                 hint="Pass a path, a list of paths, or a list of records; a record is a map.")
        spool.flush()
        yield paths if paths or not number else [Source(RECORDS, Path(spool.name), Path(spool.name).stat().st_size)]


def _line(record: Mapping[str, Any], number: int) -> str:
    try:
        return json.dumps(dict(record)) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"Record {number} is no JSON: {error}.", hint="Instants are text, for example 2026-01-01T00:00:00Z.") from None
