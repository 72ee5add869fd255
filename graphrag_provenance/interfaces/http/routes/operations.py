"""`/health/live`, `/health/ready`, `/metrics`, `/openapi.json`: for those who run the service, and those who write programs for it.

Owns: what ready means: the store answers and its schema is the one of this version. Leaves to others: counters (`metrics`).
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from graphrag_provenance.errors import ProvenanceError
from graphrag_provenance.interfaces.http.failures import Json, failure_of
from graphrag_provenance.interfaces.http.metrics import CONTENT_TYPE, Metrics
from graphrag_provenance.interfaces.http.responses import answers
from graphrag_provenance.interfaces.http.service import ServiceOf
from graphrag_provenance.interfaces.http.shapes.base import Failure, Health
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.store import migrations
from graphrag_provenance.store.bridge import aside, carried
from graphrag_provenance.store.readers import require_role

router = APIRouter(tags=["operations"])
PUBLIC = ("/health/live", "/health/ready", "/openapi.json")
LOCALLY = ("/metrics",)
_HEALTH = {"model": Health, "description": "So it is."}


@router.get("/health/live", response_class=Json, responses={200: _HEALTH})
async def live() -> Json:
    """The process answers."""
    return Json({"schema": 1, "state": "live"})


@router.get("/health/ready", response_class=Json, responses={200: _HEALTH, 503: {"model": Failure, "description": "The store does not."}})
async def ready(request: Request, service: ServiceOf) -> Json:
    """The store answers, and has the schema of this version."""
    metrics: Metrics = request.app.state.metrics
    try:
        await carried(lambda: migrations.require_current(service.database))
    except ProvenanceError as error:
        metrics.ready.set(0)
        return failure_of(error)
    metrics.ready.set(1)
    return Json({"schema": 1, "state": "ready"})


@router.get("/openapi.json", include_in_schema=False)
async def description(request: Request) -> Json:
    """What every endpoint takes and answers. It is put together once, which takes long enough to be done aside."""
    return Json(await aside(request.app.openapi))


@router.get("/metrics", response_class=Response, responses={
    **answers(Failure)["responses"], 200: {"description": "Counters.", "content": {"text/plain": {"schema": {"type": "string"}}}}})
async def metrics(request: Request) -> Response:
    """Counters for Prometheus. From this machine itself without a token, else with the role operator."""
    reader: Reader | None = request.state.reader
    if reader is not None:
        require_role(reader, Role.OPERATOR, action="Reading counters")
    found: Metrics = request.app.state.metrics
    return Response(found.text(), media_type=CONTENT_TYPE)
