"""What a run says of itself in OpenLineage beyond the standard facets (spec 5, exports).

Owns: the JSON of the run facet `gprov_run`, whose JSON Schema `gprov schema-json openlineage-run` prints.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from graphrag_provenance.model.records import Record

FACET = "gprov_run"
FACET_SCHEMA = "urn:gprov:schema:openlineage-run:1"
"""Names the schema of the facet; another number is another schema."""


class RunFacetReport(Record):
    """The run record behind a run event."""

    seq: int = Field(ge=1)
    """Number of the run in its store."""
    kind: str
    """`ingest`, `policy-apply`, `rollback` …"""
    actor: str
    """Who ran it."""
    pipeline_version: str
    """Version of the pipeline that the job is named after."""
    status: str
    """`running`, `finished`, `interrupted` or `failed`."""
    trace_id: str
    """W3C trace id, 32 hex digits."""
    policies_hash: str | None = None
    """Hash of the order of policies it ran under."""
    graph_hash: str | None = None
    """Hash of the graph as it left it; once it has ended."""
    digest: str | None = None
    """Digest of its record; once it has ended."""
    previous: str | None = None
    """Digest of the run before it."""
    resumes: int | None = None
    """The cut-off run that it completes."""
    counts: dict[str, Any] = Field(default_factory=dict)
    """What it counted; once it has ended."""
    parameters: list[dict[str, Any]] = Field(default_factory=list)
    """What it was told that is no file."""


def facet_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the facet, with the two fields that OpenLineage puts into each."""
    schema = RunFacetReport.model_json_schema(mode="validation")
    schema["properties"] |= {name: {"type": "string", "format": "uri"} for name in ("_producer", "_schemaURL")}
    schema["required"] += ["_producer", "_schemaURL"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FACET_SCHEMA, **schema}
