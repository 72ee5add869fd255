"""`doc purge`: the texts of what was replaced or deleted, once they are past the retention window (spec 3, retention).

Owns: the window, the order of work and what is told. Which passages are past it is the rule of `rules.retention`. A passage that
evidence in force cites keeps its text whatever its age: what is answered today can be held against its source today. Nothing else
than texts goes: ids, hashes, section paths, tombstones and every past state stay, and the graph hash does not move. So a rollback to
a run before the purge succeeds, and restores all but the texts. A purge that is cut off is completed by purging again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.instants import format_instant, now
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.store import runs
from graphrag_provenance.store.database import Database, Transaction, Writes
from graphrag_provenance.store.purging import Expired, expired, forget
from graphrag_provenance.store.sealing import sealing


@dataclass(frozen=True, slots=True)
class PurgeOptions:
    """Whose texts, how old, and on whose behalf."""

    tenant: str
    before: datetime
    """What was replaced before this instant is past the window."""
    doc_id: str | None = None
    """One document; default: every one of the tenant."""
    actor: str = "unknown"
    trace_id: str | None = None
    dry_run: bool = False
    listed: int = 10_000
    """Most revisions to name; all are counted."""
    lease_seconds: float = 60.0
    wait_seconds: float = 600.0


@dataclass(slots=True)
class PurgeSummary:
    """What a purge did, or would do."""

    options: PurgeOptions
    run: dict[str, Any] = field(default_factory=dict)
    """Empty when there was nothing to do: then no run was opened."""
    passages: int = 0
    texts: int = 0
    """Texts removed: of passages, and of their past versions."""
    in_use: int = 0
    """Passages that keep their text because evidence in force cites them."""
    revisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    writes: Writes = field(default_factory=Writes)
    seconds: float = 0.0

    def take(self, found: Iterable[Expired]) -> None:
        """Count passages."""
        for one in found:
            told = self.revisions.setdefault(one.doc, {
                "doc": one.doc, "state": "tombstoned" if one.tombstoned else "superseded", "since": format_instant(one.at),
                "since_run": one.since, "passages": 0, "in_use": 0})
            told["in_use" if one.in_use else "passages"] += 1
            self.passages += not one.in_use
            self.in_use += one.in_use
            self.texts += 0 if one.in_use else one.has_text + len(one.versions)

    def counts(self) -> dict[str, int]:
        """What the run record counts."""
        return {"revisions": sum(bool(one["passages"]) for one in self.revisions.values()), "passages": self.passages,
                "texts": self.texts, "in_use": self.in_use}

    def as_json(self) -> dict[str, Any]:
        """The documented JSON."""
        kept = ("seq", "run_id", "trace_id", "actor", "status", "digest", "graph_hash")
        named = list(self.revisions.values())[:self.options.listed]
        return {
            "schema": 1, "tenant": self.options.tenant, "doc_id": self.options.doc_id, "before": format_instant(self.options.before),
            "dry_run": self.options.dry_run, "counts": self.counts(), "revisions": named, "truncated": len(named) < len(self.revisions),
            "run": {name: self.run.get(name) for name in kept} if self.run else None,
            "writes": {"nodes": self.writes.nodes, "relationships": self.writes.relationships, "properties": self.writes.properties},
            "seconds": round(self.seconds, 3),
        }


def window(days: int | None, before: datetime | None) -> datetime | None:
    """The instant before which what was replaced is past the window: stated, or so many days ago; None: no window is set. Raises InputError
    for an instant that is to come."""
    if before is not None:
        if before > now():
            raise InputError(f"{format_instant(before)} lies in the future.", hint="Name an instant that has passed.")
        return before
    return None if days is None else now() - timedelta(days=days)


def purge_texts(database: Database, options: PurgeOptions, *, notify: Callable[[str], None] | None = None) -> PurgeSummary:
    """Remove texts that are past the window. Raises NotFoundError for an unknown document, StoreError when the store fails: what was
    committed stays, and the same call completes it."""
    started = time.monotonic()
    summary = PurgeSummary(options)
    order = runs.stored_policies(runs.store_state(database))
    if options.dry_run or order is None:
        for found in expired(database, options.tenant, options.doc_id, options.before):
            summary.take(found)
        summary.run = {"status": "dry-run", "actor": options.actor, "trace_id": options.trace_id} if options.dry_run else {}
    elif _anything(database, options):
        _run(database, order, summary, notify or (lambda _: None))
    else:
        for found in expired(database, options.tenant, options.doc_id, options.before):
            summary.take(found)  # what is in use
    summary.seconds = time.monotonic() - started
    return summary


def _anything(database: Database, options: PurgeOptions) -> bool:
    return any(not one.in_use for found in expired(database, options.tenant, options.doc_id, options.before) for one in found)


def _run(database: Database, order: PolicyLattice, summary: PurgeSummary, notify: Callable[[str], None]) -> None:
    options = summary.options
    start = runs.RunStart("doc-purge", options.actor, "purge", "1", options.trace_id, ({
        "tenant": options.tenant, "doc_id": options.doc_id, "before": format_instant(options.before)},))
    run = runs.begin(database, start, policies=order, lease_seconds=options.lease_seconds, wait_seconds=options.wait_seconds,
                     notify=notify)
    with sealing(database, run, summary.counts):
        for found in expired(database, options.tenant, options.doc_id, options.before):
            due = [one for one in found if not one.in_use]
            if due:
                summary.writes += _forget(database, run, due)
            summary.take(found)
    summary.run = run.end("finished", summary.counts())


def _forget(database: Database, run: runs.Run, due: list[Expired]) -> Writes:
    def work(tx: Transaction) -> None:
        forget(tx, run.seq, due)
        run.account(tx, MultisetHash())  # the graph is what it was; the fence holds all the same

    return database.write(work, metadata=run.metadata)[1]
