"""What is recorded of answers and retrievals, and what has become of it (spec 4, claims and answers).

Owns: what an answer keeps of each edge it rests on, the digest over it, whether steps follow each other, and the kinds of change
that concern a claim. Pure.

Answers and retrievals are no graph content: they are not part of the graph hash, and two stores with equal graphs are equal
whatever was asked of them. Each record has a digest of its own; the run that wrote it accounts for the digests of all its records
in its counts, and is itself part of the chain of runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from graphrag_provenance.model.identifiers import canonical_json
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.model.records import Polarity
from graphrag_provenance.rules.digests import multiset, record_digest
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.publication import State

Json = dict[str, Any]
ANSWER, RETRIEVAL = "answer", "retrieval"
KINDS = {ANSWER: "RecordedAnswer", RETRIEVAL: "RecordedRetrieval"}
"""Kinds of runs that record, with the label of what they record."""
_CONTENT = {
    ANSWER: ("tenant", "answer_id", "trace_id", "principal", "at", "generation", "graph_hash", "report", "content", "since"),
    RETRIEVAL: ("tenant", "retrieval_id", "trace_id", "principal", "at", "generation", "place", "content", "since"),
}
_CITED = ("doc", "chunk", "span", "quote_hash", "polarity", "since")


class Impact(StrEnum):
    """What has become of an edge that a claim rests on."""

    LOST_SUPPORT = "lost-support"
    """The edge is retracted or gone: no active evidence supports it."""
    WITHHELD = "withheld"
    """Nobody may use the edge: a policy about its evidence is unknown."""
    RESTRICTED = "restricted"
    """Who could just see the edge then cannot see it now: a stricter policy, or another live reference."""
    STALE = "stale"
    """All that supports it cites replaced revisions now."""
    DISPUTED = "disputed"
    """Evidence speaks against it now."""
    EVIDENCE_RETIRED = "evidence-retired"
    """The edge stands, but none of the passages that the answer cites for it is active evidence of it any more."""


def report_digest(report: object) -> str:
    """`sha256:` of a report, to know it again."""
    return "sha256:" + hashlib.sha256(canonical_json(report)).hexdigest()


def content_digest(kind: str, node: Mapping[str, Any]) -> bytes:
    """32 bytes over everything that one record says."""
    return record_digest(f"recorded-{kind}", [
        format_instant(node[name]) if name == "at" else node.get(name) for name in _CONTENT[kind]])


def recorded_hash(digests: Iterable[bytes]) -> str:
    """What a run says of all that it recorded, whatever the order."""
    return multiset(digests).graph_hash()


def digest_text(digest: bytes | None) -> str | None:
    """A record's digest as text."""
    return None if digest is None else "sha256:" + bytes(digest).hex()


def step_then(edge: Mapping[str, Any], cited: Sequence[Mapping[str, Any]]) -> Json:
    """What an answer keeps of an edge, so that it can be told later what it was then."""
    return {
        "edge_id": edge["edge_id"], "relation": edge["relation"],
        "source": {"type": edge["source_type"], "id": edge["source_id"]},
        "target": {"type": edge["target_type"], "id": edge["target_id"]},
        "policies": list(edge["policies"]), "acl": list(edge["acl"]), "confidence": edge.get("confidence"),
        "current": bool(edge["current"]), "disputed": bool(edge["disputed"]), "digest": digest_text(edge["digest"]),
        "evidence": list({canonical_json(one): one for one in sorted((_cited(item) for item in cited), key=canonical_json)}.values()),
    }


def _cited(item: Mapping[str, Any]) -> Json:
    head = item["head"]
    return {**cited_key(item), "head_revision": head, "is_stale": head is not None and head != item["doc"]}


def cited_key(item: Mapping[str, Any]) -> Json:
    """What names one citation of an edge: the place, the quote and the run that added it."""
    key = {name: item.get(name) for name in _CITED}
    return key | {"span": None if key["span"] is None else list(key["span"])}


def same_passage(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two items cite the same words of the same passage to the same end, whenever they were active."""
    return {**cited_key(one), "since": None} == {**cited_key(other), "since": None}


def follows(steps: Sequence[Mapping[str, Any]]) -> int | None:
    """The number (from 0) of the first step that does not start where the one before ends, in either direction; None: all do."""
    fronts: set[tuple[str, str]] = set()
    for number, step in enumerate(steps):
        source, target = ((step[f"{side}_type"], step[f"{side}_id"]) for side in ("source", "target"))
        ends = {source, target} if number == 0 else {
            *((target,) if source in fronts else ()), *((source,) if target in fronts else ())}
        if not ends:
            return number
        fronts = ends
    return None


def impacts(order: PolicyLattice, then: Mapping[str, Any], now: Mapping[str, Any] | None, active: Collection[Mapping[str, Any]]) -> \
        list[Impact]:
    """What has become of an edge since it was recorded (`then`: a step; `now`: its assertion; `active`: its citations now)."""
    state = None if now is None else now["state"]
    if now is None or state == State.RETRACTED:
        return [Impact.LOST_SUPPORT]
    if state != State.PUBLISHED:
        return [Impact.WITHHELD]
    found = []
    if _stricter(order, then, now):
        found.append(Impact.RESTRICTED)
    if then["current"] and not now["current"]:
        found.append(Impact.STALE)
    if now["disputed"] and not then["disputed"]:
        found.append(Impact.DISPUTED)
    if not any(same_passage(one, other) for one in then["evidence"] for other in active if other["polarity"] == Polarity.SUPPORTS):
        found.append(Impact.EVIDENCE_RETIRED)
    return found


def _stricter(order: PolicyLattice, then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    covered = order.covers(name for name in then["policies"] if order.knows(name))
    return not covered.issuperset(now["policies"]) or not set(then["acl"]).issuperset(now["acl"])
