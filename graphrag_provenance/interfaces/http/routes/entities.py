"""`/v1/entities`, `/v1/entity`: entities that the reader may see.

Owns: nothing but the requests. Leaves to others: what a reader may see (`store.lookups`).
"""

from __future__ import annotations

from fastapi import APIRouter

from graphrag_provenance.interfaces.http.failures import Json
from graphrag_provenance.interfaces.http.queries import EntityQuery, EntityTextQuery
from graphrag_provenance.interfaces.http.responses import answers
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, ServiceOf
from graphrag_provenance.interfaces.http.shapes.graph import Entities, EntityAnswer
from graphrag_provenance.model.identifiers import parse_address
from graphrag_provenance.store.lookups import entity_find, entity_show

router = APIRouter(prefix="/v1", route_class=Asking, tags=["entities"])


@router.get("/entities", **answers(Entities))
def entities(service: ServiceOf, reader: ReaderOf, asked: EntityTextQuery) -> Json:
    """Find entities by name, id or alias: exact ones first."""
    found = entity_find(service.database, reader, asked.text, asked.limit, access=service.access)
    return Json({"schema": 1, "entities": found, "truncated": len(found) == asked.limit})


@router.get("/entity", **answers(EntityAnswer, 404))
def entity(service: ServiceOf, reader: ReaderOf, asked: EntityQuery) -> Json:
    """One entity: names, aliases and visible edges, counted and listed."""
    return Json(entity_show(service.database, reader, parse_address(asked.address), limit=asked.limit, access=service.access))
