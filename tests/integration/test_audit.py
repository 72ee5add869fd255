"""The audit finds every damage that somebody can do to the runs of a live store past the product, and nothing in a sound one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.chains import ROOT, resealed, sealed
from corpus.records import Store, edge, registered
from typer.testing import CliRunner

from graphrag_provenance.errors import AccessDeniedError, InputError, NotFoundError
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.audit_report import Head, parse_head
from graphrag_provenance.rules.digests import RUN_DIGEST_FIELDS
from graphrag_provenance.store import auditing, runs
from graphrag_provenance.store.auditing import audit_export, audit_head, audit_verify, export_json
from graphrag_provenance.store.database import Database

AUDITOR = Reader("ann", "ACME", frozenset({"internal"}), frozenset({Role.AUDITOR}))
RUNS = 5
Damage = Callable[[Cypher], Any]
Faults = set[tuple[str, int | None, int | None]]


@pytest.fixture(scope="module")
def sound(emptied: Store) -> Store:
    """A store with five loads."""
    for n in range(RUNS):
        emptied.load(*registered(f"d{n}@1#c", "public"), edge("A:a", "owns", f"A:{n}", f"d{n}@1#c", edge_id=f"E{n}"))
    return emptied


@pytest.fixture
def store(sound: Store, cypher: Cypher) -> Iterator[Store]:
    """The same, put back as it was after the damage."""
    kept = cypher("MATCH (n) WHERE n:Run OR n:Store RETURN labels(n) AS labels, properties(n) AS p")
    yield sound
    cypher("MATCH (n) WHERE n:Run OR n:Store DELETE n")
    cypher("UNWIND $rows AS row CREATE (n:$(row.labels)) SET n = row.p", rows=kept)


def found(store: Store, *heads: Head) -> Faults:
    report = audit_verify(store.database, AUDITOR, heads)
    assert report.ok == (not report.faults)
    return {(fault.verdict.value, fault.seq, fault.last) for fault in report.faults}


def rewritten(store: Store, start: int, **fields: Any) -> Damage:
    """Every run from `start` on with a new digest that fits, the store's record too."""
    def damage(cypher: Cypher) -> None:
        anew = resealed([run if run["seq"] != start else {**run, **fields} for run in whole(store)], start - 1)
        for run in anew:
            cypher("MATCH (r:Run {seq: $seq}) SET r.digest = $digest, r.previous = $previous, r.actor = $actor", **{
                name: run[name] for name in ("seq", "digest", "previous", "actor")})
        cypher("MATCH (s:Store) SET s.digest = $digest", digest=anew[-1]["digest"])
    return damage


def whole(store: Store) -> list[dict[str, Any]]:
    return list(audit_export(store.database, AUDITOR))


def resealed_alone(store: Store, seq: int) -> Damage:
    def damage(cypher: Cypher) -> None:
        run = sealed({**whole(store)[seq - 1], "actor": "eve"})
        cypher("MATCH (r:Run {seq: $seq}) SET r.actor = 'eve', r.digest = $digest", seq=seq, digest=run["digest"])
    return damage


def said(text: str) -> Callable[[Store], Damage]:
    return lambda _: lambda cypher: cypher(text)


def copy(seq: int, then: str = "") -> Callable[[Store], Damage]:
    return said(f"MATCH (r:Run {{seq: 3}}) CREATE (n:Run) SET n = r {{.*, seq: {seq}}} {then}")


