"""The JSON of every answer, for the description that programs generate clients from (spec 5, JSON; OpenAPI).

Owns: the description alone: nothing is made from these types. What is answered is made where the command line gets it from, and the
tests hold every answer against its type: a field that stands here and not there, or there and not here, fails.
Optional keys are for auditors, or for a question that asks for them.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import ConfigDict
from typing_extensions import TypedDict

_CLOSED = ConfigDict(extra="forbid")
Schema = Literal[1]


class Shape(TypedDict):
    """An object with no other key than those named."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]


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


class AskedScope(Shape):
    """Where and when every hop must hold."""

    environment: str | None
    region: str | None
    at: str | None
    require_current: bool


AskedClaim = TypedDict("AskedClaim", {
    "from": Address, "to": Address, "relations": list[str], "exact_sequence": bool, "directed": bool, "max_hops": int, "scope": AskedScope,
})  # fmt: skip
AskedClaim.__pydantic_config__ = _CLOSED  # type: ignore[attr-defined]


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


class Evidence(Shape):
    """One citation, down to the passage."""

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
    run: RunOf


class Step(Shape):
    """One hop with its evidence."""

    edge_id: str
    relation: str
    source: Address
    target: Address
    forward: bool
    scope: Scope
    confidence: float | None
    current: bool
    extracted_by: list[Extractor]
    evidence: list[Evidence]
    policies: NotRequired[list[str]]
    acl: NotRequired[list[str]]


class Path(Shape):
    """A chain: entities in order, and the steps between them."""

    entities: list[Named]
    steps: list[Step]


class Failed(Shape):
    """Where a candidate fails."""

    hop: int
    edge_id: str
    constraint: str


class RejectedPath(Path):
    """A candidate that does not answer (auditors only)."""

    failures: list[Failed]


class Citation(Shape):
    """A numbered source."""

    n: int
    doc_title: str | None
    doc: str
    section: str | None
    url: str | None


class TraceAnswer(Shape):
    """The answer to a claim."""

    schema: Schema
    trace_id: str
    state: Literal["supported", "unresolved"]
    reason: str | None
    claim: AskedClaim
    generation: int
    truncated: bool
    paths: list[Path]
    citations: list[Citation]
    conflicts: NotRequired[list[dict[str, Any]]]
    policies: NotRequired[list[str]]
    access: NotRequired[dict[str, Any] | None]
    rejected_chains: NotRequired[list[RejectedPath]]


class AskedAnswer(TraceAnswer):
    """The answer to one of many claims."""

    id: str


class TraceAnswers(Shape):
    """The answers to many claims, in their order."""

    schema: Schema
    answers: list[AskedAnswer]


class Health(Shape):
    """How the service is."""

    schema: Schema
    state: Literal["live", "ready"]
