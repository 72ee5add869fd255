"""What an empty store becomes, as the nodes and relationships that it would be made of (spec 1, graph; spec 6, bulk load).

Owns: the graph of a dry run over an empty store, as it would stand in the database: what records declare, the sources that only edges
name, every edge with its evidence, the typed relationship of each published one; and the names of nodes in it, which are made of their
keys, so that whoever works out one part of the graph can name a node of another. Leaves to others: what the records come to
(`ingest`), the files (`exports.import_files`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from graphrag_provenance.model.identifiers import relationship_type, split_revision
from graphrag_provenance.rules.edges import Citation, relationship_properties
from graphrag_provenance.rules.publication import State
from graphrag_provenance.store.assertions import Interval
from graphrag_provenance.store.view import Key, Node, View


class Graph(Protocol):
    """Takes the nodes and relationships of a graph, in any order."""

    def node(self, id: str, labels: Sequence[str], properties: Mapping[str, Any]) -> None:
        """One node."""

    def relationship(self, start: str, end: str, type: str, properties: Mapping[str, Any]) -> None:
        """One relationship between two nodes by their names."""


class Implied(NamedTuple):
    """A passage that an edge cites and no record declares."""

    tenant: str
    doc: str
    chunk: str
    revision_known: bool
    """Whether its revision is in the graph without it."""
    document_known: bool


def _document(tenant: str, doc_id: str) -> str:
    return f"d{len(tenant)}:{tenant}{doc_id}"  # the lengths keep two keys from having one name


def _revision(tenant: str, doc: str) -> str:
    return f"r{len(tenant)}:{tenant}{doc}"


def _chunk(tenant: str, doc: str, chunk: str) -> str:
    return f"c{len(tenant)},{len(doc)}:{tenant}{doc}{chunk}"


def _entity(tenant: str, kind: str, entity_id: str) -> str:
    return f"e{len(tenant)},{len(kind)}:{tenant}{kind}{entity_id}"


def add_sources(graph: Graph, view: View) -> None:
    """The documents, revisions and chunks of a view."""
    for (tenant, doc_id), node in view.nodes("document").items():
        graph.node(_document(tenant, doc_id), ["Document"], node)
    for (tenant, doc), node in view.nodes("revision").items():
        graph.node(name := _revision(tenant, doc), ["Revision"], node)
        graph.relationship(_document(tenant, node["doc_id"]), name, "HAS_REVISION", {})
    for (tenant, doc, chunk), node in view.nodes("chunk").items():
        graph.node(name := _chunk(tenant, doc, chunk), ["Chunk"], node)
        graph.relationship(_revision(tenant, doc), name, "HAS_CHUNK", {})


def add_implied(graph: Graph, implied: Iterable[Implied], seq: int) -> None:
    """What edges cite and no record declares, once each: every passage of a document has to come in one call."""
    said: Node = {"registered": False, "policies": [], "since": seq}
    revisions: dict[Key, Node] = {}
    documents: dict[Key, Node] = {}
    for tenant, doc, chunk, revision_known, document_known in dict.fromkeys(implied):
        doc_id, version = split_revision(doc)
        graph.node(name := _chunk(tenant, doc, chunk), ["Chunk"],
                   {"tenant": tenant, "doc": doc, "chunk": chunk, "has_text": False, "acl": [], **said})
        graph.relationship(_revision(tenant, doc), name, "HAS_CHUNK", {})
        if not revision_known:
            revisions[tenant, doc] = {
                "tenant": tenant, "doc": doc, "doc_id": doc_id, "version": version, "acl": [], "complete": False, **said}
        if not document_known:
            documents[tenant, doc_id] = {"tenant": tenant, "doc_id": doc_id, **said}
    for (tenant, doc), node in revisions.items():
        graph.node(name := _revision(tenant, doc), ["Revision"], node)
        graph.relationship(_document(tenant, node["doc_id"]), name, "HAS_REVISION", {})
    for (tenant, doc_id), node in documents.items():
        graph.node(_document(tenant, doc_id), ["Document"], node)


def add_entities(graph: Graph, view: View) -> None:
    """The entities and aliases of a view."""
    for (tenant, kind, entity_id), node in view.nodes("entity").items():
        graph.node(_entity(tenant, kind, entity_id), ["Entity", kind], node)
    for alias_id, node in view.aliases.items():
        graph.node("a" + alias_id, ["Alias"], node)
        graph.relationship("a" + alias_id, _entity(node["tenant"], node["type"], node["id"]), "NAMES", {})


def add_edge(graph: Graph, node: Node, evidence: Mapping[Citation, Interval]) -> None:
    """One edge with its evidence and, if it is published, its typed relationship."""
    tenant = node["tenant"]
    name = f"s{len(tenant)}:{tenant}{node['edge_id']}"
    graph.node(name, ["Assertion", "Withheld"] if node["state"] == State.WITHHELD.value else ["Assertion"], node)
    for item, (_, since, until) in evidence.items():
        said = item.properties()
        said["since"] = since
        if until is not None:
            said["until"] = until
        graph.relationship(name, _chunk(tenant, item.doc, item.chunk), "EVIDENCED_BY", said)
    if node["state"] == State.PUBLISHED.value:
        graph.relationship(
            _entity(tenant, node["source_type"], node["source_id"]), _entity(tenant, node["target_type"], node["target_id"]),
            relationship_type(node["relation"]),
            relationship_properties(node, [item for item, stands in evidence.items() if stands.until is None]))


def add_run(graph: Graph, run: Node, store: Node) -> None:
    """The run that made the store, and what the store says of itself."""
    graph.node("run", ["Run"], run)
    graph.node("store", ["Store"], store)
