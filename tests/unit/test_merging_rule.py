"""What becomes of the edges at two entities that become one: the rule alone (spec 3, entity merge)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from graphrag_provenance.errors import StoreError
from graphrag_provenance.rules.edges import Identity, derived_edge_id
from graphrag_provenance.rules.merging import Merges, Standing, Union, unions

T = "ACME"
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def says(source: str = "a", target: str = "x", relation: str = "owns", **scope: Any) -> Identity:
    """An edge from `System:source` to `Team:target`."""
    stated = {"relation": relation, "source_type": "System", "source_id": source, "target_type": "Team", "target_id": target} | scope
    return Identity(*(stated.get(name) for name in Identity._fields))  # type: ignore[arg-type]


def edge(edge_id: str | None, said: Identity, derived_id: str | None = None) -> Standing:
    """An edge; without an id it has the derived one."""
    return Standing(edge_id or derived_edge_id(T, said), said, derived_id)


def merged(*edges: Standing) -> list[Union]:
    """What becomes of them when `System:a` is merged into `System:b`."""
    return unions(T, "System", "a", "b", edges)


def test_an_edge_moves_and_keeps_its_id_and_one_elsewhere_stays() -> None:
    assert merged(edge("E", says()), edge("F", says("b", "y")), edge("G", says("c"))) == [Union("E", says("b"), None)]


def test_an_edge_with_a_derived_id_answers_to_the_one_derived_from_what_it_says_now() -> None:
    (one,) = merged(edge(None, says()))
    assert (one.survivor, one.derived_id) == (derived_edge_id(T, says()), derived_edge_id(T, says("b")))


@pytest.mark.parametrize(("staying", "moving", "survivor"), [
    (["M"], ["A"], "M"),  # who said so already stays, whatever the ids
    (["M", "K"], ["A"], "K"),  # the least of those
    ([None, "!"], ["A"], None),  # but the one with the derived id before any other
], ids=["the one that stood", "the least", "the derived one"])
def test_which_of_several_edges_stays(staying: list[str | None], moving: list[str], survivor: str | None) -> None:
    (one,) = merged(*(edge(name, says("b")) for name in staying), *(edge(name, says("a")) for name in moving))
    assert one.survivor == (survivor or derived_edge_id(T, says("b")))
    assert one.joined == tuple(moving), "two ids that were given for one thing stay two edges"
    assert one.derived_id is None


def test_where_none_said_so_before_the_one_with_a_derived_id_stays_then_the_least() -> None:
    """Both ends become one: a→b and b→a collide in b→b."""
    there, back = (says(source, target, target_type="System") for source, target in (("a", "b"), ("b", "a")))
    loop = says("b", "b", target_type="System")
    assert merged(edge("Z", there), edge("Y", back)) == [Union("Y", loop, None, ("Z",))]
    assert merged(edge("!", there), edge(None, back)) == [
        Union(derived_edge_id(T, back), loop, derived_edge_id(T, loop), ("!",))]


def test_an_edge_that_takes_in_one_with_a_derived_id_answers_to_it() -> None:
    (one,) = merged(edge("K", says("b")), edge(None, says("a")))
    assert (one.survivor, one.derived_id) == ("K", derived_edge_id(T, says("b")))
    (one,) = merged(edge("K", says("b")), edge("L", says("a"), derived_id="old"))
    assert one.derived_id == derived_edge_id(T, says("b")), "an id that it answered to already counts too"


@pytest.mark.parametrize("scope", [
    {"environment": "production"}, {"region": "eu"}, {"valid_from": NEW_YEAR}, {"valid_to": NEW_YEAR},
    {"relation": "sues"}, {"target": "y"}, {"target_type": "Company"},
], ids=lambda scope: next(iter(scope)))
def test_edges_that_differ_in_anything_stay_two(scope: dict[str, Any]) -> None:
    assert [one.joined for one in merged(edge("E", says("a", **scope)), edge("F", says("b")))] == [()]


def test_the_case_of_a_relation_tells_no_edges_apart_and_the_least_spelling_stays() -> None:
    assert merged(edge("E", says("a", relation="OWNS")), edge("F", says("b"))) == [Union("F", says("b", relation="OWNS"), None, ("E",))]


def test_edges_whose_source_has_another_type_stay_two() -> None:
    here, other = says("b"), says("b")._replace(source_type="Service")
    assert [one.joined for one in merged(edge("E", says("a")), edge("F", other))] == [()]
    assert here != other


def test_a_record_about_a_merged_entity_concerns_the_merge() -> None:
    merges = Merges({(T, "System", "a"): "b"}, {})
    assert merges.concern(T, {"source": {"type": "System", "id": "a"}})
    assert merges.concern(T, {"target": {"type": "System", "id": "a"}})
    assert not merges.concern(T, {"source": {"type": "Team", "id": "a"}, "target": "a"})
    assert not Merges({}, {}).concern(T, {"source": {"type": "System", "id": "a"}})


def test_only_the_type_that_is_merged_is_renamed() -> None:
    assert merged(edge("E", says("c", "a")), edge("F", says("a", "a", source_type="Team"))) == []
    assert merged(edge("E", says("a", "a"))) == [Union("E", says("b", "a"), None)]


def test_what_was_merged_is_followed_to_its_end_and_a_circle_is_told() -> None:
    merges = Merges({(T, "System", "a"): "b", (T, "System", "b"): "c"}, {(T, "E"): "F", (T, "F"): "G"})
    assert (merges.entity(T, "System", "a"), merges.entity(T, "Team", "a"), merges.entity("B", "System", "a")) == ("c", "a", "a")
    assert (merges.edge_id(T, "E"), merges.edge_id("B", "E")) == ("G", "E")
    circle = Merges({(T, "System", "a"): "b", (T, "System", "b"): "a"}, {(T, "E"): "F", (T, "F"): "E"})
    for ask in (lambda: circle.entity(T, "System", "a"), lambda: circle.edge_id(T, "E")):
        with pytest.raises(StoreError, match="in a circle"):
            ask()
