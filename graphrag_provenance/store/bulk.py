"""What a store would hold, as the nodes and relationships that it would be made of (spec 1, graph; spec 6, bulk load).

Owns: the graph of a finished dry run over an empty store, row by row as it would stand in the database: what records declare, the
sources and ends that only edges name, every edge with its evidence, the typed relationship of each published one, the run, the store.
Leaves to others: what the records come to (`ingest`), the files (`exports.import_files`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from graphrag_provenance.model.identifiers import relationship_type, split_revision
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.edges import Citation, relationship_properties
from graphrag_provenance.rules.publication import State
from graphrag_provenance.store.assertions import Interval
from graphrag_provenance.store.database import Writes
from graphrag_provenance.store.view import Key, Kind, Node, View

Row = Mapping[str, Any]
_LABELS: dict[Kind, str] = {"document": "Document", "revision": "Revision", "chunk": "Chunk", "entity": "Entity"}


class WouldBe:
    """The graph that a view holds after a dry run over an empty store."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._nodes: dict[Kind, dict[Key, Node]] = {kind: dict(view.nodes(kind)) for kind in _LABELS}
        for (tenant, _), (_, evidence) in view.planned.items():
            for item in evidence:
                self._imply(tenant, item)
        self._ids: dict[tuple[str, Key], str] = {}

    def _imply(self, tenant: str, item: Citation) -> None:
        """What an edge cites and no record declares."""
        chunks, revisions, documents = self._nodes["chunk"], self._nodes["revision"], self._nodes["document"]
        if (tenant, item.doc, item.chunk) in chunks:
            return
        doc_id, version = split_revision(item.doc)
        said: Node = {"registered": False, "policies": [], "since": self._view.seq}
        chunks[tenant, item.doc, item.chunk] = {
            "tenant": tenant, "doc": item.doc, "chunk": item.chunk, "has_text": False, "acl": [], **said}
        revisions.setdefault((tenant, item.doc), {
            "tenant": tenant, "doc": item.doc, "doc_id": doc_id, "version": version, "acl": [], "complete": False, **said})
        documents.setdefault((tenant, doc_id), {"tenant": tenant, "doc_id": doc_id, **said})

    def sum(self) -> MultisetHash:
        """The multiset hash over all that it holds."""
        total = MultisetHash()
        everything = chain(*(nodes.values() for nodes in self._nodes.values()), self._view.aliases.values(),
                           (node for node, _ in self._view.planned.values()))
        for node in everything:
            if node.get("digest") is not None:
                total.add(node["digest"])
        return total

    def writes(self) -> Writes:
        """How many nodes and relationships it is made of."""
        edges = self._view.planned.values()
        published = sum(node["state"] == State.PUBLISHED.value for node, _ in edges)
        aliases = len(self._view.aliases)
        return Writes(
            nodes=sum(map(len, self._nodes.values())) + aliases + len(edges),
            relationships=len(self._nodes["revision"]) + len(self._nodes["chunk"]) + aliases + published
            + sum(len(evidence) for _, evidence in edges))

    def rows(self, run: Node, store: Node) -> Iterator[Row]:
        """`id`, `labels`, `properties` of each node, then `start`, `end`, `type`, `properties` of each relationship."""
        self._ids.clear()
        for kind, label in _LABELS.items():
            for key, node in self._nodes[kind].items():
                yield self._node((kind, key), [label, node["type"]] if kind == "entity" else [label], node)
        for alias_id, node in self._view.aliases.items():
            yield self._node(("alias", (alias_id,)), ["Alias"], node)
        for key, (node, _) in self._view.planned.items():
            yield self._node(("edge", key), ["Assertion", "Withheld"] if node["state"] == State.WITHHELD.value else ["Assertion"], node)
        yield self._node(("run", ()), ["Run"], run)
        yield self._node(("store", ()), ["Store"], store)
        yield from self._sources()
        for key, (node, evidence) in self._view.planned.items():
            yield from self._edge(key, node, evidence)

    def _node(self, key: tuple[str, Key], labels: list[str], node: Node) -> Row:
        self._ids[key] = name = str(len(self._ids))
        return {"id": name, "labels": labels, "properties": node}

    def _sources(self) -> Iterator[Row]:
        for key, node in self._nodes["revision"].items():
            yield self._joined(("document", (node["tenant"], node["doc_id"])), "HAS_REVISION", ("revision", key), {})
        for key, node in self._nodes["chunk"].items():
            yield self._joined(("revision", (node["tenant"], node["doc"])), "HAS_CHUNK", ("chunk", key), {})
        for alias_id, node in self._view.aliases.items():
            yield self._joined(("alias", (alias_id,)), "NAMES", ("entity", (node["tenant"], node["type"], node["id"])), {})

    def _edge(self, key: Key, node: Node, evidence: Mapping[Citation, Interval]) -> Iterator[Row]:
        tenant = node["tenant"]
        for item, stands in evidence.items():
            until = {} if stands.until is None else {"until": stands.until}
            yield self._joined(("edge", key), "EVIDENCED_BY", ("chunk", (tenant, item.doc, item.chunk)),
                               item.properties() | {"since": stands.since} | until)
        if node["state"] == State.PUBLISHED.value:
            active = [item for item, stands in evidence.items() if stands.until is None]
            source, target = ((tenant, node[f"{side}_type"], node[f"{side}_id"]) for side in ("source", "target"))
            yield self._joined(("entity", source), relationship_type(node["relation"]), ("entity", target),
                               relationship_properties(node, active))

    def _joined(self, start: tuple[str, Key], kind: str, end: tuple[str, Key], properties: Node) -> Row:
        return {"start": self._ids[start], "end": self._ids[end], "type": kind, "properties": properties}
