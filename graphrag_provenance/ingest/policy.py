"""`policy apply`: the whole store under a changed order of policies, as one run (spec 2, writing).

Owns: the order of work and what is told about it. Every edge is decided anew by the one publication rule, a batch a transaction.
The new order becomes the store's when the run is sealed; until then, and after a run that was cut off, readers keep to what the
orders involved agree on (`store.orders`). Applying again, the same order or another, completes a run that was cut off. A dry run
reads the same batches, decides the same, and writes nothing.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphrag_provenance.errors import StoreError
from graphrag_provenance.ingest.batches import reevaluate_edges
from graphrag_provenance.rules.edges import Node
from graphrag_provenance.rules.opening import Effect, effect
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.store import runs
from graphrag_provenance.store.assertions import Decided, Rules
from graphrag_provenance.store.counting import Outcome
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.sealing import sealing
from graphrag_provenance.store.view import Key, View

Page = TypeVar("Page")
Made = TypeVar("Made")
_TOLD = (Effect.OPENED, Effect.CLOSED, Effect.CHANGED)


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """How to apply an order."""

    source: str = "policies"
    """Where the order comes from, for the run record."""
    actor: str = "unknown"
    trace_id: str | None = None
    dry_run: bool = False
    require_registered_sources: bool = False
    """As for loading: an edge's own policy does not stand in for evidence that nothing speaks about."""
    batch_size: int = 1_000
    """Edges a transaction."""
    workers: int = 2
    """Transactions at once: while the server writes one batch, the next is decided."""
    listed: int = 10_000
    """Most edges to name for each effect; all are counted."""
    lease_seconds: float = 60.0
    wait_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class PolicyProgress:
    """How far it is: `done` edges, `changed` of them are decided otherwise."""

    done: int
    changed: int


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """One edge that opens, closes or changes."""

    tenant: str
    edge_id: str
    before: Node
    after: Node

    def as_json(self) -> dict[str, Any]:
        """State, effective policies and reasons before and after."""
        return {"tenant": self.tenant, "edge_id": self.edge_id, "before": _decided(self.before), "after": _decided(self.after)}


def _decided(node: Node) -> dict[str, Any]:
    return {"state": node["state"], "policies": list(node["policies"]), "reasons": list(node["reasons"])}


