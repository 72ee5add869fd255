"""`entity merge`: one entity merged into another, as a run (spec 3, runs).

Owns: which merge can be asked for, the run around it, and the receipt. The merging is `store.merging`. Everything changes in one
transaction: a merge that is cut off has done nothing, and is simply asked for again. `run rollback` undoes it.

The receipt names edges of any policy: it is for the operator who asks for the merge, not for a reader.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.edges import Node
from graphrag_provenance.rules.opening import Effect, effect
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.store import runs
from graphrag_provenance.store.assertions import Rules
from graphrag_provenance.store.counting import Outcome
from graphrag_provenance.store.database import Database, Transaction
from graphrag_provenance.store.merging import Asked, Merged, Moved, check_merge, merge
from graphrag_provenance.store.orders import require_settled
from graphrag_provenance.store.sealing import sealing
from graphrag_provenance.store.view import Pending, View

_TOLD = (Effect.OPENED, Effect.CLOSED, Effect.CHANGED)


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """Which entity is merged into which, and on whose behalf."""

    tenant: str
    source: tuple[str, str]
    """(type, id) of the entity that is merged."""
    target: tuple[str, str]
    """(type, id) of the one that stands for both."""
    actor: str = "unknown"
    reason: str | None = None
    """Why, in words; part of the run record."""
    trace_id: str | None = None
    dry_run: bool = False
    require_registered_sources: bool = False
    """As for loading: an edge's own policy does not stand in for evidence that nothing speaks about."""
    listed: int = 10_000
    """Most edges to name for each effect; all are counted."""
    lease_seconds: float = 60.0
    wait_seconds: float = 600.0


@dataclass(slots=True)
class MergeSummary:
    """What a merge did, or would do."""

    options: MergeOptions
    run: dict[str, Any] = field(default_factory=dict)
    merged: Merged = field(default_factory=Merged)
    counts: dict[Effect, int] = field(default_factory=dict)
    edges: dict[Effect, list[Moved]] = field(default_factory=lambda: {one: [] for one in _TOLD})
    writes: dict[str, int] = field(default_factory=lambda: {"nodes": 0, "relationships": 0, "properties": 0})
    seconds: float = 0.0

    def counted(self) -> dict[str, Any]:
        """What the run record counts."""
        edges = self.merged.edges
        return {
            "edges": {"moved": sum(_moves(one) for one in edges), "united": sum(_joins(one) for one in edges),
                      "self_loops": len(self._loops())},
            "evidence": {"moved": self.merged.evidence, "shared": self.merged.shared}, "aliases": len(self.merged.aliases),
            **{one.value: self.counts.get(one, 0) for one in _TOLD}}

    def _loops(self) -> list[str]:
        """The edges that lead from the entity to itself now and did not before."""
        return sorted({one.after["edge_id"] for one in self.merged.edges if _loop(one.after) and not _loop(one.before)})

    def as_json(self) -> dict[str, Any]:
        """The documented JSON. What opens stands first: it is the dangerous direction."""
        kept = ("seq", "run_id", "trace_id", "actor", "status", "digest", "graph_hash")
        options, counts = self.options, self.counted()
        return {
            "schema": 1, "dry_run": options.dry_run, "tenant": options.tenant, "from": ":".join(options.source),
            "into": ":".join(options.target), "reason": options.reason,
            "counts": {one.value: self.counts.get(one, 0) for one in _TOLD},
            **{one.value: [_moved_json(moved) for moved in self.edges[one]] for one in _TOLD},
            "truncated": any(self.counts.get(one, 0) > len(named) for one, named in self.edges.items()),
            "edges": counts["edges"], "self_loops": self._loops(), "evidence": counts["evidence"],
            "aliases": [{name: node[name] for name in ("alias", "method", "linker", "linker_version")} for node in self.merged.aliases],
            "run": {name: self.run.get(name) for name in kept}, "writes": self.writes, "seconds": round(self.seconds, 3)}


def _loop(node: Node) -> bool:
    return (node["source_type"], node["source_id"]) == (node["target_type"], node["target_id"])


def _joins(one: Moved) -> bool:
    return bool(one.before["edge_id"] != one.after["edge_id"])


def _moves(one: Moved) -> bool:
    ends = ("source_id", "target_id")
    return not _joins(one) and any(one.before[name] != one.after[name] for name in ends)


