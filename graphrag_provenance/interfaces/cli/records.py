"""`gprov schema-json`: what a record must look like.

Owns: its options. Leaves to others: the models (`model.records`, `model.reports`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from graphrag_provenance.interfaces.cli.render import print_json
from graphrag_provenance.model.lineage import facet_schema
from graphrag_provenance.model.records import RECORD_KINDS, record_schema
from graphrag_provenance.model.reports import REPORT_KINDS, report_schema

Kind = StrEnum("Kind", {name.upper(): name for name in (*RECORD_KINDS, *REPORT_KINDS, "openlineage-run")})  # type: ignore[misc]


def schema_json(
    kind: Annotated[Kind, typer.Argument(help="Kind of record or report.", metavar="KIND")],
) -> None:
    """Print the JSON Schema of a record (document, revision, chunk, entity, edge, tombstone) or a report (answer, retrieval, quote), or of
    the run facet of exported OpenLineage events (openlineage-run)."""
    if kind.value == "openlineage-run":
        print_json(facet_schema())
        return
    print_json(report_schema(kind.value) if kind.value in REPORT_KINDS else record_schema(kind.value))
