"""Judging a ledger against the store (spec 4, release gate).

Owns: what is looked up for it, in few round trips, and for whom: what the reader may not see is not read, so it cannot be told from
what does not exist; for an auditor one more look-up says which of the missing exist. An edge that another one took in is judged by that
one. Leaves to others: the judgement (`rules.gate`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphrag_provenance.access.asking import confirmed
from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.model.identifiers import relationship_type
from graphrag_provenance.model.instants import now
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.answers import Audience
from graphrag_provenance.rules.conflicts import Place, Relations
from graphrag_provenance.rules.gate import EdgeFact, Facts, PassageFact, PassageKey, Verdict, judge
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.store.conflicts import rivals_of
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import Views, Visibility, may_see, require_role, under_one_order
from graphrag_provenance.store.runs import store_state
from graphrag_provenance.store.seeing import stands_for
from graphrag_provenance.store.together import answer_together

_MOST_AT_ONCE = 2_000
_SCOPE = ("environment", "region", "valid_from", "valid_to")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gate says to a ledger, and of which state of the store."""

    ledger: Ledger
    verdict: Verdict
    generation: int
    """The last run when the evidence was read."""

    def as_json(self) -> dict[str, Any]:
        """The judgement as programs read it."""
        return {
            "schema": 1, "id": self.ledger.id or None, **self.verdict.as_json(), "required_facets": sorted(set(self.ledger.facets)),
            "entries": len(self.ledger.entries), "generation": self.generation,
            "proves": "that the evidence is complete, not that the answer is true",
        }


def gate(
    database: Database, ledger: Ledger, reader: Reader, *, granted: Collection[str] = frozenset(), access: AccessSource | None = None,
    relations: Relations | None = None, audience: Audience = "reader",
) -> Judgement:
    """The judgement of a ledger for one reader. `relations`: declared relations, without which no two edges conflict.

    Raises AccessDeniedError for the auditor's view without that role, UnknownClearanceError for an unknown clearance, and StoreError
    when the store cannot be read.
    """
    if audience == "auditor":
        require_role(reader, Role.AUDITOR, action="The auditor's view")

    def read(keys: frozenset[str]) -> tuple[tuple[Facts, int], None]:
        generation = int((store_state(database) or {}).get("head_seq") or 0)
        found = under_one_order(database, reader, keys, lambda view: _facts(database, view, reader, ledger, relations or {}))
        return (found, generation), None

    facts, generation = confirmed(access, reader, granted, read)
    if audience == "auditor":
        facts = replace(facts, hidden=_hidden(database, reader.tenant, ledger, facts))
    return Judgement(ledger, judge(ledger, facts, now()), generation)


def _facts(database: Database, view: Visibility, reader: Reader, ledger: Ledger, relations: Relations) -> Facts:
    keys = sorted({(one.doc, one.chunk) for entry in ledger.entries for one in entry.passages})
    named = sorted({edge_id for entry in ledger.entries for edge_id in entry.edges})
    asked = [{"number": number, "doc": doc, "chunk": chunk} for number, (doc, chunk) in enumerate(keys)]
    found = [row for part in _parts(asked) for row in database.read("read.gate_passages", **view.params(), passages=part)]
    wanted = sorted({*named, *(edge_id for row in found for edge_id in row["edges"])})
    edges = _edges(database, view, wanted)
    merged = stands_for(database, view, [edge_id for edge_id in named if edge_id not in edges])
    edges |= _edges(database, view, sorted(set(merged.values()) - set(edges)))
    passages: dict[PassageKey, PassageFact] = {}
    for row in found:
        citing = tuple(sorted(edge_id for edge_id in row["edges"] if edge_id in edges))
        if _readable(view, row, citing):
            passages[row["doc"], row["chunk"]] = PassageFact(row["doc"], row["chunk"], row["head"], row["ordinal"], citing)
    views = Views(database, reader, view.granted)
    views.now = view
    places = [_place(edge) for edge in edges.values()]
    (beside,) = answer_together(database, [rivals_of(views, places, relations)])
    rivals: dict[str, list[str]] = {}
    for conflict, _ in beside:
        rivals.setdefault(conflict.edge_id, []).append(conflict.other)
    facts = {edge_id: _fact(edge, rivals.get(edge_id, ())) for edge_id, edge in edges.items()}
    return Facts(passages, facts | {edge_id: facts[into] for edge_id, into in merged.items() if into in facts})


def _edges(database: Database, view: Visibility, edge_ids: Sequence[str]) -> dict[str, Row]:
    """Those of some edges that are published and the reader's to see."""
    asked = [{"number": number, "edge_id": edge_id} for number, edge_id in enumerate(edge_ids)]
    rows = [row["edge"] for part in _parts(asked) for row in database.read("read.gate_edges", **view.params(), edges=part)]
    return {edge["edge_id"]: edge for edge in rows if edge["state"] == "published" and may_see(view, edge)}


def _parts(asked: Sequence[Row]) -> list[Sequence[Row]]:
    return [asked[start:start + _MOST_AT_ONCE] for start in range(0, len(asked), _MOST_AT_ONCE)]


def _readable(view: Visibility, row: Row, citing: Sequence[str]) -> bool:
    """The second check: everything said about the passage is the reader's. Where nothing is, or no record declares the passage, an
    edge that rests on it must be seen: what the reader may see of an edge is all of its evidence."""
    if set(row["tenants"]) != {view.tenant} or not view.granted.issuperset(row["references"]):
        return False
    return view.allowed.issuperset(row["statements"]) and (bool(citing) or bool(row["statements"] and row["registered"]))


def _place(edge: Row) -> Place:
    ends = ((edge["tenant"], edge[f"{side}_type"], edge[f"{side}_id"]) for side in ("source", "target"))
    return Place(edge, relationship_type(edge["relation"]), *ends)


def _fact(edge: Row, rivals: Sequence[str]) -> EdgeFact:
    ends = frozenset(f"{edge[f'{side}_type']}:{edge[f'{side}_id']}" for side in ("source", "target"))
    scope = {name: edge[name] for name in _SCOPE if edge[name] is not None}
    return EdgeFact(edge["edge_id"], ends, scope, bool(edge["current"]), edge["disputed"] is not False, tuple(rivals))


def _hidden(database: Database, tenant: str, ledger: Ledger, facts: Facts) -> frozenset[str | PassageKey]:
    """Of what the reader does not have: what exists all the same."""
    edges = {edge_id for entry in ledger.entries for edge_id in entry.edges} - set(facts.edges)
    passages = {(one.doc, one.chunk) for entry in ledger.entries for one in entry.passages} - set(facts.passages)
    if not edges and not passages:
        return frozenset()
    rows = database.read(
        "read.gate_hidden", tenant=tenant, edges=sorted(edges),
        passages=[{"doc": doc, "chunk": chunk} for doc, chunk in sorted(passages)])
    return frozenset(row["edge_id"] if row["doc"] is None else (row["doc"], row["chunk"]) for row in rows)