DAMAGES: list[tuple[str, Callable[[Store], Damage], Faults]] = [
    ("a run deleted", said("MATCH (r:Run {seq: 3}) DELETE r"), {("missing", 3, 3)}),
    ("the first run deleted", said("MATCH (r:Run {seq: 1}) DELETE r"), {("missing", 1, 1)}),
    ("two runs deleted", said("MATCH (r:Run) WHERE r.seq IN [2, 3] DELETE r"), {("missing", 2, 3)}),
    ("the last two deleted", said("MATCH (r:Run) WHERE r.seq > 3 DELETE r"), {("cut", 4, 5)}),
    ("all deleted", said("MATCH (r:Run) DELETE r"), {("cut", 1, 5)}),
    ("counts edited", said("""MATCH (r:Run {seq: 2}) SET r.counts = '{"records": {"read": 9}}'"""), {("changed", 2, 2)}),
    ("counts that are no JSON", said("MATCH (r:Run {seq: 2}) SET r.counts = '{'"), {("changed", 2, 2)}),
    ("counts that are a number", said("MATCH (r:Run {seq: 2}) SET r.counts = 3.5"), {("changed", 2, 2)}),
    ("a field removed", said("MATCH (r:Run {seq: 2}) REMOVE r.actor"), {("changed", 2, 2)}),
    ("an instant moved by a microsecond", said(
        "MATCH (r:Run {seq: 5}) SET r.started_at = r.started_at + duration({microseconds: 1})"), {("changed", 5, 5)}),
    ("a digest edited", said("MATCH (r:Run {seq: 4}) SET r.digest = 'sha256:00'"), {("changed", 4, 4)}),
    ("a digest removed", said("MATCH (r:Run {seq: 4}) REMOVE r.digest"), {("changed", 4, 4)}),
    ("an edit with a new digest", lambda store: resealed_alone(store, 2), {("changed", 2, 2)}),
    ("an edit of the last run with a new digest", lambda store: resealed_alone(store, 5), {("changed", 5, 5)}),
    ("`previous` edited", said("MATCH (r:Run {seq: 4}) SET r.previous = 'sha256:00'"), {("changed", 4, 4)}),
    ("two runs exchanged", said("MATCH (a:Run {seq: 2}), (b:Run {seq: 4}) SET a.seq = 99 SET b.seq = 2 SET a.seq = 4"),
     {("changed", 2, 2), ("changed", 4, 4)}),
    ("a run renumbered", said("MATCH (r:Run {seq: 3}) SET r.seq = 999"), {("changed", 3, 3)}),
    ("a run without a number", said("MATCH (r:Run {seq: 3}) REMOVE r.seq"), {("changed", 3, 3)}),
    ("a number of another type", said("MATCH (r:Run {seq: 3}) SET r.seq = 3.5"), {("changed", 3, 3)}),
    ("a copy under the next number", copy(6), {("duplicated", 6, 6)}),
    ("a copy under another number that the store takes for its last run", copy(
        6, "WITH n MATCH (s:Store) SET s.head_seq = 6"), {("duplicated", 6, 6), ("cut", 6, 6)}),
    ("a run that never ended, before the last", said("MATCH (r:Run {seq: 3}) SET r.status = 'running' REMOVE r.digest"),
     {("changed", 3, 3)}),
    ("the last run made one that has not ended", said(
        "MATCH (r:Run {seq: 5}) SET r.status = 'running' REMOVE r.digest, r.previous, r.finished_at, r.graph_hash"),
     {("changed", 5, 5)}),
    ("the store names another digest", said("MATCH (s:Store) SET s.digest = 'sha256:00'"), {("changed", 5, 5)}),
    ("the store names an earlier last run", said("MATCH (s:Store) SET s.head_seq = 4"), {("changed", 5, 5)}),
    ("the store's record deleted", said("MATCH (s:Store) DELETE s"), {("changed", None, None)}),
    ("a run with a negative number", copy(-1), {("duplicated", -1, -1)}),
]


@pytest.mark.parametrize(("damage", "expected"), [(d, e) for _, d, e in DAMAGES], ids=[name for name, *_ in DAMAGES])
def test_every_damage_has_its_verdict(store: Store, damage: Callable[[Store], Damage], expected: Faults) -> None:
    damage(store)(store.cypher)
    assert found(store) == expected


@pytest.mark.parametrize("edit", ["", ", n.actor = 'eve'"])
def test_two_runs_of_one_number_are_a_duplicate(store: Store, edit: str) -> None:
    store.cypher("DROP CONSTRAINT run_seq")
    try:
        copy(3, edit)(store)(store.cypher)
        assert found(store) == {("duplicated", 3, 3)}
    finally:
        store.cypher("MATCH (r:Run {seq: 3}) DELETE r")
        store.cypher("CREATE CONSTRAINT run_seq FOR (n:Run) REQUIRE n.seq IS UNIQUE")


