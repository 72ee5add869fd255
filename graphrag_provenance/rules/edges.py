"""What an edge is: its identity, its citations and its derived state (spec 1, graph; spec 2, writing).

Owns: the identity of an edge and of an evidence item, the union of what several records say about one edge, and the stored
form of an assertion and of its typed relationship. Pure; `rules.publication` decides, this module assembles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from graphrag_provenance.model.identifiers import canonical_text, citation, derive_id, normalise_entity_id, relationship_type
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.model.records import EdgeRecord, Polarity
from graphrag_provenance.rules.digests import record_digest
from graphrag_provenance.rules.publication import State, Verdict
from graphrag_provenance.rules.statements import merge_attributes, union

Node = dict[str, Any]
SUPPORTS = Polarity.SUPPORTS.value


class Citation(NamedTuple):
    """One evidence item; its identity is its whole content."""

    doc: str
    chunk: str
    quote_hash: str | None
    span: tuple[int, int] | None
    polarity: str
    policy: str | None
    acl: str | None
    confidence: float | None
    pipeline: str | None
    version: str | None

    def properties(self) -> dict[str, Any]:
        """Properties of the EVIDENCED_BY relationship; what is not stated is absent."""
        named = {"quote_hash": self.quote_hash, "span": None if self.span is None else list(self.span), "polarity": self.polarity,
                 "policy": self.policy, "acl": self.acl, "confidence": self.confidence, "pipeline": self.pipeline,
                 "version": self.version}
        return {name: value for name, value in named.items() if value is not None}


def stored_citation(properties: Mapping[str, Any]) -> Citation:
    """The citation that an EVIDENCED_BY relationship (with `doc` and `chunk` of its chunk) stands for."""
    span = properties.get("span")
    return Citation(
        properties["doc"], properties["chunk"], properties.get("quote_hash"), None if span is None else (span[0], span[1]),
        properties.get("polarity", ""), properties.get("policy"), properties.get("acl"), properties.get("confidence"),
        properties.get("pipeline"), properties.get("version"))


class Identity(NamedTuple):
    """What an edge id names: relation, ends and scope inside a tenant."""

    relation: str
    source_type: str
    source_id: str
    target_type: str
    target_id: str
    environment: str | None
    region: str | None
    valid_from: datetime | None
    valid_to: datetime | None

    def same_as(self, node: Mapping[str, Any]) -> bool:
        """Whether a stored assertion names the same thing (relation names that give one relationship type are the same)."""
        return self.relation.upper() == node["relation"].upper() and self[1:] == tuple(node.get(name) for name in self._fields[1:])


@dataclass(frozen=True, slots=True)
class Edge:
    """A validated edge record, ready for the store."""

    tenant: str
    edge_id: str
    identity: Identity
    citations: tuple[Citation, ...]
    declared: str | None
    attributes: Mapping[str, Any]
    originals: tuple[tuple[str, str, str], ...]
    """(type, id, id as written) of ends whose id was normalised."""
    file: str
    line: int
    raw: bytes
    fingerprint: bytes


def edge_from_record(record: EdgeRecord, tenant: str, file: str, line: int, raw: bytes, fingerprint: bytes) -> Edge:
    """The edge that a record states. The tenant is the caller's decision (`ingest.validate`)."""
    source, target = record.source, record.target
    source_id, target_id = normalise_entity_id(source.id), normalise_entity_id(target.id)
    scope = record.scope
    identity = Identity(record.relation, source.type, source_id, target.type, target_id, scope.environment, scope.region,
                        scope.valid_from, scope.valid_to)
    by = record.extracted_by
    citations = []
    for item in record.evidence:
        who = item.extracted_by or by
        confidence = record.confidence if item.confidence is None else item.confidence
        citations.append(Citation(
            item.doc, item.chunk, item.quote_hash, item.span, item.polarity.value, item.policy,
            None if item.acl_ref is None else item.acl_ref.key(), None if confidence is None else float(confidence),
            None if who is None else who.pipeline, None if who is None else who.version))
    originals = tuple(
        (end.type, canonical, end.id) for end, canonical in ((source, source_id), (target, target_id)) if end.id != canonical)
    edge_id = record.edge_id or derived_edge_id(tenant, identity)
    return Edge(tenant, edge_id, identity, tuple(citations), record.access.policy, record.attributes, originals, file, line, raw,
                fingerprint)


