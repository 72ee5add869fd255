"""What a run counts (spec 5, `ingest --format json`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from graphrag_provenance.rules.rejects import RejectCode
from graphrag_provenance.store.database import Writes


@dataclass(frozen=True, slots=True)
class Reject:
    """One refused record."""

    file: str
    line: int
    code: RejectCode
    message: str
    record: bytes
    """The record as read."""


@dataclass(slots=True)
class Outcome:
    """What one transaction, and summed up one run, did."""

    edges: Counter[str] = field(default_factory=Counter)
    evidence: Counter[str] = field(default_factory=Counter)
    entities: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    withheld: Counter[str] = field(default_factory=Counter)
    quotes: Counter[str] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)
    writes: Writes = field(default_factory=Writes)

    def add(self, other: Outcome) -> None:
        """Add another outcome's counts (its rejects are handed on separately)."""
        self.edges.update(other.edges)
        self.evidence.update(other.evidence)
        self.entities.update(other.entities)
        self.sources.update(other.sources)
        self.withheld.update(other.withheld)
        self.quotes.update(other.quotes)
        self.writes += other.writes

    def as_json(self) -> dict[str, Any]:
        """The counts under their documented names; every name is always there."""
        return {
            "edges": {name: self.edges[name] for name in ("published", "withheld", "unchanged", "retracted", "unregistered", "overruled")},
            "evidence": {name: self.evidence[name] for name in ("added", "unchanged", "retired")},
            "entities": {name: self.entities[name] for name in ("created", "updated", "unchanged", "from_edges", "aliases")},
            "sources": {name: self.sources[name] for name in ("created", "updated", "unchanged")},
            "writes": {"nodes": self.writes.nodes, "relationships": self.writes.relationships, "properties": self.writes.properties},
            "withheld_reasons": {name: count for name, count in sorted(self.withheld.items()) if count},
            "quotes": {name: count for name, count in sorted(self.quotes.items()) if count},
        }
