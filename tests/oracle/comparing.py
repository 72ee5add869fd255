"""The real store beside the model: what each answers to a read, and every difference between the two.

Owns: how an answer of the product is put into the model's terms. Numbers and times of runs and the trace id are masked: they are
not a function of the records. Which of several equally short chains is returned is the store's choice; that it is one of them
is checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.errors import ProvenanceError
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.answers import Audience
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.store import lookups, traces
from graphrag_provenance.store.database import Database
from tests.oracle.model import Asked, Edge, Item, Tenant, View, covered, instant
from tests.oracle.worlds import Read

Answer = dict[str, Any]
MASKED = {"generation", "trace_id", "run", "since", "until", "retired_by", "changed_by"}
_ITEM = ("doc", "doc_title", "chunk", "section_path", "span", "quote_hash", "polarity", "url", "head_revision", "is_stale")


@dataclass(frozen=True)
class Difference:
    """One read that the store answers otherwise than the model."""

    read: Read
    what: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        view = self.read.view
        who = f"{view.tenant} clearances={sorted(view.clearances)} granted={sorted(view.granted)}{' auditor' if view.auditor else ''}"
        return (f"{self.read.kind} {json.dumps(self.read.asked, default=str)}\n  by {who}\n  {self.what}: expected "
                f"{json.dumps(self.expected, default=str)[:1500]}\n  found {json.dumps(self.found, default=str)[:1500]}")


def answer(database: Database, read: Read) -> Any:
    """What the store says, errors included."""
    view = read.view
    reader = Reader("r", view.tenant, view.clearances, frozenset({Role.AUDITOR} if view.auditor else {Role.READER}))
    try:
        return _ask(database, reader, view.granted, read)
    except ProvenanceError as error:
        return {"error": error.code, "text": str(error)}


def _ask(database: Database, reader: Reader, granted: frozenset[str], read: Read) -> Any:
    asked = read.asked
    if read.kind == "trace":
        question = Question(**{**asked, "at": instant(asked["at"])})
        audience: Audience = "auditor" if reader.is_auditor else "reader"
        return traces.trace(database, question, reader, granted=granted, trace_id="0" * 32, audience=audience).as_json(audience)
    if read.kind == "edge_list":
        return lookups.edge_list(database, reader, asked["withheld"], asked["limit"], asked["after"], granted)
    if read.kind == "entity_find":
        return lookups.entity_find(database, reader, asked["text"], asked["limit"], granted)
    if read.kind == "entity_show":
        return lookups.entity_show(database, reader, asked["entity"], granted, asked["limit"])
    look: Callable[..., Any] = lookups.edge_show if read.kind == "edge_show" else lookups.edge_history
    return look(database, reader, asked["edge_id"], granted)


def masked(value: Any) -> Any:
    """An answer without what depends on the numbers of runs."""
    if isinstance(value, Mapping):
        return {name: masked(item) for name, item in value.items() if name not in MASKED}
    return [masked(item) for item in value] if isinstance(value, list) else value


def compare(model: Tenant, read: Read, found: Any) -> list[Difference]:
    """Where the store's answer is not one that the model allows."""
    return [Difference(read, what, expected, got) for what, expected, got in _COMPARE[read.kind](model, read, found) if expected != got]


Triple = tuple[str, Any, Any]


def _scope(edge: Edge) -> Answer:
    return dict(edge.scope)


def _edge(model: Tenant, edge: Edge, view: View) -> Answer:
    reasons = edge.reasons(model.order)
    shown: Answer = {
        "edge_id": edge.edge_id, "relation": edge.relation, "state": "withheld" if reasons else "published",
        "source": dict(zip(("type", "id"), edge.source, strict=True)), "target": dict(zip(("type", "id"), edge.target, strict=True)),
        "scope": _scope(edge), "confidence": edge.confidence, "current": edge.current, "disputed": edge.disputed,
        "attributes": edge.attributes}
    if view.auditor:
        shown |= {"reasons": reasons, "acl": sorted(edge.references), "policies": [] if reasons else maximal(model, edge)}
    return shown


