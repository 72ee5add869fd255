"""The JSON of every answer, for the description that programs generate clients from (spec 5, JSON; OpenAPI).

Owns: the description alone: nothing is made from these types. What is answered is made where the command line gets it from, and the
tests hold every answer against its type: a field that stands here and not there, or there and not here, fails.
Optional keys are for auditors, or for a question that asks for them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict
from typing_extensions import TypedDict

CLOSED = ConfigDict(extra="forbid")
Schema = Literal[1]


class Shape(TypedDict):
    """An object with no other key than those named."""

    __pydantic_config__ = CLOSED  # type: ignore[misc]


class ErrorBody(Shape):
    """What went wrong."""

    code: str
    message: str
    hint: str | None


class Failure(Shape):
    """Every answer that is no success."""

    schema: Schema
    error: ErrorBody


class Address(Shape):
    """An entity by type and id."""

    type: str
    id: str


class Named(Address):
    """An entity with its name."""

    name: str | None


class Scope(Shape):
    """Where and when an edge holds; null: everywhere, always."""

    environment: str | None
    region: str | None
    valid_from: str | None
    valid_to: str | None


class Extractor(Shape):
    """A pipeline and its version."""

    pipeline: str
    version: str | None


class RunOf(Shape):
    """The run that added a citation."""

    seq: int | None
    pipeline: str | None
    version: str | None
    at: str | None


class Cited(Shape):
    """A citation, down to the passage."""

    doc: str
    doc_title: str | None
    chunk: str
    section_path: list[str]
    span: list[int] | None
    quote_hash: str | None
    polarity: str
    url: str | None
    head_revision: str | None
    is_stale: bool


class Evidence(Cited):
    """One citation, down to the passage."""

    run: RunOf


class Health(Shape):
    """How the service is."""

    schema: Schema
    state: Literal["live", "ready"]
