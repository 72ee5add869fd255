"""`/v1/gate`, `/v1/answer…`: is the evidence of an answer complete; what recorded answers rest on.

Owns: nothing but the requests. Leaves to others: the judgement (`store.gate`), the records (`store.answers`).
"""

from __future__ import annotations

from fastapi import APIRouter

from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.http.bodies import AnswersBody
from graphrag_provenance.interfaces.http.failures import Json, failure
from graphrag_provenance.interfaces.http.queries import AnswerQuery, SinceQuery
from graphrag_provenance.interfaces.http.responses import answers
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, ServiceOf, TraceOf, recording
from graphrag_provenance.interfaces.http.shapes.answers import GateAnswer, ImpactAnswer, RecordedAnswer, Recording
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.store.answers import answer_impact, record_answers, show_answer
from graphrag_provenance.store.bridge import aside
from graphrag_provenance.store.gate import gate as judged

router = APIRouter(prefix="/v1", route_class=Asking, tags=["answers"])


@router.post("/gate", **answers(GateAnswer))
async def gate(service: ServiceOf, reader: ReaderOf, ledger: Ledger) -> Json:
    """Judge whether the evidence of an answer is complete. It does not say that the answer is true."""
    return await aside(lambda: Json(
        judged(service.database, ledger, reader, access=service.access, relations=service.relations).as_json()))


@router.post("/answers", **answers(Recording, 409))
async def record(service: ServiceOf, reader: ReaderOf, trace_id: TraceOf, body: AnswersBody) -> Json:
    """Record answers with the edges and passages that each claim rests on, as they are now: all of them or none.

    Recording one again writes nothing; a recorded answer never changes. 409: the store does not have what it rests on, it is recorded
    otherwise, or somebody else writes.
    """
    options = recording(service, reader, trace_id)
    try:
        return await aside(lambda: Json(record_answers(service.database, reader, body.answers, options, access=service.access)))
    except InputError as error:  # the form was right: it does not fit what the store has
        return failure(409, error.code, error.message, error.hint)


@router.get("/answer", **answers(RecordedAnswer, 404))
def answer(service: ServiceOf, reader: ReaderOf, asked: AnswerQuery) -> Json:
    """A recorded answer: each claim, its path, and the evidence then and now. What the reader may not see is answered as gone."""
    return Json(show_answer(service.database, reader, asked.id, access=service.access))


@router.get("/answers/impact", **answers(ImpactAnswer))
def impact(service: ServiceOf, reader: ReaderOf, asked: SinceQuery) -> Json:
    """The recorded claims whose edges changed for the worse. For auditors and operators."""
    return Json(answer_impact(service.database, reader, since=asked.since))
