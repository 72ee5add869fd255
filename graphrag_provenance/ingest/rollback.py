"""`run rollback`: a forward run that restores the state after an earlier one (spec 3, runs).

Owns: which run can be restored, the order of policies that stands afterwards, and what is told. The restoring is `store.rollback`.
Records and order change in one transaction: a rollback that is cut off has done nothing, and is simply asked for again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphrag_provenance.errors import InputError, StoreError
from graphrag_provenance.ingest.policy import EdgeChange
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.opening import Effect, effect
from graphrag_provenance.rules.policies import PolicyLattice, lattice
from graphrag_provenance.store import runs
from graphrag_provenance.store.database import Database, Transaction
from graphrag_provenance.store.orders import next_policies
from graphrag_provenance.store.rollback import Restored, restore
from graphrag_provenance.store.sealing import sealing

_TOLD = (Effect.OPENED, Effect.CLOSED, Effect.CHANGED)


@dataclass(frozen=True, slots=True)
class RollbackOptions:
    """Which state to restore, and on whose behalf."""

    to: int
    """Number of the run whose state is restored."""
    actor: str = "unknown"
    trace_id: str | None = None
    dry_run: bool = False
    listed: int = 10_000
    """Most edges to name for each effect; all are counted."""
    lease_seconds: float = 60.0
    wait_seconds: float = 600.0


@dataclass(slots=True)
class RollbackSummary:
    """What a rollback did, or would do."""

    to: int
    dry_run: bool
    run: dict[str, Any] = field(default_factory=dict)
    restored: Restored = field(default_factory=Restored)
    texts_purged: int = 0
    """Texts that were purged since that run; no rollback brings them back."""
    counts: dict[Effect, int] = field(default_factory=dict)
    edges: dict[Effect, list[EdgeChange]] = field(default_factory=lambda: {one: [] for one in _TOLD})
    writes: dict[str, int] = field(default_factory=lambda: {"nodes": 0, "relationships": 0, "properties": 0})
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The documented JSON. What opens stands first: it is the dangerous direction."""
        kept = ("seq", "run_id", "trace_id", "actor", "status", "digest", "graph_hash")
        return {
            "schema": 1, "to": self.to, "dry_run": self.dry_run, "counts": {one.value: self.counts.get(one, 0) for one in Effect},
            **{one.value: [change.as_json() for change in self.edges[one]] for one in _TOLD},
            "truncated": any(self.counts.get(one, 0) > len(named) for one, named in self.edges.items()),
            "texts_purged": self.texts_purged,
            "records": dict(self.restored.records), "evidence": {"ended": self.restored.ended, "begun": self.restored.begun},
            "run": {name: self.run.get(name) for name in kept}, "writes": self.writes, "seconds": round(self.seconds, 3)}


def rollback(
    database: Database, options: RollbackOptions, *, notify: Callable[[str], None] | None = None
) -> RollbackSummary:
    """Restore the state after run `options.to`, its order of policies included. Raises InputError for a run that cannot be
    restored, and StoreError when history does not give that run's graph hash: then nothing is changed."""
    started = time.monotonic()
    state = runs.store_state(database)
    target, order = _target(database, state, options.to)
    summary = RollbackSummary(options.to, options.dry_run, texts_purged=sum(
        json.loads(row["counts"] or "{}").get("texts", 0) for row in database.read("purge.runs", seq=options.to)))
    if options.dry_run:
        _look(database, state or {}, target, order, summary, options)
        summary.run = {"status": "dry-run", "actor": options.actor, "trace_id": options.trace_id}
    else:
        _run(database, target, order, summary, options, notify or (lambda _: None))
    summary.seconds = time.monotonic() - started
    return summary


def _target(database: Database, state: Mapping[str, Any] | None, to: int) -> tuple[dict[str, Any], PolicyLattice]:
    """The run to restore, and the order of policies that stood after it."""
    rows = database.read("run.by_seq", seq=to)
    if not rows:
        raise InputError(f"There is no run {to}.", hint="See: gprov run list.")
    target = runs.run_json(rows[0]["run"])
    if target["status"] == "running":
        raise InputError(f"Run {to} has not ended.", hint="Restore an earlier one.")
    if target["kind"] == "policy-apply" and target["status"] != "finished":
        raise InputError(f"Run {to} was cut off between two orders of policies.", hint="Restore the run before it, or a later one.")
    stands = runs.stored_policies(state)
    if stands is not None and stands.hash == target["policies_hash"]:
        return target, stands
    if not target.get("order"):
        raise InputError(f"Run {to} does not say which order of policies stood after it.", hint="Restore a later run.")
    order = lattice(target["order"], f"the order of run {to}")
    if order.hash != target["policies_hash"]:
        raise StoreError(f"The order of policies that run {to} names is not the one of its hash.", hint="Check: gprov audit verify.")
    return target, order


def _settle(
    tx: Transaction, before: Mapping[str, Any], seq: int, target: Mapping[str, Any], *, dry: bool
) -> tuple[Restored, MultisetHash]:
    change = MultisetHash()
    done = restore(tx, seq, target["seq"], change, dry=dry)
    total = MultisetHash(before["sum"])
    total.combine(change)
    if total.graph_hash() != target["graph_hash"]:
        raise StoreError(f"History does not lead back to the graph hash of run {target['seq']}; nothing was changed.",
                         hint="Check the store: gprov verify.")
    return done, change


def _tell(summary: RollbackSummary, done: Restored, old: PolicyLattice, new: PolicyLattice, listed: int) -> None:
    summary.restored = done
    for before, after in done.changed:
        what = effect(old, before["policies"], new, after["policies"], rewritten=True)
        summary.counts[what] = summary.counts.get(what, 0) + 1
        if what in summary.edges and len(summary.edges[what]) < listed:
            summary.edges[what].append(EdgeChange(after["tenant"], after["edge_id"], before, after))


def _look(database: Database, state: Mapping[str, Any], target: Mapping[str, Any], order: PolicyLattice, summary: RollbackSummary,
          options: RollbackOptions) -> None:
    done, _ = database.rehearse(lambda tx: _settle(tx, state, state["head_seq"] + 1, target, dry=True))
    _tell(summary, done, runs.stored_policies(state) or order, order, options.listed)


def _run(database: Database, target: Mapping[str, Any], order: PolicyLattice, summary: RollbackSummary,
         options: RollbackOptions, notify: Callable[[str], None]) -> None:
    start = runs.RunStart("rollback", options.actor, "rollback", "1", options.trace_id,
                          ({"to": target["seq"], "graph_hash": target["graph_hash"], "digest": target["digest"]},))
    run = runs.begin(database, start, policies=order, lease_seconds=options.lease_seconds, wait_seconds=options.wait_seconds,
                     notify=notify, unsettled=True)
    stands = runs.stored_policies(run.before) or order

    def work(tx: Transaction) -> Restored:
        done, change = _settle(tx, run.before, run.seq, target, dry=False)
        if order.hash != stands.hash or next_policies(run.before):
            run.adopt(tx, order)
        run.account(tx, change)
        return done

    with sealing(database, run):
        done, writes = database.write(work, metadata=run.metadata)
        run.adopted(order)
        _tell(summary, done, stands, order, options.listed)
        summary.writes = {"nodes": writes.nodes, "relationships": writes.relationships, "properties": writes.properties}
    counts = {"to": target["seq"], "records": done.records, "evidence": {"ended": done.ended, "begun": done.begun}}
    summary.run = run.end("finished", counts)
