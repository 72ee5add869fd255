"""Many searches, few round trips: what they ask at the same moment of the same stored query goes as one statement.

Owns: the pairing of questions and rows. A search is a generator that yields an Ask and is sent its rows; what it asks and what it
makes of the rows is its own. A statement that runs out of time is sent again for each search alone, so that one search that is too
wide leaves the others as they would be without it; the one that runs out of time alone gets StoreTimeoutError at its `yield`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from graphrag_provenance.errors import StoreTimeoutError
from graphrag_provenance.queries import Query
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import Visibility

T = TypeVar("T")
_MOST_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Ask:
    """Questions to one stored query. Rows come back with `number`, the place of their question in the list."""

    query: Query
    parameter: str
    """The query's list parameter, whose items say their `number`."""
    questions: Sequence[dict[str, Any]]
    view: Visibility | None = None
    """Whose `tenant`, `allowed`, `granted` are parameters of the statement; None: the questions carry them."""


Search = Generator[Ask, list[Row], T]


def answer_together(database: Database, searches: Sequence[Search[T]]) -> list[T]:
    """What each search returns, in order. Raises what a search raises."""
    answers: dict[int, T] = {}
    waiting: dict[int, Ask] = {}

    def go_on(number: int, rows: list[Row] | None, error: StoreTimeoutError | None = None) -> None:
        search = searches[number]
        try:
            if error is not None:
                waiting[number] = search.throw(error)
            else:
                waiting[number] = next(search) if rows is None else search.send(rows)
        except StopIteration as end:
            answers[number] = end.value

    for number in range(len(searches)):
        go_on(number, None)
    while waiting:
        asked, waiting = waiting, {}
        for group in _groups(asked):
            for number, found in _read(database, group):
                if isinstance(found, StoreTimeoutError):
                    go_on(number, None, found)
                else:
                    go_on(number, found)
    return [answers[number] for number in range(len(searches))]


Group = list[tuple[int, Ask]]


def _groups(asked: dict[int, Ask]) -> Iterable[Group]:
    """Asks that one statement can carry."""
    groups: list[Group] = []
    last: dict[tuple[str, Visibility | None], tuple[Group, int]] = {}  # of each kind: the group that is filling up, its questions
    for number, ask in asked.items():
        kind = (ask.query.text, ask.view)
        group, carried = last.get(kind, ([], 0))
        if carried + len(ask.questions) > _MOST_AT_ONCE:
            group, carried = [], 0
        if not group:
            groups.append(group)
        group.append((number, ask))
        last[kind] = (group, carried + len(ask.questions))
    return groups


def _read(database: Database, group: Group) -> Iterable[tuple[int, list[Row] | StoreTimeoutError]]:
    ask = group[0][1]
    places = [(search, place) for search, (_, one) in enumerate(group) for place in range(len(one.questions))]
    questions = [question for _, one in group for question in one.questions]
    numbered = [{**question, "number": number} for number, question in enumerate(questions)]
    try:
        rows = database.read(ask.query, **{ask.parameter: numbered}, **({} if ask.view is None else ask.view.params()))
    except StoreTimeoutError as error:
        if len(group) == 1:
            return [(group[0][0], error)]
        return [answer for one in group for answer in _read(database, [one])]
    found: list[list[Row]] = [[] for _ in group]
    for row in rows:
        search, place = places[row["number"]]
        found[search].append({**row, "number": place})
    return [(number, rows) for (number, _), rows in zip(group, found, strict=True)]
