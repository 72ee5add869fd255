"""Standard records of a store: what `ingest` makes of them in an empty store is the same graph (spec 5, exports).

Owns: which records say what a node says. A record states one policy, one access reference, one name; a node that holds several becomes
several records, which loading unites again. History stays behind: only what counts now, or would count again, is exported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from typing import Any

from graphrag_provenance.model.identifiers import ID_RULE, canonical_json, normalise_entity_id
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.rules.heads import Candidate, document_succession, succession
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.store.exporting import Everything

Record = dict[str, Any]
Node = Mapping[str, Any]
_LINKER, _, _LINKER_VERSION = ID_RULE.partition("/")


@dataclass(slots=True)
class Exported:
    """What was exported, and what records cannot say."""

    records: dict[str, int] = field(default_factory=dict)
    """Kind → records."""
    by_arrival: list[str] = field(default_factory=list)
    """Documents whose order of revisions rests on which arrived first: a load of the export may order them otherwise."""
    lost_aliases: list[str] = field(default_factory=list)
    """Other spellings of entities that nothing exported names."""

    @property
    def findings(self) -> bool:
        """Whether a load of the export may give another graph."""
        return bool(self.by_arrival or self.lost_aliases)


def export_jsonl(everything: Everything, exported: Exported) -> Iterator[str]:
    """The lines of an export, sources first; `exported` is filled on the way."""
    for record in _records(everything, exported):
        exported.records[record["kind"]] = exported.records.get(record["kind"], 0) + 1
        yield json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _records(everything: Everything, exported: Exported) -> Iterator[Record]:
    for row in everything.documents():
        if not _order_stays(row["node"], row["revisions"]):
            exported.by_arrival.append(row["node"]["doc_id"])
        yield from _document(row["node"])
    for row in everything.revisions():
        yield from _revision(row["node"])
    for row in everything.chunks():
        yield from _chunk(row["node"])
    spellings: dict[tuple[str, str, str], list[str]] = {}
    for row in everything.entities():
        node = row["node"]
        if node["declared"]:
            yield from _entity(node, row["aliases"])
        else:  # the spelling of an edge's end: said again by an edge, since a record would declare the entity
            spellings[node["tenant"], node["type"], node["id"]] = sorted(one["alias"] for one in row["aliases"] if _is_spelling(node, one))
            exported.lost_aliases += [one["alias"] for one in row["aliases"] if not _is_spelling(node, one)]
    for row in everything.edges():
        yield from _edge(row["node"], row["evidence"], spellings)
    exported.lost_aliases += [alias for left in spellings.values() for alias in left]


def _document(node: Node) -> Iterator[Record]:
    if node["registered"]:
        stated = _stated({"kind": "document", "doc_id": node["doc_id"], "title": node["title"], "source_type": node["source_type"],
                          "tenant": node["tenant"], "attributes": _attributes(node)})
        for policy in node["policies"] or [None]:
            yield stated | _stated({"policy": policy})
    for text in node.get("tombstones") or ():
        chunk, revision = json.loads(text)
        yield _stated({"kind": "tombstone", "doc_id": node["doc_id"], "tenant": node["tenant"], "chunk": chunk,
                       "deleted_in_revision": revision})


def _order_stays(node: Node, revisions: Sequence[Node]) -> bool:
    """Whether the revisions have the same line when all of them arrive at once."""
    found = succession(Candidate(one["doc"], one["effective_at"], one["supersedes"], 0, one["complete"]) for one in revisions)
    return all(node.get(name) == value for name, value in document_succession(found).items())


def _revision(node: Node) -> Iterator[Record]:
    stated = _stated({
        "kind": "revision", "doc": node["doc"], "tenant": node["tenant"], "effective_at": _instant(node["effective_at"]),
        "supersedes": node.get("supersedes"), "source_url": node.get("source_url"), "content_sha256": node.get("content_sha256"),
        "ingested_at": _instant(node.get("ingested_at")), "complete": node["complete"] or None})
    yield from _each_said(stated, node)


def _chunk(node: Node) -> Iterator[Record]:
    stated = _stated({
        "kind": "chunk", "doc": node["doc"], "chunk": node["chunk"], "tenant": node["tenant"], "section_path": list(node["section_path"]),
        "ordinal": node["ordinal"], "text": node.get("text"), "content_sha256": node["content_sha256"],
        "chunker_version": node["chunker_version"]})
    yield from _each_said(stated, node)


def _each_said(stated: Record, node: Node) -> Iterator[Record]:
    """One record for each policy and each access reference; the text need not be said again."""
    for number, (policy, acl) in enumerate(zip_longest(node["policies"] or [None], node["acl"])):
        again = {name: value for name, value in stated.items() if name != "text"} if number else stated
        yield again | _stated({"policy": policy, "acl_ref": _reference(acl)})


def _entity(node: Node, aliases: Sequence[Node]) -> Iterator[Record]:
    stated = {"kind": "entity", "type": node["type"], "id": node["id"], "tenant": node["tenant"]}
    for number, (name, policy) in enumerate(zip_longest(node["names"], node["policies"])):
        fields: Record = {"name": name if name is not None else node["names"][0], "policy": policy}
        if number == 0:
            fields |= {"aliases": sorted((dict(one) for one in aliases), key=canonical_json) or None, "attributes": _attributes(node)}
        yield stated | _stated(fields)


def _is_spelling(entity: Node, alias: Node) -> bool:
    return ((alias["method"], alias["linker"], alias["linker_version"]) == ("exact", _LINKER, _LINKER_VERSION)
            and normalise_entity_id(alias["alias"]) == entity["id"])


def _edge(node: Node, evidence: Sequence[Node], spellings: dict[tuple[str, str, str], list[str]]) -> Iterator[Record]:
    items = sorted((_evidence(one) for one in evidence), key=canonical_json)
    if not items:
        return  # retracted, and nothing would bring it back
    ends = {side: (node[f"{side}_type"], node[f"{side}_id"]) for side in ("source", "target")}
    stated = _stated({
        "kind": "edge", "edge_id": node["edge_id"], "relation": node["relation"],
        **{side: {"type": kind, "id": name} for side, (kind, name) in ends.items()},
        "scope": _stated({"environment": node.get("environment"), "region": node.get("region"),
                          "valid_from": _instant(node.get("valid_from")), "valid_to": _instant(node.get("valid_to"))}) or None})
    declared = node["declared"] or [None]
    yield stated | _stated({"evidence": items, "access": _access(node, declared[0]), "attributes": _attributes(node)})
    for policy in declared[1:]:
        yield stated | {"evidence": items[:1], "access": _access(node, policy)}
    for side, (kind, name) in ends.items():
        for spelling in spellings.pop((node["tenant"], kind, name), ()):
            yield stated | {side: {"type": kind, "id": spelling}, "evidence": items[:1], "access": _access(node, None)}


def _access(node: Node, policy: str | None) -> Record:
    return _stated({"tenant": node["tenant"], "policy": policy})


def _evidence(item: Node) -> Record:
    by = {"pipeline": item["pipeline"], "version": item["version"]} if "pipeline" in item else None
    span = item.get("span")
    return _stated({
        "doc": item["doc"], "chunk": item["chunk"], "quote_hash": item.get("quote_hash"), "span": None if span is None else list(span),
        "policy": item.get("policy"), "acl_ref": _reference(item.get("acl")), "polarity": item["polarity"],
        "confidence": item.get("confidence"), "extracted_by": by})


def _stated(fields: Record) -> Record:
    return {name: value for name, value in fields.items() if value is not None}


def _attributes(node: Node) -> Record | None:
    text = node.get("attributes")
    return json.loads(text) if text else None


def _reference(key: str | None) -> Record | None:
    if key is None:
        return None
    return _stated(dict(zip(("system", "space", "restriction_id", "incarnation"), json.loads(key), strict=True)))


def _instant(value: datetime | None) -> str | None:
    return None if value is None else format_instant(value)


def policy_file(order: PolicyLattice) -> str:
    """A policy file with this order, so that the importing store decides about edges as this one does."""
    parts = ["schema = 1\n"]
    for name, above in order.as_json().items():
        parts.append(f"\n[policies.{_quoted(name)}]\n")
        if above:
            parts.append(f"above = {_quoted(list(above))}\n")
    return "".join(parts)


def _quoted(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)
