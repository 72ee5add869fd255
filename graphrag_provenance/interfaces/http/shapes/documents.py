"""Documents and what changed between two revisions.

Owns: descriptions (`base` says what for).
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from graphrag_provenance.interfaces.http.shapes.base import CLOSED, Address, Schema, Shape
from graphrag_provenance.interfaces.http.shapes.graph import Edge


class Revision(Shape):
    """A revision of a document."""

    doc: str
    version: str | None
    supersedes: str | None
    source_url: str | None
    content_sha256: str | None
    complete: bool | None
    registered: bool | None
    since: int | None
    effective_at: str | None
    ingested_at: str | None
    state: Literal["head", "superseded", "unregistered"]
    superseded_by: list[str]
    chunks: int
    chunker_versions: list[str]
    cited_only: int
    purged: int
    edges: int
    policies: NotRequired[list[str]]
    acl: NotRequired[list[str]]


class Cited(Shape):
    """How often an edge cites a document."""

    active: int
    ever: int


class CitingEdge(Edge):
    """An edge that cites a document."""

    revisions: list[str]
    evidence: Cited


class DocumentAnswer(Shape):
    """One document, or one revision of it, with the edges that cite it."""

    schema: Schema
    doc_id: str
    title: str | None
    source_type: str | None
    registered: bool
    head: str | None
    attributes: dict[str, Any]
    policies: NotRequired[list[str]]
    revisions: list[Revision]
    edges: list[CitingEdge]
    edges_total: int
    truncated: bool


class CitedThenAndNow(Shape):
    """How often an edge cites each of two revisions."""

    before: int
    after: int
    active: int


class ComparedEdge(Shape):
    """An edge that cites one of two revisions."""

    edge_id: str
    relation: str
    source: Address
    target: Address
    state: str
    evidence: CitedThenAndNow
    quote_found: NotRequired[bool]


class Needed(Shape):
    """What a reader needs."""

    policies: list[str]
    acl: list[str]


class PolicyChange(Shape):
    """An edge that came under another policy; which, is for auditors."""

    edge_id: str
    before: NotRequired[Needed]
    after: NotRequired[Needed]


class Place(Shape):
    """A place in a revision."""

    chunk: str
    span: list[int] | None


FoundQuote = TypedDict("FoundQuote", {
    "edge_id": str, "quote_hash": str, "from": Place, "to": Place, "by": Literal["evidence", "text"], "moved": bool})  # fmt: skip
FoundQuote.__pydantic_config__ = CLOSED  # type: ignore[attr-defined]
MovedChunk = TypedDict("MovedChunk", {"from": str, "to": str})
MovedChunk.__pydantic_config__ = CLOSED  # type: ignore[attr-defined]


class Chunkers(Shape):
    """Versions of the chunker."""

    before: list[str]
    after: list[str]


class ChunkChanges(Shape):
    """What became of the chunks."""

    before: int
    after: int
    chunker_changed: Chunkers | None
    same: int
    changed: list[str]
    moved: list[MovedChunk]
    added: list[str]
    deleted: list[str]
    missing: list[str]


class AnswerOn(Shape):
    """A recorded answer and the edges it rests on."""

    answer_id: str
    edge_ids: list[str]


class DocumentDiff(Shape):
    """What changed between two revisions."""

    schema: Schema
    doc_id: str
    before: str
    after: str
    head: str | None
    complete: bool
    kept: list[ComparedEdge]
    gained: list[ComparedEdge]
    lost: list[ComparedEdge]
    policy_changed: list[PolicyChange]
    re_anchored: list[FoundQuote]
    chunks: ChunkChanges
    answers: NotRequired[list[AnswerOn]]
