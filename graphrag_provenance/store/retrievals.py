"""Recorded retrievals: which passages a retriever returned, and what they are today (spec 4, retrieval traces).

Owns: recording ids and scores (never text), and one row a passage that says what it is and whether the reader may read it now.

A passage that the reader may not read is answered like one that does not exist: `unresolved`. So is one that no record declares, but
for readers who see an edge that cites it. What depends on the id alone may
always be said. The id itself, and what the retriever filtered by, are shown to whoever recorded them and to auditors; to others
only the id of a passage that they may read. An auditor also hears why a passage is not resolved.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import NotFoundError
from graphrag_provenance.model.identifiers import canonical_text, citation, derive_id, split_revision
from graphrag_provenance.model.instants import now
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.reports import PointReport, RetrievalReport
from graphrag_provenance.rules.answers import Json, instant
from graphrag_provenance.rules.heads import is_current
from graphrag_provenance.rules.recorded import RETRIEVAL
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import Visibility
from graphrag_provenance.store.recording import RecordingOptions, check_generations, recorded_run, state_of_generation
from graphrag_provenance.store.runs import Run
from graphrag_provenance.store.seeing import confirmed_read, may_read

_PAGE = 1_000
_POINT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
Key = tuple[str, str]


def record_retrievals(
    database: Database, reader: Reader, reports: Sequence[RetrievalReport], options: RecordingOptions | None = None, *,
    notify: Callable[[str], None] | None = None,
) -> Json:
    """Record retrievals as one run. What is recorded already is left alone; passages need not exist. Raises InputError for a
    generation that does not."""
    seen: Counter[str] = Counter()
    ids = []
    for report in reports:
        body = report.model_dump(mode="json")
        seen[canonical_text(body)] += 1
        ids.append(derive_id("retrieval", [reader.tenant, reader.principal, body, seen[canonical_text(body)]]))
    known = {row["retrieval_id"]: row["since"]
             for row in database.read("retrieval.known", tenant=reader.tenant, retrieval_ids=ids)}
    new = [(place, name, report) for place, (name, report) in enumerate(zip(ids, reports, strict=True), 1) if name not in known]
    run: Json = {}
    if new:
        check_generations(database, (report.generation for _, _, report in new))

        def make(run: Run) -> list[Row]:
            return [{"props": _props(database, run, reader, place, name, report)} for place, name, report in new]

        chosen = options or RecordingOptions()
        run, _ = recorded_run(database, RETRIEVAL, chosen, make, [{"name": chosen.source, "retrievals": len(new)}], notify)
    return {
        "schema": 1, "run": {name: run.get(name) for name in ("seq", "run_id", "trace_id", "digest")} if run else None,
        "retrievals": [
            {"retrieval_id": name, "trace_id": report.trace_id, "recorded": name not in known, "passages": len(report.passages),
             "run": known.get(name, run.get("seq"))}
            for name, report in zip(ids, reports, strict=True)],
    }


def _props(database: Database, run: Run, reader: Reader, place: int, name: str, report: RetrievalReport) -> Row:
    generation, _ = state_of_generation(database, report.generation, run.seq - 1)
    content = {
        "retriever": report.retriever, "k": report.k, "filter": report.filter,
        "passages": [one.model_dump(mode="json", exclude_none=True) for one in report.passages]}
    return {"tenant": reader.tenant, "retrieval_id": name, "trace_id": report.trace_id, "principal": reader.principal, "at": now(),
            "generation": generation, "place": place, "content": canonical_text(content)}


def explain_retrieval(
    database: Database, reader: Reader, trace_id: str, granted: Collection[str] = frozenset(), *, access: AccessSource | None = None,
) -> Json:
    """What the retrievals of one trace returned, a row a passage, as the reader may know it now. Raises NotFoundError."""
    rows = [row["retrieval"] for row in database.read("retrieval.by_trace", tenant=reader.tenant, trace_id=trace_id)]
    if not rows:
        raise NotFoundError(f"There is no recorded retrieval of trace {trace_id}.", hint="Record it: gprov retrieval record FILE.")
    contents = [json.loads(row["content"]) for row in rows]
    points = [PointReport(**one) for content in contents for one in content["passages"]]

    def read(view: Visibility) -> tuple[Json, None]:
        by_key, by_point = _passages(database, view, points)
        explained = []
        for row, content in zip(rows, contents, strict=True):
            theirs = reader.is_auditor or row["principal"] == reader.principal
            explained.append({
                "retrieval_id": row["retrieval_id"], "recorded_at": instant(row["at"]), "principal": row["principal"],
                "retriever": content["retriever"], "k": content["k"], "filter": content["filter"] if theirs else None,
                "generation": row["generation"],
                "passages": [
                    {"rank": rank, **_explain(view, PointReport(**one), by_key, by_point, theirs=theirs, auditor=reader.is_auditor)}
                    for rank, one in enumerate(content["passages"], 1)],
            })
        return {"schema": 1, "trace_id": trace_id, "retrievals": explained}, None

    return confirmed_read(database, access, reader, granted, read)


def _keys(point: PointReport) -> list[Key]:
    """The (revision, chunk) pairs that an id may mean: it is split wherever a `#` follows a revision."""
    if point.doc is not None and point.chunk is not None:
        return [(point.doc, point.chunk)]
    name = point.id or ""
    found = []
    for at in (number for number, character in enumerate(name) if character == "#"):
        try:
            split_revision(name[:at])
        except ValueError:
            continue
        if name[at + 1:]:
            found.append((name[:at], name[at + 1:]))
    return found


def _point(point: PointReport) -> str | None:
    return point.id.lower() if point.id is not None and _POINT.fullmatch(point.id) else None


def _passages(database: Database, view: Visibility, points: Sequence[PointReport]) -> tuple[dict[Key, Row], dict[str, Row]]:
    keys = sorted({key for point in points for key in _keys(point)})
    named = sorted({name for name in map(_point, points) if name is not None})
    shown = {name: value for name, value in view.params().items() if name != "tenant"}
    by_key: dict[Key, Row] = {}
    by_point: dict[str, Row] = {}
    for start in range(0, len(keys), _PAGE):
        for row in database.read("retrieval.by_key", **shown, keys=[[view.tenant, *key] for key in keys[start:start + _PAGE]]):
            by_key[(row["key"][1], row["key"][2])] = row["passage"]
    for start in range(0, len(named), _PAGE):
        for row in database.read("retrieval.by_point", **view.params(), points=named[start:start + _PAGE]):
            by_point[row["point"]] = row["passage"]
    return by_key, by_point


def _explain(
    view: Visibility, point: PointReport, by_key: Mapping[Key, Row], by_point: Mapping[str, Row], *, theirs: bool, auditor: bool,
) -> Json:
    name = _point(point)
    keys = _keys(point)
    found = [by_point[name]] if name is not None and name in by_point else [by_key[key] for key in keys if key in by_key]
    readable = [one for one in found if one["known"] and may_read(view, one)]
    shown = readable[0] if len(readable) == 1 else None
    given = point.id if point.id is not None else citation(point.doc or "", point.chunk or "")
    row: Json = {"id": given if theirs or shown is not None else None, "score": point.score, **_described(shown)}
    row["why"] = None if shown is not None else _why(readable, malformed=name is None and not keys)
    if auditor and shown is None and row["why"] == "unresolved":
        row["why"] = "access" if found else "unknown-passage"
        row |= {"policies": sorted({said for one in found for said in one["statements"]}),
                "acl": sorted({key for one in found for key in one["references"]})}
    return row


def _why(readable: Sequence[Any], *, malformed: bool) -> str:
    if readable:
        return "ambiguous-id"
    return "malformed-id" if malformed else "unresolved"


def _described(passage: Row | None) -> Json:
    """What a passage is today; all of it null where it is not resolved."""
    one: Mapping[str, Any] = passage or {}
    return {
        "document": one.get("doc_id"), "doc_title": one.get("title"), "revision": one.get("doc"), "chunk": one.get("chunk"),
        "current_revision": one.get("head"), "is_stale": None if passage is None else not is_current(passage["doc"], passage["head"]),
        "section": " › ".join(one.get("section_path") or ()) or None, "url": one.get("url"),
        "effective_at": instant(one.get("effective_at")), "user_may_read": passage is not None,
    }
