"""The graph hash is a function of the multiset of records: nothing else changes it, and everything in it does."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphrag_provenance.rules.digests import (
    EMPTY_SUM,
    HASH_BYTES,
    RUN_DIGEST_FIELDS,
    MultisetHash,
    graph_hash,
    multiset,
    record_digest,
    run_digest,
)

# Few different records, so that multiplicities and equal multisets occur.
RECORDS = st.sampled_from([record_digest("edge", {"edge_id": f"E{n}"}) for n in range(4)])
MANY = st.lists(RECORDS, max_size=8)
CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(MANY, st.data())
def test_order_does_not_matter(records: list[bytes], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(records))
    assert multiset(shuffled).to_bytes() == multiset(records).to_bytes()
    assert multiset(shuffled).graph_hash() == multiset(records).graph_hash()


@given(MANY, MANY)
def test_two_sums_are_equal_exactly_when_the_multisets_are(one: list[bytes], other: list[bytes]) -> None:
    assert (multiset(one).graph_hash() == multiset(other).graph_hash()) == (Counter(one) == Counter(other))


@given(MANY, RECORDS)
def test_once_more_is_another_multiset(records: list[bytes], record: bytes) -> None:
    assert multiset([*records, record]).to_bytes() != multiset(records).to_bytes()


@given(MANY, MANY)
def test_remove_undoes_add_in_any_order_and_below_zero(records: list[bytes], changed: list[bytes]) -> None:
    total = multiset(records)
    for record in changed:
        total.remove(record)
    MultisetHash(total.to_bytes())  # what lies below zero can be stored, too
    for record in reversed(changed):
        total.add(record)
    assert total.to_bytes() == multiset(records).to_bytes()


@given(st.lists(MANY, max_size=4))
def test_any_batching_gives_the_same_sum_also_through_stored_bytes(batches: list[list[bytes]]) -> None:
    total = MultisetHash()
    for batch in batches:
        total.combine(MultisetHash(multiset(batch).to_bytes()))
        total = MultisetHash(total.to_bytes())
    assert total.to_bytes() == multiset(record for batch in batches for record in batch).to_bytes()
    assert len(total.to_bytes()) == HASH_BYTES


@given(CONTENT, CONTENT)
@example([], {})
@example([["a", 1]], {"a": 1})
@example(1, True)
@example(1, 1.0)
@example("1", 1)
@example({"a": 1, "b": 2}, {"b": 2, "a": 1})
def test_equal_content_and_only_equal_content_has_an_equal_digest(one: object, other: object) -> None:
    # repr, since True == 1 == 1.0 in Python and not in a record; keys sorted, since a map has no order
    assert (record_digest("k", one) == record_digest("k", other)) == (_spelled(one) == _spelled(other))


def _spelled(value: object) -> str:
    if isinstance(value, dict):
        return f"map{sorted((name, _spelled(inner)) for name, inner in value.items())}"
    return repr([_spelled(inner) for inner in value]) if isinstance(value, list) else repr(value)


@given(CONTENT)
def test_the_kind_is_part_of_the_digest(content: object) -> None:
    assert record_digest("edge", content) != record_digest("entity", content)
    assert len(record_digest("edge", content)) == 32


def test_nothing_hashes_to_the_empty_sum_and_a_foreign_sum_is_refused() -> None:
    assert multiset([]).to_bytes() == EMPTY_SUM
    assert multiset([]).graph_hash() == graph_hash(EMPTY_SUM)
    with pytest.raises(ValueError, match="512 bytes, not 4"):
        MultisetHash(b"four")


def test_the_format_is_pinned_because_stores_and_auditors_hold_it() -> None:
    """Recomputed here from the documentation alone, with nothing of the product."""
    import hashlib  # noqa: PLC0415 - the point of this test

    digest = hashlib.sha256(b'["edge",{"edge_id":"E0"}]').digest()
    assert record_digest("edge", {"edge_id": "E0"}) == digest
    twice = 2 * int.from_bytes(hashlib.shake_128(digest).digest(512), "little") % 2**4096
    stored = twice.to_bytes(512, "little")
    assert multiset([digest, digest]).to_bytes() == stored
    assert multiset([digest, digest]).graph_hash() == "sha256:" + hashlib.sha256(stored).hexdigest()


RUN = st.fixed_dictionaries({name: st.text(max_size=3) | st.none() for name in RUN_DIGEST_FIELDS})


@given(RUN, st.sampled_from(RUN_DIGEST_FIELDS), st.text(max_size=3))
def test_a_run_digest_covers_every_field_and_the_run_before(run: dict[str, object], field: str, value: str) -> None:
    assert (run_digest(run | {field: value}) == run_digest(run)) == (run[field] == value)
    assert run_digest(run | {"digest": value}) == run_digest(run)  # its own digest is not part of it
    assert {"previous", "graph_hash", "policies_hash"} <= set(RUN_DIGEST_FIELDS)
