"""`doc delete`: a document removed on purpose, as one run (spec 3, "After a source changes").

Owns: which revision the tombstone names, and the receipt. The tombstone is the same record that a load brings, and what it retires
is decided by the same rules (`rules.heads`, `rules.publication`). All of it is one transaction: a deletion that is cut off has done
nothing, and is simply asked for again. Cost: proportional to the edges that cite the document.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from graphrag_provenance.errors import InputError, NotFoundError, StoreConflictError
from graphrag_provenance.ingest.batches import write_tombstone
from graphrag_provenance.model.instants import now
from graphrag_provenance.model.records import TombstoneRecord
from graphrag_provenance.notation import problem
from graphrag_provenance.rules.edges import Node
from graphrag_provenance.rules.heads import tombstone
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.receipts import Fate, fate
from graphrag_provenance.store import runs
from graphrag_provenance.store.assertions import Decided, Rules
from graphrag_provenance.store.counting import Outcome
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.orders import require_settled
from graphrag_provenance.store.sealing import sealing
from graphrag_provenance.store.sources import Item
from graphrag_provenance.store.view import View

_TOLD = ("state", "policies", "acl", "reasons", "current", "disputed")


@dataclass(frozen=True, slots=True)
class DeletionOptions:
    """Which document to remove, and on whose behalf."""

    tenant: str
    doc_id: str
    revision: str | None = None
    """The revision in which it is gone; default: the head, so that nothing of it is left in force."""
    reason: str | None = None
    """Why, for the run record."""
    actor: str = "unknown"
    trace_id: str | None = None
    dry_run: bool = False
    require_registered_sources: bool = False
    """As for loading: an edge's own policy does not stand in for evidence that nothing speaks about."""
    listed: int = 10_000
    """Most edges to name for each fate; all are counted."""
    lease_seconds: float = 60.0
    wait_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """One edge that changed."""

    decided: Decided

    def as_json(self) -> dict[str, Any]:
        """The edge, and what of it was decided before and after."""
        before, after, had, has = self.decided
        ends = {side: {"type": after[f"{side}_type"], "id": after[f"{side}_id"]} for side in ("source", "target")}
        return {"edge_id": after["edge_id"], "relation": after["relation"], **ends,
                "before": _told(before, had), "after": _told(after, has)}


def _told(node: Node, evidence: int) -> dict[str, Any]:
    return {**{name: node[name] for name in _TOLD}, "confidence": node.get("confidence"), "evidence": evidence}


@dataclass(slots=True)
class Receipt:
    """What a deletion did, or would do."""

    tenant: str
    doc_id: str
    revision: str
    reason: str | None
    dry_run: bool
    already: bool
    """Whether the store had this tombstone."""
    run: dict[str, Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    edges: dict[Fate, list[ReceiptLine]] = field(default_factory=lambda: {one: [] for one in Fate})
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
            "schema": 1, "tenant": self.tenant, "doc_id": self.doc_id, "deleted_in_revision": self.revision, "reason": self.reason,
            "dry_run": self.dry_run, "already_deleted": self.already, "counts": self.counted(),
            **{one.value: [line.as_json() for line in self.edges[one]] for one in Fate}, "truncated": self.truncated,
            "run": {name: self.run.get(name) for name in kept}, "writes": self.outcome.as_json()["writes"],
            "seconds": round(self.seconds, 3),
        }

    def counted(self) -> dict[str, int]:
        """Edges by fate, and the evidence items that count no longer."""
        return {**{one.value: self.counts[one] for one in Fate}, "evidence_retired": self.outcome.evidence["retired"]}


def delete_document(database: Database, options: DeletionOptions, *, notify: Callable[[str], None] | None = None) -> Receipt:
    """Write the tombstone of a document and retire its evidence. Raises NotFoundError for an unknown document, InputError for a revision
    of another one, or when no revision of it is declared and none is named; StoreError when the store fails: then nothing is changed."""
    started = time.monotonic()
    state = runs.store_state(database)
    order = runs.stored_policies(state)
    if order is None:
        raise _unknown(options)
    record, already = _record(database, options)
    receipt = Receipt(options.tenant, options.doc_id, record.deleted_in_revision, options.reason, options.dry_run, already)
    if options.dry_run:
        require_settled(state)
        run = runs.Run(database, int((state or {}).get("head_seq", 0)) + 1, "dry-run", options.trace_id or "", {}, order,
                       options.lease_seconds)
        _write(database, run, options, receipt, record)
        receipt.run = {"status": "dry-run", "actor": options.actor, "trace_id": options.trace_id,
                       "graph_hash": (state or {}).get("graph_hash")}
    else:
        _run(database, order, options, receipt, record, notify or (lambda _: None))
    receipt.seconds = time.monotonic() - started
    return receipt


def _unknown(options: DeletionOptions) -> NotFoundError:
    return NotFoundError(f"There is no document {options.doc_id} in tenant {options.tenant}.", hint="Check the id and the tenant.")


def _record(database: Database, options: DeletionOptions) -> tuple[TombstoneRecord, bool]:
    """The tombstone to write, and whether the store has it."""
    rows = database.lookup("source.documents", keys=[[options.tenant, options.doc_id]])
    if not rows:
        raise _unknown(options)
    document: Mapping[str, Any] = rows[0]["node"]
    revision = options.revision or document.get("head")
    if revision is None:
        raise InputError(f"No revision of {options.doc_id} is declared, so there is no head to delete it in.",
                         hint=f"Name the revision in which it is gone: --in {options.doc_id}@VERSION.")
    try:
        record = TombstoneRecord(kind="tombstone", doc_id=options.doc_id, tenant=options.tenant, deleted_in_revision=revision)
    except ValidationError as error:
        raise InputError(f"{revision}: {problem(error.errors()[0])}.",
                         hint=f"Write {options.doc_id}@VERSION.") from None
    return record, tombstone(None, revision) in document.get("tombstones", ())


def _run(database: Database, order: PolicyLattice, options: DeletionOptions, receipt: Receipt, record: TombstoneRecord,
         notify: Callable[[str], None]) -> None:
    said = {"tenant": options.tenant, "doc_id": options.doc_id, "deleted_in_revision": record.deleted_in_revision}
    start = runs.RunStart("doc-delete", options.actor, "delete", "1", options.trace_id,
                          (said | ({"reason": options.reason} if options.reason else {}),))
    run = runs.begin(database, start, policies=order, lease_seconds=options.lease_seconds, wait_seconds=options.wait_seconds,
                     notify=notify)
    with sealing(database, run):
        if _record(database, options) != (record, receipt.already):
            raise StoreConflictError(f"Another run changed {options.doc_id} meanwhile; nothing was deleted.",
                                     hint="Look again, then repeat it.")
        _write(database, run, options, receipt, record)
    receipt.run = run.end("finished", {**receipt.counted(), **receipt.outcome.as_json()})


def _write(database: Database, run: runs.Run, options: DeletionOptions, receipt: Receipt, record: TombstoneRecord) -> None:
    rules = Rules(run.policies, options.require_registered_sources)
    view = View(seq=run.seq, dry=options.dry_run)
    item = Item(record, options.tenant, "doc delete", 1, b"", b"")
    receipt.outcome, decided = write_tombstone(database, run, rules, view, item, now())
    for one in sorted(decided, key=lambda one: str(one.after["edge_id"])):
        if one.before is one.after and one.had == one.has:
            continue
        what = fate(run.policies, one.before, one.after)
        receipt.counts[what] += 1
        if len(receipt.edges[what]) < options.listed:
            receipt.edges[what].append(ReceiptLine(one))

