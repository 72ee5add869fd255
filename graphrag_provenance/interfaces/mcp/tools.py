"""The tools: what a model may ask, in words that it can act on (spec 5, MCP).

Owns: names, descriptions and arguments of the tools. Every one reads through the same code as the command line, by stored queries in
READ sessions; none takes Cypher, and none takes a reader: who asks is decided before, and an argument that a tool does not have is refused.
Whoever asks, a tool answers as to a plain reader: policies, references and withheld edges are for people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field

from graphrag_provenance.interfaces.http.bodies import ClaimBody
from graphrag_provenance.interfaces.http.queries import (
    EdgePage,
    EdgeThen,
    EntityText,
    OneAnswer,
    OneDocument,
    OneEdge,
    OneEntity,
    TwoRevisions,
)
from graphrag_provenance.interfaces.http.routes.tracing import asked as traced
from graphrag_provenance.interfaces.http.service import Service
from graphrag_provenance.interfaces.http.shapes.answers import GateAnswer, RecordedAnswer
from graphrag_provenance.interfaces.http.shapes.claims import TraceAnswer, TraceAnswers
from graphrag_provenance.interfaces.http.shapes.documents import DocumentAnswer, DocumentDiff
from graphrag_provenance.interfaces.http.shapes.graph import EdgeAnswer, EdgeHistory, Edges, Entities, EntityAnswer
from graphrag_provenance.model.identifiers import parse_address
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Json
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.store.answers import show_answer
from graphrag_provenance.store.as_of import edge_as_of
from graphrag_provenance.store.documents import doc_diff, doc_show
from graphrag_provenance.store.gate import gate
from graphrag_provenance.store.lookups import edge_history, edge_list, edge_show, entity_find, entity_show


class Claims(BaseModel, extra="forbid", frozen=True):
    """Many claims, asked together."""

    claims: Annotated[list[ClaimBody], Field(min_length=1, max_length=50)]


class ThisClaim(ClaimBody):
    """One claim."""

    as_of: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    """Ask of the graph as it was after this run."""


Call = Callable[[Service, Reader, str, Any], Json]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    title: str
    description: str
    asked: type[BaseModel]
    answer: Any
    """Type of what it answers."""
    call: Call
    long: bool = False
    """Whether it may compute long: then it does so in a thread."""


def _trace(service: Service, reader: Reader, trace_id: str, asked: ThisClaim) -> Json:
    return traced(service, reader, trace_id, [asked], "reader", asked.as_of)[0].as_json()


def _traces(service: Service, reader: Reader, trace_id: str, asked: Claims) -> Json:
    found = traced(service, reader, trace_id, asked.claims, "reader", None)
    return {"schema": 1, "answers": [{"id": claim.id, **one.as_json()} for claim, one in zip(asked.claims, found, strict=True)]}


def _find(service: Service, reader: Reader, _: str, asked: EntityText) -> Json:
    found = entity_find(service.database, reader, asked.text, asked.limit, access=service.access)
    return {"schema": 1, "entities": found, "truncated": len(found) == asked.limit}


def _entity(service: Service, reader: Reader, _: str, asked: OneEntity) -> Json:
    return entity_show(service.database, reader, parse_address(asked.address), limit=asked.limit, access=service.access)


def _edge(service: Service, reader: Reader, _: str, asked: EdgeThen) -> Json:
    if asked.as_of is not None:
        return edge_as_of(service.database, reader, asked.id, asked.as_of, access=service.access)
    return edge_show(service.database, reader, asked.id, access=service.access)


def _history(service: Service, reader: Reader, _: str, asked: OneEdge) -> Json:
    return edge_history(service.database, reader, asked.id, access=service.access)


def _edges(service: Service, reader: Reader, _: str, asked: EdgePage) -> Json:
    found = edge_list(service.database, reader, False, asked.limit, asked.after, access=service.access)
    return {"schema": 1, "edges": found, "truncated": len(found) == asked.limit}


def _document(service: Service, reader: Reader, _: str, asked: OneDocument) -> Json:
    return doc_show(service.database, reader, asked.id, limit=asked.limit, access=service.access)


def _diff(service: Service, reader: Reader, _: str, asked: TwoRevisions) -> Json:
    before, after = (f"{asked.id}@{version}" for version in (asked.before, asked.after))
    return doc_diff(service.database, reader, before, after, access=service.access)


def _gate(service: Service, reader: Reader, _: str, asked: Ledger) -> Json:
    return gate(service.database, asked, reader, access=service.access, relations=service.relations).as_json()


def _answer(service: Service, reader: Reader, _: str, asked: OneAnswer) -> Json:
    return show_answer(service.database, reader, asked.id, access=service.access)


TOOLS = (
    Tool("find_entities", "Find entities", (
        "Start here when you know a name but not the exact id. Finds entities whose name, id or alias contains the words; exact "
        "matches come first. Write what you need afterwards as `Type:id`, put together from `type` and `id` of a result. An empty "
        "list means that nothing fits: try fewer or other words, do not invent an id."), EntityText, Entities, _find),
    Tool("show_entity", "Show an entity", (
        "One entity by `Type:id` (an alias works too): its names, and the relations at it, counted and listed, with the entity at "
        "the other end. Use it to see what is known around something before you trace a claim. For the evidence of one relation "
        "call show_edge with its edge_id."), OneEntity, EntityAnswer, _entity),
    Tool("trace_claim", "Trace a claim to its evidence", (
        "Does a chain of evidenced relations lead from one entity to another? Use it before you state that two things are "
        "connected. `supported` brings the path, the passages behind every step and numbered `citations`: cite those as [n]. "
        "`unresolved` means that the claim must not be made; `reason` says why, and a step that is missing must not be filled in. "
        "Steps run in the direction of their relation unless `undirected` is set. `environment`, `region` and `at` restrict where "
        "and when every step must hold."),
        ThisClaim, TraceAnswer, _trace),
    Tool("trace_claims", "Trace many claims", (
        "The same as trace_claim for up to 50 claims in one call. Give each an `id` to find its answer again."),
        Claims, TraceAnswers, _traces, True),
    Tool("show_edge", "Show the evidence of a relation", (
        "One relation by its edge_id with every passage that supports or refutes it: document and revision, section, place, "
        "address, and whether that revision is still the current one (`is_stale`). `disputed` means that evidence speaks against "
        "it. `as_of` shows it as it was after a run."), EdgeThen, EdgeAnswer, _edge),
    Tool("edge_history", "Show the history of a relation", (
        "Every passage that a relation ever rested on, with the run that added it and the run that retired it. Use it to say since "
        "when something is known, or what it rested on before."), OneEdge, EdgeHistory, _history),
    Tool("list_edges", "List relations", (
        "Relations by edge_id, page by page: pass the last edge_id as `after` while `truncated` is true. To find the relations of "
        "one thing, show_entity is the shorter way."), EdgePage, Edges, _edges),
    Tool("show_document", "Show a document", (
        "A document by id, or one revision of it as `doc@version`: its revisions, which one is the head, and the relations that "
        "cite it."),
        OneDocument, DocumentAnswer, _document),
    Tool("compare_revisions", "Compare two revisions of a document", (
        "What changed between two versions of one document: which relations were kept, gained or lost, where quotes stand now, and "
        "what became of the passages."), TwoRevisions, DocumentDiff, _diff, True),
    Tool("check_gate", "Check an answer before it is given", (
        "Judges whether the evidence of a drafted answer is complete. Give each sentence as an entry with the edge_ids or passages "
        "it rests on, and the facets that the answer must cover. `evidence-complete`: it may be given. `review`: `findings` say "
        "which sentence lacks what. It does not say that the answer is true."), Ledger, GateAnswer, _gate, True),
    Tool("show_answer", "Show a recorded answer", (
        "An answer that was recorded before: each claim with its path, and the evidence as it was then and as it is now. A claim "
        "that is `unsupported` now must not be repeated."), OneAnswer, RecordedAnswer, _answer),
)
