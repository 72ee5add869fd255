"""Many searches as few statements: who asks with whom, whose rows are whose, and what a statement that runs out of time leaves of it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

import pytest

from graphrag_provenance.errors import StoreTimeoutError
from graphrag_provenance.queries import Query, query
from graphrag_provenance.store import together
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import Visibility
from graphrag_provenance.store.together import Ask, answer_together

ANN, BOB = (Visibility("T", frozenset({name}), frozenset(), frozenset(), None) for name in ("internal", "hr"))


class Stored:
    """Answers each question `n` with `n` rows that say it, in reverse order; runs out of time where one is in `slow`."""

    def __init__(self, *slow: int) -> None:
        self.slow, self.sent = set(slow), cast(list[tuple[str, list[int], Any]], [])

    def read(self, asked: Query, **given: Any) -> list[Row]:
        questions = given["ends"]
        assert [one["number"] for one in questions] == list(range(len(questions)))
        self.sent.append((asked.name, [one["n"] for one in questions], given.get("allowed")))
        if self.slow & {one["n"] for one in questions}:
            raise StoreTimeoutError("too slow")
        return [{"number": one["number"], "said": one["n"]} for one in reversed(questions) for _ in range(one["n"])]


def search(*rounds: list[int], view: Visibility | None = ANN, name: str = "path.aliases") -> Generator[Ask, list[Row], list[Any]]:
    """What it hears in each round: (number of its question, what the row says)."""
    heard: list[Any] = []
    for numbers in rounds:
        try:
            rows = yield Ask(query(name), "ends", [{"n": n} for n in numbers], view)
            heard.append(sorted((row["number"], row["said"]) for row in rows))
        except StoreTimeoutError:
            heard.append("late")
    return heard


def asked(stored: Stored, *searches: Any) -> list[Any]:
    return answer_together(cast(Database, stored), list(searches))


def test_what_is_asked_at_the_same_moment_goes_as_one_statement_and_each_hears_its_own() -> None:
    stored = Stored()
    found = asked(stored, search([1, 2], [5]), search(), search([2], []), search([0]))
    assert found == [[[(0, 1), (1, 2), (1, 2)], [(0, 5)] * 5], [], [[(0, 2), (0, 2)], []], [[]]]
    assert stored.sent == [("path.aliases", [1, 2, 2, 0], ["internal"]), ("path.aliases", [5], ["internal"])]


def test_searches_of_other_readers_and_of_other_queries_are_asked_apart() -> None:
    stored = Stored()
    found = asked(stored, search([1]), search([2], view=BOB), search([3], name="read.rivals"), search([4], view=None), search([5]))
    assert found == [[[(0, n)] * n] for n in (1, 2, 3, 4, 5)]
    assert stored.sent == [("path.aliases", [1, 5], ["internal"]), ("path.aliases", [2], ["hr"]), ("read.rivals", [3], ["internal"]),
                           ("path.aliases", [4], None)]


def test_a_statement_carries_so_many_questions_and_no_search_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "_MOST_AT_ONCE", 3)
    stored = Stored()
    wide = [1, 1, 1, 1]
    assert asked(stored, search([1]), search([2, 2]), search([3]), search(wide), search([1, 2]), search([1])) == [
        [[(0, 1)]], [[(0, 2), (0, 2), (1, 2), (1, 2)]], [[(0, 3)] * 3], [[(n, 1) for n in range(4)]],
        [[(0, 1), (1, 2), (1, 2)]], [[(0, 1)]]]
    assert [numbers for _, numbers, _ in stored.sent] == [[1, 2, 2], [3], wide, [1, 2, 1]]


def test_one_that_runs_out_of_time_leaves_the_others_as_they_would_be_without_it() -> None:
    stored = Stored(7)
    assert asked(stored, search([1]), search([7, 1], [2]), search([3])) == [[[(0, 1)]], ["late", [(0, 2)] * 2], [[(0, 3)] * 3]]
    assert [numbers for _, numbers, _ in stored.sent] == [[1, 7, 1, 3], [1], [7, 1], [3], [2]]


def test_what_a_search_raises_is_raised() -> None:
    def broken() -> Generator[Ask, list[Row], list[Any]]:
        yield Ask(query("path.aliases"), "ends", [{"n": 1}], ANN)
        raise LookupError("broken")

    with pytest.raises(LookupError, match="broken"):
        asked(Stored(), search([1]), broken())
