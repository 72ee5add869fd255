"""What the gate reads, and what of it counts: the second check, the auditor's look-up, the JSON (`store.gate`)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.gate import EdgeFact, Facts, PassageFact, Verdict
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.gate import Judgement, _edges, _hidden, _readable, gate
from graphrag_provenance.store.readers import Visibility

VIEW = Visibility("T", frozenset({"internal"}), frozenset({"OPS"}), frozenset({"internal", "hr"}), "hash")
EDGE = {"edge_id": "e", "tenant": "T", "state": "published", "policies": ["internal"], "acl": []}


class Stored:
    """A store that gives these rows to each query, and keeps what it was asked."""

    def __init__(self, **rows: list[dict[str, Any]]) -> None:
        self.rows, self.asked = rows, cast(list[tuple[str, dict[str, Any]]], [])

    def read(self, query: Any, **given: Any) -> list[dict[str, Any]]:
        self.asked.append((query, given))
        return self.rows.get(query.replace(".", "_"), [])


def stored(**rows: list[dict[str, Any]]) -> Any:
    return Stored(**rows)


def ledger(*edges: str, passages: tuple[str, ...] = (), **more: Any) -> Ledger:
    cited = [{"doc": doc, "chunk": "c"} for doc in passages]
    return Ledger.model_validate({"entries": [{"sentence": "s", "edges": list(edges), "passages": cited}], **more})


@pytest.mark.parametrize(("damage", "citing", "readable"), [
    ({}, (), True), ({"references": ["OPS"]}, (), True), ({"statements": []}, ("e",), True), ({"registered": False}, ("e",), True),
    ({"statements": []}, (), False), ({"registered": False}, (), False),  # nothing is said of it, or nothing declares it
    ({"statements": ["internal", "hr"]}, ("e",), False), ({"references": ["OPS", "FIN"]}, ("e",), False),
    ({"tenants": ["T", "U"]}, ("e",), False), ({"tenants": ["U"]}, ("e",), False),
])
def test_a_passage_counts_by_what_is_said_of_it_or_by_an_edge_that_is_seen(
    damage: dict[str, Any], citing: tuple[str, ...], readable: bool) -> None:
    row = {"tenants": ["T"], "statements": ["internal"], "references": [], "registered": True} | damage
    assert _readable(VIEW, row, citing) is readable


@pytest.mark.parametrize(("damage", "seen"), [
    ({}, True), ({"state": "withheld"}, False), ({"policies": ["hr"]}, False), ({"acl": None}, False)])
def test_an_edge_counts_if_it_is_published_and_the_readers_to_see(damage: dict[str, Any], seen: bool) -> None:
    assert bool(_edges(stored(read_gate_edges=[{"edge": EDGE | damage}]), VIEW, ["e"])) is seen


def test_an_auditor_hears_which_of_the_missing_exist_and_nothing_is_asked_where_nothing_is_missing() -> None:
    facts = Facts({("d@1", "c"): PassageFact("d@1", "c", "d@1", 0)}, {"e": EdgeFact("e", frozenset(), {}, True, False)})
    assert _hidden(cast(Database, None), "T", ledger("e", passages=("d@1",)), facts) == frozenset()
    there = [{"edge_id": "f", "doc": None, "chunk": None}, {"edge_id": None, "doc": "x@1", "chunk": "c"}]
    for asked, missing in ((ledger("e", "f"), {"edges": ["f"], "passages": []}),
                           (ledger("e", passages=("x@1", "d@1")), {"edges": [], "passages": [{"doc": "x@1", "chunk": "c"}]})):
        store = stored(read_gate_hidden=there)
        assert _hidden(store, "T", asked, facts) == {"f", ("x@1", "c")}
        assert store.asked == [("read.gate_hidden", {"tenant": "T", **missing})]


@pytest.mark.parametrize(("rows", "generation"), [
    ({}, 0), ({"store_state": [{"store": {}}]}, 0), ({"store_state": [{"store": {"head_seq": 7}}]}, 7)])
def test_a_judgement_says_which_state_it_is_of(rows: dict[str, Any], generation: int) -> None:
    who = Reader("ann", "T", set(), {Role.AUDITOR})
    store = stored(**rows)
    assert gate(store, ledger(*"jihgfedcba", passages=("z@1", "y@1", "x@1", "w@1", "v@1")), who).as_json()["generation"] == generation
    asked = dict(store.asked)
    assert [one["doc"] for one in asked["read.gate_passages"]["passages"]] == ["v@1", "w@1", "x@1", "y@1", "z@1"]  # the same text each time
    assert [one["edge_id"] for one in asked["read.gate_edges"]["edges"]] == list("abcdefghij")


def test_a_judgement_as_programs_read_it() -> None:
    made = Judgement(ledger("e", id="INC-1", facets=["owner", "cause"], order=[]), Verdict(("owner",), ("cause",), ()), 7).as_json()
    assert {name: made[name] for name in ("schema", "id", "required_facets", "entries", "generation")} == {
        "schema": 1, "id": "INC-1", "required_facets": ["cause", "owner"], "entries": 1, "generation": 7}
    assert Judgement(ledger("e"), Verdict((), (), ()), 7).as_json()["id"] is None
