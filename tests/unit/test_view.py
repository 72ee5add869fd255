"""What a run knows of the nodes it touches: what it asks for, what it remembers, and what a transaction lays over it (`store.view`)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from graphrag_provenance.store import view as module
from graphrag_provenance.store.database import Transaction
from graphrag_provenance.store.view import Pending, View, changes, differ


class Stored:
    """The nodes of a store by key; keeps which keys were asked for."""

    def __init__(self, *keys: str, **more: Any) -> None:
        self.nodes: dict[tuple[str, ...], Any] = {("T", key): {"id": key, "stated": 1, **more} for key in keys}
        self.asked: list[tuple[str, list[str]]] = []

    def run(self, query: str, *, keys: list[list[str]]) -> list[dict[str, Any]]:
        self.asked.append((query, [key[-1] for key in keys]))
        return [{"key": key, "node": self.nodes[tuple(key)]} for key in keys if tuple(key) in self.nodes]


def tx(stored: Stored) -> Transaction:
    return cast(Transaction, stored)


def keys(names: str) -> list[tuple[str, ...]]:
    return [("T", name) for name in names]


def test_what_is_remembered_is_not_asked_for_again_and_the_oldest_is_forgotten() -> None:
    view, stored = View(limit=2), Stored(*"abc")
    assert set(view.get(tx(stored), "chunk", keys("aab"))) == {*keys("ab")}
    assert set(view.get(tx(stored), "chunk", keys("abx"))) == {*keys("ab")}
    assert list(view.get(tx(stored), "chunk", keys("ca"))) == keys("ac")  # what is remembered first
    assert set(view.nodes("chunk")) == {*keys("bc")}
    view.get(tx(stored), "document", keys("a"))
    assert stored.asked == [
        ("source.chunks", ["a", "b"]), ("source.chunks", ["x"]), ("source.chunks", ["c"]), ("source.documents", ["a"])]


@pytest.mark.parametrize(("more", "kept"), [({}, {"id": "a", "stated": 1}), ({"whole": True}, {"id": "a", "stated": 1, "text": "long"})])
def test_texts_are_not_remembered_where_they_need_not_be(more: dict[str, Any], kept: dict[str, Any]) -> None:
    view, stored = View(**more), Stored("a", text="long")
    assert view.get(tx(stored), "chunk", keys("a"))["T", "a"]["text"] == "long"
    assert view.nodes("chunk")["T", "a"] == kept


def test_a_dry_run_keeps_everything_and_knows_what_it_declares() -> None:
    view = View(dry=True, limit=1)
    view.put("document", {("T", "a"): {"registered": True}, ("U", "a"): {"registered": True}, ("T", "b"): {"registered": False},
                          ("T", "d"): {"registered": True}})
    view.put("chunk", {("T", "c"): {"registered": True}})
    assert len(view.nodes("document")) == 4
    assert (view.declaring("a"), view.declaring("b"), view.declaring("c")) == ({"T", "U"}, set(), set())
    assert [view.declared_elsewhere(("T", name)) for name in "abd"] == [True, False, False]
    view.remember_candidates(("T", "a"), {"1": cast(Any, "one")})
    view.remember_candidates(("T", "a"), {"2": cast(Any, "two")})
    assert Pending(view).candidates(("T", "a")) == {"1": "one", "2": "two"}
    real = View()
    real.put("document", {("T", "a"): {"registered": True}})
    real.remember_candidates(("T", "a"), {"1": cast(Any, "one")})
    assert (real.declaring("a"), real.candidates(("T", "a"))) == (set(), {})


def test_what_an_empty_store_surely_lacks_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MET", 2)
    view = View(virgin=True)
    assert [view.unmet(*one) for one in (("chunk", ("a",)), ("chunk", ("a",)), ("edge", ("a",)))] == [True, False, True]
    assert [view.unmet("chunk", ("b",)) for _ in range(2)] == [False, False]  # as many as are remembered
    assert not View().unmet("chunk", ("a",))


def test_a_transaction_asks_once_and_what_was_not_asked_for_is_not_taken_for_absent() -> None:
    stored, pending = Stored("a", "b"), Pending(View(seq=7))
    pending.load(tx(stored), "chunk", keys("axa"))
    pending.load(tx(stored), "chunk", keys("axb"))
    pending.load(tx(stored), "chunk", keys("ab"))
    assert stored.asked == [("source.chunks", ["a", "x"]), ("source.chunks", ["b"])]
    assert (pending.get("chunk", ("T", "a")), pending.get("chunk", ("T", "x"))) == ({"id": "a", "stated": 1}, None)
    for kind, key in (("chunk", ("T", "z")), ("document", ("T", "a"))):
        with pytest.raises(LookupError, match="was not loaded"):
            pending.get(cast(Any, kind), key)


def test_a_view_learns_what_a_transaction_wrote_at_its_commit() -> None:
    stored, view = Stored("a", "b", "c"), View(seq=7)
    pending = Pending(view)
    pending.load(tx(stored), "chunk", keys("abcn"))
    pending.set("chunk", ("T", "a"), {"id": "a", "stated": 7, "new": 1})
    pending.set("chunk", ("T", "b"), {"id": "b", "stated": 7})
    pending.set("chunk", ("T", "n"), {"id": "n"})
    assert (pending.get("chunk", ("T", "a")), pending.created("chunk")) == ({"id": "a", "stated": 7, "new": 1}, [{"id": "n"}])
    assert [key for key, _, _ in pending.changed("chunk")] == [("T", "a")]
    assert view.nodes("chunk")["T", "a"] == {"id": "a", "stated": 1}
    pending.commit()
    assert view.nodes("chunk")["T", "a"] == {"id": "a", "stated": 7, "new": 1}
    assert set(view.nodes("chunk")) == {*keys("abcn")}


def test_what_was_stated_again_counts_as_stated_in_this_run() -> None:
    stored, view = Stored("a", "b"), View(seq=7)
    pending = Pending(view)
    pending.set("chunk", ("T", "a"), {"id": "a", "stated": 1})
    pending.set("chunk", ("T", "b"), {"id": "b", "stated": 7})
    for name in "ab":
        pending.restate("chunk", ("T", name))
    pending.restate_edge(("T", "e"))
    assert pending.new["chunk"]["T", "a"] == {"id": "a", "stated": 7}
    assert len(view.restated) == 0
    pending.commit()
    assert [key in view.restated for key in (("chunk", "T", "a"), ("chunk", "T", "b"), ("edge", "T", "e"))] == [True, False, True]
    later = View(seq=7)
    later.restated.change([("chunk", "T", "a")])
    assert {key[1]: node["stated"] for key, node in later.get(tx(stored), "chunk", keys("ab")).items()} == {"a": 7, "b": 1}


def test_an_edge_is_counted_as_unchanged_once_a_run_and_not_if_the_run_changed_it() -> None:
    view = View(seq=7)
    pending = Pending(view)
    assert [pending.leave_edge(("T", name), {"changed": changed}) for name, changed in (("a", 1), ("b", 7))] == [True, False]
    assert not pending.change_edge(("T", "a"))
    pending.commit()
    again = Pending(view)
    assert (again.leave_edge(("T", "a"), {"changed": 1}), again.change_edge(("T", "a"))) == (False, True)
    again.commit()
    assert Pending(view).leave_edge(("T", "a"), {"changed": 1})
    assert view.leave_edges({("T", "a"): 1, ("T", "b"): 7, ("T", "c"): None}) == 2
    assert view.leave_edges({("T", "a"): 1, ("T", "c"): None, ("T", "d"): 2}) == 1
    small = View(seq=7, limit=1)
    assert [small.leave_edges({key: 1}) for key in keys("aabba")] == [1, 0, 1, 0, 1]


def test_only_a_dry_run_keeps_the_state_that_an_edge_would_have() -> None:
    for dry in (True, False):
        pending = Pending(View(dry=dry))
        pending.remember_edge("T", "e", {"state": "published"}, {"c": 1})
        pending.remember_edge("T", "none", None, {})
        assert pending.dry is pending.view.dry is dry
        assert pending.planned_edge(("T", "e")) == (({"state": "published"}, {"c": 1}) if dry else None)
        assert pending.planned_edge(("T", "none")) is None


@pytest.mark.parametrize(("old", "new", "differs", "set_"), [
    ({"a": 1, "stated": 1}, {"a": 1, "stated": 1}, False, {"stated": 1}),
    ({"a": 1, "stated": 1}, {"a": 1, "stated": 2}, False, {"stated": 2}),
    ({"a": 1}, {"a": 2}, True, {"a": 2}), ({"a": 1}, {"b": 1}, True, {"a": None, "b": 1}),
    ({"a": 1, "b": None}, {"a": 1}, False, {"b": None}),
    ({}, {"a": 1}, True, {"a": 1}),
])
def test_two_states_differ_in_more_than_who_stated_them(old: Any, new: Any, differs: bool, set_: dict[str, Any]) -> None:
    assert differ(old, new) is differs
    assert changes(old, new) == set_