def _moved_json(one: Moved) -> dict[str, Any]:
    """An edge before and after; `into`: the edge that took it in, whose state is the one after."""
    return {"edge_id": one.before["edge_id"], "into": one.after["edge_id"] if _joins(one) else None,
            "before": _said(one.before), "after": _said(one.after)}


def _said(node: Node) -> dict[str, Any]:
    return {"source": f"{node['source_type']}:{node['source_id']}", "relation": node["relation"],
            "target": f"{node['target_type']}:{node['target_id']}", "state": node["state"], "policies": list(node["policies"]),
            "reasons": list(node["reasons"])}


def merge_entities(database: Database, options: MergeOptions, *, notify: Callable[[str], None] | None = None) -> MergeSummary:
    """Merge one entity into another of the same type and tenant. Raises InputError for two that cannot be merged, NotFoundError for
    one that does not exist; then nothing is changed."""
    started = time.monotonic()
    asked = _asked(options)
    state = runs.store_state(database)
    order = runs.stored_policies(state)
    known = {tuple(row["key"]): row["node"] for row in database.lookup("entity.entities", keys=[list(key) for key in asked.keys])}
    check_merge(asked, *(known.get(key) for key in asked.keys))
    if state is None or order is None:
        raise InputError("The store has no order of policies.", hint="Check the store: gprov verify.")
    summary = MergeSummary(options)
    if options.dry_run:
        require_settled(state)
        _look(database, state, order, asked, summary)
    else:
        _run(database, order, asked, summary, notify or (lambda _: None))
    summary.seconds = time.monotonic() - started
    return summary


def _asked(options: MergeOptions) -> Asked:
    (kind, source), (other, target) = options.source, options.target
    if kind != other:
        raise InputError(f"{kind}:{source} and {other}:{target} are of two types.", hint="Only entities of one type can be merged.")
    if source == target:
        raise InputError(f"{kind}:{source} cannot be merged into itself.", hint="Name two entities.")
    return Asked(options.tenant, kind, source, target)


def _apply(tx: Transaction, seq: int, order: PolicyLattice, asked: Asked, options: MergeOptions) -> tuple[Merged, MultisetHash]:
    change, pending = MultisetHash(), Pending(View(seq=seq, dry=options.dry_run))
    rules = Rules(order, options.require_registered_sources)
    return merge(tx, seq, rules, pending, asked, Outcome(), change), change


def _tell(summary: MergeSummary, done: Merged, order: PolicyLattice) -> None:
    summary.merged = done
    for one in done.edges:
        what = effect(order, one.before["policies"], order, one.after["policies"], rewritten=True)
        summary.counts[what] = summary.counts.get(what, 0) + 1
        if len(summary.edges[what]) < summary.options.listed:
            summary.edges[what].append(one)


def _look(database: Database, state: Mapping[str, Any], order: PolicyLattice, asked: Asked, summary: MergeSummary) -> None:
    options = summary.options
    done, _ = database.rehearse(lambda tx: _apply(tx, state["head_seq"] + 1, order, asked, options))
    _tell(summary, done, order)
    summary.run = {"status": "dry-run", "actor": options.actor, "trace_id": options.trace_id, "graph_hash": state.get("graph_hash")}


def _run(database: Database, order: PolicyLattice, asked: Asked, summary: MergeSummary, notify: Callable[[str], None]) -> None:
    options = summary.options
    about = {"tenant": asked.tenant, "from": ":".join(options.source), "into": ":".join(options.target), "reason": options.reason}
    run = runs.begin(database, runs.RunStart("entity-merge", options.actor, "entity-merge", "1", options.trace_id, (about,)),
                     policies=order, lease_seconds=options.lease_seconds, wait_seconds=options.wait_seconds, notify=notify)

    def work(tx: Transaction) -> Merged:
        done, change = _apply(tx, run.seq, run.policies, asked, options)
        run.account(tx, change)
        return done

    with sealing(database, run):
        done, writes = database.write(work, metadata=run.metadata)
        _tell(summary, done, run.policies)
        summary.writes = {"nodes": writes.nodes, "relationships": writes.relationships, "properties": writes.properties}
    summary.run = run.end("finished", summary.counted())
