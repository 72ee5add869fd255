"""What became of an edge whose evidence was retired: one fate for each, what opens first (spec 3, `doc delete`)."""

from __future__ import annotations

from typing import Any

import pytest
from corpus.records import POLICIES

from graphrag_provenance.rules.receipts import fate


def edge(state: str, *policies: str, acl: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"state": state, "policies": list(policies), "acl": list(acl)}


@pytest.mark.parametrize(("before", "after", "told"), [
    (edge("published", "internal"), edge("retracted"), "retracted"),
    (edge("withheld"), edge("retracted"), "retracted"),
    (edge("withheld"), edge("published", "secret"), "published"),
    (edge("published", "internal"), edge("withheld"), "withheld"),
    (edge("withheld"), edge("withheld"), "kept"),
    (edge("published", "internal"), edge("published", "internal"), "kept"),
    (edge("published", "internal"), edge("published", "public"), "relaxed"),
    (edge("published", "hr", "legal"), edge("published", "hr"), "relaxed"),
    (edge("published", "hr"), edge("published", "legal"), "relaxed"),
    (edge("published", "internal", acl=("a", "b")), edge("published", "internal", acl=("a",)), "relaxed"),
    (edge("published", "internal", acl=("a",)), edge("published", "secret"), "relaxed"),
    (edge("published", "public"), edge("published", "internal"), "tightened"),
    (edge("published", "hr"), edge("published", "hr", "legal"), "tightened"),
    (edge("published", "public"), edge("published", "public", acl=("a",)), "tightened"),
    (edge("published", "public", acl=("a",)), edge("published", "public", acl=("a",)), "kept"),
    (edge("published", "public", acl=("a",)), edge("published", "public", acl=("b",)), "relaxed"),
])
def test_the_fate_of_an_edge(before: dict[str, Any], after: dict[str, Any], told: str) -> None:
    assert fate(POLICIES, before, after) == told
