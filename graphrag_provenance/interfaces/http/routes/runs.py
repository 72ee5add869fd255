"""`/v1/runs…`: what was written, when, by whom, from what, and what differs between two runs.

Owns: nothing but the requests. Leaves to others: who may read them (`store.lookups`, `store.run_diff`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.http.failures import Json, failure
from graphrag_provenance.interfaces.http.queries import NoQuery, RunPageQuery, RunsQuery
from graphrag_provenance.interfaces.http.responses import answers
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, ServiceOf
from graphrag_provenance.interfaces.http.shapes.graph import RunAnswer, RunDiff, Runs
from graphrag_provenance.store.bridge import aside
from graphrag_provenance.store.lookups import run_list, run_show
from graphrag_provenance.store.run_diff import run_diff

router = APIRouter(prefix="/v1", route_class=Asking, tags=["runs"])


@router.get("/runs", **answers(Runs))
def runs(service: ServiceOf, reader: ReaderOf, asked: RunPageQuery) -> Json:
    """Runs, newest first. For operators and auditors."""
    found = run_list(service.database, reader, limit=asked.limit, before=asked.before)
    return Json({"schema": 1, "runs": found, "truncated": len(found) == asked.limit})


@router.get("/runs/diff", **answers(RunDiff, 404, 409))
async def run_difference(service: ServiceOf, reader: ReaderOf, asked: RunsQuery) -> Json:
    """The edges of the tenant that differ between the states after two runs, as far as the auditor may see them. For auditors.

    409: the first run does not come before the second one.
    """
    try:
        return await aside(lambda: Json(run_diff(
            service.database, reader, asked.before, asked.after, start=asked.start, limit=asked.limit, access=service.access)))
    except InputError as error:  # each of the two is right by itself
        return failure(409, error.code, error.message, error.hint)


@router.get("/runs/{seq}", **answers(RunAnswer, 404))
def run(service: ServiceOf, reader: ReaderOf, seq: Annotated[int, Path(ge=1, lt=2**53)], _: NoQuery) -> Json:
    """One run: its counts, inputs, digest and graph hash. For operators and auditors."""
    return Json(run_show(service.database, seq, reader))
