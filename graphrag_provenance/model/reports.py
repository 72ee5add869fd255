"""What programs report about their own work: quotes to check, answers given, passages retrieved (spec 4).

Owns: the JSON of those files. They are no standard records: nothing in them enters the graph. Frozen, no unknown field, nothing
guessed.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from graphrag_provenance.model.records import Attributes, Identifier, Number, Record, RevisionId, Text, Unicode


class QuoteReport(Record):
    """A quote in full, and the passage that it is said to stand in."""

    id: Identifier | None = None
    """How the report calls it; default: its number in the file."""
    doc: RevisionId
    """The revision, `doc@ver`."""
    chunk: Identifier
    """The chunk inside that revision."""
    quote: Unicode
    """The quote, word for word."""


class PassageReport(Record):
    """A passage that a step of a claim cites."""

    doc: RevisionId
    """The revision, `doc@ver`."""
    chunk: Identifier
    """The chunk inside that revision."""


class StepReport(Record):
    """One edge of the path that a claim rests on."""

    edge_id: Identifier
    """The edge."""
    evidence: Annotated[list[PassageReport], Field(min_length=1)] | None = None
    """The passages that the answer cites for it; absent: all that support the edge."""


class ClaimReport(Record):
    """One statement of an answer."""

    claim_id: Identifier | None = None
    """Unique in the answer; default: its number."""
    text: Text | None = None
    """The statement as the answer makes it; may stay outside the store."""
    path: Annotated[list[Identifier | StepReport], Field(min_length=1, max_length=64)]
    """The edges it rests on, in order: edge ids, or steps with the passages cited."""

    @property
    def steps(self) -> list[StepReport]:
        """The path, every step in its long form."""
        return [StepReport(edge_id=one) if isinstance(one, str) else one for one in self.path]


TraceId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class AnswerReport(Record):
    """An answer that was given: its claims, and what each rests on."""

    answer_id: Identifier
    """Id of the answer, unique inside the tenant."""
    trace_id: TraceId
    """W3C trace id of the work that made the answer, 32 hex digits."""
    generation: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    """The generation that the answer was made from (`generation` of a trace); absent: the present one."""
    claims: Annotated[list[ClaimReport], Field(min_length=1, max_length=1_000)]
    """Its claims."""

    @model_validator(mode="after")
    def _distinct(self) -> AnswerReport:
        names = self.claim_ids
        if len(set(names)) < len(names):
            raise ValueError("two claims have one claim_id")
        return self

    @property
    def claim_ids(self) -> list[str]:
        """The ids of the claims, in order."""
        return [one.claim_id or str(number) for number, one in enumerate(self.claims, 1)]


_ONE_NAME: JsonDict = {"oneOf": [
    {"required": ["id"], "properties": {"id": {"type": "string"}, "doc": {"type": "null"}, "chunk": {"type": "null"}}},
    {"required": ["doc", "chunk"], "properties": {"id": {"type": "null"}, "doc": {"type": "string"}, "chunk": {"type": "string"}}},
]}


class PointReport(Record):
    """One passage that a retriever returned."""

    model_config = ConfigDict(json_schema_extra=_ONE_NAME)
    id: Identifier | None = None
    """`doc@ver#chunk`, or the point id (UUID) of the passage in a vector store."""
    doc: RevisionId | None = None
    """The revision, where the passage is named by its two ids."""
    chunk: Identifier | None = None
    """The chunk inside that revision."""
    score: Number | None = None
    """The retriever's score."""

    @model_validator(mode="after")
    def _one_name(self) -> PointReport:
        if (self.id is None) == (self.doc is None) or (self.doc is None) != (self.chunk is None):
            raise ValueError("name a passage by id, or by doc and chunk")
        return self


class RetrievalReport(Record):
    """What one retrieval asked for and got: ids and scores, no text."""

    trace_id: TraceId
    """W3C trace id of the work that the retrieval was part of, 32 hex digits. One trace may have several retrievals."""
    retriever: Identifier | None = None
    """Name of the retriever."""
    k: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """How many passages were asked for."""
    filter: Attributes = Field(default_factory=dict)
    """What the retriever filtered by: a flat map."""
    generation: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    """The generation that the index was built from; absent: the present one."""
    passages: Annotated[list[PointReport], Field(max_length=10_000)]
    """What it returned, best first; may be empty."""


REPORT_KINDS: dict[str, type[Record]] = {"answer": AnswerReport, "retrieval": RetrievalReport, "quote": QuoteReport}


def report_schema(kind: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of one kind of report. Raises KeyError for an unknown kind."""
    schema = REPORT_KINDS[kind].model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
