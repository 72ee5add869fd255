"""Files of claims: what is asked, by whom, and (in golden files) what the store must answer (spec 4, golden paths).

Owns: the format, in TOML (`[[question]]` tables) and JSON lines (one object a line), its errors with their place, and how a file is
written. Leaves to others: asking (`store.traces`), comparing (`rules.golden`), measuring (`rules.evaluation`).

A claim needs `from` and `to`. `tenant`, `clearance` and `roles` may stand at the top of a TOML file for all of its questions; where
neither says who reads, the caller does.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.identifiers import parse_address
from graphrag_provenance.model.instants import format_instant, parse_instant
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.notation import json_lines, line_fault, parse_json, parse_toml, problem
from graphrag_provenance.rules.chains import LONGEST, Question, Reason

Form = Literal["toml", "jsonl"]
C = TypeVar("C", bound="Claim")
_READING = ("tenant", "clearance", "roles")


class Asked(BaseModel):
    """What a claim asks, whoever asks it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True, populate_by_name=True)

    id: str = ""
    """How answers and differences call it; empty: its number in the file."""
    from_: str = Field(alias="from")
    """Where the claim starts, Type:id or Type:name."""
    to: str
    """Where it ends."""
    relations: list[str] = []
    """The exact relations, hop by hop; empty: any chain."""
    over: list[str] = []
    """Relations that may be walked, in any order; empty: all."""
    undirected: bool = False
    """Whether hops may be walked against their direction."""
    max_hops: int | None = Field(default=None, ge=1, le=LONGEST)
    """Longest chain; absent: the caller's."""
    environment: str | None = None
    """Environment that every hop must hold in."""
    region: str | None = None
    """Region that every hop must hold in."""
    at: str | datetime | None = None
    """Instant at which every hop must be valid; absent: now."""
    allow_stale: bool = False
    """Whether hops may rest on replaced revisions only."""

    def question(self, max_hops: int = 4) -> Question:
        """What is asked. Raises ValueError or InputError for what is no question."""
        at = parse_instant(self.at) if isinstance(self.at, str) else self.at
        return Question(
            parse_address(self.from_), parse_address(self.to), relations=tuple(self.over), sequence=tuple(self.relations),
            directed=not self.undirected, max_hops=self.max_hops or max_hops, environment=self.environment, region=self.region,
            at=at, require_current=not self.allow_stale)


class Claim(Asked):
    """One claim of a file."""

    tenant: str | None = None
    """Tenant of who asks; absent: the caller's reader asks."""
    clearance: list[str] | None = None
    """Policies that who asks is cleared for."""
    roles: list[Literal["reader", "auditor", "operator"]] | None = None
    """Roles of who asks; `auditor` asks for the auditor's view."""
    why: str = ""
    """For people."""
    distractors: list[str] = []
    """Edge ids that stand nearby and must not be in the chain (evaluation)."""
    passages: list[str] = []
    """Supporting passages that a full answer brings, `doc@ver#chunk` (evaluation); empty: those of the chain expected."""
    documents: list[str] = []
    """Ids of the documents that it is drawn from (evaluation, check of a split)."""
    split: str | None = None
    """Side of a divided set, for example `development`, `test` (evaluation)."""

    @property
    def names_reader(self) -> bool:
        """Whether it says by itself who asks."""
        return self.tenant is not None and self.clearance is not None

    def reader(self, caller: Reader | None, principal: str) -> Reader:
        """Who asks: what the claim says, else the caller. Raises InputError where neither says."""
        if self.tenant is None and self.clearance is None and self.roles is None and caller is not None:
            return caller
        tenant = self.tenant or (caller.tenant if caller else None)
        clearances = self.clearance if self.clearance is not None else caller.clearances if caller else None
        if tenant is None or clearances is None:
            hint = "Give tenant and clearance in the file, or as options."
            raise InputError(f"Claim {self.id} does not say who asks.", hint=hint)
        roles = self.roles if self.roles is not None else caller.roles if caller else (Role.READER,)
        return Reader(principal, tenant, frozenset(clearances), frozenset(map(Role, roles)))


class GoldenQuestion(Claim):
    """A claim and the answer expected."""

    expect_state: Literal["supported", "unresolved"]
    """State of the answer."""
    expect_reason: Reason | None = Field(default=None, strict=False)
    """Reason of an unresolved answer; absent: any."""
    expect_edges: list[str] | None = None
    """Edge ids of the chain, in order; absent: not compared."""
    expect_evidence: list[list[str]] | None = None
    """For each hop the supporting passages, `doc@ver#chunk`, sorted; absent: not compared."""


