"""`gprov schema-json`: what a record, a report or a file of questions must look like.

Owns: its options. Leaves to others: the models (`model.records`, `model.reports`, `rules.ledger`, `rules.claims`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from graphrag_provenance.interfaces.cli.render import print_json
from graphrag_provenance.model.lineage import facet_schema
from graphrag_provenance.model.records import RECORD_KINDS, record_schema
from graphrag_provenance.model.reports import REPORT_KINDS, report_schema
from graphrag_provenance.rules.claims import GoldenQuestion, claim_schema
from graphrag_provenance.rules.ledger import ledger_schema

_SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    **{kind: partial(record_schema, kind) for kind in RECORD_KINDS},
    **{kind: partial(report_schema, kind) for kind in REPORT_KINDS},
    "gate": ledger_schema, "claim": claim_schema, "golden": partial(claim_schema, GoldenQuestion), "openlineage-run": facet_schema,
}  # fmt: skip
Kind = StrEnum("Kind", {name.upper(): name for name in _SCHEMAS})  # type: ignore[misc]


def schema_json(
    kind: Annotated[Kind, typer.Argument(help="Kind of record, report or file.", metavar="KIND")],
) -> None:
    """Print the JSON Schema of a record (document, revision, chunk, entity, edge, tombstone), a report (answer, retrieval, quote), the
    ledger of a gate (gate), a line or [[question]] of a file of claims (claim) or golden paths (golden), or the run facet of exported
    OpenLineage events (openlineage-run)."""
    print_json(_SCHEMAS[kind.value]())
