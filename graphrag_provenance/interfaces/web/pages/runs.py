"""`/runs`, `/runs/{seq}`, `/runs/compare`: what was written, when, by whom, and what it changed.

Owns: what stands on these pages. Without the role there are no such pages. Leaves to others: who may read runs (`store.lookups`), what
differs between two of them (`store.run_diff`).
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, ServiceOf
from graphrag_provenance.interfaces.web.numbers import whole
from graphrag_provenance.interfaces.web.rendering import HEADERS, page
from graphrag_provenance.model.readers import Role
from graphrag_provenance.rules.run_diff import Change
from graphrag_provenance.store.lookups import run_list, run_show
from graphrag_provenance.store.readers import require_role
from graphrag_provenance.store.run_diff import run_diff

router = APIRouter(include_in_schema=False, route_class=Asking)
_PAGE = 50
_CHANGES = 200
_MAIN = ("seq", "schema", "status", "kind", "pipeline", "version", "actor", "started_at", "finished_at", "run_id", "trace_id", "graph_hash",
         "digest", "previous", "policies_hash", "counts", "inputs", "order")


@router.get("/runs")
def runs(request: Request, service: ServiceOf, reader: ReaderOf, before: str = "") -> Response:
    """Runs, newest first."""
    found = run_list(service.database, reader, limit=_PAGE, before=_number(before) if before.strip() else None)
    return page("runs.html", request, runs=found, next=found[-1]["seq"] if len(found) == _PAGE else None)


@router.get("/runs/compare")
def compare(request: Request, service: ServiceOf, reader: ReaderOf, before: str = "", after: str = "", start: str = "") -> Response:
    """The edges that differ between two generations."""
    require_role(reader, Role.AUDITOR, action="Comparing runs")
    if not before.strip() or not after.strip():
        return RedirectResponse("/runs", 303, headers=HEADERS)
    first, second = _number(before), _number(after)
    if first == second or first > second:
        raise InputError("The first run has to come before the second one.", hint="Go back and choose them the other way round.")
    found = run_diff(service.database, reader, first, second, start=start, limit=_CHANGES, access=service.access)
    groups = [(change.value, [one for one in found["edges"] if one["change"] == change]) for change in Change]
    return page("compare.html", request, diff=found, groups=groups, start=start)


@router.get("/runs/{seq}")
def run(request: Request, service: ServiceOf, reader: ReaderOf, seq: str) -> Response:
    """One run."""
    require_role(reader, Role.AUDITOR, Role.OPERATOR, action="Reading run records")
    number = whole(seq)
    if number is None:
        raise NotFoundError("There is no such run.")
    found = run_show(service.database, number, reader)
    rest = {name: value for name, value in found.items() if name not in _MAIN and value not in (None, [], {}, "")}
    return page("run.html", request, run=found, counts=list(_flat(found.get("counts"))), rest=rest)


def _flat(counts: Any, above: str = "") -> Any:
    """Counts as rows: (`edges published`, 12)."""
    for name, value in (counts or {}).items():
        label = f"{above} {name.replace('_', ' ')}".strip()
        if isinstance(value, dict):
            yield from _flat(value, label)
        else:
            yield label, value


def _number(text: str) -> int:
    seq = whole(text)
    if seq is None:
        raise InputError(f"'{text[:40]}' is no number of a run.", hint="Write for example 3.")
    return seq