def derived_edge_id(tenant: str, identity: Identity) -> str:
    """The id of an edge that states none: a function of tenant, relation, ends and scope."""
    return derive_id("edge", [tenant, relationship_type(identity.relation), *identity[1:7],
                              *(None if t is None else format_instant(t) for t in identity[7:])])


def named_anew(old: Node, edge: Edge) -> Node:
    """An assertion that no record is about any more, nor any evidence, as the next record about its id names it: a rollback leaves the
    node for its history, and what was taken back must not decide what the id may stand for."""
    kept = {name: value for name, value in old.items() if name not in Identity._fields}
    return kept | {name: value for name, value in zip(Identity._fields, edge.identity, strict=True) if value is not None}


def merge_edge(old: Node | None, edge: Edge, seq: int) -> Node:
    """The stated part of an assertion after one more record about it."""
    base = old or {
        "tenant": edge.tenant, "edge_id": edge.edge_id, "since": seq,
        **{name: value for name, value in zip(Identity._fields, edge.identity, strict=True) if value is not None},
    }
    declared = union(base.get("declared"), edge.declared)
    attributes = merge_attributes(base.get("attributes"), edge.attributes, later=base.get("stated", 0) < seq)
    stated = {"attributes": attributes, "stated": seq} if edge.attributes else {}
    return {**base, **stated, "relation": min(base["relation"], edge.identity.relation), "declared": declared}


IDENTITY = ("tenant", "edge_id", "relation", "source_type", "source_id", "target_type", "target_id", "environment", "region",
            "valid_from", "valid_to", "since")
"""What of an assertion no record can take back, as long as any is about it (`named_anew`)."""
_STATED = (*IDENTITY, "declared", "attributes", "stated", "records", "derived_id", "merged_into")


def with_verdict(node: Node, verdict: Verdict) -> Node:
    """A whole assertion: its stated part and its derived state."""
    whole = {name: node[name] for name in _STATED if name in node}
    whole |= {"state": verdict.state.value, "reasons": list(verdict.reasons), "policies": list(verdict.policies),
              "acl": list(verdict.acl), "current": verdict.current, "disputed": verdict.disputed, "registered": verdict.registered}
    if verdict.confidence is not None:
        whole["confidence"] = verdict.confidence
    return whole


def assertion_digest(node: Node, citations: Iterable[Citation]) -> bytes | None:
    """Digest over everything an assertion says, its active evidence included, run numbers left out. None when retracted:
    an edge without evidence is no part of a generation, but that another one took it in is."""
    if node.get("merged_into") is not None:
        return record_digest("merged-edge", [node["tenant"], node["edge_id"], node["merged_into"]])
    if node["state"] == State.RETRACTED:
        return None
    return record_digest("assertion", [
        [node.get(name) for name in _HASHED],
        [None if node.get(name) is None else format_instant(node[name]) for name in ("valid_from", "valid_to")],
        [node[name] for name in ("declared", "reasons", "policies", "acl", "current", "disputed", "registered")],
        sorted(canonical_text(item) for item in citations),
        *([] if node.get("derived_id") is None else [node["derived_id"]]),
    ])


_HASHED = ("tenant", "edge_id", "relation", "source_type", "source_id", "target_type", "target_id", "environment", "region",
           "attributes", "state", "confidence")


def relationship_properties(node: Node, citations: Iterable[Citation]) -> Node:
    """Properties of the typed relationship of a published assertion."""
    kept = ("edge_id", "tenant", "policies", "acl", "environment", "region", "valid_from", "valid_to", "confidence", "current", "disputed")
    return {name: node[name] for name in kept if name in node} | {
        "evidence": sorted({citation(item.doc, item.chunk) for item in citations})}
