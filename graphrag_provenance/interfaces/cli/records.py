"""`gprov schema-json`: what a record must look like.

Owns: its options. Leaves to others: the record models (`model.records`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from graphrag_provenance.interfaces.cli.render import print_json
from graphrag_provenance.model.records import RECORD_KINDS, record_schema

Kind = StrEnum("Kind", {name.upper(): name for name in RECORD_KINDS})  # type: ignore[misc]


def schema_json(
    kind: Annotated[Kind, typer.Argument(help="Record kind.", metavar="KIND")],
) -> None:
    """Print the JSON Schema of a record kind: document, revision, chunk, entity, edge or tombstone."""
    print_json(record_schema(kind.value))
