"""`/`, `/suggest`, `/entity`, `/edge`, `/edge/history`, `/withheld`: entities and edges.

Owns: what stands on these pages. Leaves to others: what a reader may see (`store`), pictures (`pictures`).
"""

from __future__ import annotations

from itertools import groupby

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, Service, ServiceOf
from graphrag_provenance.interfaces.web.evidence import Json, standing, with_texts
from graphrag_provenance.interfaces.web.numbers import whole
from graphrag_provenance.interfaces.web.pictures import neighbourhood, timeline
from graphrag_provenance.interfaces.web.rendering import address, entity_address, page
from graphrag_provenance.model.identifiers import parse_address
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.store.as_of import edge_as_of
from graphrag_provenance.store.explaining import explain_policy
from graphrag_provenance.store.lookups import edge_history, edge_list, edge_show, entity_find, entity_show
from graphrag_provenance.store.page_lookups import entity_aliases, evidence_tallies

router = APIRouter(include_in_schema=False, route_class=Asking)
_FOUND = 50
_SUGGESTED = 8
_EDGES = 300
_WITHHELD = 100
_LONGEST_TEXT = 200


@router.get("/")
def search(request: Request, service: ServiceOf, reader: ReaderOf, q: str = "") -> Response:
    """Search for an entity."""
    found, problem = None, None
    if q.strip():
        if len(q) > _LONGEST_TEXT:
            problem = f"A search has at most {_LONGEST_TEXT} characters."
        else:
            found = _found(service, reader, q, _FOUND)
    return page("search.html", request, 422 if problem else 200, q=q, found=found, problem=problem,
                more=found is not None and len(found) == _FOUND)


@router.get("/suggest")
def suggest(service: ServiceOf, reader: ReaderOf, q: str = "") -> Response:
    """Entities that fit what is being typed."""
    found = _found(service, reader, q, _SUGGESTED) if q.strip() and len(q) <= _LONGEST_TEXT else []
    return JSONResponse([{"address": entity_address(one), "name": one["name"], "type": one["type"], "id": one["id"],
                          "url": address("/entity", address=entity_address(one))} for one in found])


def _found(service: Service, reader: Reader, text: str, limit: int) -> list[Json]:
    found = entity_find(service.database, reader, text, limit, access=service.access)
    aliases = entity_aliases(service.database, reader, [(one["type"], one["id"]) for one in found], access=service.access)
    return [{**one, "aliases": _others([*one["names"], *aliases.get((one["type"], one["id"]), [])], one["name"])} for one in found]


def _others(names: list[str], name: str) -> list[str]:
    return [one for one in dict.fromkeys(names) if one != name]


@router.get("/entity")
def entity(request: Request, service: ServiceOf, reader: ReaderOf, address: str = "") -> Response:
    """One entity and its visible edges."""
    try:
        place = parse_address(address)
    except ValueError as error:
        raise NotFoundError(f"{error}.") from None
    found = entity_show(service.database, reader, place, limit=_EDGES, access=service.access)
    tallies = evidence_tallies(service.database, reader, [one["edge_id"] for one in found["edges"]], access=service.access)
    edges = [{**one, "standing": standing(one), "tally": tallies.get(one["edge_id"])} for one in found["edges"]]
    ordered = sorted(edges, key=lambda one: (
        not one["outgoing"], one["relation"], one["other"]["type"], one["other"]["id"], one["edge_id"]))
    groups = [{"relation": relation, "outgoing": outgoing, "edges": list(rows)} for (outgoing, relation), rows in groupby(
        ordered, key=lambda one: (one["outgoing"], one["relation"]))]
    return page("entity.html", request, entity=found, groups=groups, others=_others(found["names"], found["name"]), shown=len(edges),
                total=sum(one["edges"] for one in found["counts"]), picture=neighbourhood(found, ordered))


@router.get("/edge")
def edge(request: Request, service: ServiceOf, reader: ReaderOf, id: str = "", as_of: str = "") -> Response:
    """One edge with its evidence, now or after a run; for auditors also what it stands under."""
    seq = _seq(as_of)
    if seq is None:
        found = edge_show(service.database, reader, id, access=service.access)
        explained = explain_policy(service.database, reader, id, access=service.access).as_json() if reader.is_auditor else None
    else:
        found, explained = edge_as_of(service.database, reader, id, seq, access=service.access), None
    found = {**found, "evidence": with_texts(service, reader, found["evidence"])}
    return page("edge.html", request, edge=found, standing=standing(found), explained=explained, as_of=seq)


@router.get("/edge/history")
def history(request: Request, service: ServiceOf, reader: ReaderOf, id: str = "") -> Response:
    """Every citation that an edge has or had, and the runs that brought and retired it."""
    found = edge_history(service.database, reader, id, access=service.access)
    return page("history.html", request, edge=found, standing=standing(found), picture=timeline(found["history"]))


@router.get("/withheld")
def withheld(request: Request, service: ServiceOf, reader: ReaderOf, after: str = "") -> Response:
    """Edges that are stored and cannot be walked, and why. Without the role there is no such page."""
    found = edge_list(service.database, reader, True, _WITHHELD, after, access=service.access)
    return page("withheld.html", request, edges=found, after=after, next=found[-1]["edge_id"] if len(found) == _WITHHELD else None)


def _seq(text: str) -> int | None:
    if not text.strip():
        return None
    seq = whole(text)
    if not seq:
        raise InputError(f"'{text[:40]}' is no number of a run.", hint="Write for example 3.")
    return seq