def maximal(model: Tenant, edge: Edge) -> list[str]:
    """The policies of an edge that no other of them covers."""
    names = edge.statements
    return sorted(one for one in names if not any(one != other and one in covered(model.order, [other]) for other in names))


def _items(items: list[Item]) -> list[str]:
    return sorted(json.dumps({name: item.shown[name] for name in _ITEM}, sort_keys=True) for item in items)


def _shown_items(evidence: list[Answer]) -> list[str]:
    return sorted(json.dumps({name: item[name] for name in _ITEM}, sort_keys=True) for item in evidence)


def _extractors(items: list[Item]) -> list[Answer]:
    pairs = {(item.shown["pipeline"], item.shown["version"]) for item in items if item.shown["pipeline"] is not None}
    return [{"pipeline": pipeline, "version": version} for pipeline, version in sorted(pairs)]


def _trace(model: Tenant, read: Read, found: Answer) -> list[Triple]:
    asked = Asked(**{**read.asked, "at": instant(read.asked["at"])})
    verdict = model.trace(read.view, asked)
    if "error" in found:
        return [("error", None, found)]
    triples: list[Triple] = [
        ("state", "supported" if verdict.reason is None else "unresolved", found["state"]),
        ("reason", verdict.reason, found["reason"]), ("truncated", False, found["truncated"])]
    if verdict.reason is not None or found["state"] != "supported":
        return [*triples, ("paths", [], found["paths"]), ("citations", [], found["citations"])]
    allowed = {tuple((edge.edge_id, forward) for edge, forward in chain): chain for chain in verdict.chains}
    walked = tuple((step["edge_id"], step["forward"]) for step in found["paths"][0]["steps"])
    triples += [("paths", 1, len(found["paths"])), ("hops", len(verdict.chains[0]), len(walked)),
                ("one of the shortest chains", True, walked in allowed)]
    if walked in allowed:
        triples += _chain(model, allowed[walked], found)
    return triples


def _chain(model: Tenant, chain: Any, found: Answer) -> list[Triple]:
    path = found["paths"][0]
    places = [(edge.source if forward else edge.target) for edge, forward in chain]
    places.append(chain[-1][0].target if chain[-1][1] else chain[-1][0].source)
    entities = [{"type": kind, "id": name, "name": model.name((kind, name))} for kind, name in places]
    triples: list[Triple] = [("entities", entities, path["entities"])]
    cited = set()
    for (edge, _), step in zip(chain, path["steps"], strict=True):
        expected = _edge(model, edge, View("", frozenset()))
        triples += [(f"step {name}", expected[name], step[name]) for name in (
            "relation", "source", "target", "scope", "confidence", "current")]
        triples += [("evidence", _items(edge.items), _shown_items(step["evidence"])),
                    ("extractors", _extractors(edge.items), step["extracted_by"])]
        cited |= {(item.doc, " › ".join(item.shown["section_path"]) or None) for item in edge.items if item.supports}
    triples.append(("citations", sorted(cited, key=str), sorted(((c["doc"], c["section"]) for c in found["citations"]), key=str)))
    return triples


def _edge_show(model: Tenant, read: Read, found: Answer) -> list[Triple]:
    edge = model.edges.get(read.asked["edge_id"])
    view = read.view
    withheld = edge is not None and view.auditor and bool(edge.reasons(model.order))
    if edge is None or not (model.sees(view, edge) or withheld):
        return [("error", {"error": "not-found", "text": f"There is no edge {read.asked['edge_id']}. See: gprov edge list."}, found)]
    if "error" in found:
        return [("error", None, found)]
    expected = _edge(model, edge, view)
    triples: list[Triple] = [(name, expected[name], found.get(name)) for name in expected]
    if not view.auditor:
        triples.append(("fields", [], [name for name in ("reasons", "acl", "policies", "changed_by") if name in found]))
    if not withheld:
        triples.append(("evidence", _items(edge.items), _shown_items(found["evidence" if read.kind == "edge_show" else "history"])))
        if read.kind == "edge_show":
            triples.append(("extractors", _extractors(edge.items), found["extracted_by"]))
    return triples


