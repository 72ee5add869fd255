"""`/v1/runs`: what was written, when, by whom, from what.

Owns: nothing but the requests. Leaves to others: who may read them (`store.lookups`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from graphrag_provenance.interfaces.http.failures import Json
from graphrag_provenance.interfaces.http.queries import NoQuery, RunPageQuery
from graphrag_provenance.interfaces.http.responses import answers
from graphrag_provenance.interfaces.http.service import ReaderOf, ServiceOf
from graphrag_provenance.interfaces.http.shapes.graph import RunAnswer, Runs
from graphrag_provenance.store.lookups import run_list, run_show

router = APIRouter(prefix="/v1", tags=["runs"])


@router.get("/runs", **answers(Runs))
def runs(service: ServiceOf, reader: ReaderOf, asked: RunPageQuery) -> Json:
    """Runs, newest first. For operators and auditors."""
    found = run_list(service.database, reader, limit=asked.limit, before=asked.before)
    return Json({"schema": 1, "runs": found, "truncated": len(found) == asked.limit})


@router.get("/runs/{seq}", **answers(RunAnswer, 404))
def run(service: ServiceOf, reader: ReaderOf, seq: Annotated[int, Path(ge=1, lt=2**53)], _: NoQuery) -> Json:
    """One run: its counts, inputs, digest and graph hash. For operators and auditors."""
    return Json(run_show(service.database, seq, reader))
