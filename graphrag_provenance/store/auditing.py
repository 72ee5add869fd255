"""Audit: the chain of runs of a live store, its head, and its export (spec 3, tamper evidence; spec 5, `audit`).

Owns: what is read for an audit and that it belongs together while somebody writes. Run records span tenants and count what
readers may not see, so all of it needs the role auditor or operator. Leaves to others: the verdicts (`rules.auditing`), whether
the content gives the graph hash that the last run names (`store.verification`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.audit_report import Audit, Head, exported
from graphrag_provenance.rules.auditing import audit
from graphrag_provenance.rules.digests import RUN_DIGEST_FIELDS, run_digest
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import require_role
from graphrag_provenance.store.runs import run_json

FORMAT = "gprov-runs/1"
_MOST_READINGS = 5
_LAST = 2**63 - 1


def audit_verify(database: Database, reader: Reader, heads: Sequence[Head] = ()) -> Audit:
    """Hold the chain of runs against itself, the store's record and heads kept outside. What is wrong is in the report.

    Raises AccessDeniedError without the role auditor or operator.
    """
    _require_role(reader, "Auditing")
    for again in range(_MOST_READINGS):
        before = _store(database)
        runs = [_entry(row["node"]) for row in database.stream("verify.runs")]
        if _moved(before) == _moved(_store(database)):
            return audit(runs, before, heads)
        time.sleep(0.05 * again)
    # Somebody writes run after run: what had ended before the last reading is judged.
    last = _last_ended(before)
    settled = {**before, "head_seq": last, "writer": None}
    return audit([run for run in runs if not isinstance(run.get("seq"), int) or run["seq"] <= last], settled, heads)


def audit_head(database: Database, reader: Reader) -> Head | None:
    """The last ended run, to be kept outside; None before there is one. Raises NotFoundError when the store's record and that
    run do not agree: such a head would vouch for what is broken."""
    _require_role(reader, "Reading the head")
    store = _store(database)
    seq = _last_ended(store)
    if seq == 0:
        return None
    rows = database.read("run.by_seq", seq=seq)
    run = _entry(rows[0]["run"]) if len(rows) == 1 else {}
    try:
        stands = run.get("digest") == store.get("digest") == run_digest(run)
    except (TypeError, ValueError):
        stands = False
    if not stands:
        raise NotFoundError(f"Run {seq} is not the one that the store's record names as the last.", hint="See: gprov audit verify.")
    return Head(seq, run["digest"], run["graph_hash"])


def audit_export(database: Database, reader: Reader, first: int | None = None, last: int | None = None) -> Iterator[dict[str, Any]]:
    """The ended runs from `first` to `last` in exactly the fields that are hashed, with their digests, in order.

    Raises InputError for a range that is none, AccessDeniedError without the role auditor or operator.
    """
    _require_role(reader, "Exporting runs")
    if first is not None and last is not None and first > last:
        raise InputError(f"There are no runs from {first} to {last}.", hint="Write the smaller number first.")
    return _exported(database, first, last)


def _exported(database: Database, first: int | None, last: int | None) -> Iterator[dict[str, Any]]:
    store = _store(database)
    writer = store.get("writer_seq") if store.get("writer") else None
    whole = first is None and last is None
    rows = database.stream("verify.runs") if whole else database.stream("audit.runs", first=first or 1, last=last or _LAST)
    for row in rows:
        run = _entry(row["node"])
        if run.get("status") != "running" or run.get("digest") is not None or run.get("seq") != writer:
            yield exported(run)


def export_json(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The documented JSON of an export."""
    return {"schema": 1, "format": FORMAT, "fields": list(RUN_DIGEST_FIELDS), "runs": list(runs)}


def _require_role(reader: Reader, action: str) -> None:
    require_role(reader, Role.AUDITOR, Role.OPERATOR, action=action)


def _store(database: Database) -> Row:
    rows = database.read("store.state", id="store")
    return dict(rows[0]["store"]) if rows else {}


def _last_ended(store: Row) -> int:
    """The number of the last ended run, as the store's record has it; 0 before there is one."""
    head = store.get("head_seq")
    number = head if isinstance(head, int) else 0
    return number - 1 if store.get("writer") and store.get("writer_seq") == number else number


def _moved(store: Row) -> tuple[Any, ...]:
    return store.get("writer"), store.get("head_seq"), store.get("digest")


def _entry(node: Row) -> Row:
    """A run as it is hashed; where its JSON text cannot be read, the text, which gives another digest."""
    try:
        return run_json(node)
    except (TypeError, ValueError):
        return {**{name: value if isinstance(value, str | int | float | bool | None) else str(value) for name, value in node.items()},
                **{name: _read(node.get(name)) for name in ("counts", "inputs")}}


def _read(text: object) -> object:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
