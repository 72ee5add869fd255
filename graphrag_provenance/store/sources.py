"""Loading documents, revisions and chunks (spec 1, graph; spec 3, revisions).

Owns: one transaction over a batch of source records: merge by `rules.statements`, heads by `rules.heads`, and, in the same
transaction, the re-evaluation of every edge whose evidence they speak about. So a policy that becomes stricter closes its edges
with the commit that states it, never later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from graphrag_provenance.model.identifiers import split_revision
from graphrag_provenance.model.records import ChunkRecord, DocumentRecord, RevisionRecord, TombstoneRecord
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.fingerprints import noted
from graphrag_provenance.rules.heads import Candidate, document_succession, succession
from graphrag_provenance.rules.rejects import Refused
from graphrag_provenance.rules.statements import counts, merge_chunk, merge_document, merge_revision, merge_tombstone, node_digest
from graphrag_provenance.store.assertions import Decided, Rules, reevaluate
from graphrag_provenance.store.counting import Outcome, Reject
from graphrag_provenance.store.database import Transaction
from graphrag_provenance.store.history import keep_changed
from graphrag_provenance.store.view import Key, Kind, Pending, View, changes

SourceRecord = DocumentRecord | RevisionRecord | ChunkRecord | TombstoneRecord
_SOURCES: tuple[Kind, ...] = ("document", "revision", "chunk")


@dataclass(frozen=True, slots=True)
class Item:
    """A validated record with its tenant and place."""

    record: SourceRecord
    tenant: str
    file: str
    line: int
    raw: bytes
    fingerprint: bytes


@dataclass(slots=True)
class Applied:
    """The outcome of a transaction, to be taken over once it is committed."""

    outcome: Outcome
    change: MultisetHash
    pending: Pending
    decided: list[Decided]
    """The edges that were decided anew."""


def apply_sources(tx: Transaction, seq: int, rules: Rules, view: View, items: Sequence[Item], now: datetime) -> Applied:
    """Merge a batch of source records into the store. Bad records become rejects of the outcome."""
    pending, outcome, change = Pending(view), Outcome(), MultisetHash()
    _load(tx, pending, items)
    touched: dict[Kind, set[Key]] = {kind: set() for kind in _SOURCES}
    for item in items:
        try:
            kind, key = _merge(pending, seq, item, now)
            touched[kind].add(key)
            if not isinstance(item.record, TombstoneRecord):  # accumulates, and restates nothing
                pending.restate(kind, key)
        except Refused as refused:
            outcome.rejects.append(Reject(item.file, item.line, refused.code, refused.message, item.raw))
    moved = _heads(tx, pending, touched["revision"], view)
    _digests(pending, change)
    for kind in _SOURCES:
        new = {key for key in touched[kind] if pending.new[kind][key]["registered"] and not _was_registered(pending, kind, key)}
        altered = {key for key, _, _ in pending.changed(kind)} & touched[kind] - new
        outcome.sources.update(created=len(new), updated=len(altered), unchanged=len(touched[kind] - new - altered))
    edges = _affected(tx, pending, moved)
    if not pending.dry:
        _write(tx, seq, pending)
    decided = reevaluate(tx, seq, rules, pending, edges, outcome, change) if edges else []
    return Applied(outcome, change, pending, decided)


def _was_registered(pending: Pending, kind: Kind, key: Key) -> bool:
    return bool(pending.old[kind].get(key, {}).get("registered"))


def _load(tx: Transaction, pending: Pending, items: Sequence[Item]) -> None:
    keys: dict[Kind, list[Key]] = {kind: [] for kind in _SOURCES}
    for item in items:
        if isinstance(item.record, DocumentRecord | TombstoneRecord):
            keys["document"].append((item.tenant, item.record.doc_id))
            continue
        keys["document"].append((item.tenant, split_revision(item.record.doc)[0]))
        keys["revision"].append((item.tenant, item.record.doc))
        if isinstance(item.record, ChunkRecord):
            keys["chunk"].append((item.tenant, item.record.doc, item.record.chunk))
    for kind in _SOURCES:
        pending.load(tx, kind, keys[kind])


def _merge(pending: Pending, seq: int, item: Item, now: datetime) -> tuple[Kind, Key]:
    record, tenant = item.record, item.tenant
    key: Key
    if isinstance(record, DocumentRecord):
        key = (tenant, record.doc_id)
        old = pending.get("document", key)
        pending.set("document", key, noted(old, merge_document(old, tenant, record, seq), item.fingerprint))
        return "document", key
    if isinstance(record, TombstoneRecord):
        key = (tenant, record.doc_id)
        pending.set("document", key, merge_tombstone(pending.get("document", key), tenant, record, seq))
        return "document", key
    doc_id, version = split_revision(record.doc)
    if isinstance(record, RevisionRecord):
        key = (tenant, record.doc)
        old = pending.get("revision", key)
        node = noted(old, merge_revision(old, tenant, record, seq, now), item.fingerprint)
        if pending.view.completes and not (old and old["registered"]):
            node["arrival"] = min(pending.view.completes)  # it arrived with the load that this run completes
        pending.set("revision", key, node)
        _imply_document(pending, tenant, doc_id, seq)
        return "revision", key
    key = (tenant, record.doc, record.chunk)
    old = pending.get("chunk", key)
    pending.set("chunk", key, noted(old, merge_chunk(old, tenant, record, seq), item.fingerprint))
    if pending.get("revision", (tenant, record.doc)) is None:
        pending.set("revision", (tenant, record.doc), {
            "tenant": tenant, "doc": record.doc, "doc_id": doc_id, "version": version, "registered": False,
            "policies": [], "acl": [], "complete": False, "since": seq})
    _imply_document(pending, tenant, doc_id, seq)
    return "chunk", key


def _imply_document(pending: Pending, tenant: str, doc_id: str, seq: int) -> None:
    if pending.get("document", (tenant, doc_id)) is None:
        pending.set("document", (tenant, doc_id), {
            "tenant": tenant, "doc_id": doc_id, "registered": False, "policies": [], "since": seq})


def _heads(tx: Transaction, pending: Pending, revisions: set[Key], view: View) -> set[Key]:
    """Set the succession of every document with a touched revision. Returns the known documents whose succession changed."""
    documents = {(tenant, split_revision(doc)[0]) for tenant, doc in revisions}
    if not documents:
        return set()
    known: dict[Key, dict[str, Candidate]] = {key: pending.candidates(key) for key in documents}
    existing = [list(key) for key in documents if key in pending.old["document"]]
    if existing:
        for row in tx.run("source.head_candidates", keys=existing):
            candidate = Candidate(row["doc"], row["effective_at"], row["supersedes"], row["arrival"], row["complete"])
            known[tuple(row["key"])][candidate.doc] = candidate
    for tenant, doc in revisions:
        node = pending.get("revision", (tenant, doc))
        if node is not None and node["registered"]:
            arrival = node["arrival" if "arrival" in node else "since"]
            known[(tenant, node["doc_id"])][doc] = Candidate(
                doc, node["effective_at"], node.get("supersedes"), arrival, node["complete"])
    moved: set[Key] = set()
    for key, candidates in known.items():
        view.remember_candidates(key, candidates)
        document = pending.get("document", key)
        derived = document_succession(succession(candidates.values()))
        if document is not None and any(document.get(name) != value for name, value in derived.items()):
            if key in pending.old["document"]:
                moved.add(key)
            kept = {name: value for name, value in document.items() if name not in derived}
            pending.set("document", key, kept | {name: value for name, value in derived.items() if value is not None})
    return moved


def _digests(pending: Pending, change: MultisetHash) -> None:
    for kind in _SOURCES:
        for key, node in list(pending.new[kind].items()):
            old = pending.old[kind].get(key, {}).get("digest")
            if not counts(node):
                continue
            digest = node_digest(kind, node)
            if digest == old:
                continue
            if old is not None:
                change.remove(old)
            change.add(digest)
            pending.set(kind, key, {**node, "digest": digest})


def _affected(tx: Transaction, pending: Pending, moved: set[Key]) -> list[Key]:
    """The edges that must be evaluated anew: what is said about their evidence, or its currency, changed."""
    said = ("policies", "acl", "registered", "tombstones")
    edges: dict[Key, None] = {}
    for kind, name in (("document", "edge.citing_documents"), ("revision", "edge.citing_revisions"), ("chunk", "edge.citing_chunks")):
        keys = [key for key, old, new in pending.changed(kind) if any(old.get(p) != new.get(p) for p in said)]  # type: ignore[arg-type]
        if kind == "document":
            keys = list({*keys, *moved})
        if keys:
            rows = tx.run(name, keys=[list(key) for key in keys])
            edges |= {(row["tenant"], row["edge_id"]): None for row in rows}
    return list(edges)


def _write(tx: Transaction, seq: int, pending: Pending) -> None:
    for kind in _SOURCES:
        changed = keep_changed(tx, seq, kind, pending)
        created = pending.created(kind)
        if created:
            tx.run(f"source.create_{kind}s", rows=[{"props": node} for node in created])
        if changed:
            tx.run(f"source.update_{kind}s", rows=[{"key": list(key), "changes": changes(old, new)} for key, old, new in changed])
