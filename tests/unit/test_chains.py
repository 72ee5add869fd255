"""The second check of an assembled chain, one rule a row; and the order of reasons."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.chains import (
    ANYTHING,
    Chain,
    Conditions,
    Item,
    Question,
    Reason,
    Step,
    address,
    conditions,
    failures,
    hop_holds,
    hop_stands,
    hop_visible,
    mixed,
    one_after_another,
    reason_of,
    without_each,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
A, B, C = ("T", "S", "a"), ("T", "S", "b"), ("T", "S", "c")
QUESTION = Question(("S", "a"), ("S", "c"))
ALLOWED = frozenset({"public", "internal"})


def item(**more: Any) -> Item:
    content = {"doc": "D@1", "head": "D@1", "polarity": "supports", "chunk": "c", "title": "D"} | more.pop("content", {})
    return replace(Item(content, ("internal",), (), frozenset({"T"})), **more)


def step(source: tuple[str, str, str], target: tuple[str, str, str], edge: dict[str, Any] | None = None, **more: Any) -> Step:
    plain = {"edge_id": "e", "tenant": "T", "policies": ["internal"], "acl": [], "current": True, "disputed": False}
    whole = plain | (edge or {})
    return replace(Step(whole, "CALLS", "calls", (), source, target, True, (item(),)), **more)


def chain(*steps: Step) -> Chain:
    """A chain over a, b, c whose second hop varies."""
    nodes = [dict(zip(("tenant", "type", "id"), place, strict=True), name="n") for place in (A, B, C)]
    return Chain(tuple(nodes), (step(A, B), *(steps or (step(B, C),))))


def failing(one: Chain, question: Question = QUESTION, asked: Conditions | None = None) -> list[str]:
    found = failures(one, question, asked or conditions(question, NOW), "T", ALLOWED, frozenset({"ref"}))
    return [str(failure.constraint) for failure in found]


def test_a_sound_chain_has_no_failure() -> None:
    assert failing(chain()) == []


BROKEN = [
    (step(B, C, {"tenant": "U"}), "tenant"),
    (step(B, C, {"tenant": None}), "tenant"),
    (step(B, C, {"policies": []}), "access"),
    (step(B, C, {"policies": None}), "access"),
    (step(B, C, {"policies": ["internal", "hr"]}), "access"),
    (step(B, C, {"policies": ["misspelt"]}), "access"),
    (step(B, C, {"acl": ["other"]}), "access"),
    (step(B, C, {"acl": None}), "access"),
    (step(B, C, declared=("restricted",)), "access"),
    (step(B, C, evidence=(item(statements=("restricted",)),)), "access"),
    (step(B, C, evidence=(item(), item(statements=("hr",)))), "access"),
    (step(B, C, evidence=(item(statements=()),)), "access"),
    (step(B, C, evidence=(item(references=("other",)),)), "access"),
    (step(B, C, evidence=()), "evidence"),
    (step(B, C, evidence=(item(tenants=frozenset({"T", "U"})),)), "evidence"),
    (step(B, C, {"current": False}), "stale-revision"),
    (step(B, C, {"current": None}), "stale-revision"),
    (step(B, C, evidence=(item(content={"head": "D@2"}),)), "stale-revision"),
    (step(B, C, {"disputed": True}), "disputed"),
    (step(B, C, {"disputed": None}), "disputed"),
    (step(B, C, evidence=(item(), item(content={"polarity": "refutes"}))), "disputed"),
    (step(B, C, {"valid_to": NOW}), "time-scope"),
    (step(B, C, {"valid_from": NOW + timedelta(microseconds=1)}), "time-scope"),
    (step(C, B, forward=False), "direction"),
    (step(C, B), "join"),
    (step(A, C), "join"),
    (step(B, C, relation=None), "relation"),
    (step(B, C, relation="owns"), "relation"),
]


@pytest.mark.parametrize(("second", "constraint"), BROKEN)
def test_one_broken_hop_breaks_the_chain(second: Step, constraint: str) -> None:
    assert constraint in failing(chain(second))


@pytest.mark.parametrize(("second", "constraint"), [(step(B, C), ""), *BROKEN])
def test_a_hop_alone_is_judged_as_it_is_within_a_chain(second: Step, constraint: str) -> None:
    """Whoever gathers edges one by one shows what a trace would walk, and nothing else."""
    asked, reader = conditions(QUESTION, NOW), ("T", ALLOWED, frozenset({"ref"}))
    alone = {"access": hop_visible(second, *reader), "stands": hop_stands(second, asked, *reader),
             "holds": hop_holds(second, QUESTION, 2, asked, *reader)}
    hidden = constraint in ("tenant", "access", "evidence")
    unmet = constraint in ("stale-revision", "disputed", "time-scope")
    assert alone == {"access": not hidden, "stands": not hidden and not unmet, "holds": constraint in ("", "join")}


def test_what_speaks_against_an_edge_does_not_make_it_current() -> None:
    stale, against = item(content={"head": "D@2"}), item(content={"polarity": "refutes"})
    assert failing(chain(step(B, C, evidence=(stale, against)))) == ["stale-revision", "disputed"]


def test_the_instant_of_a_question_goes_before_now() -> None:
    then = NOW - timedelta(days=9)
    assert (conditions(replace(QUESTION, at=then), NOW).at, conditions(QUESTION, NOW).at) == (then, NOW)


def test_a_path_that_does_not_join_fails_as_a_whole() -> None:
    (failure,) = failures(chain(), replace(QUESTION, max_hops=1), conditions(QUESTION, NOW), "T", ALLOWED, frozenset())
    assert (failure.hop, failure.edge_id, failure.constraint) == (0, None, "join")


def test_an_address_is_read_or_it_is_said_how_to_write_one() -> None:
    assert address("System:a") == ("System", "a")
    with pytest.raises(InputError):
        address("a")


def test_a_hop_at_its_place_has_the_relation_of_that_place() -> None:
    def holds(relations: tuple[str, ...], sequence: tuple[str, ...], hop: int, *, directed: bool = True, forward: bool = True) -> bool:
        question = replace(QUESTION, relations=relations, sequence=sequence, directed=directed)
        one = replace(step(A, B), forward=forward)
        return hop_holds(one, question, hop, conditions(question, NOW), "T", ALLOWED, frozenset())

    assert holds(("calls",), (), 1)
    assert not holds(("owns",), (), 1)
    assert [holds((), ("owns", "calls"), hop) for hop in (1, 2)] == [False, True]
    assert [holds((), (), 1, directed=directed, forward=False) for directed in (True, False)] == [False, True]


def test_an_interval_holds_from_its_start_until_just_before_its_end() -> None:
    assert failing(chain(step(B, C, {"valid_from": NOW, "valid_to": NOW + timedelta(microseconds=1)}))) == []


def test_a_granted_reference_opens_what_it_guards() -> None:
    assert failing(chain(step(B, C, {"acl": ["ref"]}, evidence=(item(references=("ref",)),)))) == []


def test_the_declared_policy_stands_in_for_evidence_that_nothing_speaks_about() -> None:
    assert failing(chain(step(B, C, declared=("internal",), evidence=(item(statements=()),)))) == []


def test_a_stated_scope_must_be_the_one_asked_for_and_an_unstated_one_holds_everywhere() -> None:
    asked = replace(QUESTION, environment="production", region="eu")
    assert failing(chain(step(B, C, {"environment": "production"})), asked) == []
    assert failing(chain(step(B, C, {"environment": "staging", "region": "us"})), asked) == ["environment-scope", "region-scope"]


def test_a_value_already_tried_is_left_out() -> None:
    tried = replace(conditions(QUESTION, NOW), not_environments=("staging",), not_regions=("eu",))
    second = step(B, C, {"environment": "staging", "region": "eu"})
    assert failing(chain(second), asked=tried) == ["environment-scope", "region-scope"]


def test_a_sequence_is_exact_in_order_and_length() -> None:
    assert failing(chain(), replace(QUESTION, sequence=("calls", "calls"))) == []
    assert failing(chain(), replace(QUESTION, sequence=("calls", "owns"))) == ["relation"]
    assert failing(chain(), replace(QUESTION, sequence=("calls",))) == ["join"]
    assert failing(chain(), replace(QUESTION, sequence=("calls", "calls", "calls"))) == ["join"]


def test_a_chain_runs_between_the_ends_asked_for_and_is_not_too_long() -> None:
    assert failing(chain(), replace(QUESTION, target=("S", "d"))) == ["join"]
    assert failing(chain(), replace(QUESTION, max_hops=1)) == ["join"]


def test_only_relations_that_were_allowed_are_walked() -> None:
    assert failing(chain(), replace(QUESTION, relations=("owns",))) == ["relation", "relation"]


def test_against_direction_is_fine_only_when_direction_is_not_asked() -> None:
    assert failing(chain(step(C, B, forward=False)), replace(QUESTION, directed=False)) == []


@pytest.mark.parametrize(("first", "second", "scope"), [
    ({"environment": "p"}, {"environment": "s"}, Reason.ENVIRONMENT),
    ({"environment": "p", "region": "e"}, {"environment": "p", "region": "u"}, Reason.REGION),
    ({"environment": "p"}, {}, None),
    ({}, {}, None),
])
def test_hops_in_different_places_are_not_one_chain(first: dict[str, str], second: dict[str, str], scope: Reason | None) -> None:
    assert mixed(replace(chain(), steps=(step(A, B, first), step(B, C, second)))) is scope


@pytest.mark.parametrize(("alone", "applied", "reason"), [
    ({Reason.DISPUTED: True, Reason.REGION: True}, {}, Reason.REGION),
    ({Reason.STALE: True}, {Reason.ENVIRONMENT: False}, Reason.STALE),
    ({Reason.STALE: False}, {Reason.REGION: True, Reason.TIME: False, Reason.DISPUTED: False}, Reason.TIME),
    ({}, {}, Reason.NO_PATH),
])
def test_the_first_condition_that_alone_stands_in_the_way_is_the_reason(
    alone: dict[Reason, bool], applied: dict[Reason, bool], reason: Reason) -> None:
    assert reason_of(alone, applied) is reason


def test_conditions_are_relaxed_one_by_one_and_applied_one_after_another() -> None:
    asked = Conditions("p", None, NOW, require_current=True)
    assert set(without_each(asked)) == {Reason.ENVIRONMENT, Reason.REGION, Reason.TIME, Reason.STALE, Reason.DISPUTED}
    assert without_each(asked)[Reason.REGION] == asked
    assert Reason.STALE not in without_each(replace(asked, require_current=False))
    steps = one_after_another(asked)
    assert list(steps) == [Reason.ENVIRONMENT, Reason.REGION, Reason.TIME, Reason.STALE, Reason.DISPUTED]
    assert steps[Reason.ENVIRONMENT] == replace(ANYTHING, environment="p")
    assert steps[Reason.DISPUTED] == asked


def test_equal_instants_are_one_question() -> None:
    berlin, utc = datetime(2026, 3, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")), datetime(2026, 3, 1, tzinfo=UTC)
    assert replace(QUESTION, at=berlin) == replace(QUESTION, at=utc)
    asked = replace(QUESTION, at=berlin).at
    assert asked is not None
    assert asked.tzinfo is UTC


def test_what_is_not_asked_cannot_be_relaxed() -> None:
    assert all(ANYTHING.without(reason) is None for reason in
               (Reason.ENVIRONMENT, Reason.REGION, Reason.TIME, Reason.STALE, Reason.DISPUTED))


@pytest.mark.parametrize("wrong", [
    {"source": ("S", " ")}, {"target": ("S x", "a")}, {"max_hops": 0}, {"max_hops": 9}, {"relations": ("a b",)},
    {"sequence": ("x`",)}, {"sequence": ("calls",) * 9}, {"relations": ("a",), "sequence": ("a",)},
    {"relations": ("evidenced_by",)}, {"at": datetime(2026, 1, 1)},
])
def test_what_is_not_a_question_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        replace(QUESTION, **wrong)


def test_ids_are_normalised_as_at_load() -> None:
    assert Question(("S", " a  b "), ("S", "c")).source == ("S", "a b")
