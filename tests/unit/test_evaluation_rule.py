"""The measures over chains: what each counts, what kind a failure is, and that a leaking split is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.rules.chains import Chain, Item, Reason, Step
from graphrag_provenance.rules.claims import GoldenQuestion
from graphrag_provenance.rules.evaluation import check_split, measured, score


def golden(**more: Any) -> GoldenQuestion:
    return GoldenQuestion.model_validate({
        "from": "System:A", "to": "System:B", "expect_state": "supported", "id": "q", "expect_edges": ["e1", "e2"],
        "expect_evidence": [["d@1#a", "d@1#b"], ["d@2#c"]], "distractors": ["e9"]} | more)


def step(edge_id: str, *passages: str) -> Step:
    items = tuple(Item({"doc": one.partition("#")[0], "chunk": one.partition("#")[2], "polarity": "supports"}, (), (), frozenset())
                  for one in passages)
    return Step({"edge_id": edge_id}, "R", "r", (), ("T", "S", "a"), ("T", "S", "b"), True, items)


def answer(*steps: Step, reason: Reason | None = None) -> Trace:
    return Trace(golden().question(), "t", reason, 1, (Chain((), steps),) if steps else ())


E1, E2 = step("e1", "d@1#a", "d@1#b"), step("e2", "d@2#c")
NO = {"expect_state": "unresolved", "expect_reason": "stale-revision", "expect_edges": None, "expect_evidence": None}


@pytest.mark.parametrize(("question", "found", "failure", "measures"), [
    # measures: passage recall, edge correctness, complete-chain support, answer accuracy
    (golden(), answer(E1, E2), None, (1, 1, 1, 1)),
    (golden(), answer(reason=Reason.NO_PATH), "missed", (0, None, 0, 0)),
    (golden(), answer(E1, step("e9", "d@2#c")), "distracted", (1, 0.5, 0, 0)),
    (golden(), answer(E1, step("e3", "d@2#c")), "wrong-chain", (1, 0.5, 0, 0)),
    (golden(), answer(E2, E1), "wrong-chain", (1, 0, 0, 0)),
    (golden(), answer(step("e1", "d@1#a"), E2), "lost-passages", (2 / 3, 1, 0, 0)),
    (golden(), answer(step("e1", "d@1#a", "d@1#b", "d@2#c"), step("e2", "x@1#y")), "lost-passages", (1, 1, 0, 0)),
    (golden(passages=["d@1#a", "z@1#z"]), answer(E1, E2), "lost-passages", (0.5, 1, 0, 0)),
    (golden(passages=["d@1#a"]), answer(E1, E2), None, (1, 1, 1, 1)),
    (golden(expect_edges=None, expect_evidence=None), answer(E1), None, (None, 1, 1, 1)),
    (golden(expect_edges=None), answer(E1), "lost-passages", (2 / 3, 1, 0, 0)),
    (golden(), replace(answer(E1, E2), truncated=True), "truncated", (1, 1, 0, 0)),
    (golden(**NO), answer(reason=Reason.STALE), None, (None, None, None, 1)),
    (golden(**NO), answer(reason=Reason.NO_PATH), "wrong-reason", (None, None, None, 0)),
    (golden(**{**NO, "expect_reason": None}), answer(reason=Reason.NO_PATH), None, (None, None, None, 1)),
    (golden(**NO), answer(E1), "invented", (None, 0, None, 0)),
])
def test_each_answer_is_measured(question: GoldenQuestion, found: Trace, failure: str | None, measures: tuple[Any, ...]) -> None:
    body = measured([score(question, found)])
    assert tuple(body["measures"].values()) == measures
    assert [one["failure"] for one in body["failures"]] == ([failure] if failure else [])
    assert body["ok"] is (failure is None)


def test_measures_are_told_by_what_was_expected_and_failures_by_kind() -> None:
    body = measured([score(golden(), answer(E1, E2)), score(golden(), answer(reason=Reason.NO_PATH)), score(golden(**NO), answer(E1))])
    assert list(body["by_expected"]) == ["supported", "stale-revision"]
    assert body["by_expected"]["supported"]["answer_accuracy"] == 0.5
    assert [(name, part["questions"], part["right"]) for name, part in body["by_expected"].items()] == [
        ("supported", 2, 1), ("stale-revision", 1, 0)]
    assert (body["schema"], list(body["by_failure"].items())) == (1, [("invented", 1), ("missed", 1)])
    assert body["measures"] == {
        "passage_recall": 0.5, "edge_correctness": 2 / 3, "complete_chain_support": 0.5, "answer_accuracy": 1 / 3}


def test_what_was_expected_is_told_in_one_order() -> None:
    reasons = sorted(Reason, reverse=True)
    asked = [(golden(**NO | {"expect_reason": one.value}), answer(reason=one)) for one in reasons]
    body = measured([score(*one) for one in (*asked, (golden(), answer()))])
    assert list(body["by_expected"]) == ["supported", *sorted(one.value for one in reasons)]


def test_a_wrong_answer_is_told_with_what_was_expected_and_what_was_got() -> None:
    taken = [f"e{n}" for n in range(10)]
    wrong = measured([
        score(golden(distractors=[*reversed(taken), "other"]), answer(*(step(one, "d@1#a") for one in reversed(taken)))),
        score(golden(**NO | {"expect_reason": None}), answer(E1)), score(golden(**NO), answer(reason=Reason.NO_PATH))])
    assert wrong["failures"][0] == {
        "id": "q", "expected": "supported", "got": "supported", "failure": "distracted", "edges": taken[::-1], "distractors_taken": taken}
    assert [(one["expected"], one["got"]) for one in wrong["failures"][1:]] == [("unresolved", "supported"), ("stale-revision", "no-path")]


def sides(*told: tuple[str | None, list[str]], **more: Any) -> list[GoldenQuestion]:
    return [golden(id=str(n), split=side, documents=documents, **more) for n, (side, documents) in enumerate(told)]


def test_a_split_that_leaks_is_refused() -> None:
    check_split(sides((None, ["a"]), (None, ["a"])))
    check_split(sides(("x", ["a"]), ("y", ["b"]), ("x", ["a"])))
    with pytest.raises(InputError, match=r"leaks: a is in x \(0\) and in y \(1\)"):
        check_split(sides(("x", ["a"]), ("y", ["b", "a"])))
    with pytest.raises(InputError, match="leaks: d0 is in"):  # the first of them, at every start of Python
        check_split(sides(*((side, [f"d{n}" for n in range(10)]) for side in "xy")))
    with pytest.raises(InputError, match="1 is on no side"):
        check_split(sides(("x", ["a"]), (None, ["b"])))


def test_a_split_that_leaks_through_two_revisions_that_answers_rest_on_is_refused() -> None:
    questions = sides(("x", []), ("y", []))
    check_split(questions, {"0": answer(step("e1", "d@1#a")), "1": answer(step("e2", "e@1#a"))})
    with pytest.raises(InputError, match="leaks: d is in x"):
        check_split(questions, {"0": answer(step("e1", "d@1#a")), "1": answer(step("e2", "d@2#a"))})


def test_one_document_id_of_two_tenants_is_two_documents() -> None:
    check_split([*sides(("x", ["a"]), tenant="T"), *(one.model_copy(update={"id": "z"}) for one in sides(("y", ["a"]), tenant="U"))])
