"""What an edge record says, what it is merged with, and what its digest and relationship hold (spec 1, edges)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphrag_provenance.model.records import EdgeRecord
from graphrag_provenance.rules.edges import (
    Edge,
    Identity,
    assertion_digest,
    derived_edge_id,
    edge_from_record,
    merge_edge,
    named_anew,
    relationship_properties,
    with_verdict,
)
from graphrag_provenance.rules.merging import Merges
from graphrag_provenance.rules.publication import State, Verdict

T = "ACME"
RECORD = {
    "kind": "edge", "edge_id": "E1", "relation": "calls", "source": {"type": "System", "id": " a  b "},
    "target": {"type": "Team", "id": "x"},
    "evidence": [{"doc": "d@1", "chunk": "c"}, {"doc": "e@1", "chunk": "c", "extracted_by": {"pipeline": "own", "version": "2"},
                                               "confidence": 0.5}],
    "access": {"policy": "internal", "tenant": T}, "scope": {"environment": "production", "valid_from": "2026-01-01T00:00:00Z"},
    "extracted_by": {"pipeline": "p", "version": "1"}, "confidence": 0.9, "attributes": {"k": 1},
}


def edge(**more: Any) -> Edge:
    record = EdgeRecord.model_validate({**RECORD, **more}, strict=False)
    return edge_from_record(record, T, "f", 3, b"raw", b"print")


def verdict(**more: Any) -> Verdict:
    return replace(Verdict(State.PUBLISHED, (), ("internal",), (), 0.5, True, False, True, False), **more)


def test_a_record_says_who_and_how_surely_of_each_citation() -> None:
    one = edge()
    assert [(c.doc, c.pipeline, c.version, c.confidence) for c in one.citations] == [("d@1", "p", "1", 0.9), ("e@1", "own", "2", 0.5)]
    bare = edge(extracted_by=None, confidence=None)
    assert [(c.pipeline, c.confidence) for c in bare.citations] == [(None, None), ("own", 0.5)]
    assert (one.edge_id, one.identity.source_id, one.declared, one.originals) == ("E1", "a b", "internal", (("System", "a b", " a  b "),))
    plain = edge(edge_id=None, source={"type": "System", "id": "a b"})
    assert (plain.edge_id, plain.originals) == (derived_edge_id(T, one.identity), ())


@pytest.mark.parametrize("field", Identity._fields)
def test_an_identity_is_the_same_in_every_part(field: str) -> None:
    one = edge(scope={"environment": "e", "region": "r", "valid_from": "2026-01-01T00:00:00Z", "valid_to": "2027-01-01T00:00:00Z"}).identity
    node = one._asdict()
    assert one.same_as(node)
    assert one.same_as(node | {"relation": "CALLS"})
    assert not one.same_as(node | {field: "other"})
    assert not one.same_as({"relation": "z"} | {name: value for name, value in node.items() if name != field})


def test_a_record_is_merged_into_what_is_there() -> None:
    first = merge_edge(None, edge(), 4)
    assert first == {
        "tenant": T, "edge_id": "E1", "since": 4, "relation": "calls", "source_type": "System", "source_id": "a b", "target_type": "Team",
        "target_id": "x", "environment": "production", "valid_from": edge().identity.valid_from, "attributes": '{"k":1}', "stated": 4,
        "declared": ["internal"]}
    second = merge_edge(first, edge(relation="CALLS", access={"policy": "hr", "tenant": T}, attributes={}), 5)
    assert second == first | {"relation": "CALLS", "declared": ["hr", "internal"]}


def test_what_a_rollback_left_is_named_by_the_next_record() -> None:
    left = merge_edge(None, edge(), 4) | {"records": 0}
    anew = named_anew(left, edge(relation="owns", scope={}))
    assert (anew["relation"], anew["since"], anew["records"], "environment" in anew, "valid_from" in anew) == ("owns", 4, 0, False, False)


def test_an_assertion_holds_its_verdict_and_no_older_one() -> None:
    node = merge_edge(None, edge(), 4) | {"state": "withheld", "confidence": 0.1, "reasons": ["old"], "changed": 9}
    whole = with_verdict(node, verdict())
    assert (whole["state"], whole["reasons"], whole["policies"], whole["confidence"]) == ("published", [], ["internal"], 0.5)
    assert "changed" not in whole
    assert "confidence" not in with_verdict(node, verdict(confidence=None))


def test_a_digest_does_not_depend_on_the_order_of_citations_and_a_retracted_edge_has_none() -> None:
    node, one = with_verdict(merge_edge(None, edge(), 4), verdict()), edge()
    assert assertion_digest(node, one.citations) == assertion_digest(node, one.citations[::-1]) is not None
    assert assertion_digest(node, one.citations[:1]) != assertion_digest(node, one.citations)
    assert assertion_digest(node | {"since": 9}, one.citations) == assertion_digest(node, one.citations)
    assert assertion_digest(node | {"derived_id": "D"}, one.citations) != assertion_digest(node, one.citations)
    assert assertion_digest(node | {"state": "retracted"}, ()) is None
    assert assertion_digest(node | {"state": "retracted", "merged_into": "E2"}, ()) is not None


def test_a_relationship_holds_what_is_known_and_its_passages_once() -> None:
    one = edge()
    node = with_verdict(merge_edge(None, one, 4), verdict())
    told = relationship_properties(node, (*one.citations[::-1], one.citations[0]))
    assert told == {"edge_id": "E1", "tenant": T, "policies": ["internal"], "acl": [], "environment": "production",
                    "valid_from": one.identity.valid_from, "confidence": 0.5, "current": True, "disputed": False,
                    "evidence": ["d@1#c", "e@1#c"]}


def test_a_record_is_about_the_edge_that_stands_for_the_one_that_it_names() -> None:
    one = edge()
    ends = Merges({(T, "System", "a b"): "z"}, {})
    moved = ends.edge(one)
    assert (moved.identity, moved.edge_id) == (one.identity._replace(source_id="z"), "E1")
    assert moved.originals == (("System", "z", " a  b "),)
    derived = replace(one, edge_id=derived_edge_id(T, one.identity))
    assert ends.edge(derived).edge_id == derived_edge_id(T, moved.identity)
    taken_in = Merges({}, {(T, "E1"): "E9", (T, derived.edge_id): "E8"})
    assert (taken_in.edge(one).edge_id, taken_in.edge(one).identity) == ("E9", one.identity)
    assert taken_in.edge(derived).edge_id == "E8"
    assert Merges({}, {}).edge(one) is one
