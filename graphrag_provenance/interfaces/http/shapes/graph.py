"""Edges, entities and runs.

Owns: descriptions (`base` says what for).
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import ConfigDict
from typing_extensions import TypedDict

from graphrag_provenance.interfaces.http.shapes.base import Address, Cited, Evidence, Extractor, Named, RunOf, Schema, Scope, Shape


class Edge(Shape):
    """An edge. What it stands under, and why it is withheld, is for auditors."""

    edge_id: str
    relation: str
    state: str
    source: Address
    target: Address
    scope: Scope
    confidence: float | None
    current: bool
    disputed: bool
    attributes: dict[str, Any]
    reasons: NotRequired[list[str]]
    policies: NotRequired[list[str]]
    acl: NotRequired[list[str]]


class EdgeAnswer(Edge):
    """One edge with its active evidence."""

    schema: Schema
    generation: NotRequired[int]
    extracted_by: list[Extractor]
    evidence: list[Evidence]


class RunAbout(RunOf):
    """A run; who ran it, and in which trace, is for auditors."""

    kind: NotRequired[str | None]
    actor: NotRequired[str | None]
    run_id: NotRequired[str | None]
    trace_id: NotRequired[str | None]


class PastEvidence(Cited):
    """One citation that is or was."""

    run: RunAbout | None
    since: int
    until: int | None
    retired_by: RunAbout | None


class EdgeHistory(Edge):
    """Every citation of an edge, with the run that added it and the one that retired it."""

    schema: Schema
    history: list[PastEvidence]
    changed_by: NotRequired[RunAbout | None]


class Edges(Shape):
    """A page of edges."""

    schema: Schema
    edges: list[Edge]
    truncated: bool


class PolicyStatement(Shape):
    """One policy statement about an edge."""

    by: str
    record: str | None
    policy: str
    known: bool
    maximal: bool


class JoinStep(Shape):
    """What a statement does to the join."""

    policy: str
    effect: str
    so_far: list[str]


class Explanation(Shape):
    """Everything that decides about one edge (auditors only)."""

    schema: Schema
    edge_id: str
    state: str
    reasons: list[str]
    policies: list[str]
    acl: list[str]
    declared: list[str]
    unknown: list[str]
    statements: list[PolicyStatement]
    silent_evidence: list[str | None]
    join: list[JoinStep]
    agrees: bool
    order_changing: bool


class FoundEntity(Named):
    """An entity that was looked for."""

    names: list[str]


class Entities(Shape):
    """Entities that fit."""

    schema: Schema
    entities: list[FoundEntity]
    truncated: bool


class Alias(Shape):
    """Another name of an entity, and who says so."""

    alias: str
    method: str
    linker: str | None
    linker_version: str | None


class EdgeCount(Shape):
    """Visible edges of one relation and direction."""

    relation: str
    outgoing: bool
    edges: int


class Neighbour(Shape):
    """A visible edge at an entity."""

    edge_id: str
    relation: str
    outgoing: bool
    other: Named
    scope: Scope
    current: bool
    disputed: bool


class EntityAnswer(Named):
    """One entity: names, aliases, visible edges."""

    schema: Schema
    names: list[str]
    aliases: list[Alias]
    attributes: dict[str, Any]
    counts: list[EdgeCount]
    edges: list[Neighbour]


class RunRecord(TypedDict):
    """A run: what was written, when, by whom, from what. It has more keys, by its kind."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    seq: int
    status: str
    kind: str
    actor: str
    started_at: str
    run_id: str
    trace_id: str | None


class RunAnswer(RunRecord):
    """One run."""

    schema: Schema


class Runs(Shape):
    """A page of runs, newest first."""

    schema: Schema
    runs: list[RunRecord]
    truncated: bool


class EvidenceChange(Shape):
    """Citations that only one of two states has."""

    came: int
    went: int


class EdgeChange(Shape):
    """An edge that differs between two states; `differs`: in what, where both are published, or both withheld."""

    change: Literal["published", "withheld", "retracted", "changed"]
    differs: list[str]
    evidence: EvidenceChange
    before: Edge | None
    after: Edge


class RunDiff(Shape):
    """The edges that differ between two runs (auditors only). `next`: go on behind this edge id."""

    schema: Schema
    before: int
    after: int
    edges: list[EdgeChange]
    next: str | None
