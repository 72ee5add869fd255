"""`/v1/trace`, `/v1/traces`: claim, path, evidence.

Owns: nothing but the requests. Leaves to others: the answer (`store.traces`, `store.as_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fastapi import APIRouter

from graphrag_provenance.interfaces.http.bodies import Audience, ClaimBody, TraceBody, TracesBody
from graphrag_provenance.interfaces.http.failures import Json
from graphrag_provenance.interfaces.http.responses import answers
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, Service, ServiceOf, TraceOf
from graphrag_provenance.interfaces.http.shapes.claims import TraceAnswer, TraceAnswers
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.store.as_of import traces_as_of
from graphrag_provenance.store.bridge import aside
from graphrag_provenance.store.traces import traces

router = APIRouter(prefix="/v1", route_class=Asking, tags=["claims"])


@router.post("/trace", **answers(TraceAnswer, 404))
def trace(service: ServiceOf, reader: ReaderOf, trace_id: TraceOf, body: TraceBody) -> Json:
    """Trace a claim through the graph to its evidence. `unresolved` with a reason where a step is missing: nothing is filled in."""
    return Json(asked(service, reader, trace_id, [body], body.audience, body.as_of)[0].as_json(body.audience))


@router.post("/traces", **answers(TraceAnswers, 404))
async def trace_many(service: ServiceOf, reader: ReaderOf, trace_id: TraceOf, body: TracesBody) -> Json:
    """Trace many claims at once: in about the round trips of one."""
    return await aside(lambda: _many(service, reader, trace_id, body))


def _many(service: Service, reader: Reader, trace_id: str, body: TracesBody) -> Json:
    found = asked(service, reader, trace_id, body.claims, body.audience, body.as_of)
    told = [{"id": claim.id, **one.as_json(body.audience)} for claim, one in zip(body.claims, found, strict=True)]
    return Json({"schema": 1, "answers": told})


def asked(
    service: Service, reader: Reader, trace_id: str, claims: Sequence[ClaimBody], audience: Audience, as_of: int | None
) -> list[Trace]:
    """The answers to claims, in order, under the trace of the request."""
    questions = [one.question(service.settings.max_hops) for one in claims]
    if as_of is None:
        found = traces(service.database, questions, reader, access=service.access, audience=audience, relations=service.relations)
    else:
        found = traces_as_of(service.database, questions, reader, as_of, access=service.access, audience=audience)
    return [replace(one, trace_id=trace_id) for one in found]
