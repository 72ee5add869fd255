"""Since when a passage is replaced (spec 3, retention)."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_provenance.rules.heads import Force, tombstone
from graphrag_provenance.rules.retention import Standing, replaced_since

ONE = {"head": "d@1"}
TWO = {"head": "d@2", "line": ["d@2", "d@1"]}
GONE = {**ONE, "tombstones": [tombstone(None, "d@1")]}
CUT = {**ONE, "tombstones": [tombstone("c", "d@1")]}


@pytest.mark.parametrize(("standings", "revision", "declared", "arrived", "since"), [
    ([(1, ONE)], "d@1", True, 1, None),
    ([(1, ONE), (3, TWO)], "d@1", True, 1, 3),
    ([(1, ONE), (3, TWO)], "d@2", True, 3, None),
    ([(1, ONE), (3, TWO), (4, ONE)], "d@1", True, 1, None),
    ([(1, ONE), (3, TWO), (4, ONE), (6, TWO)], "d@1", True, 1, 6),
    ([(1, ONE), (3, TWO), (5, {**TWO, "title": "new"})], "d@1", True, 1, 3),
    ([(1, ONE), (3, TWO)], "d@1", True, 7, 7),
    ([(1, ONE), (3, TWO)], "d@0", True, 4, 4),
    ([(1, ONE), (3, TWO)], "d@0", False, 1, None),
    ([(1, ONE), (3, TWO)], "d@1", False, 1, 3),
    ([(1, {}), (2, {})], "d@1", False, 1, None),
    ([(1, ONE), (2, GONE)], "d@1", True, 1, 2),
    ([(1, ONE), (2, GONE)], "d@9", False, 1, 2),
    ([(1, ONE), (2, GONE), (4, {**TWO, "tombstones": GONE["tombstones"]})], "d@1", True, 1, 2),
    ([(1, ONE), (2, GONE), (4, {**TWO, "tombstones": GONE["tombstones"]})], "d@2", True, 4, None),
    ([(1, ONE), (2, CUT)], "d@1", True, 1, 2),
])
def test_a_passage_is_replaced_since(
    standings: list[tuple[int, dict[str, Any]]], revision: str, declared: bool, arrived: int, since: int | None,
) -> None:
    past = [Standing(seq, Force(node)) for seq, node in standings]
    assert replaced_since(past, revision, "c", declared=declared, arrived=arrived) == since


def test_a_tombstone_of_one_chunk_replaces_no_other() -> None:
    assert replaced_since([Standing(1, Force(CUT))], "d@1", "other", declared=True, arrived=1) is None
