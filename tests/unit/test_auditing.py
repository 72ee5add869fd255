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
