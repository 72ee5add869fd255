"""`/v1/retrievals`, `/v1/retrieval`: which passages a retriever returned, and what they are today.

Owns: nothing but the requests. Leaves to others: the records, and what a reader may know of them (`store.retrievals`).
"""

from __future__ import annotations

from fastapi import APIRouter

from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.http.bodies import RetrievalsBody
from graphrag_provenance.interfaces.http.failures import Json, failure
from graphrag_provenance.interfaces.http.queries import RetrievalQuery
from graphrag_provenance.interfaces.http.responses import answers
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, ServiceOf, TraceOf, recording
from graphrag_provenance.interfaces.http.shapes.answers import ExplainedRetrievals, RetrievalRecording
from graphrag_provenance.store.bridge import aside
from graphrag_provenance.store.retrievals import explain_retrieval, record_retrievals

router = APIRouter(prefix="/v1", route_class=Asking, tags=["retrievals"])


@router.post("/retrievals", **answers(RetrievalRecording, 409))
async def record_retrieval(service: ServiceOf, reader: ReaderOf, trace_id: TraceOf, body: RetrievalsBody) -> Json:
    """Record which passages a retriever returned: ids and scores, no text; all of them or none.

    Recording the same again writes nothing. 409: the store has no such generation, or somebody else writes.
    """
    options = recording(service, reader, trace_id)
    try:
        return await aside(lambda: Json(record_retrievals(service.database, reader, body.retrievals, options)))
    except InputError as error:  # the form was right: it does not fit what the store has
        return failure(409, error.code, error.message, error.hint)


@router.get("/retrieval", **answers(ExplainedRetrievals, 404))
def retrieval(service: ServiceOf, reader: ReaderOf, asked: RetrievalQuery) -> Json:
    """What the retrievals of one trace returned, a row a passage: what it is today, and whether the reader may read it. A passage that
    the reader may not read is answered like one that does not exist."""
    return Json(explain_retrieval(service.database, reader, asked.trace_id, access=service.access))
