"""When two edges contradict each other, and that nothing undeclared ever does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.rules.conflicts import Place, ends_to_ask, in_conflict, overlap
from graphrag_provenance.rules.relations import Relation, parse_relations

ONE = {"OWNED_BY": Relation(single_valued=True), "MARRIED_TO": Relation(single_valued=True, symmetric=True), "CALLS": Relation()}


def place(source: str, target: str, relation: str = "OWNED_BY", *, current: bool = True, **scope: Any) -> Place:
    return Place({"edge_id": f"{source}{target}", "current": current, **scope}, relation, ("T", "S", source), ("T", "S", target))


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


@pytest.mark.parametrize(("one", "other", "conflicting"), [
    (place("a", "b"), place("a", "c"), True),
    (place("a", "b"), place("a", "b", environment="x"), False),
    (place("a", "b"), place("x", "b"), False),
    (place("a", "b"), place("a", "c", current=False), False),
    (place("a", "b"), place("a", "c", "CALLS"), False),
    (place("a", "b", "CALLS"), place("a", "c", "CALLS"), False),
    (place("a", "b", "UNKNOWN"), place("a", "c", "UNKNOWN"), False),
    (place("a", "b", environment="x"), place("a", "c", environment="y"), False),
    (place("a", "b", environment="x"), place("a", "c"), True),
    (place("a", "b", region="x"), place("a", "c", region="y"), False),
    (place("a", "b", valid_to=day(2)), place("a", "c", valid_from=day(2)), False),
    (place("a", "b", valid_to=day(3)), place("a", "c", valid_from=day(2)), True),
    (place("a", "b", valid_from=day(3), valid_to=day(4)), place("a", "c", valid_from=day(1), valid_to=day(2)), False),
    (place("a", "b", "MARRIED_TO"), place("c", "a", "MARRIED_TO"), True),
    (place("a", "b", "MARRIED_TO"), place("b", "a", "MARRIED_TO"), False),
    (place("a", "b", "MARRIED_TO"), place("c", "d", "MARRIED_TO"), False),
    (place("a", "b", "MARRIED_TO"), place("c", "b", "MARRIED_TO"), True),
])
def test_two_edges_conflict_only_in_what_is_declared_and_where_both_hold(one: Place, other: Place, conflicting: bool) -> None:
    assert in_conflict(one, other, ONE) is in_conflict(other, one, ONE) is conflicting


def test_only_the_ends_that_may_have_one_partner_are_asked_for() -> None:
    assert ends_to_ask(place("a", "b"), ONE) == (("T", "S", "a"),)
    assert ends_to_ask(place("a", "b", "MARRIED_TO"), ONE) == (("T", "S", "a"), ("T", "S", "b"))
    assert ends_to_ask(place("a", "b", "CALLS"), ONE) == ends_to_ask(place("a", "b", "UNKNOWN"), ONE) == ()


SCOPES = st.fixed_dictionaries({
    "environment": st.sampled_from([None, "x", "y"]), "region": st.sampled_from([None, "x"]),
    "valid_from": st.none() | st.integers(1, 6).map(day), "valid_to": st.none() | st.integers(7, 12).map(day)})


@given(SCOPES, SCOPES)
def test_scopes_overlap_exactly_when_some_moment_and_place_lies_in_both(one: dict[str, Any], other: dict[str, Any]) -> None:
    def holds(scope: dict[str, Any], environment: str, region: str, at: datetime) -> bool:
        return (scope["environment"] in (None, environment) and scope["region"] in (None, region)
                and (scope["valid_from"] is None or scope["valid_from"] <= at) and (scope["valid_to"] is None or at < scope["valid_to"]))

    somewhere = any(holds(one, e, r, day(d)) and holds(other, e, r, day(d)) for e in "xyz" for r in "xz" for d in range(1, 14))
    assert overlap(one, other) is overlap(other, one) is somewhere


def test_a_symmetric_relation_has_the_same_types_at_both_ends() -> None:
    text = '[relations.near]\nsymmetric = true\ndomain = ["A"]\nrange = ["B"]\n'
    with pytest.raises(ConfigurationError, match="symmetric"):
        parse_relations(text)
    assert parse_relations(text.replace('"B"', '"A"'))["NEAR"].symmetric
