"""Any single damage to a chain of runs is found, with the right verdict, by the product and by the verifier in the docs."""

from __future__ import annotations

from typing import Any

from corpus.chains import Entry, chain, independent, resealed, sealed, store_of
from hypothesis import given
from hypothesis import strategies as st

from graphrag_provenance.rules.audit_report import Head
from graphrag_provenance.rules.auditing import audit
from graphrag_provenance.rules.digests import RUN_DIGEST_FIELDS

VERIFY = independent()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=6)
lengths = st.integers(2, 9)


def verdicts(runs: list[Entry], store: Entry | None = None, *heads: Head) -> set[tuple[str, int | None, int | None]]:
    return {(f.verdict.value, f.seq, f.last) for f in audit(runs, store, heads).faults}


def simple(runs: list[Entry], *heads: Head) -> set[tuple[str, Any]]:
    return set(VERIFY.faults(runs, [(head.seq, head.digest) for head in heads]))


def head_of(run: Entry) -> Head:
    return Head(run["seq"], run["digest"], run["graph_hash"])


@given(lengths, st.randoms(use_true_random=False))
def test_a_sound_chain_gives_nothing_in_any_order(length: int, random: Any) -> None:
    runs = chain(length)
    heads = [head_of(run) for run in runs]
    random.shuffle(runs)
    assert verdicts(runs, store_of(chain(length)), *heads) == set()
    assert simple(runs, *heads) == set()


@given(lengths, st.data())
def test_a_changed_value_is_a_changed_run(length: int, data: st.DataObject) -> None:
    runs = chain(length)
    at = data.draw(st.integers(0, length - 1))
    name = data.draw(st.sampled_from([n for n in (*RUN_DIGEST_FIELDS, "digest") if n != "seq"]))
    value = data.draw(JSON.filter(lambda v: v != runs[at][name] or type(v) is not type(runs[at][name])))
    runs[at] = {**runs[at], name: value}
    assert verdicts(runs, store_of(chain(length))) == {("changed", at + 1, at + 1)}
    if not isinstance(value, list | dict) or name in ("counts", "inputs"):
        assert ("changed", at + 1) in simple(runs)


@given(lengths, st.data())
def test_a_value_taken_from_another_run_is_a_changed_run(length: int, data: st.DataObject) -> None:
    runs = chain(length)
    at, other = data.draw(st.permutations(range(length)))[:2]
    name = data.draw(st.sampled_from(["run_id", "previous", "digest", "graph_hash", "counts", "trace_id"]))
    runs[at] = {**runs[at], name: runs[other][name]}
    assert verdicts(runs, store_of(chain(length))) == {("changed", at + 1, at + 1)}
    assert ("changed", at + 1) in simple(runs)


@given(lengths, st.data())
def test_a_changed_number_is_a_changed_run(length: int, data: st.DataObject) -> None:
    runs = chain(length)
    at = data.draw(st.integers(0, length - 1))
    runs[at] = {**runs[at], "seq": data.draw(st.integers(length + 1, 10**15) | st.integers(-5, 0) | st.none() | st.just("1"))}
    assert verdicts(runs, store_of(chain(length))) == {("changed", at + 1, at + 1)}
    assert ("changed", runs[at]["seq"]) in simple(runs)


@given(lengths, st.data())
def test_a_changed_run_with_a_new_digest_of_its_own_is_a_changed_run(length: int, data: st.DataObject) -> None:
    runs = chain(length)
    at = data.draw(st.integers(0, length - 1))
    name = data.draw(st.sampled_from(["actor", "previous", "counts", "graph_hash"]))
    runs[at] = sealed({**runs[at], name: data.draw(JSON.filter(lambda v: v != runs[at][name]))})
    assert verdicts(runs, store_of(chain(length))) == {("changed", at + 1, at + 1)}
    assert ("changed", at + 1) in simple(runs, head_of(chain(length)[-1]))


@given(lengths, st.data())
def test_a_deleted_run_is_missing_and_a_deleted_end_is_cut(length: int, data: st.DataObject) -> None:
    runs = chain(length)
    first = data.draw(st.integers(1, length))
    last = data.draw(st.integers(first, length))
    left = [run for run in runs if not first <= run["seq"] <= last]
    expected = {("cut" if last == length else "missing", first, last)}
    assert verdicts(left, store_of(runs)) == expected
    assert verdicts(left, store_of(left) if last == length else None, head_of(runs[-1])) == expected
    simply = {verdict for verdict, _ in simple(left, head_of(runs[-1]))}
    assert simply == ({"cut"} if last == length else {"missing"} if first > 1 else set())  # an export may begin anywhere


@given(lengths, st.data())
def test_a_copy_is_a_duplicate_under_whatever_number(length: int, data: st.DataObject) -> None:
    runs = chain(length)
    at = data.draw(st.integers(0, length - 1))
    seq = data.draw(st.sampled_from([at + 1, length + 1, length + 7]))
    copy = {**runs[at], "seq": seq}
    if seq > length and data.draw(st.booleans()):
        copy = sealed({**copy, "previous": data.draw(st.sampled_from([copy["previous"], runs[-1]["digest"]]))})
    where = data.draw(st.integers(0, length))
    assert {(v, s) for v, s, _ in verdicts([*runs[:where], copy, *runs[where:]], store_of(runs))} == {("duplicated", seq)}
    assert ("duplicated", seq) in simple([*runs[:where], copy, *runs[where:]])


@given(lengths, st.booleans())
def test_a_copy_with_another_run_id_that_the_store_takes_for_its_last_run_is_a_duplicate(length: int, kept: bool) -> None:
    runs = chain(length)
    copy = sealed({**runs[0], "seq": length + 1, "previous": runs[-1]["digest"], **({} if kept else {"run_id": "new"})})
    assert verdicts([*runs, copy], store_of([*runs, copy])) == {("duplicated", length + 1, length + 1)}


@given(lengths, st.data())
def test_a_chain_written_anew_is_found_by_an_outside_head_alone(length: int, data: st.DataObject) -> None:
    runs = chain(length)
    at = data.draw(st.integers(0, length - 1))
    anew = resealed([*runs[:at], {**runs[at], "actor": "eve"}, *runs[at + 1:]], at)
    kept = data.draw(st.integers(at, length - 1))
    assert verdicts(anew, store_of(anew)) == set()
    assert verdicts(anew, store_of(anew), head_of(runs[kept])) == {("changed", kept + 1, kept + 1)}
    assert simple(anew, head_of(runs[kept])) == {("changed", kept + 1)}


@given(st.lists(st.dictionaries(st.sampled_from([*RUN_DIGEST_FIELDS, "digest"]), JSON, max_size=16), max_size=6),
       st.none() | st.dictionaries(st.sampled_from(["head_seq", "digest", "writer", "writer_seq"]), JSON))
def test_nothing_that_a_record_may_hold_stops_an_audit(runs: list[Entry], store: Entry | None) -> None:
    assert bool(runs) <= (not audit(runs, store).ok)
