"""Which evidence of a document is in force (spec 3, revisions): what is replaced, what a tombstone removes, what nothing is known of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from graphrag_provenance.rules.heads import NOTHING, Candidate, Force, Succession, document_succession, is_current, succession, tombstone

DAY = datetime(2026, 1, 1, tzinfo=UTC)
LINE = ["d@4", "d@3", "d@2", "d@1"]


def revision(number: int, supersedes: int | None = None, *, day: int = 0, complete: bool = False) -> Candidate:
    return Candidate(f"d@{number}", DAY + timedelta(days=day), None if supersedes is None else f"d@{supersedes}", number, complete)


def node(
    *, line: list[str] | None = None, whole: str | None = None, tombstones: tuple[tuple[str | None, str], ...] = (),
) -> dict[str, object]:
    lines = {} if line is None else {"head": line[0]} | ({"line": line} if len(line) > 1 else {})
    return lines | ({} if whole is None else {"whole": whole}) | {"tombstones": [tombstone(*one) for one in tombstones]}


@pytest.mark.parametrize(("revisions", "line", "whole"), [
    ([], (), None),
    ([revision(1)], ("d@1",), None),
    ([revision(1, complete=True)], ("d@1",), "d@1"),
    ([revision(1, day=2), revision(2, day=1)], ("d@1", "d@2"), None),
    ([revision(1, complete=True), revision(2, 1, complete=True), revision(3, 2)], ("d@3", "d@2", "d@1"), "d@2"),
    ([revision(3, 2, complete=True)], ("d@3", "d@2"), "d@3"),  # the one before is not declared
    ([revision(2, 1), revision(1), revision(9, day=9, complete=True)], ("d@2", "d@1"), None),  # outside the chain: no place in the line
    ([revision(1, 2), revision(2, 1)], ("d@2", "d@1"), None),  # a circle is walked once
    ([revision(1, complete=True, day=1), revision(2)], ("d@1", "d@2"), "d@1"),
])
def test_the_line_goes_from_the_head_back(revisions: list[Candidate], line: tuple[str, ...], whole: str | None) -> None:
    assert succession(revisions) == succession(list(reversed(revisions))) == Succession(line, whole)


def test_a_document_keeps_its_line_unless_it_is_the_head_alone() -> None:
    assert document_succession(NOTHING) == {"head": None, "line": None, "whole": None}
    assert document_succession(Succession(("d@1",), "d@1")) == {"head": "d@1", "line": None, "whole": "d@1"}
    assert document_succession(Succession(("d@2", "d@1"), None)) == {"head": "d@2", "line": ["d@2", "d@1"], "whole": None}


def test_without_a_head_nothing_newer_is_known() -> None:
    assert [is_current("d@1", head) for head in (None, "d@1", "d@2")] == [True, True, False]


@pytest.mark.parametrize(("document", "revision", "declared", "holds"), [
    (None, "d@1", True, True),
    ({}, "d@1", True, True),
    (node(line=["d@1"], whole="d@1"), "d@1", True, True),
    (node(line=["d@1"], whole="d@1"), "d@9", True, False),  # declared, outside the line: the complete one stands for all
    (node(line=["d@1"], whole="d@1"), "d@9", False, True),  # nothing is known of its place
    (node(line=LINE), "d@1", True, True),  # none is complete: nothing is retired
    *((node(line=LINE, whole="d@3"), one, True, holds) for one, holds in zip(LINE, (True, True, False, False), strict=True)),
    *((node(line=LINE, whole="d@4"), one, True, holds) for one, holds in zip(LINE, (True, False, False, False), strict=True)),
    (node(line=["d@2", "d@1"], whole="d@2"), "d@1", False, False),
    (node(line=LINE, whole="d@3"), "d@1", False, False),  # undeclared, but the line replaces it
    (node(line=LINE, whole="d@3"), "d@9", False, True),
    (node(line=LINE, whole="d@3"), "d@9", True, False),
])
def test_a_complete_revision_retires_what_cites_the_ones_that_it_replaces(
    document: dict[str, object] | None, revision: str, declared: bool, holds: bool,
) -> None:
    assert Force(document).holds(revision, "c", declared=declared) is holds


@pytest.mark.parametrize(("tombstones", "gone"), [
    (((None, "d@3"),), ["d@3", "d@2", "d@1", "d@9"]),  # in which it is gone, any before it, and what has no place
    (((None, "d@4"),), [*LINE, "d@9"]),
    (((None, "d@8"),), [*LINE, "d@9"]),  # without a place in the line nothing comes after it
    ((("c", "d@2"),), ["d@2", "d@1", "d@9"]),
    ((("other", "d@4"),), []),
    ((("c", "d@1"), ("c", "d@3")), ["d@3", "d@2", "d@1", "d@9"]),
])
def test_a_tombstone_removes_what_cites_its_revision_and_any_before_it(
    tombstones: tuple[tuple[str | None, str], ...], gone: list[str],
) -> None:
    force = Force(node(line=LINE, tombstones=tombstones))
    assert [one for one in (*LINE, "d@9") if force.removed(one, "c")] == gone
    assert [one for one in (*LINE, "d@9") if not force.holds(one, "c", declared=True)] == gone
    assert [one for one in (*LINE, "d@9") if not force.holds(one, "c", declared=False)] == gone


def test_a_tombstone_and_a_complete_revision_each_retire_their_own() -> None:
    force = Force(node(line=LINE, whole="d@3", tombstones=(("c", "d@4"),)))
    assert [one for one in LINE if force.holds(one, "c", declared=True)] == []
    assert [one for one in LINE if force.holds(one, "x", declared=True)] == ["d@4", "d@3"]


@pytest.mark.parametrize(("document", "revision", "declared", "replaced"), [
    (None, "d@1", True, False),
    (node(line=["d@1"]), "d@1", True, False),
    (node(line=LINE), "d@4", True, False),
    (node(line=LINE), "d@1", True, True),
    (node(line=LINE), "d@1", False, True),
    (node(line=LINE), "d@9", True, True),
    (node(line=LINE), "d@9", False, False),
    (node(line=LINE, tombstones=(("c", "d@4"),)), "d@4", True, True),
])
def test_a_passage_is_replaced_by_a_newer_head_or_by_a_tombstone(
    document: dict[str, object] | None, revision: str, declared: bool, replaced: bool,
) -> None:
    assert Force(document).replaced(revision, "c", declared=declared) is replaced
