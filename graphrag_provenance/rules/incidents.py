"""What a gate would have been worth: its results on past incidents beside what people found out later (spec 4, release gate). Pure.

Owns: the file of incidents (JSON lines) and the measures. A line holds a result of `gprov gate` and labels:

    {"incident": "INC-1", "result": {…}, "labels": {"facets": ["action"], "wrong-environment": [2], "unsupported-sentence": [],
     "conflict": [1], "stale-or-restricted-evidence": [3], "opened_at": "…Z", "found_at": "…Z"}}

Numbers are sentences of the ledger, from 1. A label that is absent was not looked at, and counts nowhere; an empty one says that
there was none.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.instants import parse_instant
from graphrag_provenance.notation import json_lines, line_fault, parse_json, problem
from graphrag_provenance.rules.gate import Problem


def _instant(text: str) -> str:
    parse_instant(text)
    return text


Instant = Annotated[str, AfterValidator(_instant)]


class _Labels(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    facets: list[str] | None = None
    problems: dict[Problem, list[int]] = {}
    opened_at: Instant | None = None
    found_at: Instant | None = None


class _Finding(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    reason: Problem
    entry: int


class _Result(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    facets: list[str]
    findings: list[_Finding]


class Incident(BaseModel):
    """One past incident: what the gate said, and what was true."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    incident: str
    result: _Result
    labels: _Labels = _Labels()


def parse_incidents(text: str, source: str) -> tuple[Incident, ...]:
    """The incidents of a file. Raises InputError with file and line."""
    found = []
    for number, line in json_lines(text):
        try:
            raw = parse_json(line)
            if isinstance(raw, dict) and isinstance(raw.get("labels"), dict):
                labels = raw["labels"]
                problems = {name: labels.pop(name) for name in [*labels] if name in set(Problem)}
                raw["labels"] = {**labels, "problems": {Problem(name): entries for name, entries in problems.items()}}
            found.append(Incident.model_validate(raw))
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(f"{source}:{number}: {'.'.join(map(str, first['loc']))}: {problem(first)}.") from None
        except ValueError as error:
            raise InputError(f"{source}:{number} is not JSON: {line_fault(error)}.") from None
    if not found:
        raise InputError(f"{source} holds no incident.")
    return tuple(found)


def measures(incidents: Sequence[Incident]) -> dict[str, Any]:
    """Facet recall (of the facets needed, those with evidence), for each problem how often it was reported, labelled, missed and
    reported without need, and the median seconds from opening to finding; None where nothing was labelled."""
    needed = [(set(one.labels.facets), set(one.result.facets)) for one in incidents if one.labels.facets is not None]
    seconds = [
        _between(one.labels.opened_at, one.labels.found_at) for one in incidents if one.labels.opened_at and one.labels.found_at]
    return {
        "schema": 1, "incidents": len(incidents),
        "facet_recall": _share(sum(len(want & got) for want, got in needed), sum(len(want) for want, _ in needed)),
        "problems": {problem.value: _counted(incidents, problem) for problem in Problem},
        "seconds_to_find": statistics.median(seconds) if seconds else None,
    }


def _counted(incidents: Sequence[Incident], problem: Problem) -> dict[str, Any]:
    reported = labelled = missed = needless = 0
    for one in incidents:
        got = {finding.entry for finding in one.result.findings if finding.reason is problem}
        reported += len(got)
        if problem in one.labels.problems:
            want = set(one.labels.problems[problem])
            labelled, missed, needless = labelled + len(want), missed + len(want - got), needless + len(got - want)
    return {"reported": reported, "labelled": labelled, "missed": missed, "needless": needless,
            "recall": _share(labelled - missed, labelled)}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _between(start: str, stop: str) -> float:
    return (parse_instant(stop) - parse_instant(start)).total_seconds()