@dataclass(slots=True)
class PolicySummary:
    """What an order did to the store, or would do."""

    order: PolicyLattice
    previous: PolicyLattice | None
    """The order that the store applied; None for a store without one."""
    dry_run: bool
    completes: bool
    """Whether it completes a change that was cut off."""
    run: dict[str, Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    edges: dict[Effect, list[EdgeChange]] = field(default_factory=lambda: {one: [] for one in _TOLD})
    outcome: Outcome = field(default_factory=Outcome)
    seconds: float = 0.0

    @property
    def truncated(self) -> bool:
        """Whether more edges are counted than named."""
        return any(self.counts[one] > len(named) for one, named in self.edges.items())

    def as_json(self) -> dict[str, Any]:
        """The documented JSON. What opens stands first: it is the dangerous direction."""
        kept = ("seq", "run_id", "trace_id", "actor", "status", "digest", "graph_hash")
        return {
            "schema": 1, "dry_run": self.dry_run, "completes": self.completes,
            "counts": {one.value: self.counts[one] for one in Effect},
            **{one.value: [change.as_json() for change in self.edges[one]] for one in _TOLD},
            "truncated": self.truncated, "order": order_json(self.previous, self.order),
            "run": {name: self.run.get(name) for name in kept},
            "edges": self.outcome.as_json()["edges"], "writes": self.outcome.as_json()["writes"], "seconds": round(self.seconds, 3),
        }


def order_json(old: PolicyLattice | None, new: PolicyLattice) -> dict[str, Any]:
    """How one order differs from another: names added and removed, and names that cover other ones than before."""
    before = {} if old is None else old.below
    moved = [name for name in new.names if name in before and before[name] != new.below[name]]
    return {
        "hash": new.hash, "previous_hash": None if old is None else old.hash, "same": old is not None and old.hash == new.hash,
        "added": [name for name in new.names if name not in before], "removed": sorted(set(before) - set(new.names)),
        "moved": [{"policy": name, "covers": sorted(new.below[name]), "covered": sorted(before[name])} for name in moved],
    }


def apply_policies(
    database: Database, new: PolicyLattice, options: PolicyOptions, *, progress: Callable[[PolicyProgress], None] | None = None,
    notify: Callable[[str], None] | None = None,
) -> PolicySummary:
    """Make `new` the store's order and decide about every edge by it. Raises StoreError when the store fails: then the change is
    unfinished, readers see what all orders involved permit, and the same call completes it."""
    started = time.monotonic()
    tell = progress or (lambda _: None)
    if options.dry_run:
        state = runs.store_state(database)
        summary = _summary(state, new, options)
        run = runs.Run(database, int((state or {}).get("head_seq", 0)) + 1, "dry-run", options.trace_id or "", {}, new,
                       options.lease_seconds)
        _decide(database, run, summary, options, tell)
        summary.run = {"status": "dry-run", "actor": options.actor, "trace_id": options.trace_id,
                       "graph_hash": (state or {}).get("graph_hash")}
    else:
        start = runs.RunStart("policy-apply", options.actor, "policy", "1", options.trace_id, (
            {"name": options.source, "sha256": new.hash, "policies": new.as_json()},))
        run = runs.begin(database, start, policies=new, lease_seconds=options.lease_seconds, wait_seconds=options.wait_seconds,
                         notify=notify or (lambda _: None), new_order=True)
        summary = _summary(run.before, new, options)
        with sealing(database, run, lambda: _counts(summary)):
            try:
                _decide(database, run, summary, options, tell)
            except StoreError as error:
                error.hint = f"{error.hint or ''} The change of the order is unfinished; apply it again.".lstrip()
                raise
        summary.run = run.end("finished", _counts(summary))
    summary.seconds = time.monotonic() - started
    return summary


def _summary(state: Mapping[str, Any] | None, new: PolicyLattice, options: PolicyOptions) -> PolicySummary:
    return PolicySummary(new, runs.stored_policies(state), options.dry_run, bool((state or {}).get("policies_next")))


def _decide(database: Database, run: runs.Run, summary: PolicySummary, options: PolicyOptions,
            tell: Callable[[PolicyProgress], None]) -> None:
    rules = Rules(summary.order, options.require_registered_sources)
    old, done, told = summary.previous or summary.order, 0, 0.0
    view = View(seq=run.seq)

    def decide(keys: list[Key]) -> tuple[Outcome, list[Decided]]:
        # no edge depends on another: they can be decided at the same time, and in a dry run a batch is all there is to remember
        return reevaluate_edges(database, run, rules, View(seq=run.seq, dry=True) if options.dry_run else view, keys)

    for keys, (outcome, decided) in _in_turn(decide, _pages(database, options.batch_size), options.workers):
        summary.outcome.add(outcome)
        for before, after, *_ in decided:
            what = effect(old, before["policies"], summary.order, after["policies"], rewritten=before is not after)
            summary.counts[what] += 1
            if what in summary.edges and len(summary.edges[what]) < options.listed:
                summary.edges[what].append(EdgeChange(after["tenant"], after["edge_id"], _decided(before), _decided(after)))
        done += len(keys)
        if time.monotonic() - told >= 0.2:
            told = time.monotonic()
            tell(PolicyProgress(done, done - summary.counts[Effect.UNCHANGED]))
    tell(PolicyProgress(done, done - summary.counts[Effect.UNCHANGED]))


def _in_turn(work: Callable[[Page], Made], pages: Iterable[Page], workers: int) -> Iterator[tuple[Page, Made]]:
    """Each page with what `work` makes of it, in their order. Few are held at once, and when one fails no further one is begun."""
    begun: deque[tuple[Page, Future[Made]]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="policies") as pool:
        try:
            for page in pages:
                begun.append((page, pool.submit(work, page)))
                if len(begun) > workers:
                    first, made = begun.popleft()
                    yield first, made.result()
            while begun:
                first, made = begun.popleft()
                yield first, made.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _pages(database: Database, size: int) -> Iterator[list[Key]]:
    """The keys of all edges, in order, `size` at a time. The run holds the store, so none is added meanwhile."""
    tenant = ""
    while rows := database.lookup("edge.next_tenant", after=tenant):
        tenant, after = rows[0]["tenant"], ""
        while page := database.lookup("edge.page", tenant=tenant, after=after, limit=size):
            after = page[-1]["edge_id"]
            yield [(tenant, row["edge_id"]) for row in page]


def _counts(summary: PolicySummary) -> dict[str, Any]:
    return {**{one.value: summary.counts[one] for one in Effect}, **summary.outcome.as_json()}
