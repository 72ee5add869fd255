"""Provenance in the terms of W3C PROV (spec 5, exports; docs/exports.md has the mapping as a table).

Owns: which statement of PROV says what the store holds, and the names of things in it. A run is an activity; documents, revisions,
edges, pieces of evidence and input files are entities; who writes, and with what pipeline, are agents. Nothing is claimed that the
store does not know: an actor is an agent, not a person. Leaves to others: the forms (package `prov`), what may be read (`store.exporting`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from graphrag_provenance.errors import InputError, MissingExtraError, NotFoundError
from graphrag_provenance.model.identifiers import canonical_json, derive_id, split_revision
from graphrag_provenance.store.exporting import Everything, Key

try:
    import rdflib  # noqa: F401 - what prov writes RDF with
    from prov.constants import PROV
    from prov.identifier import QualifiedName
    from prov.model import ProvDocument
except ImportError as error:
    raise MissingExtraError(
        f"PROV needs the package '{(error.name or 'prov').partition('.')[0]}', which is not installed.",
        hint="Run: pip install 'graphrag-provenance[export]'.") from None

VOCABULARY = "urn:gprov:vocabulary:"
THINGS = "urn:gprov:"
MOST_STATEMENTS = 500_000
"""Statements that a document may have: it stands in memory, at about 4 KB each."""


class ProvFormat(StrEnum):
    """Forms of a PROV document."""

    JSON = "json"
    PROVN = "provn"
    TURTLE = "turtle"
    TRIG = "trig"


@dataclass(slots=True)
class Provenance:
    """A document, and what it states."""

    document: ProvDocument = field(default_factory=ProvDocument)
    statements: dict[str, int] = field(default_factory=dict)
    """Kind of thing or relation → statements."""

    def text(self, form: ProvFormat) -> str:
        """The document in one of the forms."""
        if form in (ProvFormat.TURTLE, ProvFormat.TRIG):
            return str(self.document.serialize(format="rdf", rdf_format=form.value))
        return str(self.document.serialize(format=form.value))


def prov_document(
    everything: Everything, *, run: int | None = None, edge_id: str | None = None, most: int = MOST_STATEMENTS,
) -> Provenance:
    """Everything, or what a run generated and invalidated, or one edge; each with the sources, runs and agents that it names.

    Raises NotFoundError for a run or edge that there is not, InputError when there are more than `most` statements."""
    runs = {row["node"]["seq"]: row["node"] for row in everything.runs()}
    if run is not None and run not in runs:
        raise NotFoundError(f"There is no run {run}.", hint="See: gprov run list.")
    making = _Making(runs, most)
    whole = run is None and edge_id is None
    if whole:
        for row in everything.documents():
            making.document(row["node"])
        for row in everything.revisions():
            making.revision(row["node"])
    found = False
    for row in everything.edge_history(edge_id):
        if run is None or _touched(row, run):
            making.edge(row["node"], row["evidence"])
            found = True
    if edge_id is not None and not found:
        raise NotFoundError(f"There is no edge {edge_id}" + (f" that run {run} touched." if run is not None else "."))
    if not whole:
        for row in everything.revisions_of(sorted(making.cited)):
            making.revision(row["node"])
        for row in everything.documents_of(sorted(making.documents_named)):
            making.document(row["node"])
    making.named_only()
    making.runs_named(runs if whole and everything.all_tenants else () if run is None else (run,))
    return making.made


def _touched(row: Mapping[str, Any], run: int) -> bool:
    """Whether a run made or retracted the edge, or began or ended any of its evidence."""
    node = row["node"]
    return run in (node["since"], node["changed"]) or any(run in (item["since"], item.get("until")) for item in row["evidence"])


class _Making:
    """A document in the making."""

    def __init__(self, runs: Mapping[int, Mapping[str, Any]], most: int) -> None:
        self._runs, self._most = runs, most
        self._known: set[str] = set()
        self._runs_named: set[int] = set()
        self.made = Provenance()
        self.cited: set[Key] = set()
        self.documents_named: set[Key] = set()
        self._vocabulary = self.made.document.add_namespace("gprov", VOCABULARY)
        self._things = self.made.document.add_namespace("store", THINGS)

    def document(self, node: Mapping[str, Any]) -> None:
        """A document, with the tenant it belongs to."""
        name = self._named("document", node["tenant"], node["doc_id"])
        self._entity(name, "Document", node, {
            "label": node.get("title"), "doc_id": node["doc_id"], "source_type": node.get("source_type"), "policy": node["policies"],
            "head": node.get("head"), "attributes": node.get("attributes"), "tombstone": node.get("tombstones") or ()})
        self._generated(name, node["since"])

    def revision(self, node: Mapping[str, Any]) -> None:
        """A revision of a document, and what it replaces."""
        name = self._named("revision", node["tenant"], node["doc"])
        self._entity(name, "Revision", node, {
            "doc": node["doc"], "effective_at": node.get("effective_at"), "content_sha256": node.get("content_sha256"),
            "source_url": node.get("source_url"), "policy": node["policies"], "complete": node.get("complete")})
        self._generated(name, node["since"])
        self._is_of_document(name, node["tenant"], node["doc"])
        if node.get("supersedes"):
            self.cited.add((node["tenant"], node["supersedes"]))
            self._state("revision", "revision", name, self._named("revision", node["tenant"], node["supersedes"]))

    def edge(self, node: Mapping[str, Any], evidence: Iterable[Mapping[str, Any]]) -> None:
        """An edge with everything that was ever said for and against it."""
        name = self._named("edge", node["tenant"], node["edge_id"])
        self._entity(name, "Edge", node, {
            "edge_id": node["edge_id"], "relation": node["relation"], "source": f"{node['source_type']}:{node['source_id']}",
            "target": f"{node['target_type']}:{node['target_id']}", "state": node["state"], "reason": node["reasons"],
            "policy": node["policies"], "confidence": node.get("confidence"), "attributes": node.get("attributes"),
            **{scope: node.get(scope) for scope in ("environment", "region", "valid_from", "valid_to")}})
        self._generated(name, node["since"])
        if node["state"] == "retracted":
            self._ended(name, node["changed"])
        for item in sorted(evidence, key=lambda one: canonical_json(_identity(one))):
            self._evidence(name, node, item)

    def _evidence(self, edge: QualifiedName, node: Mapping[str, Any], item: Mapping[str, Any]) -> None:
        identity = derive_id("evidence", [node["tenant"], node["edge_id"], item["since"], *_identity(item)])
        name = self._named(*identity.split(":"))
        self._entity(name, "Evidence", node, {
            "chunk": item["chunk"], "quote_hash": item.get("quote_hash"), "polarity": item["polarity"], "policy": item.get("policy"),
            "span": "{}-{}".format(*item["span"]) if item.get("span") else None, "confidence": item.get("confidence")})
        self._generated(name, item["since"])
        if item.get("until") is not None:
            self._ended(name, item["until"])
        key = node["tenant"], item["doc"]
        self.cited.add(key)
        self.documents_named.add((node["tenant"], split_revision(item["doc"])[0]))
        source = self._named("revision", *key)
        self._state("derivation", "quotation" if item.get("quote_hash") else "primary_source", name, source)
        if item.get("pipeline"):
            self._state("attribution", "attribution", name, self._pipeline(item["pipeline"], item["version"]))
        if item["polarity"] == "supports":
            self._state("derivation", "derivation", edge, name)
        else:
            self._state("influence", "influence", edge, name)

    def named_only(self) -> None:
        """What is cited or superseded, and no record declares."""
        for tenant, doc in sorted(self.cited):
            name = self._named("revision", tenant, doc)
            if str(name) not in self._known:
                self._entity(name, "Revision", {"tenant": tenant}, {"doc": doc, "registered": False})
                self._is_of_document(name, tenant, doc)
        for tenant, doc_id in sorted(self.documents_named):
            name = self._named("document", tenant, doc_id)
            if str(name) not in self._known:
                self._entity(name, "Document", {"tenant": tenant}, {"doc_id": doc_id, "registered": False})

    def runs_named(self, more: Iterable[int]) -> None:
        """The runs that anything names, and `more`."""
        for seq in sorted(self._runs_named.union(more)):
            if seq in self._runs:
                self._run(self._runs[seq])

    def _run(self, node: Mapping[str, Any]) -> None:
        name = self._named("run", node["run_id"])
        self._count("run")
        self.made.document.activity(name, node["started_at"], node.get("finished_at"), self._attributes({
            "type": self._vocabulary["Run"], "seq": node["seq"], "kind": node["kind"], "status": node["status"],
            "trace_id": node["trace_id"], "digest": node.get("digest"), "previous": node.get("previous"),
            "graph_hash": node.get("graph_hash"), "policies_hash": node.get("policies_hash"), "counts": node.get("counts"),
            "inputs": node["inputs"]}))
        actor = self._named("actor", node["actor"])
        if self._first(actor):
            self._count("agent")
            self.made.document.agent(actor, self._attributes({"label": node["actor"], "type": self._vocabulary["Actor"]}))
        pipeline = self._pipeline(node["pipeline"], node["version"])
        self._state("association", "association", name, actor)
        self._state("association", "association", name, pipeline)
        self._state("delegation", "delegation", pipeline, actor, name)
        for used in {canonical_json(one): one for one in json.loads(node["inputs"]) if "name" in one and "sha256" in one}.values():
            file = self._named("input", str(used["sha256"]), str(used["name"]))
            if self._first(file):
                self._count("input")
                self.made.document.entity(file, self._attributes({"type": self._vocabulary["Input"], **{
                    key: value for key, value in used.items() if isinstance(value, str | int)}}))
            self._state("usage", "usage", name, file)
        resumed = self._runs.get(node.get("resumes") or 0)
        if resumed is not None:
            self._state("communication", "communication", name, self._named("run", resumed["run_id"]))
            if resumed["seq"] not in self._runs_named:
                self._runs_named.add(resumed["seq"])
                self._run(resumed)

    def _pipeline(self, pipeline: str, version: str) -> QualifiedName:
        name = self._named("pipeline", pipeline, version)
        if self._first(name):
            self._count("agent")
            self.made.document.agent(name, self._attributes({
                "label": f"{pipeline} {version}", "type": PROV["SoftwareAgent"], "pipeline": pipeline, "version": version}))
        return name

    def _is_of_document(self, revision: QualifiedName, tenant: str, doc: str) -> None:
        doc_id = split_revision(doc)[0]
        self.documents_named.add((tenant, doc_id))
        self._state("specialization", "specialization", revision, self._named("document", tenant, doc_id))

    def _entity(self, name: QualifiedName, kind: str, node: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        """An entity of a tenant, which is the organisation that it belongs to."""
        self._first(name)
        self._count(kind.lower())
        self.made.document.entity(name, self._attributes({"type": self._vocabulary[kind], **told}))
        tenant = self._named("tenant", node["tenant"])
        if self._first(tenant):
            self._count("agent")
            self.made.document.agent(tenant, self._attributes({"label": node["tenant"], "type": PROV["Organization"]}))
        if kind in ("Document", "Edge"):
            self._state("attribution", "attribution", name, tenant)

    def _generated(self, name: QualifiedName, seq: int) -> None:
        self._by_run("generation", name, seq)

    def _ended(self, name: QualifiedName, seq: int) -> None:
        self._by_run("invalidation", name, seq)

    def _by_run(self, relation: str, name: QualifiedName, seq: int) -> None:
        run = self._runs.get(seq)
        if run is not None:  # else `gprov verify` tells that a run is missing
            self._runs_named.add(seq)
            self._state(relation, relation, name, self._named("run", run["run_id"]), run.get("finished_at"))

    def _state(self, kind: str, statement: str, *about: Any) -> None:
        self._count(kind)
        getattr(self.made.document, statement)(*about)

    def _named(self, kind: str, *parts: str) -> QualifiedName:
        """A name whose local part no character of an id can break."""
        return self._things["/".join([kind, *(_encoded(part) for part in parts)])]

    def _attributes(self, told: Mapping[str, Any]) -> list[tuple[Any, Any]]:
        """What is stated, a pair each; a list is as many pairs."""
        pairs = []
        for key, value in told.items():
            name = PROV[key] if key in ("type", "label") else self._vocabulary[key]
            pairs += [(name, one) for one in (value if isinstance(value, list | tuple) else [value]) if one is not None]
        return pairs

    def _first(self, name: QualifiedName) -> bool:
        known = str(name) in self._known
        self._known.add(str(name))
        return not known

    def _count(self, kind: str) -> None:
        counted = self.made.statements
        counted[kind] = counted.get(kind, 0) + 1
        if sum(counted.values()) > self._most:
            raise InputError(
                f"There are more than {self._most:,} statements, and a PROV document stands in memory whole.",
                hint="Narrow it with --tenant, --run or --edge, or raise --max-statements.")


def _identity(item: Mapping[str, Any]) -> list[Any]:
    """The whole content of a piece of evidence."""
    return [item["doc"], item["chunk"], *(item.get(name) for name in (
        "quote_hash", "span", "polarity", "policy", "acl", "confidence", "pipeline", "version"))]


def _encoded(part: str) -> str:
    """Percent-encoded, and without a dot at the end, which no local name of PROV may have."""
    text = quote(part, safe="")
    return text[:-1] + "%2E" if text.endswith(".") else text
