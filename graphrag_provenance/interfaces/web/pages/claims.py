"""`/trace`, `/trace/sheet`: a claim, its path, its evidence; and the sheet to print.

Owns: the form of a claim and what is said of one that is not understood. Leaves to others: the answer (`store.traces`, `store.as_of`),
pictures (`pictures`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from fastapi import APIRouter, Request
from starlette.responses import Response

from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, Service, ServiceOf, TraceOf
from graphrag_provenance.interfaces.web.evidence import Json, paths_with_texts, standing
from graphrag_provenance.interfaces.web.numbers import MOST_RUN, whole
from graphrag_provenance.interfaces.web.pictures import path_picture
from graphrag_provenance.interfaces.web.rendering import page
from graphrag_provenance.model.identifiers import is_name, parse_address
from graphrag_provenance.model.instants import format_instant, now, parse_instant
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Audience, Trace
from graphrag_provenance.rules.chains import LONGEST, Question
from graphrag_provenance.store.as_of import traces_as_of
from graphrag_provenance.store.traces import traces

router = APIRouter(include_in_schema=False, route_class=Asking)
FIELDS = ("from", "to", "relations", "exact", "hops", "env", "region", "at", "as_of", "stale", "both", "view")
_BETWEEN = re.compile(r"[\s,;→>]+")


@dataclass
class _Form:
    """What was asked, word for word; what was not understood, by field; and the question where everything was."""

    given: dict[str, str]
    problems: dict[str, str] = field(default_factory=dict)
    question: Question | None = None
    as_of: int | None = None
    audience: Audience = "reader"


@router.get("/trace")
def trace(request: Request, service: ServiceOf, reader: ReaderOf, trace_id: TraceOf) -> Response:
    """A claim is asked, and answered with its path and all of its evidence, or with what is missing."""
    return _answered("trace.html", request, service, reader, trace_id)


@router.get("/trace/sheet")
def sheet(request: Request, service: ServiceOf, reader: ReaderOf, trace_id: TraceOf) -> Response:
    """The same answer as a sheet to print: nothing to click, every hash in full."""
    return _answered("sheet.html", request, service, reader, trace_id)


def _answered(template: str, request: Request, service: Service, reader: Reader, trace_id: str) -> Response:
    form = _read(request.query_params, service.settings.max_hops, reader)
    answer: Json | None = None
    if form.question is not None:
        try:
            answer = _ask(service, reader, form, trace_id)
        except (InputError, NotFoundError) as error:  # a run that is not there
            form.problems["as_of"] = error.message
    if answer is None and template == "sheet.html":
        template = "trace.html"
    pictures = [] if answer is None else [path_picture(path, number) for number, path in enumerate(answer["paths"], 1)]
    return page(template, request, 422 if form.problems else 200, form=form.given, problems=form.problems, answer=answer, pictures=pictures,
                query={name: form.given[name] for name in FIELDS}, longest=LONGEST, hops=service.settings.max_hops,
                as_of=form.as_of, printed=format_instant(now().replace(microsecond=0)))


def _ask(service: Service, reader: Reader, form: _Form, trace_id: str) -> Json:
    assert form.question is not None
    found: Trace
    database, access, audience = service.database, service.access, form.audience
    if form.as_of is None:
        (found,) = traces(database, [form.question], reader, access=access, audience=audience, relations=service.relations)
    else:
        (found,) = traces_as_of(database, [form.question], reader, form.as_of, access=access, audience=audience)
    answer = replace(found, trace_id=trace_id).as_json(form.audience)
    numbers = {(one["doc"], one["section"]): one["n"] for one in answer["citations"]}
    paths = paths_with_texts(service, reader, answer["paths"])
    for path in paths:
        for step in path["steps"]:
            step["standing"] = standing(step)
            for item in step["evidence"]:
                item["n"] = numbers.get((item["doc"], " › ".join(item["section_path"]) or None))
    return {**answer, "paths": paths}


def _read(query: Mapping[str, str], most_hops: int, reader: Reader) -> _Form:
    form = _Form({name: query.get(name, "").strip() for name in FIELDS})
    given, problems = form.given, form.problems
    if reader.is_auditor and given["view"] != "reader":
        form.audience = "auditor"
    if not given["from"] or not given["to"]:
        return form  # half a claim is one that is still being written
    ends = [_end(given[name], name, problems) for name in ("from", "to")]
    relations = tuple(one for one in _BETWEEN.split(given["relations"].replace("->", " ")) if one)
    if not all(map(is_name, relations)):
        problems["relations"] = "Write relations as in the records, for example: depends_on, governed_by."
    hops = _number(given["hops"], "hops", problems, f"A path has 1 to {LONGEST} steps.", LONGEST) or most_hops
    form.as_of = _number(given["as_of"], "as_of", problems, "Write the number of a run, for example 3.", MOST_RUN)
    at = _instant(given["at"], problems)
    if not problems:
        try:
            form.question = Question(
                ends[0], ends[1], relations=() if given["exact"] else relations, sequence=relations if given["exact"] else (),
                directed=not given["both"], max_hops=hops, environment=given["env"] or None, region=given["region"] or None, at=at,
                require_current=not given["stale"])
        except InputError as error:
            problems["relations"] = error.message
    return form


def _end(text: str, name: str, problems: dict[str, str]) -> tuple[str, str]:
    try:
        return parse_address(text)
    except ValueError:
        problems[name] = "Write the type and the id of an entity, for example System:ledger."
        return "", ""


def _number(text: str, name: str, problems: dict[str, str], sentence: str, most: int) -> int | None:
    if not text:
        return None
    number = whole(text, most)
    if not number:
        problems[name] = sentence
    return number


def _instant(text: str, problems: dict[str, str]) -> datetime | None:
    try:
        return parse_instant(text) if text else None
    except ValueError as error:
        problems["at"] = f"{error}."
        return None


