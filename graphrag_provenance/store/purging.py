"""Texts past their time: which they are, and their removal (spec 3, retention).

Owns: reading documents with what they were, and one transaction that forgets texts: of chunks, and of the past versions of chunks. A
chunk keeps everything else, `has_text` too, which says that a text was given: the digest of a record covers the hash of its text,
never the text, so neither digests nor the graph hash move, and no version is kept of a chunk that had a text.

Cost: proportional to the documents looked at and the passages of their replaced revisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

from graphrag_provenance.errors import NotFoundError
from graphrag_provenance.model.identifiers import canonical_text
from graphrag_provenance.rules.heads import Force
from graphrag_provenance.rules.retention import Standing, replaced_since
from graphrag_provenance.store.database import Database, Row, Transaction

T = TypeVar("T")
_DOCUMENTS, _PASSAGES = 100, 1_000


class Expired(NamedTuple):
    """A passage that has been replaced for longer than texts are kept, and still has one."""

    tenant: str
    doc: str
    chunk: str
    since: int
    """The run since which it is replaced."""
    at: datetime
    """When that run ended."""
    tombstoned: bool
    """Whether a tombstone says so; else a newer revision does."""
    in_use: bool
    """Evidence in force cites it: its text stays."""
    has_text: bool
    versions: tuple[int, ...]
    """Past versions that keep a text, by the run that made them."""

    @property
    def key(self) -> str:
        """Key of its past versions."""
        return canonical_text([self.tenant, self.doc, self.chunk])


def expired(database: Database, tenant: str, doc_id: str | None, before: datetime) -> Iterator[list[Expired]]:
    """The passages of a tenant (or of one document) that were replaced before an instant, in batches. Raises NotFoundError."""
    for rows in _documents(database, tenant, doc_id):
        rows = [row for row in rows if row["document"].get("tombstones") or len(row["revisions"]) > 1]
        if rows:
            yield from _of(database, tenant, rows, before)


def _documents(database: Database, tenant: str, doc_id: str | None) -> Iterator[list[Row]]:
    if doc_id is not None:
        rows = database.lookup("purge.document", tenant=tenant, doc_id=doc_id)
        if not rows:
            raise NotFoundError(f"There is no document {doc_id} in tenant {tenant}.", hint="Check the id and the tenant.")
        yield rows
        return
    after = ""
    while rows := database.lookup("purge.documents", tenant=tenant, after=after, limit=_DOCUMENTS):
        after = rows[-1]["document"]["doc_id"]
        yield rows


def _of(database: Database, tenant: str, rows: Sequence[Row], before: datetime) -> Iterator[list[Expired]]:
    standings = _standings(database, tenant, rows)
    owner = {revision["doc"]: (row["document"]["doc_id"], revision) for row in rows for revision in row["revisions"]}
    found: list[Expired] = []
    for docs in _batched(list(owner), _DOCUMENTS):
        for row in database.lookup("purge.passages", tenant=tenant, docs=docs):
            doc, chunk = row["doc"], row["chunk"]
            doc_id, revision = owner[doc]
            past = standings[doc_id]
            declared = bool(revision["registered"])
            since = replaced_since(past, doc, chunk, declared=declared, arrived=max(row["arrived"], revision["since"] if declared else 0))
            if since is not None:
                found.append(Expired(tenant, doc, chunk, since, before, past[-1].force.removed(doc, chunk), row["in_use"],
                                     row["has_text"], ()))
    ended = {row["seq"]: row["at"] for row in database.lookup("purge.ends", seqs=sorted({one.since for one in found}))}
    due = [one._replace(at=ended[one.since]) for one in found if ended[one.since] < before]
    for some in _batched(due, _PASSAGES):
        versions: dict[str, list[int]] = {}
        for row in database.lookup("purge.texts", keys=[one.key for one in some]):
            versions.setdefault(row["key"], []).append(row["from_run"])
        told = [one._replace(versions=tuple(sorted(versions.get(one.key, ())))) for one in some]
        if told := [one for one in told if one.has_text or one.versions]:
            yield told


def _batched(values: Sequence[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(values), size):
        yield list(values[start:start + size])


def _standings(database: Database, tenant: str, rows: Iterable[Row]) -> dict[str, list[Standing]]:
    """By document id what each document was, and is."""
    documents = {canonical_text([tenant, row["document"]["doc_id"]]): row["document"] for row in rows}
    found: dict[str, list[Standing]] = {node["doc_id"]: [] for node in documents.values()}
    for row in database.lookup("purge.standings", keys=list(documents)):
        found[documents[row["key"]]["doc_id"]].append(Standing(row["past"]["from_run"], Force(row["past"])))
    for node in documents.values():
        found[node["doc_id"]].append(Standing(node.get("changed") or node["since"], Force(node)))
    return found


def forget(tx: Transaction, seq: int, passages: Iterable[Expired]) -> None:
    """Remove the texts of passages, whenever they were given."""
    keys = [[one.tenant, one.doc, one.chunk] for one in passages if one.has_text]
    rows = [{"key": one.key, "from_run": run} for one in passages for run in one.versions]
    if keys:
        tx.run("purge.forget", keys=keys, seq=seq)
    if rows:
        tx.run("purge.forget_versions", rows=rows, seq=seq)
