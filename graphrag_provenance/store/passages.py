"""What the records say about the passages that evidence cites: policies, access references, currency, force.

Owns: putting together what the chunk, its revision and its document say, once a passage and transaction. Leaves to
`rules.heads` what is in force, and to `rules.publication` what follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from graphrag_provenance.model.identifiers import split_revision
from graphrag_provenance.rules.edges import Citation
from graphrag_provenance.rules.heads import Force, is_current
from graphrag_provenance.rules.publication import Testimony
from graphrag_provenance.store.view import Kind, Pending

NEEDED: Mapping[Kind, frozenset[str]] = {
    "document": frozenset({"registered", "policies", "head", "line", "whole", "tombstones"}),
    "revision": frozenset({"registered", "policies", "acl"}),
    "chunk": frozenset({"registered", "policies", "acl"}),
}
"""What of a source is asked when edges that cite it are decided."""


class Said(NamedTuple):
    """What is said about a passage."""

    policies: tuple[str, ...]
    acl: tuple[str, ...]
    current: bool
    registered: bool
    in_force: bool
    """Whether evidence that cites it counts."""


class Passages:
    """Policy statements and access references about passages, whether each is current, whether it is declared. Asks once."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending
        self._documents: dict[tuple[str, str], Force] = {}
        self._revisions: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...], bool, Force, bool]] = {}
        self._passages: dict[tuple[str, str, str], Said] = {}

    def of(self, tenant: str, doc: str, chunk_id: str) -> Said:
        """What is said about one passage."""
        place = (tenant, doc, chunk_id)
        said = self._passages.get(place)
        if said is None:
            policies, acl, current, force, declared = self._revisions.get((tenant, doc)) or self._revision(tenant, doc)
            chunk = self._pending.get("chunk", place) or {}
            said = self._passages[place] = Said(
                (*chunk.get("policies", ()), *policies), (*chunk.get("acl", ()), *acl), current, bool(chunk.get("registered")),
                force.holds(doc, chunk_id, declared=declared))
        return said

    def _revision(self, tenant: str, doc: str) -> tuple[tuple[str, ...], tuple[str, ...], bool, Force, bool]:
        key = (tenant, split_revision(doc)[0])
        document = self._pending.get("document", key) or {}
        revision = self._pending.get("revision", (tenant, doc)) or {}
        force = self._documents.get(key)
        if force is None:
            force = self._documents[key] = Force(document)
        said = ((*revision.get("policies", ()), *document.get("policies", ())), tuple(revision.get("acl", ())),
                is_current(doc, document.get("head")), force, bool(revision.get("registered")))
        self._revisions[(tenant, doc)] = said
        return said


def heard(tenant: str, item: Citation, pending: Pending) -> tuple[Testimony, bool]:
    """What is said about one citation, from what `pending` knows, and whether the citation is in force."""
    said = Passages(pending).of(tenant, item.doc, item.chunk)
    return testimony(item, said), said.in_force


def testimony(item: Citation, said: Said) -> Testimony:
    """What is said about one citation by itself, its chunk, its revision and its document."""
    statements, acl, current, registered, _ = said
    return Testimony(item.polarity, statements if item.policy is None else (item.policy, *statements),
                     acl if item.acl is None else (item.acl, *acl), item.confidence, current, registered)
