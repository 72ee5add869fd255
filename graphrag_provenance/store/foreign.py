"""Another tool's Neo4j as files that a pipeline reads (spec 5, "Pipelines").

Owns: the two files, `nodes.jsonl` and `relationships.jsonl`, and how a value of Neo4j becomes one of JSON. The database is only read.
Embeddings are left out: no record has a place for them. Leaves to others: what the nodes mean (the pipeline's SQL).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.store.database import Connection, Database

FILES = {"nodes.jsonl": "foreign.nodes", "relationships.jsonl": "foreign.relationships"}
_EMBEDDING = 32
"""A list of at least that many floats is taken for an embedding."""


def dump_foreign(connection: Connection, folder: Path) -> dict[str, int]:
    """Write both files into a folder: file → rows. Raises StoreUnavailableError if the server does not answer, InputError for an empty
    database: most often it is the wrong one."""
    with Database(connection) as source:
        source.verify()
        counts = {name: _dumped(folder / name, source.stream(query)) for name, query in FILES.items()}
    if not counts["nodes.jsonl"]:
        raise InputError(f"The database at {connection.uri} is empty.", hint="Name another with the setting 'source_database'.")
    return counts


def _dumped(file: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with file.open("w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            told = dict(row) | {"properties": {name: _plain(value) for name, value in sorted(row["properties"].items())
                                               if not _is_embedding(value)}}
            out.write(json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n")
            count += 1
    return count


def _is_embedding(value: Any) -> bool:
    if type(value).__name__ == "Vector":
        return True
    return isinstance(value, list) and len(value) >= _EMBEDDING and all(isinstance(one, float) for one in value)


def _plain(value: Any) -> Any:
    """A value of JSON: instants and other temporal values in ISO 8601, what JSON has no form for as text."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "tzinfo") and getattr(value, "tzinfo", None) is not None and hasattr(value, "astimezone"):
        return format_instant(value)
    return value.iso_format() if hasattr(value, "iso_format") else str(value)
