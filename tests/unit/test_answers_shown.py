"""What is told of a recorded answer: the words with all of their steps only, why a step is gone, and what a change concerns."""

from __future__ import annotations

from typing import Any, cast

import pytest

from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.store.answers import _claim_json, _impact, _states, _why, answers_on
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.readers import Visibility

VIEW = Visibility("T", frozenset({"internal"}), frozenset({"OPS"}), frozenset({"internal", "hr"}), "hash")
OPERATOR = Reader("op", "T", set(), {Role.OPERATOR})


def step(edge_id: str, *policies: str, acl: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"edge_id": edge_id, "policies": policies or ("internal",), "acl": acl, "confidence": None, "current": True, "disputed": False,
            "digest": "sha256:01", "evidence": []}


def standing(edge_id: str, **more: Any) -> Any:
    scope = dict.fromkeys(("environment", "region", "valid_from", "valid_to"))
    return {"assertion": {
        "edge_id": edge_id, "relation": "r", "source_type": "S", "source_id": "a", "target_type": "S", "target_id": "b",
        "state": "published", "digest": b"\x01", "current": True, "disputed": False, "reasons": [],
        "policies": ["internal"], "acl": [], "changed": 5, **scope, **more}, "active": []}


EDGES: Any = {one: (standing(one), []) for one in "ab"}


@pytest.mark.parametrize(("steps", "text", "state", "then"), [
    ([step("a"), step("b", acl=("OPS",))], "the words", "supported", [True, True]),
    # the words say what all the steps say, also what they were then
    ([step("a"), step("b", "internal", "hr")], None, "supported", [True, False]),
    ([step("a", "hr"), step("b")], None, "supported", [False, True]),
    ([step("a"), step("b", acl=("FIN",))], None, "supported", [True, False]),
    ([step("a"), step("gone")], None, "unsupported", [True, False]), ([step("gone"), step("b")], None, "unsupported", [False, True]),
])
def test_the_words_of_a_claim_are_told_with_all_of_its_steps_only(
    steps: list[dict[str, Any]], text: str | None, state: str, then: list[bool]) -> None:
    shown = _claim_json(VIEW, {"claim_id": "1", "text": "the words", "steps": steps}, EDGES, {}, auditor=False)
    assert (shown["text"], shown["state"], [one["then"] is not None for one in shown["path"]]) == (text, state, then)


@pytest.mark.parametrize(("state", "why", "reasons", "policies", "acl", "changed"), [
    (None, "unknown-edge", [], [], [], None),
    (standing("a", policies=["hr"], acl=["FIN"]), "access", [], ["hr"], ["FIN"], 5),
    (standing("a", state="withheld", reasons=["unknown-policy: x"], policies=None, acl=None), "withheld", ["unknown-policy: x"], [], [], 5),
    (standing("a", state="retracted", reasons=None), "retracted", [], ["internal"], [], 5),
])
def test_an_auditor_hears_why_a_step_is_gone(
    state: Any, why: str, reasons: list[str], policies: list[str], acl: list[str], changed: int | None) -> None:
    assert _why(step("a"), state) == {
        "edge_id": "a", "why": why, "reasons": reasons, "policies": policies, "acl": acl, "changed": changed}


class Stored:
    """Edges, and what took each in; answers, and the edges that each rests on."""

    def __init__(self, into: dict[str, str | None] | None = None, answers: dict[str, list[str]] | None = None) -> None:
        self.into, self.answers = into or {}, answers or {}
        self.asked: list[list[str]] = []

    def read(self, name: str, *, tenant: str, edge_ids: list[str]) -> list[dict[str, Any]]:
        self.asked.append(edge_ids)
        if name == "answer.touching":
            return [{"answer_id": one, "edge_ids": edges} for one, edges in self.answers.items()]
        return [standing(one, merged_into=self.into[one]) for one in edge_ids if one in self.into]


@pytest.mark.parametrize(("asked", "into", "found", "pages"), [
    ("cab", {"a": None, "b": None, "c": None}, {"a": "a", "b": "b", "c": "c"}, ["abc"]), ("x", {}, {}, ["x"]),
    ("a", {"a": "b", "b": "c", "c": None}, {"a": "c", "b": "c", "c": "c"}, ["a", "b", "c"]),
    ("ihgfedcba", {**dict.fromkeys("ab", "x"), "x": None}, {"a": "x", "b": "x", "x": "x"}, ["abcdefghi", "x"]),
    ("a", {"a": "b", "b": "a"}, {"a": "a", "b": "b"}, ["a", "b"]), ("a", {"a": "lost"}, {"a": "a"}, ["a", "lost"]),
])
def test_what_stands_of_an_edge_is_itself_or_what_took_it_in(
    asked: str, into: dict[str, str | None], found: dict[str, str], pages: list[str]) -> None:
    stored = Stored(into)
    states = _states(cast(Database, stored), "T", list(asked))
    assert {edge_id: row["assertion"]["edge_id"] for edge_id, row in states.items()} == found
    assert ["".join(page) for page in stored.asked] == pages


@pytest.mark.parametrize(("state", "since", "impact"), [
    (standing("a"), None, None), (standing("a", state="withheld"), None, None),  # the same digest: nothing changed
    (standing("a", state="withheld", digest=b"\x02"), None, ["withheld"]),
    (standing("a", state="withheld", digest=None), None, ["withheld"]),
    (standing("a", state="withheld", digest=b"\x02"), 4, ["withheld"]), (standing("a", state="withheld", digest=b"\x02"), 5, None),
    (None, None, ["lost-support"]), (None, 4, ["lost-support"]),
])
def test_a_change_concerns_a_step_if_its_edge_is_another_now(state: Any, since: int | None, impact: list[str] | None) -> None:
    told = _impact(1, step("a"), state, lattice({"internal": []}), since)
    assert (told and told["impact"]) == impact


def test_answers_and_their_edges_are_told_in_order() -> None:
    stored = Stored(answers={"B": list("hgfedcba"), "A": ["x"]})
    assert answers_on(cast(Database, stored), OPERATOR, "zyx") == [
        {"answer_id": "A", "edge_ids": ["x"]}, {"answer_id": "B", "edge_ids": list("abcdefgh")}]
    assert stored.asked == [["x", "y", "z"]]