def _edge_list(model: Tenant, read: Read, found: Any) -> list[Triple]:
    asked, view = read.asked, read.view
    withheld = [edge for _, edge in sorted(model.edges.items()) if edge.reasons(model.order)]
    edges = withheld if asked["withheld"] else model.seen(view)
    page = [edge for edge in edges if edge.edge_id > (asked["after"] or "")][:asked["limit"]]
    return [("edges", [_edge(model, edge, view) for edge in page], found)]


def _entity_find(model: Tenant, read: Read, found: Any) -> list[Triple]:
    text, view = read.asked["text"], read.view
    seen = model.seen(view)
    rows = dict.fromkeys(sorted(model.named(view, None, text, seen)))
    hits = []
    for entity in model.entities:
        tokens = " ".join((*model.names(entity), entity[1])).split()
        if model.knows(view, entity, seen) and all(any(token.startswith(word) for token in tokens) for word in text.split()):
            exact = text == entity[1] or text in model.names(entity)
            hits.append((not exact, model.name(entity), *entity))
    rows |= dict.fromkeys((kind, name) for _, _, kind, name in sorted(hits)[:read.asked["limit"]])
    expected = [{"type": kind, "id": name, "name": model.name((kind, name)), "names": model.names((kind, name))} for kind, name in rows]
    return [("entities", expected[:read.asked["limit"]], found)]


def _entity_show(model: Tenant, read: Read, found: Answer) -> list[Triple]:
    view, (kind, name) = read.view, read.asked["entity"]
    seen = model.seen(view)
    entity = (kind, name)
    if not model.knows(view, entity, seen):
        sure = [one for one, guessed in model.named(view, kind, name, seen).items() if not guessed]
        if len(sure) != 1:
            text = f"There is no entity {kind}:{name}. Search for it: gprov entity find TEXT."
            return [("error", {"error": "not-found", "text": text}, found)]
        entity = sure[0]
    if "error" in found:
        return [("error", None, found)]
    touching = sorted((edge for edge in seen if entity in (edge.source, edge.target)), key=lambda edge: (edge.type, edge.edge_id))
    counts: dict[tuple[str, bool], int] = {}
    for edge in touching:
        place = (edge.relation, edge.source == entity)
        counts[place] = counts.get(place, 0) + 1
    aliases = {tuple(alias[n] for n in ("alias", "method", "linker", "linker_version"))
               for record in model.entities[entity] for alias in record.get("aliases", ())}
    edges = [{
        "edge_id": edge.edge_id, "relation": edge.relation, "outgoing": edge.source == entity, "scope": _scope(edge),
        "other": (lambda other: {"type": other[0], "id": other[1], "name": model.name(other)})(
            edge.target if edge.source == entity else edge.source),
        "current": edge.current, "disputed": edge.disputed} for edge in touching[:read.asked["limit"]]]
    return [
        ("id", entity, (found["type"], found["id"])), ("name", model.name(entity), found["name"]),
        ("names", model.names(entity), found["names"]),
        ("aliases", sorted(aliases), [tuple(a[n] for n in ("alias", "method", "linker", "linker_version")) for a in found["aliases"]]),
        ("counts", [{"relation": relation, "outgoing": outgoing, "edges": number} for (relation, outgoing), number in sorted(
            counts.items(), key=lambda count: (count[0][0], not count[0][1]))], found["counts"]),
        ("edges", edges, found["edges"])]


_COMPARE: dict[str, Callable[[Tenant, Read, Any], list[Triple]]] = {
    "trace": _trace, "edge_show": _edge_show, "edge_history": _edge_show, "edge_list": _edge_list, "entity_find": _entity_find,
    "entity_show": _entity_show,
}
