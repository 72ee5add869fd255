"""Steps of a trace that need no store: a chain whose hops agree, and what speaks of access alone (`store.traces`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from graphrag_provenance.rules.answers import Rejected
from graphrag_provenance.rules.chains import Chain, Conditions, Failure, Question, Reason, Step
from graphrag_provenance.store.readers import Views
from graphrag_provenance.store.traces import TraceSearch, _only_access

ASKED = Conditions(None, None, None, require_current=True)


def chain(*environments: str | None) -> Chain:
    return Chain((), tuple(Step({"environment": one}, "R", "r", (), ("T", "S", "a"), ("T", "S", "b"), True, ()) for one in environments))


def searching(found: dict[str, Chain | None]) -> tuple[TraceSearch, Any]:
    """A search, and what it finds for each environment that it tries (`other`: where all of those are left out)."""
    search = TraceSearch(cast(Views, SimpleNamespace(now=None)), Question(("S", "a"), ("S", "b")))

    def find(tries: Sequence[Conditions]) -> Generator[Any, Any, list[Chain | None]]:
        return [found.get(one.environment or "other") for one in tries]
        yield

    return search, find


def result(search: Generator[Any, Any, Any]) -> Any:
    with pytest.raises(StopIteration) as end:
        next(search)
    return end.value.value


MIXED, LONG, SHORT = chain("prod", "staging"), chain("prod", None, None), chain(None, "staging")


@pytest.mark.parametrize(("first", "found", "expected"), [
    (None, {}, None), (LONG, {}, LONG), (MIXED, {}, None), (MIXED, {"prod": LONG}, LONG), (MIXED, {"other": LONG}, LONG),
    (MIXED, {"prod": LONG, "staging": SHORT}, SHORT), (MIXED, {"prod": SHORT, "staging": LONG}, SHORT),
])
def test_where_hops_contradict_each_other_the_shortest_chain_that_agrees_is_taken(
    first: Chain | None, found: dict[str, Chain | None], expected: Chain | None) -> None:
    search, find = searching(found)
    assert result(search._coherent(ASKED, first, find=find)) == expected
    assert not search.truncated


def test_a_search_that_may_look_no_further_says_so() -> None:
    search, find = searching({"prod": LONG})
    search._left = 0
    assert result(search._coherent(ASKED, LONG, find=find)) == LONG
    assert not search.truncated
    assert result(search._coherent(ASKED, MIXED, find=find)) is None
    assert search.truncated


@pytest.mark.parametrize(("constraints", "only"), [
    ([], False), ([[Reason.ACCESS]], True), ([[Reason.ACCESS, Reason.ENVIRONMENT]], False), ([[Reason.REGION]], False),
    ([[Reason.ACCESS, Reason.REGION], [Reason.ACCESS, Reason.ACCESS]], True),
])
def test_access_is_the_reason_where_some_hidden_chain_lacks_nothing_else(constraints: list[list[Reason]], only: bool) -> None:
    hidden = [Rejected(MIXED, tuple(Failure(1, "e", one) for one in each)) for each in constraints]
    assert _only_access(hidden) is only