def test_a_tail_cut_behind_the_stores_back_is_found_by_a_head_kept_outside(store: Store) -> None:
    head = audit_head(store.database, AUDITOR)
    assert head is not None
    store.cypher("MATCH (r:Run) WHERE r.seq > 3 DELETE r")
    store.cypher("MATCH (r:Run {seq: 3}), (s:Store) SET s.head_seq = 3, s.digest = r.digest, s.graph_hash = r.graph_hash")
    assert found(store) == set()
    assert found(store, head) == {("cut", 4, 5)}


@pytest.mark.parametrize("start", [1, 3, 5])
def test_a_chain_written_anew_is_found_by_a_head_kept_outside(store: Store, start: int) -> None:
    head = audit_head(store.database, AUDITOR)
    assert head is not None
    rewritten(store, start, actor="eve")(store.cypher)
    assert found(store) == set()
    assert found(store, head) == {("changed", 5, 5)}
    assert found(store, parse_head(f"{head.digest}@{head.seq}")) == {("changed", 5, 5)}


def test_a_head_that_vouches_for_the_last_run_lays_the_fault_on_the_stores_record(store: Store) -> None:
    head = audit_head(store.database, AUDITOR)
    assert head is not None
    store.cypher("MATCH (s:Store) SET s.digest = 'sha256:00'")
    assert found(store, head) == {("changed", None, None)}
    with pytest.raises(NotFoundError, match="Run 5 is not the one"):
        audit_head(store.database, AUDITOR)


def test_report_23_three_damages_have_three_verdicts_and_a_cut_end_a_fourth(store: Store) -> None:
    assert found(store) == set()
    for damage in (said("MATCH (r:Run {seq: 1}) SET r.actor = 'eve'"), said("MATCH (r:Run {seq: 3}) DELETE r"),
                   said("MATCH (r:Run {seq: 2}) CREATE (n:Run) SET n = r {.*, seq: 7}"), said("MATCH (r:Run {seq: 5}) DELETE r")):
        damage(store)(store.cypher)
    assert found(store) == {("changed", 1, 1), ("missing", 3, 3), ("duplicated", 7, 7), ("cut", 5, 5)}


def independently(store: Store, folder: Path, form: str, *heads: str) -> tuple[int, set[str]]:
    """Exit code and words of docs/verify_export.py on a real export."""
    exported = whole(store)
    text = json.dumps(export_json(exported), indent=2) if form == "json" else "\n".join(map(json.dumps, exported))
    file = folder / f"export.{form}"
    file.write_text(text + "\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", str(ROOT / "docs" / "verify_export.py"), str(file), *heads], capture_output=True,
                          text=True, check=False)
    assert done.stderr == ""
    return done.returncode, set(done.stdout.splitlines())


def test_the_verifier_in_the_docs_needs_nothing_but_an_export(store: Store, tmp_path: Path) -> None:
    head = audit_head(store.database, AUDITOR)
    assert head is not None
    kept = f"{head.digest}@{head.seq}"
    for form in ("json", "jsonl"):
        assert independently(store, tmp_path, form, kept) == (0, {"5 runs stand"})
    store.cypher("MATCH (r:Run {seq: 2}) SET r.counts = '{}' WITH r MATCH (d:Run) WHERE d.seq = 5 DELETE d")
    copy(9)(store)(store.cypher)
    for form in ("json", "jsonl"):
        assert independently(store, tmp_path, form, kept) == (1, {"changed 2", "duplicated 9", "cut 5"})
    store.cypher("MATCH (r:Run {seq: 3}) DELETE r")
    assert {"changed 2", "missing 3", "cut 5"} <= independently(store, tmp_path, "jsonl", kept)[1]


def test_an_export_holds_the_hashed_fields_of_the_runs_asked_for(store: Store) -> None:
    runs_ = list(audit_export(store.database, AUDITOR, 2, 4))
    assert [run["seq"] for run in runs_] == [2, 3, 4]
    assert set(runs_[0]) == {*RUN_DIGEST_FIELDS, "digest"}
    assert [run["seq"] for run in audit_export(store.database, AUDITOR, first=4)] == [4, 5]
    with pytest.raises(InputError):
        audit_export(store.database, AUDITOR, 4, 2)
    store.cypher("MATCH (r:Run {seq: 3}) REMOVE r.seq")
    assert len(whole(store)) == 5, "a run whose number was taken away is there for an auditor to see"


