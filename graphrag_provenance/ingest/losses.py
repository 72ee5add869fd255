"""The loss report: what a source does not know, what was made up for it, what was refused (spec 5, "Pipelines").

Owns: its contents. What is missing is counted in the rows that the queries gave, field by field; what was made up or left out is what
the pipeline's `losses.sql` tells; what was refused or withheld is what the load counted. Nothing is estimated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jiter

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.ingest.extract import Extracted
from graphrag_provenance.ingest.load import Summary
from graphrag_provenance.ingest.pipelines import KINDS, Pipeline
from graphrag_provenance.ingest.sources import Source, lines

LOOKED_FOR: Mapping[str, Sequence[str]] = {
    "document": ("policy",),
    "revision": ("supersedes", "source_url", "content_sha256", "acl_ref", "policy"),
    "chunk": ("text", "section_path", "policy"),
    "entity": ("aliases",),
    "edge": ("scope",),
    "evidence": ("quote_hash", "span", "policy", "confidence", "extracted_by"),
}
"""Fields that an answer later relies on, and that a source may not know."""
OUTCOMES = ("unknown", "defaulted", "dropped")
"""What a row of `losses.sql` may say: the source does not know it, the pipeline made it up, the pipeline left it out."""


@dataclass(frozen=True, slots=True)
class LossReport:
    """What was lost on the way from a source into the store."""

    pipeline: Pipeline
    queries: list[dict[str, Any]]
    """A query: kind, rows, accepted, rejected."""
    unknown: list[dict[str, Any]]
    """A field that is missing in some rows: kind, field, missing, of."""
    told: list[dict[str, Any]]
    """What `losses.sql` tells: outcome, subject, reason, count."""
    refused: list[dict[str, Any]]
    """A place and a reason code: file, reason, count."""
    withheld: dict[str, int]
    """Reason → edges."""
    from_edges: int
    """Entities that only edges name: their id is their name."""
    unregistered: int
    """Edges that cite a passage which no record declares."""

    def as_json(self) -> dict[str, Any]:
        """The documented JSON (docs/pipelines.md)."""
        by = {outcome: [{k: v for k, v in row.items() if k != "outcome"} for row in self.told if row["outcome"] == outcome]
              for outcome in OUTCOMES}
        return {"schema": 1, "pipeline": self.pipeline.name, "version": self.pipeline.version, "queries": self.queries,
                "unknown_fields": self.unknown, **by, "entities_from_edges": self.from_edges, "edges_unregistered": self.unregistered,
                "refused": self.refused, "withheld": self.withheld}


def report(pipeline: Pipeline, extracted: Extracted, summary: Summary, max_line_bytes: int) -> LossReport:
    """The report of one execution."""
    refused: Counter[str] = Counter()
    for (file, _), count in summary.rejected_by_file.items():
        refused[file] += count
    queries = []
    for source, (query, rows) in zip(extracted.sources, extracted.rows.items(), strict=True):
        queries.append({"query": query, "kind": KINDS[query.removesuffix(".sql")], "rows": rows,
                        "accepted": rows - refused[source.name], "rejected": refused[source.name]})
    return LossReport(
        pipeline, queries, _unknown(extracted.sources, max_line_bytes), list(_told(pipeline, extracted)),
        [{"file": file, "reason": code, "count": count} for (file, code), count in sorted(summary.rejected_by_file.items())],
        {reason: count for reason, count in sorted(summary.outcome.withheld.items()) if count},
        summary.outcome.entities["from_edges"], summary.outcome.edges["unregistered"])


def _unknown(sources: Sequence[Source], limit: int) -> list[dict[str, Any]]:
    rows: Counter[str] = Counter()
    missing: Counter[tuple[str, str]] = Counter()
    for source in sources:
        for line in lines(source, limit):
            for kind, value in _things(line.data):
                rows[kind] += 1
                missing.update((kind, name) for name in LOOKED_FOR.get(kind, ()) if value.get(name) in (None, [], {}))
    return [{"kind": kind, "field": name, "missing": missing[kind, name], "of": rows[kind]}
            for kind, names in LOOKED_FOR.items() for name in names if missing[kind, name]]


def _things(data: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The record of a line, and each piece of evidence of an edge; nothing for a line that is no record."""
    try:
        value = jiter.from_json(data)
    except ValueError:
        return
    if not isinstance(value, dict):
        return
    yield value["kind"], value
    evidence = value.get("evidence") if value["kind"] == "edge" else None
    for item in evidence if isinstance(evidence, list) else ():
        if isinstance(item, dict):
            yield "evidence", item


def _told(pipeline: Pipeline, extracted: Extracted) -> Iterator[dict[str, Any]]:
    for row in extracted.losses:
        if row["outcome"] not in OUTCOMES:
            raise ConfigurationError(f"{pipeline.folder / 'losses.sql'}: outcome {row['outcome']!r} is not one of {', '.join(OUTCOMES)}.")
        if not isinstance(row["count"], int) or not all(isinstance(row[name], str) for name in ("subject", "reason")):
            raise ConfigurationError(f"{pipeline.folder / 'losses.sql'}: subject and reason are text, count is an integer.")
        if row["count"]:
            yield row
