"""Who is accused when two records disagree, and what a run under way may look like (rules of `rules.auditing`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from corpus.chains import Entry, chain, resealed, sealed, store_of

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.audit_report import Head, parse_head
from graphrag_provenance.rules.auditing import audit

RUNS = chain(4)
RUNNING = {**RUNS[3], "status": "running", "digest": None, "previous": None, "finished_at": None, "graph_hash": None}
HELD = {**store_of(RUNS[:3]), "head_seq": 4, "writer": "run-4", "writer_seq": 4}


def faults(runs: list[Entry], store: Entry | None = None, *heads: Head) -> list[tuple[str, int | None]]:
    return [(fault.verdict.value, fault.seq) for fault in audit(runs, store, heads).faults]


def head(run: Entry, **more: Any) -> Head:
    return Head(**({"seq": run["seq"], "digest": run["digest"], "graph_hash": run["graph_hash"]} | more))


def test_a_run_under_way_is_no_fault() -> None:
    report = audit([*RUNS[:3], RUNNING], HELD, [head(RUNS[2])])
    assert (report.ok, report.running, report.head) == (True, 4, head(RUNS[2]))
    assert audit([*RUNS[:3], RUNNING]).ok


@pytest.mark.parametrize("more", [{"digest": RUNS[3]["digest"]}, {"previous": "sha256:0"}, {"finished_at": "2026-01-01T00:00:00Z"},
                                  {"graph_hash": "sha256:0"}])
def test_a_run_that_was_sealed_is_not_under_way(more: Entry) -> None:
    assert faults([*RUNS[:3], {**RUNNING, **more}], HELD) == [("changed", 4)]


@pytest.mark.parametrize("store", [{**HELD, "writer": None}, {**HELD, "writer_seq": 3}])
def test_a_run_that_does_not_hold_the_store_is_not_under_way(store: Entry) -> None:
    assert ("changed", 4) in faults([*RUNS[:3], RUNNING], store)


def test_a_run_that_a_kept_head_names_has_ended() -> None:
    assert faults([*RUNS[:3], RUNNING], HELD, head(RUNS[3])) == [("changed", 4)]


def test_the_first_run_follows_nothing() -> None:
    anew = resealed([sealed({**RUNS[0], "previous": "sha256:0"}), *RUNS[1:]], 1)
    assert faults(anew, store_of(anew)) == [("changed", 1)]


def test_a_head_speaks_for_its_run_against_the_next_one() -> None:
    runs = [*RUNS[:3], sealed({**RUNS[3], "previous": "sha256:0"})]
    assert faults(runs) == [("changed", 3)]
    assert faults(runs, None, head(RUNS[2])) == [("changed", 4)]


def test_the_graph_hash_of_a_head_counts() -> None:
    assert faults(RUNS, store_of(RUNS), head(RUNS[1], graph_hash="sha256:" + "0" * 64)) == [("changed", 2)]
    assert faults(RUNS, store_of(RUNS), head(RUNS[1], graph_hash=None)) == []


def test_a_gap_is_one_fault_however_far_the_store_says_it_reaches() -> None:
    (fault,) = audit(RUNS, {**store_of(RUNS), "head_seq": 10**12}).faults
    assert (fault.verdict, fault.seq, fault.last) == ("cut", 5, 10**12)


def test_a_head_is_written_as_it_is_printed_or_shorter() -> None:
    kept = head(RUNS[2], digest="sha256:" + "a" * 64, graph_hash="sha256:" + "b" * 64)
    assert parse_head(kept.line()) == parse_head(f" {kept.line()}\n") == kept
    assert parse_head(f"{kept.digest}@3") == Head(3, kept.digest)
    assert parse_head(json.dumps({"schema": 1, **kept.as_json()}, indent=2)) == kept
    assert parse_head(json.dumps(Head(3, kept.digest).as_json())) == Head(3, kept.digest)


@pytest.mark.parametrize("text", ["", "3", "sha256:aa@3", f"sha256:{'A' * 64}@3", f"sha256:{'a' * 64}@0", f"sha256:{'a' * 64}@-1",
                                  f"sha256:{'a' * 64}", f"0 sha256:{'a' * 64}", f"3 sha256:{'a' * 64} graph", f"sha256:{'a' * 64}@٣",
                                  "{}", "[]", "{", f'{{"seq": true, "digest": "sha256:{"a" * 64}"}}', '{"seq": 3, "digest": "sha256:aa"}',
                                  f'{{"seq": 3, "digest": "sha256:{"a" * 64}", "graph_hash": 1}}'])
def test_anything_else_is_no_head(text: str) -> None:
    with pytest.raises(InputError, match="is not a head"):
        parse_head(text)
    with pytest.raises(InputError, match=r"head\.json holds no head"):
        parse_head(text, "head.json")


SIX = chain(6)
STORE = store_of(SIX)
UNDER_WAY = {**SIX[5], "status": "running", "digest": None, "previous": None, "finished_at": None, "graph_hash": None}
WRITING = {**store_of(SIX[:5]), "head_seq": 6, "writer": "run-6", "writer_seq": 6}
NEW = {"actor": "eve"}
LOST_DIGEST = "its record does not give its digest"
AGAIN = "two entries have this number"


def without(*numbers: int) -> list[Entry]:
    return [run for run in SIX if run["seq"] not in numbers]


def but(number: int, **more: Any) -> list[Entry]:
    return [{**run, **more} if run["seq"] == number else run for run in SIX]


def anew(number: int, **more: Any) -> list[Entry]:
    return [sealed({**run, **more}) if run["seq"] == number else run for run in SIX]


@pytest.mark.parametrize(("runs", "store", "heads", "told", "head_seq"), [
    # a gap is one fault, from its first to its last number
    (without(2, 3, 5), STORE, [], ["missing 2-3: the runs 2 to 3 are missing", "missing 5: the run is missing"], 6),
    (without(1), STORE, [], ["missing 1: the run is missing"], 6),
    (without(1), None, [], ["missing 1: the run is missing"], 6),
    (without(6), STORE, [], ["cut 6: the run is missing at the end; the store's record names run 6"], 5),
    ([], STORE, [], ["cut 1-6: the runs 1 to 6 are missing at the end; the store's record names run 6"], None),
    (without(5, 6), store_of(SIX[:4]), [SIX[5], SIX[0]],
     ["cut 5-6: the runs 5 to 6 are missing at the end; the head kept outside names run 6"], 4),
    (without(3), None, [], ["missing 3: the run is missing"], 6),
    ([SIX[0], sealed({**SIX[1], "seq": 8})], None, [], ["missing 2-7: the runs 2 to 7 are missing"], 8),
    (but(3, seq=-5, **NEW), STORE, [], [f"changed -5: {LOST_DIGEST}", "missing 3: the run is missing"], 6),
    (but(3, seq=99, **NEW), STORE, [], ["missing 3: the run is missing", f"changed 99: {LOST_DIGEST}"], 6),
    ([], None, [], [], None), ([], {}, [], [], None),
    # who was renumbered is told at the number under which it gives its digest
    (but(3, seq=9), STORE, [], ["changed 3: its number was changed to 9"], 6),
    (but(3, seq=0), None, [], ["changed 3: its number was changed to 0"], 6),
    (but(3, seq="x"), None, [], ["changed 3: its number was changed to x"], 6),
    (but(1, seq=True), STORE, [], ["changed 1: its number was changed to True"], 6),
    ([*SIX[:2], *({**run, "seq": run["seq"] + 10} for run in SIX[2:5]), SIX[5]], STORE, [],
     [f"changed {n}: its number was changed to {n + 10}" for n in (3, 4, 5)], 6),
    ([SIX[0], {**SIX[1], "seq": 3}, {**SIX[2], "seq": 2}, *SIX[3:]], STORE, [],
     ["changed 2: its number was changed to 3", "changed 3: its number was changed to 2"], 6),
    # of two, the one is a copy that does not give its digest, or that nobody names
    ([*SIX, SIX[2]], STORE, [], [f"duplicated 3: {AGAIN}"], 6),
    ([{**SIX[2], **NEW}, *SIX], STORE, [], [f"duplicated 3: {AGAIN}"], 6),
    ([sealed({**SIX[2], **NEW}), *SIX], STORE, [], [f"duplicated 3: {AGAIN}"], 6),
    ([*SIX, sealed({**SIX[5], **NEW})], None, [SIX[5]], [f"duplicated 6: {AGAIN}"], 5),
    ([sealed({**SIX[5], **NEW}), *SIX], STORE, [], [f"duplicated 6: {AGAIN}"], 5),
    ([*SIX[:2], {**SIX[2], **NEW}, {**SIX[2], "seq": 9}, *SIX[3:]], STORE, [],
     ["changed 3: its number was changed to 9", f"duplicated 3: {AGAIN}"], 6),
    ([{**SIX[2], "seq": 2}, *SIX], STORE, [], ["duplicated 2: the entry repeats run 3: everything is the same"], 6),
    ([sealed({**SIX[2], "seq": 7, "previous": SIX[5]["digest"]}), *SIX],
     store_of([*SIX, sealed({**SIX[2], "seq": 7, "previous": SIX[5]["digest"]})]), [],
     ["duplicated 7: the entry repeats run 3: run_id is the same"], 6),
    ([*SIX, sealed({**SIX[2], "seq": 9, "previous": SIX[5]["digest"]})], STORE, [],
     ["duplicated 9: the entry repeats run 3: run_id is the same"], 6),
    ([*SIX, {**SIX[1], "seq": 9, "previous": "sha256:0"}], STORE, [], ["duplicated 9: the entry repeats run 2: run_id is the same"], 6),
    ([*SIX, {**SIX[2], "seq": 9}], STORE, [], ["duplicated 9: the entry repeats run 3: everything is the same"], 6),
    ([*SIX, sealed({**SIX[2], "seq": 7, "previous": SIX[5]["digest"]})], STORE, [],
     ["duplicated 7: the entry repeats run 3: run_id is the same"], 6),
    ([*SIX, sealed({**SIX[2], "seq": 7, "previous": SIX[5]["digest"], "run_id": "new"})], STORE, [],
     ["duplicated 7: the entry repeats run 3: everything but its run_id is the same"], 6),
    (anew(4, run_id="run-2"), STORE, [], ["duplicated 4: the entry repeats run 2: run_id is the same"], 6),
    ([*SIX[:3], {**SIX[1], "seq": 4}, *SIX[4:]], STORE, [],
     ["duplicated 4: the entry repeats run 2: everything is the same", "missing 4: the run is missing"], 6),
    # one that was made to look like another is known where it stands
    (but(4, run_id="run-2"), STORE, [], [f"changed 4: {LOST_DIGEST}"], 6),
    (but(6, run_id="run-2"), None, [], [f"changed 6: {LOST_DIGEST}"], 5),  # by what it follows
    (but(4, run_id="run-2", previous="sha256:0"), STORE, [], [f"changed 4: {LOST_DIGEST}"], 6),  # by what follows it
    (but(6, run_id="run-2", previous="sha256:0"), None, [], ["duplicated 6: the entry repeats run 2: run_id is the same"], 5),
    # what was changed, and what speaks against it
    ([{**SIX[0], **NEW}, SIX[1], {**SIX[2], **NEW}, *SIX[3:]], STORE, [], [f"changed {n}: {LOST_DIGEST}" for n in (1, 3)], 6),
    (but(3, counts=float("nan")), STORE, [], [f"changed 3: {LOST_DIGEST}"], 6),
    (but(6, seq=None, **NEW), None, [], [f"changed: {LOST_DIGEST}"], 5),
    ([*SIX[:5], sealed({**SIX[5], "seq": None})], None, [], [f"changed: {LOST_DIGEST}"], 5),
    ([*SIX[:2], *({**run, "seq": None, **NEW} for run in SIX[2:4]), *SIX[4:]], STORE, [],
     ["missing 3-4: the runs 3 to 4 are missing", *[f"changed: {LOST_DIGEST}"] * 2], 6),
    (but(3, digest=7), STORE, [], [f"changed 3: {LOST_DIGEST}"], 6),
    (but(3, status="running", finished_at=None, digest=None, previous=None, graph_hash=None), STORE, [],
     ["changed 3: it has not ended, and is not the run under way"], 6),
    ([*SIX[:2], sealed({**SIX[2], **NEW}), sealed({**SIX[3], **NEW}), *SIX[4:]], STORE, [],
     ["changed 4: run 5 names another digest for it"], 6),
    (resealed([*SIX[:2], {**SIX[2], **NEW}, *SIX[3:]], 2), None, [SIX[2]],
     ["changed 3: the head kept outside names another digest: it, or the chain up to it, was written anew"], 6),
    (anew(6, **NEW), STORE, [], ["changed 6: the store's record names another digest for the last run"], 5),
    (anew(6, **NEW), STORE, [SIX[5]],
     ["changed 6: the head kept outside names another digest: it, or the chain up to it, was written anew"], 5),
    (SIX, {**STORE, "digest": "sha256:0"}, [SIX[5]], ["changed: the store's record names another digest than that of run 6"], 6),
    (SIX, store_of(SIX[:4]), [], [f"changed {n}: the store's record names run 4 as the last" for n in (5, 6)], 4),
    (SIX, {**STORE, "head_seq": 4}, [], [f"changed {n}: the store's record names run 4 as the last" for n in (5, 6)], 4),
    (but(5, **NEW)[:5], {**STORE, "head_seq": 4}, [],
     ["changed 4: the store's record names another digest for the last run", f"changed 5: {LOST_DIGEST}"], 3),
    (but(3, **NEW), {"digest": SIX[5]["digest"]}, [],
     [f"changed 3: {LOST_DIGEST}", "changed: the store's record is gone, or names no run"], 6),
    # beside a run under way
    ([*SIX[:5], UNDER_WAY], WRITING, [SIX[4]], [], 5),
    ([*SIX[:5], UNDER_WAY], {**WRITING, "digest": "sha256:0"}, [],
     ["changed 5: the store's record names another digest for the last run"], 4),
    ([*SIX[:4], UNDER_WAY], None, [], ["missing 5: the run is missing"], 4),
    ([*SIX[:4], {**UNDER_WAY, "seq": 5}, UNDER_WAY], {**store_of(SIX[:4]), "head_seq": 6, "writer": "run-6", "writer_seq": 6}, [],
     ["changed 5: it has not ended, and is not the run under way"], 4),
    ([*SIX[:5], {**UNDER_WAY, "status": "finished"}], None, [], [f"changed 6: {LOST_DIGEST}"], 5),
    ([*SIX[:2], {**UNDER_WAY, "seq": 3}, *SIX[3:]], None, [], ["changed 3: it has not ended, and is not the run under way"], 6),
    # several at once, in the order of their numbers
    ([SIX[0], SIX[3], {**SIX[1], **NEW}, SIX[0]], STORE, [],
     [f"duplicated 1: {AGAIN}", f"changed 2: {LOST_DIGEST}", "missing 3: the run is missing",
      "cut 5-6: the runs 5 to 6 are missing at the end; the store's record names run 6"], 4),
])  # fmt: skip
def test_every_damage_is_told_where_it_is(
    runs: list[Entry], store: Entry | None, heads: list[Entry], told: list[str], head_seq: int | None,
) -> None:
    report = audit(runs, store, [head(run) for run in heads])
    places = [(f.verdict.value, "" if f.seq is None else f" {f.seq}" if f.last == f.seq else f" {f.seq}-{f.last}") for f in report.faults]
    assert [f"{verdict}{place}: {f.message}" for (verdict, place), f in zip(places, report.faults, strict=True)] == told
    assert (report.head and report.head.seq) == head_seq


@pytest.mark.parametrize("unknown", ["started_at", "finished_at"])
def test_two_runs_of_which_it_is_not_known_when_they_ran_are_two(unknown: str) -> None:
    first = sealed({**SIX[1], unknown: None})
    assert faults([SIX[0], first, sealed({**first, "seq": 3, "run_id": "new", "previous": first["digest"]})]) == []
