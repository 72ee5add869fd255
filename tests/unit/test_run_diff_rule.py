"""What became of an edge between two generations: a table."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_provenance.rules.run_diff import change_of, differing


def edge(state: str, digest: str = "1", **more: Any) -> dict[str, Any]:
    return {"state": state, "digest": digest, **more}


@pytest.mark.parametrize(("before", "after", "change"), [
    (None, None, None),
    (None, edge("published"), "published"),
    (None, edge("withheld"), "withheld"),
    (None, edge("retracted"), None),
    (edge("published"), edge("published"), None),
    (edge("published"), edge("published", "2"), "changed"),
    (edge("withheld"), edge("withheld", "2"), "changed"),
    (edge("retracted", "1"), edge("retracted", "2"), None),
    (edge("published"), edge("withheld", "2"), "withheld"),
    (edge("published"), edge("retracted", "2"), "retracted"),
    (edge("withheld"), edge("published", "2"), "published"),
    (edge("withheld"), edge("retracted", "2"), "retracted"),
    (edge("retracted"), edge("published", "2"), "published"),
    (edge("published"), None, None),
])
def test_the_change_between_two_versions(before: Any, after: Any, change: str | None) -> None:
    assert change_of(before, after) == change


@pytest.mark.parametrize(("before", "after", "names"), [
    ({"policies": ["a"]}, {"policies": ["b"]}, ["policies"]),
    ({"confidence": 0.5, "current": True}, {"confidence": 0.6, "current": False}, ["confidence", "current"]),
    ({"acl": []}, {}, []), ({}, {"attributes": "{}"}, ["attributes"]), ({"disputed": False}, {"disputed": True}, ["disputed"]),
])
def test_what_differs_in_one_state(before: dict[str, Any], after: dict[str, Any], names: list[str]) -> None:
    assert differing(edge("published", **before), edge("published", "2", **after)) == names


def test_nothing_differs_in_part_where_the_state_does() -> None:
    assert differing(edge("published", policies=["a"]), edge("withheld", policies=[])) == []
    assert differing(None, edge("published", policies=["a"])) == []
