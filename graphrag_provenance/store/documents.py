"""Documents and the difference of two revisions, as a reader sees them (spec 3, after a source changes; spec 5, `doc`).

Owns: what of a document a reader may know. A record is visible if something is said about it (by itself or by what it stands
under), all of that is allowed, and its references are granted; or if it is cited by evidence that the reader sees. Auditors also see
what nothing, or an unknown policy, is said about. What is hidden is not counted and not found, like what does not exist.
Edges: a published one as in every look-up; a withheld one for auditors; a retracted one for whoever may see all that it ever cited,
hence could have seen it while it stood. Leaves to others: what changed (`rules.document_diff`).

Cost: the document's own chunks, and the edges that cite them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.model.identifiers import split_revision
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.answers import Json, instant
from graphrag_provenance.rules.chains import Item
from graphrag_provenance.rules.document_diff import Passage, Side, diff, exact_quote_hash, removed
from graphrag_provenance.rules.publication import State
from graphrag_provenance.rules.quotes import quote_hash
from graphrag_provenance.store.answers import answers_on
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.lookups import MOST_ROWS, edge_json
from graphrag_provenance.store.orders import stored_policies
from graphrag_provenance.store.readers import Visibility, may_see
from graphrag_provenance.store.seeing import confirmed_read as confirmed
from graphrag_provenance.store.seeing import could_be_seen, shown

_STATED = ("version", "supersedes", "source_url", "content_sha256", "complete", "registered", "since")


@dataclass
class _Document:
    """One document as a reader sees it."""

    node: Row
    revisions: dict[str, Row]
    passages: dict[str, list[Row]]
    edges: dict[str, Row] = field(default_factory=dict)
    cited: dict[str, list[Item]] = field(default_factory=dict)
    """Edge id → what the reader may see of its evidence from this document."""


def doc_show(
    database: Database, reader: Reader, doc: str, granted: Collection[str] = frozenset(), limit: int = 100, *,
    access: AccessSource | None = None,
) -> Json:
    """One document (`doc`), or one of its revisions (`doc@ver`): revisions with chunks counted, and the edges that cite it.

    Raises NotFoundError. An id is a document's if there is such a document, else a revision's.
    """
    if not 1 <= limit <= MOST_ROWS:
        raise InputError(f"A page has 1 to {MOST_ROWS:,} rows.", hint=f"Ask with --limit between 1 and {MOST_ROWS}.")
    return confirmed(database, access, reader, granted, lambda view: (_show(database, reader, view, doc, limit), None))


def doc_diff(
    database: Database, reader: Reader, before: str, after: str, granted: Collection[str] = frozenset(), *,
    access: AccessSource | None = None,
) -> Json:
    """What changed between two revisions of one document; auditors and operators are also told which recorded answers rest on
    the edges concerned. Raises InputError for revisions of two documents, NotFoundError."""
    ids = [_split(one)[0] for one in (before, after)]
    if ids[0] != ids[1]:
        raise InputError(f"{before} and {after} are not revisions of one document.", hint="Write doc@version twice, of one document.")
    found = confirmed(database, access, reader, granted, lambda view: (_diff(database, reader, view, ids[0], before, after), None))
    if reader.roles & {Role.AUDITOR, Role.OPERATOR}:
        touched = {edge["edge_id"] for part in ("kept", "gained", "lost") for edge in found[part]}
        found["answers"] = answers_on(database, reader, touched)
    return found


def _split(revision: str) -> tuple[str, str]:
    try:
        return split_revision(revision)
    except ValueError as error:
        raise InputError(f"{error}.", hint="A revision is written doc@version, for example POL-17@1.4.") from None


def _absent(doc: str) -> NotFoundError:
    doc_id, at, _ = doc.rpartition("@")
    hint = f"See: gprov doc show {doc_id}." if at and doc_id else "Check the id; what the reader may not see is not found either."
    return NotFoundError(f"There is no document or revision {doc}.", hint=hint)


def _show(database: Database, reader: Reader, view: Visibility, doc: str, limit: int) -> Json:
    found, only = _read(database, reader, view, doc), None
    if found is None and "@" in doc.strip("@"):
        only = doc
        found = _read(database, reader, view, _split(doc)[0])
    if found is None or (only is not None and only not in found.revisions):
        raise _absent(doc)
    node, head = found.node, found.node.get("head")
    revisions = [_revision_json(found, reader, one) for one in found.revisions.values() if only in (None, one["doc"])]
    edges = [_cited_json(found, reader, edge_id, only) for edge_id in sorted(found.edges)
             if only is None or any(one.content["doc"] == only for one in found.cited[edge_id])]
    return {
        "schema": 1, "doc_id": node["doc_id"], "title": node.get("title"), "source_type": node.get("source_type"),
        "registered": bool(node.get("registered")), "head": head if head in found.revisions else None,
        "attributes": json.loads(node["attributes"]) if node.get("attributes") else {},
        **({"policies": list(node.get("policies") or ())} if reader.is_auditor else {}),
        "revisions": sorted(revisions, key=lambda one: (one["effective_at"] or "", one["doc"])),
        "edges": edges[:limit], "edges_total": len(edges), "truncated": len(edges) > limit,
    }


def _revision_json(found: _Document, reader: Reader, node: Row) -> Json:
    doc = node["doc"]
    declared = [one for one in found.passages[doc] if one.get("registered")]
    versions = sorted({one["chunker_version"] for one in declared})
    newer = sorted(one["doc"] for one in found.revisions.values() if one.get("supersedes") == doc)
    head = found.node.get("head")
    return {
        "doc": doc, **{name: node.get(name) for name in _STATED}, "effective_at": instant(node.get("effective_at")),
        "ingested_at": instant(node.get("ingested_at")),
        "state": "unregistered" if not node.get("registered") else "head" if doc == head else "superseded",
        "superseded_by": newer, "chunks": len(declared), "chunker_versions": versions,
        "cited_only": len(found.passages[doc]) - len(declared), "purged": sum(one.get("purged") is not None for one in declared),
        "edges": sum(any(one.content["doc"] == doc for one in items) for items in found.cited.values()),
        **({"policies": list(node.get("policies") or ()), "acl": list(node.get("acl") or ())} if reader.is_auditor else {}),
    }


def _cited_json(found: _Document, reader: Reader, edge_id: str, only: str | None) -> Json:
    items = [one for one in found.cited[edge_id] if only in (None, one.content["doc"])]
    return {
        **edge_json(found.edges[edge_id], reader), "revisions": sorted({one.content["doc"] for one in items}),
        "evidence": {"active": sum(one.content["until"] is None for one in items), "ever": len(items)},
    }


def _diff(database: Database, reader: Reader, view: Visibility, doc_id: str, before: str, after: str) -> Json:
    found = _read(database, reader, view, doc_id, before, after)
    for doc in (before, after):
        if found is None or doc not in found.revisions:
            raise _absent(doc)
    assert found is not None
    rows = database.read("read.policies")
    sides = [_side(database, view, found, reader, doc) for doc in (before, after)]
    head, line = found.node.get("head"), found.node.get("line") or ()
    gone = removed(found.node.get("tombstones") or (), line, before, after, (one.chunk for one in sides[0].passages))
    changed = diff(sides[0], sides[1], stored_policies(rows[0]) if rows else None, tombstones=gone, auditor=reader.is_auditor,
                   quote_hashes=(exact_quote_hash, quote_hash))
    return {
        "schema": 1, "doc_id": doc_id, "before": before, "after": after, "head": head if head in (before, after) else None,
        "complete": bool(found.revisions[after].get("complete")), **changed,
    }


def _side(database: Database, view: Visibility, found: _Document, reader: Reader, doc: str) -> Side:
    cited = {edge_id: here for edge_id, items in found.cited.items() if (here := [one for one in items if one.content["doc"] == doc])}
    chunks = {one["chunk"] for one in found.passages[doc]}

    @cache
    def texts() -> Mapping[str, str]:
        rows = database.read("read.document_texts", tenant=view.tenant, doc=doc)
        return {one["chunk"]: one["text"] for row in rows for one in row["texts"] if one["chunk"] in chunks}

    passages = [Passage(one["chunk"], one["ordinal"], one["content_sha256"], one["chunker_version"])
                for one in found.passages[doc] if one.get("registered")]
    return Side(doc, passages, {edge_id: edge_json(found.edges[edge_id], reader) for edge_id in cited}, cited, texts)


def _read(database: Database, reader: Reader, view: Visibility, doc_id: str, *docs: str) -> _Document | None:
    """A document with these revisions (all, if none is named), reduced to what the reader may see; None if that is nothing."""
    rows = database.read("read.document", tenant=view.tenant, doc_id=doc_id)
    if not rows:
        return None
    node = rows[0]["document"]
    revisions = {one["doc"]: one for one in rows[0]["revisions"] if one["tenant"] == view.tenant}
    wanted = [doc for doc in revisions if not docs or doc in docs]
    found = _Document(node, revisions, {doc: [] for doc in revisions})
    _take_edges(database, reader, view, found, wanted)
    seen = {(one.content["doc"], one.content["chunk"]) for items in found.cited.values() for one in items}
    for row in database.read("read.document_passages", tenant=view.tenant, docs=wanted):
        above = revisions[row["doc"]]
        found.passages[row["doc"]] = [
            one for one in row["passages"] if one["tenant"] == view.tenant
            and ((row["doc"], one["chunk"]) in seen or _open(view, reader, node, above, one))]
    found.revisions = {doc: one for doc, one in revisions.items() if found.passages[doc] or _open(view, reader, node, one)}
    return found if found.revisions or _open(view, reader, node) else None


def _open(view: Visibility, reader: Reader, *records: Row) -> bool:
    """Whether the last of these records, which stands under the ones before it, may be seen for what is said about it. One that no
    record declares is there because it is cited: whoever does not see that (but for auditors) does not see it."""
    if not (records[-1].get("registered") or reader.is_auditor):
        return False
    said = {name for one in records for name in one.get("policies") or ()}
    if not view.granted.issuperset(key for one in records for key in one.get("acl") or ()):
        return False
    return view.allowed.issuperset(said & view.known if reader.is_auditor else said) and bool(said or reader.is_auditor)


def _take_edges(database: Database, reader: Reader, view: Visibility, found: _Document, docs: Sequence[str]) -> None:
    rows = database.read("read.document_citations", **view.params(), docs=list(docs))
    stood = could_be_seen(database, view, {
        row["assertion"]["edge_id"]: row["assertion"] for row in rows if row["assertion"]["state"] == State.RETRACTED})
    for row in rows:
        edge = row["assertion"]
        if edge["state"] == State.PUBLISHED:
            visible = row["visible"] and may_see(view, edge)
        else:
            visible = reader.is_auditor or edge["edge_id"] in stood
        items = shown(view, row) if visible else []
        if items:
            found.edges[edge["edge_id"]] = edge
            found.cited[edge["edge_id"]] = sorted(items, key=lambda one: (
                one.content["doc"], one.content["chunk"], one.content["span"] or [], one.content["since"]))
