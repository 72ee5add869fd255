"""`/v1/edge…`: edges with their evidence, their history, and what they stand under.

Owns: nothing but the requests. Leaves to others: what a reader may see (`store.lookups`, `store.as_of`, `store.explaining`).
"""

from __future__ import annotations

from fastapi import APIRouter

from graphrag_provenance.interfaces.http.failures import Json
from graphrag_provenance.interfaces.http.queries import EdgePageQuery, EdgeQuery, EdgeThenQuery
from graphrag_provenance.interfaces.http.responses import answers
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, ServiceOf
from graphrag_provenance.interfaces.http.shapes.graph import EdgeAnswer, EdgeHistory, Edges, Explanation
from graphrag_provenance.store.as_of import edge_as_of
from graphrag_provenance.store.explaining import explain_policy
from graphrag_provenance.store.lookups import edge_history, edge_list, edge_show

router = APIRouter(prefix="/v1", route_class=Asking, tags=["edges"])


@router.get("/edge", **answers(EdgeAnswer, 404))
def edge(service: ServiceOf, reader: ReaderOf, asked: EdgeThenQuery) -> Json:
    """One edge with its active evidence. An auditor also sees withheld ones, and why."""
    if asked.as_of is not None:
        return Json(edge_as_of(service.database, reader, asked.id, asked.as_of, access=service.access))
    return Json(edge_show(service.database, reader, asked.id, access=service.access))


@router.get("/edge/history", **answers(EdgeHistory, 404))
def history(service: ServiceOf, reader: ReaderOf, asked: EdgeQuery) -> Json:
    """Every citation of an edge, with the run that added it and the run that retired it."""
    return Json(edge_history(service.database, reader, asked.id, access=service.access))


@router.get("/edge/policy", **answers(Explanation, 404))
def policy(service: ServiceOf, reader: ReaderOf, asked: EdgeQuery) -> Json:
    """What makes an edge restricted or withheld: every statement, who makes it, and the join. For auditors."""
    return Json(explain_policy(service.database, reader, asked.id, access=service.access).as_json())


@router.get("/edges", **answers(Edges))
def edges(service: ServiceOf, reader: ReaderOf, asked: EdgePageQuery) -> Json:
    """Edges by id."""
    return _page(service, reader, asked, withheld=False)


@router.get("/edges/withheld", **answers(Edges))
def withheld(service: ServiceOf, reader: ReaderOf, asked: EdgePageQuery) -> Json:
    """Withheld edges and why. For auditors and operators."""
    return _page(service, reader, asked, withheld=True)


def _page(service: ServiceOf, reader: ReaderOf, asked: EdgePageQuery, *, withheld: bool) -> Json:
    found = edge_list(service.database, reader, withheld, asked.limit, asked.after, access=service.access)
    return Json({"schema": 1, "edges": found, "truncated": len(found) == asked.limit})
