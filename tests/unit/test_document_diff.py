"""What became of chunks between two revisions, and where quotes stand now (rules of `rules.document_diff`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from corpus.records import POLICIES
from hypothesis import given
from hypothesis import strategies as st

from graphrag_provenance.rules.chains import Item
from graphrag_provenance.rules.document_diff import Passage, Side, chunk_changes, diff, exact_quote_hash, removed

LINE = ("d@4", "d@3", "d@2", "d@1")


@pytest.mark.parametrize(("tombstone", "line", "pair", "expected"), [
    (["c1", "d@2"], LINE, ("d@1", "d@2"), {"c1"}),
    (["c1", "d@2"], (), ("d@1", "d@2"), {"c1"}),
    (["c1", "d@2"], LINE, ("d@1", "d@4"), {"c1"}),
    (["c1", "d@3"], LINE, ("d@1", "d@2"), set()),  # removed later than what is compared with
    (["c1", "d@2"], LINE, ("d@2", "d@3"), set()),  # it stands in d@2 all the same: nobody removed this one
    (["c1", "d@2"], (), ("d@1", "d@4"), set()),  # nothing is known about the place of d@2
    ([None, "d@2"], LINE, ("d@1", "d@2"), {"c1", "c2"}),
    (["other", "d@2"], LINE, ("d@1", "d@2"), set()),
])
def test_a_tombstone_speaks_for_what_came_before_it(
    tombstone: list[Any], line: tuple[str, ...], pair: tuple[str, str], expected: set[str]
) -> None:
    assert removed([json.dumps(tombstone)], line, *pair, ["c1", "c2"]) == expected


passages = st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.sampled_from("xyz"), st.sampled_from("12")), max_size=6).map(
    lambda side: [Passage(name, n, text, version) for n, (name, (text, version)) in enumerate(side.items())])


@given(passages, passages, st.sets(st.sampled_from("abcdef")))
def test_every_chunk_has_one_fate(before: list[Passage], after: list[Passage], gone: set[str]) -> None:
    found = chunk_changes(before, after, gone)
    old, new = ({one.chunk for one in side} for side in (before, after))
    moved = {one["from"] for one in found["moved"]}, {one["to"] for one in found["moved"]}
    assert found["same"] + len(found["changed"]) == len(old & new)
    assert set(found["deleted"]) <= gone
    if found["chunker_changed"] is None:
        assert sorted([*moved[0], *found["deleted"], *found["missing"]]) == sorted(old - new)
        assert sorted([*moved[1], *found["added"]]) == sorted(new - old)
    else:
        assert not old & new
        assert (found["missing"], found["added"]) == ([], [])
    text = {one.chunk: one.content_sha256 for one in (*before, *after)}
    if not old & new:
        assert all(text[one["from"]] == text[one["to"]] for one in found["moved"])


def cited(chunk: str, quote: str | None, span: tuple[int, int] | None, doc: str = "d@1") -> Item:
    content = {"doc": doc, "chunk": chunk, "span": span, "quote_hash": None if quote is None else exact_quote_hash(quote), "until": None,
               "polarity": "supports"}
    return Item(content, ("public",), (), frozenset({"T"}))


EDGE = {"edge_id": "E", "relation": "r", "source": {}, "target": {}, "state": "published"}


def side(doc: str, texts: dict[str, str], **cites: Item) -> Side:
    return Side(doc, [], {name: EDGE | {"edge_id": name} for name in cites}, {name: [one] for name, one in cites.items()}, lambda: texts)


@pytest.mark.parametrize(("item", "old", "new", "expected"), [
    (cited("a", "needs", (2, 7)), {"a": "A needs B"}, {"b": "So A needs B"}, ("b", [5, 10], "text")),
    (cited("z", "needs", (2, 7)), {"z": "A needs B"}, {"b": "x needs", "z": "y needs"}, ("z", [2, 7], "text")),  # its own chunk first
    (cited("a", "needs", (2, 7)), {}, {"b": "A needs B"}, ("b", [2, 7], "text")),  # the older text is not stored
    (cited("a", "needs", (2, 7)), {}, {"b": "So A needs B"}, None),
    (cited("a", "needs", (2, 7)), {"a": "A wants B"}, {"b": "A wants B"}, None),  # the older text is not what was quoted
    (cited("a", "needs 5", (2, 9)), {"a": "A needs 5"}, {"b": "A needs 6"}, None),  # a changed number
    (cited("a", None, (2, 7)), {"a": "A needs B"}, {"b": "A needs B"}, None),
    (cited("a", "needs", None), {"a": "A needs B"}, {"b": "A needs B"}, None),
    (cited("a", "", (2, 2)), {"a": "A needs B"}, {"b": "A needs B"}, None),
])
def test_a_quote_is_found_where_it_stands(item: Item, old: dict[str, str], new: dict[str, str], expected: tuple[Any, ...] | None) -> None:
    found = diff(side("d@1", old, E=item), side("d@2", new), None)
    told = [(one["to"]["chunk"], one["to"]["span"], one["by"]) for one in found["re_anchored"]]
    assert told == ([] if expected is None else [expected])
    assert found["lost"][0]["quote_found"] is (expected is not None)


def test_evidence_of_the_same_edge_goes_before_that_of_another() -> None:
    before = side("d@1", {}, E=cited("a", "q", (0, 1)))
    for other in ("A", "Z"):
        after = side("d@2", {}, **{other: cited("b", "q", (0, 1), "d@2"), "E": cited("c", "q", (4, 5), "d@2")})
        (found,) = diff(before, after, None)["re_anchored"]
        assert (found["to"], found["by"]) == ({"chunk": "c", "span": [4, 5]}, "evidence")
    (found,) = diff(before, side("d@2", {}, Z=cited("b", "q", (0, 1), "d@2")), None)["re_anchored"]
    assert (found["edge_id"], found["to"]["chunk"]) == ("E", "b")


def needing(*statements: str, references: tuple[str, ...] = (), chunk: str = "a", until: int | None = None) -> Item:
    found = cited(chunk, None, None)
    return Item({**found.content, "until": until}, statements, references, found.tenants)


def both(before: dict[str, Item], after: dict[str, Item], *, auditor: bool = False, order: Any = POLICIES) -> dict[str, Any]:
    return diff(side("d@1", {}, **before), side("d@2", {}, **after), order, auditor=auditor)


def test_an_edge_is_kept_gained_or_lost() -> None:
    found = both({"E2": needing("public"), "E1": needing("public", until=3)}, {"E1": needing("public"), "E3": needing("public")})
    assert {name: [one["edge_id"] for one in found[name]] for name in ("kept", "gained", "lost", "policy_changed")} == {
        "kept": ["E1"], "gained": ["E3"], "lost": ["E2"], "policy_changed": []}
    assert found["kept"][0]["evidence"] == {"before": 1, "after": 1, "active": 1}
    assert found["lost"][0]["quote_found"] is False


@pytest.mark.parametrize(("was", "now", "told"), [
    (needing("public"), needing("internal"), ({"policies": ["public"], "acl": []}, {"policies": ["internal"], "acl": []})),
    (needing("internal"), needing("internal", "public"), None),  # the same join
    (needing("internal"), needing("internal", "misspelt"),
     ({"policies": ["internal"], "acl": []}, {"policies": ["internal", "misspelt"], "acl": []})),
    (needing("public"), needing("public", references=("b", "a")),
     ({"policies": ["public"], "acl": []}, {"policies": ["public"], "acl": ["a", "b"]})),
])
def test_a_policy_that_changed_is_told_and_named_to_auditors_only(was: Item, now: Item, told: tuple[Any, Any] | None) -> None:
    found = both({"E": was}, {"E": now}, auditor=True)["policy_changed"]
    assert found == ([] if told is None else [{"edge_id": "E", "before": told[0], "after": told[1]}])
    assert both({"E": was}, {"E": now})["policy_changed"] == ([] if told is None else [{"edge_id": "E"}])


def test_without_an_order_every_statement_is_named() -> None:
    (found,) = both({"E": needing("public")}, {"E": needing("internal", "public")}, auditor=True, order=None)["policy_changed"]
    assert found["after"]["policies"] == ["internal", "public"]


def test_of_several_places_the_first_is_told() -> None:
    places = [cited(chunk, "q", span) for chunk, span in (("b", (0, 1)), ("a", (5, 6)), ("a", (1, 2)))]
    after = Side("d@2", [], {"E": EDGE}, {"E": places}, dict)
    (found,) = diff(side("d@1", {}, E=cited("z", "q", (0, 1))), after, None)["re_anchored"]
    assert found["to"] == {"chunk": "a", "span": [1, 2]}


def test_chunks_are_told_in_order_and_moved_ones_first_to_first() -> None:
    before = [Passage(name, n, name.lower(), version) for n, (name, version) in enumerate(zip("hgfedc", "212121", strict=True))]
    found = chunk_changes(before, [Passage(name, n, "other", "3") for n, name in enumerate("hgfedc")])
    assert found["changed"] == list("cdefgh")
    twins = chunk_changes([Passage("x", 5, "same", "1"), Passage("y", 1, "same", "1")],
                          [Passage("q", 9, "same", "1"), Passage("p", 2, "same", "1")])
    assert twins["moved"] == [{"from": "y", "to": "p"}, {"from": "x", "to": "q"}]
    cut = chunk_changes(before, [Passage(f"n{n}", n, "other", version) for n, version in enumerate("8769")])
    assert cut["chunker_changed"] == {"before": ["1", "2"], "after": ["6", "7", "8", "9"]}


def test_a_line_of_nothing_but_these_revisions_places_them() -> None:
    assert removed(['["c1","d@2"]'], ("d@3", "d@2", "d@1"), "d@1", "d@3", ["c1"]) == {"c1"}
