"""Which revision is the head, what is stale, and which revision contradicts itself (spec 3, revisions)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_provenance.model.records import RevisionRecord
from graphrag_provenance.rules import heads
from graphrag_provenance.rules.heads import Candidate, is_current
from graphrag_provenance.rules.rejects import Refused, RejectCode
from graphrag_provenance.rules.statements import check_revision

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def at(doc: str, day: int, arrival: int, supersedes: str | None = None) -> Candidate:
    return Candidate(doc, DAY + timedelta(days=day), supersedes, arrival)


def head(revisions: Iterable[Candidate]) -> str | None:
    return next(iter(heads.succession(revisions).line), None)


@pytest.mark.parametrize(("revisions", "expected"), [
    ([], None),
    ([at("d@1", 1, 1)], "d@1"),
    ([at("d@1", 1, 1), at("d@2", 2, 2)], "d@2"),
    ([at("d@2", 2, 1), at("d@1", 1, 2)], "d@2"),  # the old one came late
    ([at("d@1", 1, 1), at("d@2", 1, 2)], "d@2"),  # the same day: what came later
    ([at("d@1", 9, 9), at("d@2", 1, 1, "d@1")], "d@2"),  # the chain decides, not the dates
    ([at("d@2", 1, 1, "d@1")], "d@2"),  # the one before was never loaded
    ([at("d@2", 1, 1, "d@1"), at("d@1", 9, 2)], "d@2"),  # and came late
    ([at("d@1", 1, 1), at("d@2", 2, 2, "d@1"), at("d@3", 3, 3, "d@2")], "d@3"),
    ([at("d@1", 1, 1), at("d@2", 2, 2, "d@1"), at("d@0", 9, 3)], "d@2"),  # outside the chain
    ([at("d@1", 1, 1), at("d@2", 2, 2, "d@1"), at("d@2b", 3, 3, "d@1")], "d@2b"),  # two ends: the later one
    ([at("d@1", 1, 1, "d@2"), at("d@2", 2, 2, "d@1")], "d@2"),  # a circle has no end
])
def test_the_head_is_the_end_of_the_chain_or_else_the_latest(revisions: list[Candidate], expected: str | None) -> None:
    assert head(revisions) == head(reversed(revisions)) == expected


@given(st.permutations(range(6)), st.permutations(range(6)), st.integers(2, 6), st.randoms(use_true_random=False))
def test_a_chain_decides_whatever_the_dates_and_the_order_of_arrival(
    days: list[int], arrivals: list[int], length: int, random: Any
) -> None:
    chain = [at(f"d@{n}", days[n], arrivals[n], f"d@{n - 1}" if n else None) for n in range(length)]
    late = [at("d@late", 9, 9)]
    revisions = chain + late
    random.shuffle(revisions)
    assert head(revisions) == f"d@{length - 1}"
    assert [is_current(one.doc, head(revisions)) for one in chain] == [False] * (length - 1) + [True]


def revision(doc: str, **more: Any) -> RevisionRecord:
    return RevisionRecord.model_validate(
        {"kind": "revision", "doc": doc, "tenant": "T", "effective_at": "2026-01-01T00:00:00Z"} | more, strict=False)


def acl(system: str) -> dict[str, Any]:
    return {"acl_ref": {"system": system, "space": "x", "restriction_id": "1"}}


@pytest.mark.parametrize(("doc", "more"), [
    ("conf:112458@v9", {"source_url": "https://wiki/112458/v9"}), ("conf:112458@v9", acl("confluence")), ("POL-17@1.4", acl("sharepoint")),
    ("POL-17@1.4", {"source_url": "https://x/POL-17_v1.4.pdf"}), ("d@2", {"source_url": "https://x/112458?version=2"}),
    ("d@2", {"source_url": "https://x/22/2"}), ("d@2026-01", {"source_url": "https://x/2026-01"}), ("d@draft", {"source_url": "/draft2"}),
])
def test_a_revision_that_agrees_with_itself_is_taken(doc: str, more: dict[str, Any]) -> None:
    check_revision(revision(doc, **more), DAY + timedelta(days=9))


@pytest.mark.parametrize(("doc", "more", "pair"), [
    ("conf:112458@v9", {"source_url": "https://wiki/112458/v8"}, ("source_url", "'v9'")),
    ("conf:112458@v1", {"source_url": "https://wiki/112458/v10"}, ("source_url", "'v1'")),
    ("d@2", {"source_url": "https://x/112458/v9"}, ("source_url", "'2'")), ("d@1.4", {"source_url": "/1.4.2"}, ("source_url", "'1.4'")),
    ("d@1.4", {"source_url": "/11.4"}, ("source_url", "'1.4'")), ("d@1.4", {"source_url": "/3.1.4"}, ("source_url", "'1.4'")),
    ("d@1.4", {"source_url": "/1x4"}, ("source_url", "'1.4'")),
    ("conf:112458@v9", acl("sharepoint"), ("acl_ref.system", "'sharepoint'")),
])
def test_a_revision_that_contradicts_itself_is_refused_with_the_pair(doc: str, more: dict[str, Any], pair: tuple[str, str]) -> None:
    with pytest.raises(Refused) as caught:
        check_revision(revision(doc, **more), DAY + timedelta(days=9))
    assert caught.value.code is RejectCode.REVISION_SELF_CHECK
    assert all(part in str(caught.value) for part in (*pair, "disagrees" if "acl_ref" in more else doc))