def parse_claims(text: str, source: str, form: Form) -> tuple[Claim, ...]:
    """The claims of a file; expectations in it are not read. Raises InputError with file and place."""
    expected = set(GoldenQuestion.model_fields) - set(Claim.model_fields)
    return tuple(
        _claim({k: v for k, v in raw.items() if k not in expected}, place, source, Claim)
        for place, raw in _unique(_raw(text, source, form), source))


def parse_golden(text: str, source: str, form: Form = "toml") -> tuple[GoldenQuestion, ...]:
    """The questions of a golden file. Raises InputError with file and place."""
    return tuple(_claim(raw, place, source, GoldenQuestion) for place, raw in _unique(_raw(text, source, form), source))


def claim_schema(kind: type[Claim] = Claim) -> dict[str, Any]:
    """The JSON Schema of one claim: a line of JSON lines, or a [[question]] of TOML."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **kind.model_json_schema(by_alias=True)}


def form_of(name: str) -> Form:
    """The form of a file by its name: `.toml`, else JSON lines."""
    return "toml" if name.lower().endswith(".toml") else "jsonl"


def written(questions: Iterable[Claim], heading: Sequence[str] = ()) -> str:
    """A golden file in TOML that `parse_golden` reads back as these questions."""
    parts = ["".join(f"# {line}".rstrip() + "\n" for line in heading) + "\nschema = 1\n"]
    for one in questions:
        told = one.model_dump(by_alias=True, exclude_defaults=True)
        parts.append("[[question]]\n" + "".join(f"{name} = {_toml(value)}\n" for name, value in told.items()))
    return "\n".join(parts).lstrip("\n")


def _toml(value: Any) -> str:
    if isinstance(value, list):
        inner = [_toml(item) for item in value]
        return "[" + ", ".join(inner) + "]" if sum(map(len, inner)) < 100 else "[\n" + "".join(f"  {i},\n" for i in inner) + "]"
    if isinstance(value, datetime):
        value = format_instant(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # every escape of JSON is one of TOML


def _raw(text: str, source: str, form: Form) -> list[tuple[str, dict[str, Any]]]:
    """(place, table) of each claim."""
    if form == "jsonl":
        return [_json_line(line, number, source) for number, line in json_lines(text)]
    try:
        raw = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source} is not valid TOML: {error}.") from None
    if raw.pop("schema", 1) != 1:
        raise InputError(f"{source} has a schema that is not supported; this version reads schema 1.")
    questions = raw.pop("question", [])
    everyone = {name: raw.pop(name) for name in _READING if name in raw}
    if raw or not isinstance(questions, list) or not all(isinstance(one, dict) for one in questions):
        unknown = ", ".join(sorted(raw)) or "question"
        raise InputError(f"{source}: {unknown} is not understood.", hint="It holds schema, tenant, clearance, roles and [[question]].")
    return [(f"question {number}", {**everyone, **one}) for number, one in enumerate(questions, 1)]


def _json_line(line: str, number: int, source: str) -> tuple[str, dict[str, Any]]:
    try:
        raw = parse_json(line)
    except ValueError as error:
        raise InputError(f"{source}:{number} is not JSON: {line_fault(error)}.") from None
    if not isinstance(raw, dict):
        raise InputError(f"{source}:{number} is not a JSON object.")
    return f"line {number}", raw


def _unique(raw: Sequence[tuple[str, dict[str, Any]]], source: str) -> Sequence[tuple[str, dict[str, Any]]]:
    """The same, each with an id of its own. Raises InputError for none at all, or one twice."""
    if not raw:
        raise InputError(f"{source} holds no claim.")
    named = [(place, {**one, "id": one.get("id") or place.split()[-1]}) for place, one in raw]
    seen: dict[Any, str] = {}
    for place, one in named:
        name = str(one["id"])
        if name in seen:
            raise InputError(f"{source}: {place} has the id '{name}' of {seen[name]}.", hint="Each needs an id of its own.")
        seen[name] = place
    return named


def _claim(raw: Mapping[str, Any], place: str, source: str, kind: type[C]) -> C:
    where = f"{source}: {place} ({raw['id']})"
    try:
        found = kind.model_validate(dict(raw))
        found.question()
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{where}: {'.'.join(str(part) for part in first['loc'])}: {problem(first)}.") from None
    except InputError as error:
        raise InputError(f"{where}: {error.message}", hint=error.hint) from None
    except ValueError as error:
        raise InputError(f"{where}: {error}.") from None
    return found
