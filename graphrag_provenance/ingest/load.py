"""A load: how it is to be done, how far it is, and what it did (spec 1, spec 5 JSON).

Leaves to others: the order of work (`ingest.loading`, `ingest.bulk`, `ingest.staging`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from graphrag_provenance.ingest.candidates import Reading
from graphrag_provenance.ingest.quoting import QuoteCheck, QuoteMode
from graphrag_provenance.ingest.rejecting import RejectFile
from graphrag_provenance.ingest.sources import Source
from graphrag_provenance.model.identifiers import ID_RULE
from graphrag_provenance.rules.fingerprints import salt
from graphrag_provenance.rules.merging import Merges
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.relations import Relation
from graphrag_provenance.store import runs
from graphrag_provenance.store.assertions import Rules
from graphrag_provenance.store.counting import Outcome, Reject
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.merging import load_merges
from graphrag_provenance.store.view import View


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a load is: `done` of `total` bytes of the phase `sources` or `edges`."""

    phase: str
    done: int
    total: int
    records: int
    rejected: int


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """How to load."""

    policies: PolicyLattice
    """The policy file; becomes the store's order with the first run, later `policy apply` changes it."""
    tenant: str | None = None
    """Tenant of records that name none."""
    relations: Mapping[str, Relation] = field(default_factory=dict)
    """Declared relations, checked on every edge."""
    actor: str = "unknown"
    pipeline: str = "jsonl"
    version: str = "1"
    trace_id: str | None = None
    dry_run: bool = False
    """Check and count everything, write nothing."""
    stage: bool = False
    """Hold the generation back until it is published (`ingest.staging`)."""
    resume: int | None = None
    """A run that was cut off: load the same input again as its completion."""
    workers: int = 2
    batch_size: int = 1_000
    """Records a transaction."""
    require_registered_sources: bool = False
    verify_quotes: QuoteMode = QuoteMode.OFF
    """Whether the quote of each evidence item is held against its passage."""
    rejects: Path | None = None
    """Reject file; default: `<run>.rejected.jsonl` in the current folder, made only when something is rejected."""
    max_line_bytes: int = 16_777_216
    lease_seconds: float = 60.0
    wait_seconds: float = 600.0
    made_from: Sequence[Mapping[str, Any]] = ()
    """What the input was made from (name, bytes, sha256 of each file), for the run record; default: the input itself."""
    unreadable: Sequence[Reject] = ()
    """What was refused before it could become a record."""


@dataclass(slots=True)
class Summary:
    """What a load did."""

    run: dict[str, Any]
    outcome: Outcome
    read: int
    rejected: dict[str, int]
    rejects_file: str | None
    seconds: float
    dry_run: bool
    policies_differ: bool
    """The policy file given is not the order that the store applies."""
    rejected_by_file: dict[tuple[str, str], int] = field(default_factory=dict)
    """(file, reason code) → how many."""
    candidate_hash: str | None = None
    """Of a staged load: the graph hash that publishing it leads to."""
    order: PolicyLattice | None = None
    """The order of policies that decided: the store's."""

    @property
    def findings(self) -> bool:
        """Whether something was rejected or withheld (exit status 1)."""
        return bool(self.rejected) or self.outcome.edges["withheld"] > 0

    def as_json(self) -> dict[str, Any]:
        """The documented JSON (spec 5)."""
        kept = ("seq", "run_id", "trace_id", "pipeline", "version", "actor", "status", "digest", "graph_hash")
        total = sum(self.rejected.values())
        return {
            "schema": 1, "dry_run": self.dry_run, "run": {name: self.run.get(name) for name in kept},
            "records": {"read": self.read, "accepted": self.read - total, "rejected": total},
            **self.outcome.as_json(), "rejected_reasons": dict(sorted(self.rejected.items())), "rejects_file": self.rejects_file,
            "policies_differ": self.policies_differ, "seconds": round(self.seconds, 3),
            **({} if self.candidate_hash is None else {"candidate_hash": self.candidate_hash}),
        }


@dataclass
class Load:
    """A load under way."""

    database: Database
    options: IngestOptions
    sources: list[Source]
    run: runs.Run
    rules: Rules
    view: View
    rejects: RejectFile
    report: Callable[[Progress], None]
    outcome: Outcome = field(default_factory=Outcome)
    read: int = 0
    reported: float = 0.0

    @cached_property
    def reading(self) -> Reading:
        """Under which conditions a record is read; they are part of its fingerprint."""
        return reading(self.options, load_merges(self.database))

    @cached_property
    def quotes(self) -> QuoteCheck:
        """The check of quotes against the passages of this load and of the store."""
        return QuoteCheck(self.database, self.options.verify_quotes, dry=self.options.dry_run)

    def take(self, outcome: Outcome) -> None:
        """Add what a batch did, and write down what it refused."""
        self.outcome.add(outcome)
        for reject in outcome.rejects:
            self.rejects.write(reject)

    def tell(self, phase: str, done: int, *, last: bool = False) -> None:
        """Report progress, five times a second at the most."""
        clock = time.monotonic()
        if last or clock - self.reported >= 0.2:
            self.reported = clock
            self.report(Progress(phase, done, sum(s.size for s in self.sources), self.read, self.rejects.total))


def reading(options: IngestOptions, merges: Merges) -> Reading:
    """How the lines of a load are read."""
    return Reading(options.tenant, options.relations, salt(
        options.tenant, options.require_registered_sources, sorted(options.relations.items()), ID_RULE,
        *options.verify_quotes.conditions), merges)


def counts_of(load: Load) -> dict[str, Any]:
    """What the run record says that a load did."""
    return {"records": {"read": load.read, "rejected": load.rejects.total}, **load.outcome.as_json(),
            "rejected_reasons": dict(load.rejects.counts)}


def summary_of(load: Load, record: dict[str, Any], started: float) -> Summary:
    """What a load did, once its run has ended."""
    return Summary(record, load.outcome, load.read, dict(load.rejects.counts), load.rejects.name, time.monotonic() - started,
                   load.options.dry_run, load.run.policies.hash != load.options.policies.hash, dict(load.rejects.by_file),
                   order=load.run.policies)
