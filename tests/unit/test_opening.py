"""What opens and what closes, against every set of clearances there is; and how a join is told."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
from hypothesis import given

from graphrag_provenance.rules.joining import join_steps
from graphrag_provenance.rules.opening import Effect, effect
from graphrag_provenance.rules.policies import PolicyLattice, lattice

NAMES = ("a", "b", "c", "d")


@st.composite
def orders(draw: st.DrawFn) -> PolicyLattice:
    names = draw(st.permutations(NAMES).flatmap(lambda all_: st.integers(2, 4).map(lambda n: all_[:n])))
    return lattice({name: draw(st.lists(st.sampled_from(names[:n]), unique=True)) if n else [] for n, name in enumerate(names)})


def sees(order: PolicyLattice, clearances: tuple[str, ...], statements: set[str]) -> bool:
    return all(order.knows(name) for name in statements) and statements <= order.covers(clearances)


def test_one_statement_less_opens_though_the_others_stay() -> None:
    order = lattice({"a": [], "b": [], "c": []})
    assert effect(order, ("a", "b"), order, ("a",), rewritten=True) is Effect.OPENED
    assert effect(order, ("a",), order, ("a", "b"), rewritten=True) is Effect.CLOSED


@given(orders(), orders(), st.sets(st.sampled_from(NAMES), min_size=1))
def test_an_edge_opens_iff_some_reader_gains_it(old: PolicyLattice, new: PolicyLattice, statements: set[str]) -> None:
    before, after = (order.join(statements) if all(map(order.knows, statements)) else () for order in (old, new))
    common = [name for name in NAMES if old.knows(name) and new.knows(name)]
    readers = [some for size in range(len(common) + 1) for some in itertools.combinations(common, size)]
    gained = any(sees(new, one, statements) and not sees(old, one, statements) for one in readers)
    lost = any(sees(old, one, statements) and not sees(new, one, statements) for one in readers)
    found = effect(old, before, new, after, rewritten=False)
    if not before or not after:
        assert found is (Effect.OPENED if after else Effect.CLOSED if before else Effect.UNCHANGED)
    else:
        assert found is (Effect.OPENED if gained else Effect.CLOSED if lost else Effect.UNCHANGED)


def test_a_join_is_told_step_by_step() -> None:
    order = lattice({"low": [], "high": ["low"], "beside": [], "all": ["high", "beside"]})
    assert [step.as_json() for step in join_steps(order, ["low", "pubilc", "high", "low", "beside", "low", "all"])] == [
        {"policy": "low", "effect": "the first", "so_far": ["low"]},
        {"policy": "pubilc", "effect": "unknown: the edge is withheld", "so_far": ["low"]},
        {"policy": "high", "effect": "above low: takes its place", "so_far": ["high"]},
        {"policy": "beside", "effect": "stands beside the others: a reader needs each", "so_far": ["beside", "high"]},
        {"policy": "all", "effect": "above beside, high: takes its place", "so_far": ["all"]}]
    assert [step.told() for step in join_steps(order, ["beside", "all", "low", "high"])][2:] == ["below all: adds nothing"] * 2
    assert join_steps(order, ["beside", "high", "low"])[-1].told() == "below high: adds nothing"


@given(orders(), st.lists(st.sampled_from(NAMES), max_size=6))
def test_a_join_told_step_by_step_ends_at_the_join(order: PolicyLattice, statements: list[str]) -> None:
    steps = join_steps(order, statements)
    known = [name for name in statements if order.knows(name)]
    assert (steps[-1].so_far if steps else ()) == order.join(known)
    assert [step.policy for step in steps] == list(dict.fromkeys(statements))
    assert all(step.told() for step in steps)
