"""What clearances open under the order that the store holds now, and what becomes of a read while that changes (`store.readers`)."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from graphrag_provenance.errors import AccessDeniedError, NotFoundError, StoreConflictError, UnknownClearanceError
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.readers import Views, Visibility, require_reader, require_role, under_one_order, visibility

FIRST = {"public": [], "internal": ["public"]}
SECOND = FIRST | {"hr": ["internal"]}
THIRD = {"public": [], "internal": [], "hr": ["internal"]}
ANN, HR = Reader("ann", "T", {"internal"}), Reader("ann", "T", {"internal", "hr"})


def row(order: dict[str, list[str]] | None, *following: dict[str, list[str]], name: str = "") -> dict[str, Any]:
    policies = None if order is None else json.dumps(order)
    return {"policies": policies, "policies_next": json.dumps(following) if following else None, "policies_hash": name or policies}


class Stored:
    """A store whose order is the next of these each time it is asked for; the last one stays."""

    def __init__(self, *orders: dict[str, Any] | None) -> None:
        self.orders, self.asked = list(orders), 0

    def read(self, name: str) -> list[dict[str, Any]]:
        assert name == "read.policies"
        found = self.orders[min(self.asked, len(self.orders) - 1)]
        self.asked += 1
        return [] if found is None else [found]


def stored(*orders: dict[str, Any] | None) -> Any:
    return Stored(*orders)


def test_the_order_is_asked_for_once_and_again_when_told_or_when_a_clearance_is_new() -> None:
    store = stored(row(FIRST), row(SECOND))
    assert visibility(store, ANN, ["b", "a"]) == visibility(store, ANN, ["a", "b"]) == Visibility(
        "T", frozenset({"public", "internal"}), frozenset({"a", "b"}), frozenset(FIRST), json.dumps(FIRST))
    assert store.asked == 1
    assert visibility(store, HR).allowed == {"public", "internal", "hr"}
    assert store.asked == 2
    assert visibility(store, ANN, fresh=True).known == frozenset(SECOND)
    assert store.asked == 3
    with pytest.raises(UnknownClearanceError):
        visibility(store, Reader("ann", "T", {"internal", "hrr"}))


def test_while_the_order_changes_a_reader_has_what_all_of_them_cover() -> None:
    store = stored(row(FIRST, SECOND, THIRD))
    assert visibility(store, HR).allowed == {"internal"}
    assert (visibility(store, HR).known, store.asked) == (frozenset(SECOND), 1)  # a clearance that one of them names is known


@pytest.mark.parametrize(("nothing", "name"), [(None, None), (row(None, name="h"), "h")])
def test_a_store_without_an_order_opens_nothing_and_is_asked_each_time(nothing: dict[str, Any] | None, name: str | None) -> None:
    store = stored(row(FIRST), nothing)
    assert visibility(store, ANN).allowed
    for fresh in (True, False):
        assert visibility(store, ANN, ["a"], fresh=fresh) == Visibility("T", frozenset(), frozenset({"a"}), frozenset(), name)


def test_parameters_are_in_one_order() -> None:
    names = [f"p{n}" for n in range(10)]
    assert Visibility("T", frozenset(names), frozenset(names), frozenset(), None).params() == {
        "tenant": "T", "allowed": names, "granted": names}


def test_the_first_search_that_notices_renews_the_view_of_all() -> None:
    views = Views(stored(row(FIRST), row(SECOND), row(THIRD)), ANN, frozenset({"a"}))
    old = views.now
    new = views.after(old)
    assert (new.policies_hash, new.granted) == (json.dumps(SECOND), {"a"})
    assert views.after(old) is views.now is new


def test_what_was_read_under_an_order_that_changed_is_read_again_errors_included() -> None:
    def read(view: Visibility) -> str:
        seen.append(str(view.policies_hash))
        if len(seen) == 1:
            raise NotFoundError("not there under the first order", hint="")
        return seen[-1]

    seen: list[str] = []
    assert under_one_order(stored(row(FIRST), row(SECOND)), ANN, (), read) == json.dumps(SECOND)
    assert seen == [json.dumps(FIRST), json.dumps(SECOND)]
    seen.clear()
    with pytest.raises(NotFoundError, match="under the first"):
        under_one_order(stored(row(FIRST)), ANN, (), read)
    seen.clear()
    assert under_one_order(stored(row(FIRST), row(SECOND), row(THIRD), row(FIRST)), ANN, (), read) == json.dumps(FIRST)
    assert len(seen) == 3
    with pytest.raises(StoreConflictError):
        under_one_order(stored(*(row(FIRST, name=str(n)) for n in range(10))), ANN, (), lambda view: None)
    assert under_one_order(stored(None), ANN, ["a"], lambda view: view.granted) == {"a"}


def test_what_is_known_of_an_order_is_used_by_the_next_read() -> None:
    store = stored(row(FIRST))
    for asked in (2, 3):
        under_one_order(store, ANN, (), lambda view: None)
        assert store.asked == asked


def test_nobody_reads_and_a_role_is_one_of_those_named() -> None:
    for nobody in (None, "ann", {"principal": "ann"}):
        with pytest.raises(AccessDeniedError, match="Every read names a reader"):
            require_reader(nobody)
        with pytest.raises(AccessDeniedError, match="Every read names a reader"):
            visibility(cast(Database, None), cast(Reader, nobody))
    auditor = Reader("ann", "T", set(), {Role.READER, Role.AUDITOR})
    require_role(auditor, Role.OPERATOR, Role.AUDITOR, action="It")
    with pytest.raises(AccessDeniedError, match="It needs the role operator or auditor"):
        require_role(ANN, Role.OPERATOR, Role.AUDITOR, action="It")
