"""What changed from one revision of a document to another (spec 3, after a source changes).

Owns: which edges are kept, gained, lost, under another policy; which quotes are found again; which chunks changed, moved or are
missing, and when that is another chunker instead. Pure: it is given what the reader may see, and everything else is not there.

An edge counts for a revision if any of its evidence ever cited it: loading the newer revision may have retired that of the older.
A quote is found again if evidence in the newer revision has its hash, or its text stands there in a chunk whose text is stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.rules.chains import Item
from graphrag_provenance.rules.policies import PolicyLattice

Json = dict[str, Any]
Texts = Callable[[], Mapping[str, str]]
QuoteHash = Callable[[str], str]


def exact_quote_hash(quote: str) -> str:
    """The hash of a quote as it stands."""
    return "sha256:" + hashlib.sha256(quote.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Passage:
    """A declared chunk of a revision."""

    chunk: str
    ordinal: int
    content_sha256: str
    chunker_version: str


@dataclass(frozen=True, slots=True)
class Side:
    """One revision as the reader sees it."""

    doc: str
    passages: Sequence[Passage]
    edges: Mapping[str, Json]
    """Edge id → the edge as look-ups print it."""
    cited: Mapping[str, Sequence[Item]]
    """Edge id → what it cites, or cited, in this revision."""
    texts: Texts
    """Chunk → its text, where stored; asked for only when a quote is looked for."""


def diff(before: Side, after: Side, order: PolicyLattice | None, *, tombstones: Iterable[str] = (),
         quote_hashes: Sequence[QuoteHash] = (exact_quote_hash,), auditor: bool = False) -> Json:
    """The difference as JSON. `tombstones`: chunks of `before` that were deliberately removed. Policy names are for auditors."""
    found = _found_again(before, after, quote_hashes)
    kept, lost, gained, policy = [], [], [], []
    for edge_id in sorted(before.edges.keys() | after.edges.keys()):
        was, now = before.cited.get(edge_id, ()), after.cited.get(edge_id, ())
        edge = _edge(before.edges.get(edge_id) or after.edges[edge_id], was, now)
        if not was:
            gained.append(edge)
        elif not now:
            lost.append(edge | {"quote_found": any(one["edge_id"] == edge_id for one in found)})
        else:
            kept.append(edge)
            needed = [_needed(order, items) for items in (was, now)]
            if needed[0] != needed[1]:
                named = {"before": needed[0], "after": needed[1]} if auditor else {}
                policy.append({"edge_id": edge_id, **named})
    return {"kept": kept, "gained": gained, "lost": lost, "policy_changed": policy, "re_anchored": found,
            "chunks": chunk_changes(before.passages, after.passages, tombstones)}


def _edge(edge: Json, was: Sequence[Item], now: Sequence[Item]) -> Json:
    return {
        **{name: edge[name] for name in ("edge_id", "relation", "source", "target", "state")},
        "evidence": {"before": len(was), "after": len(now), "active": sum(one.content["until"] is None for one in (*was, *now))},
    }


def _needed(order: PolicyLattice | None, items: Sequence[Item]) -> Json:
    """What a reader needs for these citations alone."""
    said = {name for one in items for name in one.statements}
    known = {name for name in said if order is not None and order.knows(name)}
    joined = () if order is None else order.join(known)
    return {"policies": sorted({*joined, *(said - known)}), "acl": sorted({key for one in items for key in one.references})}


def _found_again(before: Side, after: Side, quote_hashes: Sequence[QuoteHash]) -> list[Json]:
    cited: dict[str, list[tuple[str, Item]]] = {}
    for edge_id, items in after.cited.items():
        for one in items:
            if one.content["quote_hash"] is not None:
                cited.setdefault(one.content["quote_hash"], []).append((edge_id, one))
    found = []
    for edge_id, items in sorted(before.cited.items()):
        for one in items:
            quote_hash = one.content["quote_hash"]
            if quote_hash is None:
                continue
            places = [item for other, item in cited.get(quote_hash, ()) if other == edge_id] or [
                item for _, item in cited.get(quote_hash, ())]
            to = _by_evidence(places) if places else _by_text(one, before, after, quote_hashes)
            if to is not None:
                here = {"chunk": one.content["chunk"], "span": _span(one)}
                found.append({"edge_id": edge_id, "quote_hash": quote_hash, "from": here, "to": to["to"], "by": to["by"],
                              "moved": here != to["to"]})
    return found


def _by_evidence(places: Sequence[Item]) -> Json:
    first = min(places, key=lambda one: (one.content["chunk"], _span(one) or []))
    return {"to": {"chunk": first.content["chunk"], "span": _span(first)}, "by": "evidence"}


def _by_text(one: Item, before: Side, after: Side, quote_hashes: Sequence[QuoteHash]) -> Json | None:
    """Where the quote stands in the newer texts: its own text, if the older chunk's is stored, or else what stands at its span."""
    span = _span(one)
    if span is None:
        return None
    start, end = span
    quote = before.texts().get(one.content["chunk"], "")[start:end]
    texts = after.texts()
    own = one.content["chunk"]
    order = sorted(texts, key=lambda chunk: (chunk != own, chunk))
    if quote and any(hashed(quote) == one.content["quote_hash"] for hashed in quote_hashes):
        for chunk in order:
            at = texts[chunk].find(quote)
            if at >= 0:
                return {"to": {"chunk": chunk, "span": [at, at + len(quote)]}, "by": "text"}
        return None
    for chunk in order:
        piece = texts[chunk][start:end]
        if piece and any(hashed(piece) == one.content["quote_hash"] for hashed in quote_hashes):
            return {"to": {"chunk": chunk, "span": [start, end]}, "by": "text"}
    return None