@pytest.mark.parametrize("call", [audit_verify, audit_head, audit_export])
def test_an_audit_needs_a_role(store: Store, call: Callable[..., Any]) -> None:
    with pytest.raises(AccessDeniedError, match=r"needs the role auditor or operator\. Add --role auditor, or "):
        call(store.database, Reader("bob", "ACME", frozenset({"internal"})))
    call(store.database, Reader("bob", "ACME", frozenset({"internal"}), frozenset({Role.OPERATOR})))


@pytest.fixture
def gprov(server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    who = ("--tenant", "ACME", "--clearance", "internal", "--home", str(tmp_path))
    return lambda *args, role="auditor": CliRunner().invoke(app, ["audit", *args, *who, "--role", role])


def test_the_commands_print_what_a_person_and_a_program_need(store: Store, gprov: Callable[..., Any]) -> None:
    line = gprov("head").stdout.strip()
    head = json.loads(gprov("head", "--format", "json").stdout)
    assert line == f"5 {head['digest']} graph {head['graph_hash']}"
    fine = gprov("verify", "--head", line, "--head", f"{head['digest']}@5", "--format", "json")
    assert (fine.exit_code, json.loads(fine.stdout)["ok"]) == (0, True)
    for name, form in (("head.json", "json"), ("head.txt", "table")):
        Path(name).write_text(gprov("head", "--format", form).stdout, encoding="utf-8")
        assert gprov("verify", "--head", name).stdout == f"ok: 5 runs, no fault; the head kept outside agrees. Last: {line}\n"
    assert gprov("verify").stdout == f"ok: 5 runs, no fault. Last: {line}\n"
    Path("junk").write_text("{}", encoding="utf-8")
    assert "junk holds no head." in gprov("verify", "--head", "junk").stderr
    assert "'nowhere.json' is neither a head nor a file." in gprov("verify", "--head", "nowhere.json").stderr
    store.cypher("MATCH (r:Run {seq: 3}) DELETE r")
    told = gprov("verify")
    assert not told.stdout.startswith("ok")
    assert (told.exit_code, "missing" in told.stdout, "1 fault." in told.stderr) == (1, True, True)
    body = json.loads(gprov("verify", "--format", "json").stdout)
    assert body["faults"] == [{"verdict": "missing", "seq": 3, "last": 3, "message": "the run is missing"}]
    assert [json.loads(one)["seq"] for one in gprov("export", "--format", "jsonl").stdout.splitlines()] == [1, 2, 4, 5]
    export = json.loads(gprov("export", "--from", "2", "--to", "4").stdout)
    assert (export["format"], [run["seq"] for run in export["runs"]]) == ("gprov-runs/1", [2, 4])
    for args in (("verify", "--head", "sha256:12@5"), ("verify", "--head", "5"), ("export", "--from", "4", "--to", "2")):
        assert gprov(*args).exit_code == 2
    assert gprov("head", role="reader").exit_code == 2


def test_a_run_under_way_is_no_fault_and_an_interrupted_one_neither(store: Store) -> None:
    start = runs.RunStart("ingest", "ann", "p", "1")
    run = runs.begin(store.database, start, policies=store.policies)
    report = audit_verify(store.database, AUDITOR)
    assert (report.ok, report.running, report.head and report.head.seq) == (True, 6, 5)
    assert [one["seq"] for one in whole(store)] == [1, 2, 3, 4, 5]
    head = audit_head(store.database, AUDITOR)
    assert (head and head.seq) == 5
    run.end("interrupted", {})
    report = audit_verify(store.database, AUDITOR, [head] if head else [])
    assert (report.ok, report.running, report.head and report.head.seq) == (True, None, 6)


def test_a_store_that_is_never_still_is_judged_up_to_its_last_ended_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "_moved", lambda _: object())
    run = runs.begin(store.database, runs.RunStart("ingest", "ann", "p", "1"), policies=store.policies)
    run.stop_heartbeat()
    assert found(store) == set()
    store.cypher("MATCH (r:Run) WHERE r.seq IN [3, 5] DELETE r")
    assert found(store) == {("missing", 3, 3), ("cut", 5, 5)}


def test_nothing_is_found_in_a_store_without_runs(fresh_database: Database) -> None:
    report = audit_verify(fresh_database, AUDITOR)
    assert (report.ok, report.runs, report.head) == (True, 0, None)
    assert audit_head(fresh_database, AUDITOR) is None
