"""A claim, its path and its evidence.

Owns: descriptions (`base` says what for).
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from graphrag_provenance.interfaces.http.shapes.base import CLOSED, Address, Evidence, Extractor, Named, Schema, Scope, Shape


class AskedScope(Shape):
    """Where and when every hop must hold."""

    environment: str | None
    region: str | None
    at: str | None
    require_current: bool


AskedClaim = TypedDict("AskedClaim", {
    "from": Address, "to": Address, "relations": list[str], "exact_sequence": bool, "directed": bool, "max_hops": int, "scope": AskedScope,
})  # fmt: skip
AskedClaim.__pydantic_config__ = CLOSED  # type: ignore[attr-defined]


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
    means: str | None
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
