"""How a chain is told: its evidence in one order, its passages whole, its sources numbered once (spec 4, trace)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from graphrag_provenance.rules.answers import REASONS, Trace, citations, extractors, in_order, item_json, step_json
from graphrag_provenance.rules.chains import Chain, Item, Question, Reason, Step


def item(doc: str = "d@1", chunk: str = "c", **more: Any) -> Item:
    content = {"doc": doc, "chunk": chunk, "head": doc, "title": "D", "url": "u", "section_path": ["A", "B"], "span": [1, 2],
               "quote_hash": "q", "polarity": "supports", "pipeline": "p", "version": "1",
               "run": {"seq": 3, "pipeline": "p", "version": "1", "at": datetime(2026, 1, 1, tzinfo=UTC)}} | more
    return Item(content, ("internal",), (), frozenset({"T"}))


def step(*items: Item, **edge: Any) -> Step:
    plain = {"edge_id": "e", "policies": ["internal"], "acl": ["r"], "current": True}
    return Step(plain | edge, "CALLS", "calls", (), ("T", "S", "a"), ("T", "U", "b"), False, items)


def test_a_citation_is_told_down_to_the_passage() -> None:
    assert item_json(item(head="d@2")) == {
        "doc": "d@1", "doc_title": "D", "chunk": "c", "section_path": ["A", "B"], "span": [1, 2], "quote_hash": "q", "polarity": "supports",
        "url": "u", "head_revision": "d@2", "is_stale": True,
        "run": {"seq": 3, "pipeline": "p", "version": "1", "at": "2026-01-01T00:00:00Z"}}
    bare = item_json(item(span=None, section_path=None, run=None))
    assert (bare["span"], bare["section_path"], bare["is_stale"]) == (None, [], False)
    assert bare["run"] == {"seq": None, "pipeline": None, "version": None, "at": None}


@pytest.mark.parametrize(("first", "second"), [
    ({"doc": "d@9", "chunk": "z"}, {"doc": "a@1", "head": "a@2"}),  # current before stale
    ({"doc": "a@1", "chunk": "z"}, {"doc": "d@1", "chunk": "c"}),
    ({"chunk": "b", "span": [5, 6]}, {"chunk": "c", "span": [1, 2]}),
    ({"span": None}, {"span": [0, 1]}),
    ({"span": [1, 2]}, {"span": [1, 3]}),
    ({"quote_hash": None}, {"quote_hash": "a"}),
    ({"quote_hash": "a", "polarity": "supports"}, {"quote_hash": "b", "polarity": "refutes"}),
    ({"polarity": "refutes"}, {"polarity": "supports"}),
])
def test_the_same_evidence_always_reads_the_same(first: dict[str, Any], second: dict[str, Any]) -> None:
    one, other = item(**first), item(**second)
    assert in_order([one, other]) == in_order([other, one]) == [one, other]


def test_a_hop_is_told_with_both_ends_and_what_an_auditor_hears() -> None:
    told = step_json(step(item("b@1"), item("a@1")), auditor=False)
    assert (told["source"], told["target"], told["forward"]) == ({"type": "S", "id": "a"}, {"type": "U", "id": "b"}, False)
    assert ([one["doc"] for one in told["evidence"]], told["relation"], told["current"]) == (["a@1", "b@1"], "calls", True)
    assert not {"policies", "acl"} & set(told)
    heard = step_json(step(item()), auditor=True)
    assert (heard["policies"], heard["acl"]) == (["internal"], ["r"])


@pytest.mark.parametrize("reason", [None, *Reason])
def test_an_answer_says_what_its_reason_means(reason: Reason | None) -> None:
    body = Trace(Question(("S", "a"), ("S", "b")), "0" * 32, reason, 1).as_json()
    assert (body["reason"], body["means"]) == ((None, None) if reason is None else (reason.value, REASONS[reason]))
    assert set(REASONS) == set(Reason)


def test_each_extractor_is_told_once() -> None:
    said = [{"pipeline": "b", "version": "1"}, {"pipeline": "a", "version": "2"}, {"pipeline": "b", "version": "1"}, {"version": "3"}]
    assert extractors(said) == [{"pipeline": "a", "version": "2"}, {"pipeline": "b", "version": "1"}]


def test_sources_are_numbered_in_reading_order_each_once_and_what_speaks_against_is_none() -> None:
    chain = Chain((), (step(item("b@1"), item("x@1", polarity="refutes"), item("b@1", chunk="d")),
                       step(item("a@1", section_path=None), item("b@1", section_path=["A"]))))
    assert citations([chain, chain]) == [
        {"n": 1, "doc_title": "D", "doc": "b@1", "section": "A › B", "url": "u"},
        {"n": 2, "doc_title": "D", "doc": "a@1", "section": None, "url": "u"},
        {"n": 3, "doc_title": "D", "doc": "b@1", "section": "A", "url": "u"}]
