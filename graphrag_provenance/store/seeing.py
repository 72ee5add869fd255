"""The second check of what a look-up returns (spec 2, reading: the filter runs again on the assembled result).

Owns: whether an item of the evidence of a stored edge or the text of a passage may be shown to a reader, whether one may know of an edge
that no longer stands and of the one that took it in, and that a look-up is made under one order of policies and confirmed by the live
access source. The stored queries filter first; neither trusts the other. Leaves to `store.readers` whether an edge is visible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from graphrag_provenance.access.asking import confirmed
from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.chains import Item
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import Visibility, under_one_order
from graphrag_provenance.store.traces import item

T = TypeVar("T")


def may_read(view: Visibility, passage: Mapping[str, Any]) -> bool:
    """Whether a passage is readable by itself: something is said about it, all of it allowed, every reference granted."""
    said, references = passage["statements"], passage["references"]
    return bool(said) and set(passage["tenants"]) == {view.tenant} and view.allowed.issuperset(said) \
        and view.granted.issuperset(references)


def shown(view: Visibility, row: Row) -> list[Item]:
    """The evidence a reader may see. A retired item may be stricter than the edge is today. Of an unpublished edge (shown to
    auditors only) an item stays hidden when a *known* policy or reference about it is not the reader's: an unknown one is why
    the edge is withheld, and that is what an auditor is there to see."""
    declared = row["assertion"].get("declared") or ()
    published = row["assertion"]["state"] == "published"
    visible = []
    for one in map(item, row["evidence"]):
        said = set(one.statements) | (set() if one.statements else set(declared))
        needed = said if published else said & view.known
        if one.tenants == {view.tenant} and view.granted.issuperset(one.references) and (needed or not published) \
                and view.allowed.issuperset(needed):
            visible.append(one)
    return visible


def references_of(edge: Mapping[str, Any], items: Iterable[Item]) -> set[str]:
    """The live references that an edge and these of its citations stand under."""
    return {*(edge.get("acl") or ()), *(key for one in items for key in one.references)}


def confirmed_read(
    database: Database, access: AccessSource | None, reader: Reader, granted: Collection[str],
    read: Callable[[Visibility], tuple[T, Collection[str] | None]],
) -> T:
    """What `read` makes of a view of the store: read under one order of policies, confirmed by the access source."""
    return confirmed(access, reader, granted, lambda keys: under_one_order(database, reader, keys, read))


def could_be_seen(database: Database, view: Visibility, edges: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Of some retracted edges (id → assertion), those of which the reader may see all that they ever cited, hence could have seen them."""
    if not edges:
        return set()
    rows = database.read("read.edge_statements", tenant=view.tenant, edge_ids=list(edges))
    return {row["edge_id"] for row in rows if row["evidence"] and all(
        _cleared(view, item(one), edges[row["edge_id"]].get("declared") or ()) for one in row["evidence"])}


def _cleared(view: Visibility, one: Item, declared: Iterable[Any]) -> bool:
    said = {*one.statements, *declared}
    return (one.tenants == {view.tenant} and bool(said) and view.allowed.issuperset(said)
            and view.granted.issuperset(one.references))


def stands_for(database: Database, view: Visibility, edge_ids: Collection[str]) -> dict[str, str]:
    """Edge id → id of the edge that took it in, or took in the one that did, for those of which the reader may see all that they
    ever cited. Whether the one that stands is visible is not asked. What this says rests on everything that is granted."""
    into: dict[str, str] = {}
    asked = set(edge_ids)
    while asked:
        rows = database.read("read.edge_merged", tenant=view.tenant, edge_ids=sorted(asked))
        edges = {row["assertion"]["edge_id"]: row["assertion"] for row in rows}
        into |= {edge_id: edges[edge_id]["merged_into"] for edge_id in could_be_seen(database, view, edges)}
        asked = {into[edge_id] for edge_id in asked & set(into)} - set(into)
    return {edge_id: last for edge_id in edge_ids if edge_id in into and (last := end_of(into, edge_id)) is not None}


def end_of(into: Mapping[str, str], edge_id: str) -> str | None:
    """Where a chain of merges ends; None in a circle."""
    for _ in range(len(into) + 1):
        if edge_id not in into:
            return edge_id
        edge_id = into[edge_id]
    return None
