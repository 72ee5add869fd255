"""Gates, recorded answers and recorded retrievals.

Owns: descriptions (`base` says what for).
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from graphrag_provenance.interfaces.http.shapes.base import Address, Evidence, Schema, Scope, Shape


class Passage(Shape):
    """A chunk of a revision."""

    doc: str
    chunk: str


class Finding(Shape):
    """Something that the gate objects to."""

    reason: str
    entry: int
    detail: str
    edge_id: str | None
    passage: Passage | None


class GateAnswer(Shape):
    """Whether the evidence of an answer is complete; not whether the answer is true."""

    schema: Schema
    id: str | None
    state: str
    facets: list[str]
    missing_facets: list[str]
    required_facets: list[str]
    reasons: list[str]
    findings: list[Finding]
    entries: int
    generation: int
    proves: str


class RunId(Shape):
    """The run of a recording."""

    seq: int | None
    run_id: str | None
    trace_id: str | None
    digest: str | None


class Recorded(Shape):
    """One answer that is recorded now; `recorded`: by this request."""

    answer_id: str
    recorded: bool
    claims: int
    run: int
    digest: str


class Recording(Shape):
    """What was recorded."""

    schema: Schema
    run: RunId | None
    answers: list[Recorded]


class RecordedRetrieval(Shape):
    """One retrieval that is recorded now; `recorded`: by this request."""

    retrieval_id: str
    trace_id: str
    recorded: bool
    passages: int
    run: int


class RetrievalRecording(Shape):
    """What was recorded."""

    schema: Schema
    run: RunId | None
    retrievals: list[RecordedRetrieval]


class RetrievedPassage(Shape):
    """A passage that a retriever returned, as it is today. `why` says why nothing more is told; an auditor hears more."""

    rank: int
    id: str | None
    score: float | None
    document: str | None
    doc_title: str | None
    revision: str | None
    chunk: str | None
    current_revision: str | None
    is_stale: bool | None
    section: str | None
    url: str | None
    effective_at: str | None
    user_may_read: bool
    why: str | None
    policies: NotRequired[list[str]]
    acl: NotRequired[list[str]]


class ExplainedRetrieval(Shape):
    """One retrieval. What it filtered by is for whoever recorded it, and for auditors."""

    retrieval_id: str
    recorded_at: str
    principal: str
    retriever: str | None
    k: int | None
    filter: dict[str, Any] | None
    generation: int
    passages: list[RetrievedPassage]


class ExplainedRetrievals(Shape):
    """The retrievals of one trace."""

    schema: Schema
    trace_id: str
    retrievals: list[ExplainedRetrieval]


class RecordedAt(Shape):
    """When, by whom and over what an answer was recorded."""

    at: str
    run: int
    generation: int
    graph_hash: str
    digest: str
    principal: str


class EvidenceThen(Evidence):
    """A citation as it was recorded."""

    active: bool
    retired_by: int | None


class StepThen(Shape):
    """A step as it was recorded."""

    confidence: float | None
    current: bool
    disputed: bool
    digest: NotRequired[str]
    policies: NotRequired[list[str]]
    acl: NotRequired[list[str]]
    evidence: list[EvidenceThen]


class StepNow(Shape):
    """A step as it is."""

    confidence: float | None
    current: bool
    disputed: bool
    evidence: list[Evidence]


class StandingStep(Shape):
    """A step of a recorded claim that still stands for this reader."""

    state: Literal["standing"]
    edge_id: str
    relation: str
    source: Address
    target: Address
    scope: Scope
    unchanged: bool
    then: StepThen | None
    now: StepNow


class GoneStep(Shape):
    """A step that is gone, or hidden: the same answer. An auditor hears why."""

    state: Literal["gone"]
    edge_id: str | None
    then: None
    now: None
    why: NotRequired[str]
    reasons: NotRequired[list[str]]
    policies: NotRequired[list[str]]
    acl: NotRequired[list[str]]
    changed: NotRequired[int | None]


class RecordedClaim(Shape):
    """A claim of a recorded answer."""

    claim_id: str
    text: str | None
    state: Literal["supported", "unsupported"]
    path: list[StandingStep | GoneStep]


class RecordedAnswer(Shape):
    """A recorded answer, then and now."""

    schema: Schema
    answer_id: str
    trace_id: str
    recorded: RecordedAt
    claims: list[RecordedClaim]


class TouchedStep(Shape):
    """A step whose edge changed for the worse."""

    hop: int
    edge_id: str
    impact: list[str]
    changed: int | None
    reasons: list[str]


class TouchedClaim(Shape):
    """A recorded claim whose edges changed for the worse."""

    answer_id: str
    claim_id: str
    trace_id: str
    generation: int
    impact: list[str]
    edges: list[TouchedStep]


class ImpactAnswer(Shape):
    """The recorded claims that a change of the graph concerns."""

    schema: Schema
    since: int | None
    claims_checked: int
    claims: list[TouchedClaim]