def _span(one: Item) -> list[int] | None:
    span = one.content["span"]
    return None if span is None else list(span)


def removed(tombstones: Iterable[str], line: Sequence[str], before: str, after: str, chunks: Iterable[str]) -> set[str]:
    """The chunks of `before` that tombstones say were deliberately removed by the time of `after`.

    A tombstone is the JSON text `[chunk or null, revision]`, null for the whole document; `line`: the revisions from the head back.
    """
    named = set(chunks)
    gone: set[str] = set()
    for chunk, revision in map(json.loads, tombstones):
        between = {before, after, revision} <= set(line) and line.index(after) <= line.index(revision) < line.index(before)
        if revision == after or between:
            gone |= named if chunk is None else named & {chunk}
    return gone


def chunk_changes(before: Sequence[Passage], after: Sequence[Passage], tombstones: Iterable[str] = ()) -> Json:
    """What became of the chunks. When the chunker changed and no id is left, that is told, and not a deletion of every chunk."""
    old, new = ({one.chunk: one for one in side} for side in (before, after))
    versions = [sorted({one.chunker_version for one in side}) for side in (before, after)]
    rechunked = bool(old) and bool(new) and not old.keys() & new.keys() and versions[0] != versions[1]
    both = [chunk for chunk in old if chunk in new]
    moved = _moved([one for one in before if one.chunk not in new], [one for one in after if one.chunk not in old])
    gone = sorted(old.keys() - new.keys() - {one["from"] for one in moved})
    deleted = [chunk for chunk in gone if chunk in set(tombstones)]
    return {
        "before": len(old), "after": len(new),
        "chunker_changed": {"before": versions[0], "after": versions[1]} if rechunked else None,
        "same": sum(old[chunk].content_sha256 == new[chunk].content_sha256 for chunk in both),
        "changed": sorted(chunk for chunk in both if old[chunk].content_sha256 != new[chunk].content_sha256),
        "moved": moved,
        "added": [] if rechunked else sorted(new.keys() - old.keys() - {one["to"] for one in moved}),
        "deleted": deleted,
        "missing": [] if rechunked else [chunk for chunk in gone if chunk not in deleted],
    }


def _moved(before: Sequence[Passage], after: Sequence[Passage]) -> list[Json]:
    """Chunks whose text stands under another id, first to first."""
    there: dict[str, list[str]] = {}
    for one in sorted(after, key=lambda p: (p.ordinal, p.chunk), reverse=True):
        there.setdefault(one.content_sha256, []).append(one.chunk)
    return [{"from": one.chunk, "to": there[one.content_sha256].pop()}
            for one in sorted(before, key=lambda p: (p.ordinal, p.chunk)) if there.get(one.content_sha256)]
