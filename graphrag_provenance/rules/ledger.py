"""The file that a release gate judges: what an answer must cover, and on what each of its sentences rests (spec 4, release gate).

Owns: the format, in TOML or JSON, its errors with their place, and its JSON Schema (docs/gate.schema.json). Leaves to others: the
judgement (`rules.gate`), what the store says about the evidence (`store.gate`).
"""

from __future__ import annotations

import tomllib
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.identifiers import REVISION_PATTERN, parse_address, split_revision
from graphrag_provenance.model.instants import parse_instant
from graphrag_provenance.notation import parse_json, parse_toml, problem

USUAL_ORDER = ("prerequisite", "action", "verification")


def _address(text: str) -> str:
    return ":".join(parse_address(text))


def _revision(text: str) -> str:
    split_revision(text)
    return text


def _instant(value: str | datetime) -> str | datetime:
    if (parse_instant(value) if isinstance(value, str) else value).tzinfo is None:
        raise ValueError("an instant needs a time zone")
    return value


def _distinct(facets: list[str]) -> list[str]:
    twice = sorted({facet for facet in facets if facets.count(facet) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} stands there twice")
    return facets


_ADDRESS = {"pattern": r"^[A-Za-z][A-Za-z0-9_]{0,63}:\s*\S"}
_REVISION = {"pattern": REVISION_PATTERN}
Entities = list[Annotated[str, AfterValidator(_address), Field(json_schema_extra=_ADDRESS)]]
Facet = Annotated[str, Field(min_length=1, max_length=200)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class Condition(_Strict):
    """Where and when something is claimed to hold; what is absent is not checked."""

    environment: str | None = None
    """Environment."""
    region: str | None = None
    """Region."""
    at: Annotated[
        str | datetime, AfterValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})] | None = None
    """Instant with a time zone."""

    @property
    def instant(self) -> datetime | None:
        """`at` as an instant."""
        return parse_instant(self.at) if isinstance(self.at, str) else self.at


class PassageRef(_Strict):
    """A passage: one chunk of one revision."""

    doc: Annotated[str, AfterValidator(_revision), Field(json_schema_extra=_REVISION)]
    """Revision, doc@version."""
    chunk: str
    """Chunk id inside that revision."""


class Entry(_Strict):
    """One sentence of an answer and what it rests on."""

    sentence: str
    """The sentence, for people."""
    facet: Facet | None = None
    """Which facet it is for."""
    edges: list[str] = []
    """Edge ids that it rests on."""
    passages: list[PassageRef] = []
    """Passages that it rests on."""
    entities: Entities | None = None
    """What this sentence is about, Type:id; absent: what the answer is about."""
    condition: Condition = Condition()
    """Where and when it is claimed to hold; what is absent is as for the whole answer."""


class Ledger(_Strict):
    """What a gate judges."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    """Version of this format."""
    id: str = ""
    """How records of the judgement call it, for example an incident."""
    entities: Entities = []
    """What the answer is about, Type:id; empty: not checked."""
    condition: Condition = Condition()
    """Where and when the answer must hold."""
    facets: list[Facet] = []
    """Facets that the answer must cover."""
    order: Annotated[list[Facet], AfterValidator(_distinct), Field(json_schema_extra={"uniqueItems": True})] = list(USUAL_ORDER)
    """Facets that follow each other, first to last."""
    entries: list[Entry]
    """The sentences, in the order of the answer."""


def parse_ledger(text: str, source: str) -> Ledger:
    """The ledger of a file: JSON if it starts with a brace, else TOML. Raises InputError with the place."""
    try:
        raw: Any = parse_json(text) if text.lstrip("\ufeff \t\r\n").startswith("{") else parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source} is not valid TOML: {error}.") from None
    except ValueError as error:
        raise InputError(f"{source} is not valid JSON: {error}.") from None
    return to_ledger(raw, source)


def to_ledger(raw: Any, source: str = "The ledger") -> Ledger:
    """The ledger that a map says, or a ledger itself. Raises InputError with the place in it."""
    try:
        return Ledger.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{source}: {place}: {problem(first)}.", hint="The format: gprov schema-json gate.") from None


def ledger_schema() -> dict[str, Any]:
    """The JSON Schema of the file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Ledger.model_json_schema(by_alias=True)}
