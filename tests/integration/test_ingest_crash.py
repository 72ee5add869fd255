"""A load that is cut off: what was committed stays, nothing is half-written, and its completion equals an uninterrupted load."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import neo4j
import pytest
from conftest import Cypher, Server
from corpus.records import POLICIES, Record, Store, check_sound, document, edge, entity, registered, revision, run_records, write

from graphrag_provenance.errors import InputError, StoreConflictError
from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.store import runs
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.shield import uninterrupted

BATCH = 15
LOADER = """
import json, sys
from pathlib import Path
from pydantic import SecretStr
from graphrag_provenance.errors import ProvenanceError
from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.store.database import Connection, Database

given = json.loads(sys.argv[1])
def tell(progress):
    print(progress.phase, progress.done, flush=True)
with Database(Connection(given["uri"], given["user"], SecretStr(given["password"]), given["database"])) as database:
    try:
        summary = ingest(database, [Path(p) for p in given["paths"]], IngestOptions(
            policies=lattice(given["policies"]), actor="child", rejects=Path(given["rejects"]), **given["options"]), progress=tell)
        print(json.dumps(summary.as_json()))
    except ProvenanceError as error:
        print(error.code, error, file=sys.stderr)
        sys.exit(3)
    except KeyboardInterrupt:
        sys.exit(130)
"""
Start = Callable[..., subprocess.Popen[str]]


def corpus(edges: int = 120, *, offset: int = 0) -> list[Record]:
    """Records of all kinds; edges share evidence, some are stated twice, some are withheld."""
    records: list[Record] = []
    for n in range(8):
        records += registered(f"d{n}@1#c0", ("public", "internal", "confidential", "pubilc")[n % 4])
    records += [entity(f"System:S{n}", attributes={"tier": n}) for n in range(20)]
    for n in range(offset, offset + edges):
        records.append(edge(f"System:S{n % 40}", "depends_on", f"System:S{(n * 7 + 1) % 50}", f"d{n % 7}@1#c0", f"d{n % 5}@1#extra",
                            edge_id=f"E{n}", policy="internal"))
    return records + records[-30:]


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


@pytest.fixture
def start(server: Server, tmp_path: Path) -> Iterator[Start]:
    """Start a loader process of its own."""
    children: list[subprocess.Popen[str]] = []

    def begin(*paths: Path, **options: Any) -> subprocess.Popen[str]:
        connection = server.connection
        given = {
            "uri": connection.uri, "user": connection.username, "password": connection.password.get_secret_value(),
            "database": connection.database, "paths": [str(p) for p in paths], "policies": POLICIES.as_json(),
            "rejects": str(tmp_path / f"child-{len(children)}.jsonl"), "options": {"batch_size": BATCH} | options,
        }  # fmt: skip
        child = subprocess.Popen(
            [sys.executable, "-c", LOADER, json.dumps(given)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        children.append(child)
        return child

    yield begin
    for child in children:
        if child.poll() is None:
            child.kill()
        child.communicate()


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def written(store: Store, what: str, least: int) -> Callable[[], bool]:
    return lambda: store.one(f"MATCH (n:{what}) RETURN count(n) >= $least AS enough", least=least)


@pytest.fixture(scope="module")
def whole(emptied: Store) -> str:
    """The graph hash of an uninterrupted load of the corpus."""
    emptied.load(*corpus(), batch_size=BATCH)
    check_sound(emptied)
    return emptied.hash()


@pytest.mark.parametrize(("what", "least"), [("Run", 1), ("Entity", 15), ("Assertion", 80)])
def test_a_load_killed_at_any_point_is_taken_over_and_completed_to_the_same_graph(
    store: Store, start: Start, whole: str, tmp_path: Path, what: str, least: int,
) -> None:
    file = write(tmp_path / "corpus.jsonl", corpus())
    cypher_wipe(store)
    child = start(file)
    until(written(store, what, least))
    child.kill()
    child.wait()
    assert store.one("MATCH (r:Run {seq: 1}) RETURN r.status AS s") == "running", "killed too late to tell anything"

    summary = store.load(files=[file], resume=1, batch_size=BATCH)

    first, second = run_records(store.database)
    assert (first["status"], second["status"], second["resumes"]) == ("interrupted", "finished", 1)
    assert second["previous"] == first["digest"]
    assert summary.run["graph_hash"] == store.hash() == whole
    check_sound(store)
    again = store.load(files=[file], batch_size=BATCH)
    assert again.outcome.writes.total == 0


def cypher_wipe(store: Store) -> None:
    store.cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")


def test_two_loaders_at_once_on_overlapping_input_lose_nothing(store: Store, start: Start, tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.jsonl", corpus(80)), write(tmp_path / "two.jsonl", corpus(80, offset=40))
    children = [start(one), start(two)]
    for child in children:
        _, err = child.communicate(timeout=120)
        assert child.returncode == 0, err
    check_sound(store)
    records = run_records(store.database)
    assert [r["status"] for r in records] == ["finished", "finished"]
    assert store.one("MATCH (a:Assertion) RETURN count(a) AS n") == 120
    both = store.hash()
    cypher_wipe(store)
    store.load(files=[one, two])
    assert store.hash() == both


def test_a_stopped_writer_loses_the_store_and_writes_nothing_when_it_wakes(
    store: Store, start: Start, whole: str, tmp_path: Path,
) -> None:
    file = write(tmp_path / "corpus.jsonl", corpus())
    cypher_wipe(store)
    child = start(file, lease_seconds=1.5)
    until(written(store, "Assertion", 10))
    os.kill(child.pid, signal.SIGSTOP)
    try:
        summary = store.load(files=[file], resume=1, batch_size=BATCH, wait_seconds=30)
        assert summary.run["graph_hash"] == whole
        before = store.everything()
    finally:
        os.kill(child.pid, signal.SIGCONT)
    _, error = child.communicate(timeout=60)
    assert child.returncode == 3
    warned, told = error.split("store-conflict ")
    assert warned.startswith("run lost the store ")
    assert "--resume 1" in told
    assert "Traceback" not in error
    assert store.everything() == before
    check_sound(store)


@pytest.mark.parametrize("hours", [2, -2])
def test_a_clock_that_jumps_during_a_load_loses_nothing_and_doubles_nothing(store: Store, whole: str, tmp_path: Path, hours: int) -> None:
    """The clock of the database is read for leases only, against the lease that is stored: to move one is to move the other. (The
    campaign in tests/reliability moves the clock of the server's process itself.)"""
    file = write(tmp_path / "corpus.jsonl", corpus())
    cypher_wipe(store)
    second: list[Any] = []
    waiting = threading.Thread(target=lambda: second.append(store.load(files=[file], batch_size=BATCH, wait_seconds=60)))

    def jump(progress: Any) -> None:
        if progress.phase != "edges" or waiting.ident is not None:
            return
        waiting.start()
        store.cypher("MATCH (s:Store) SET s.lease_until = s.lease_until - duration({hours: $hours})", hours=hours)
        if hours > 0:
            until(written(store, "Run", 2))
        else:
            time.sleep(0.6)
            assert store.one("MATCH (r:Run) RETURN count(r)") == 1, "the store was taken from a writer that lives"

    def first() -> Any:
        options = IngestOptions(policies=POLICIES, batch_size=BATCH, rejects=tmp_path / "r.jsonl")
        return ingest(store.database, [file], options, progress=jump)

    if hours > 0:
        with pytest.raises(StoreConflictError, match="no longer holds the store"):
            first()
    else:
        assert first().run["graph_hash"] == whole
    waiting.join(60)
    assert second[0].run["graph_hash"] == store.hash() == whole
    assert [run["status"] for run in run_records(store.database)] == [("interrupted" if hours > 0 else "finished"), "finished"]
    assert hours > 0 or second[0].outcome.writes.total == 0
    check_sound(store)


def test_a_writer_stopped_inside_a_transaction_does_not_block_the_next_one_for_ever(store: Store) -> None:
    """The transaction of the stopped writer holds locks on data and on the store, and its client does not answer."""
    database = store.database
    old = runs.begin(database, START, policies=POLICIES, lease_seconds=1.0)
    stop_heartbeat(old)
    inside, wake = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def write_slowly() -> None:
        def work(tx: Any) -> None:
            tx.run("entity.ensure", rows=[["ACME", "System", "A"]], since=old.seq)
            old.account(tx, MultisetHash())
            inside.set()
            wake.wait(60)

        try:
            database.write(work, metadata=old.metadata)
        except BaseException as error:  # noqa: BLE001 - looked at below
            failures.append(error)

    thread = threading.Thread(target=write_slowly)
    thread.start()
    assert inside.wait(30)
    started = time.monotonic()
    summary = store.load(edge("System:A", "owns", "System:B", "d1@1#c1", policy="public"), wait_seconds=20)
    assert time.monotonic() - started < 20
    assert summary.run["seq"] == 2
    wake.set()
    thread.join(60)
    assert failures, "the transaction of the old writer was committed"
    check_sound(store)


START = runs.RunStart("ingest", "tester", "p", "1")


def stop_heartbeat(run: runs.Run) -> None:
    run._stop.set()
    assert run._thread is not None
    run._thread.join()


def test_a_transaction_that_began_before_the_takeover_cannot_commit_after_it(store: Store) -> None:
    """The fence: while another writer takes the store, the old one asks whether it still holds it; it waits, and is told no."""
    database = store.database
    old = runs.begin(database, START, policies=POLICIES, lease_seconds=60)
    stop_heartbeat(old)
    outcome: list[object] = []

    def late() -> None:
        try:
            database.write(lambda tx: old.account(tx, MultisetHash()))
            outcome.append("committed")
        except StoreConflictError as error:
            outcome.append(error)

    thread = threading.Thread(target=late)

    def take_over(tx: Any) -> None:
        tx.run("run.lock", id=runs.STORE_ID)
        thread.start()
        thread.join(1.5)
        assert thread.is_alive(), "the old writer did not wait for the store"
        tx.run("run.begin", id=runs.STORE_ID, run={"seq": 2, "run_id": "new"}, store={"writer": "new", "writer_seq": 2})

    database.write(take_over)
    thread.join(30)
    (error,) = outcome
    assert isinstance(error, StoreConflictError)
    assert store.cypher("MATCH (d:Delta) RETURN d") == []


def test_a_heartbeat_after_the_takeover_does_not_prolong_the_lease_of_the_new_writer(store: Store) -> None:
    database = store.database
    old = runs.begin(database, START, policies=POLICIES, lease_seconds=60)
    stop_heartbeat(old)
    beats: list[object] = []
    thread = threading.Thread(target=lambda: beats.extend(database.write(
        lambda tx: tx.run("run.renew", id=runs.STORE_ID, run_id=old.run_id, seconds=10_000.0))[0]))

    def take_over(tx: Any) -> None:
        tx.run("run.lock", id=runs.STORE_ID)
        thread.start()
        thread.join(1.0)
        tx.run("run.begin", id=runs.STORE_ID, run={"seq": 2, "run_id": "new"}, store={"writer": "new", "lease_until": None})

    database.write(take_over)
    thread.join(30)
    assert beats == [{"held": 0}]
    assert store.one("MATCH (s:Store) RETURN s.lease_until AS l") is None


def test_a_run_whose_end_was_committed_but_not_acknowledged_is_ended_once(store: Store) -> None:
    run = runs.begin(store.database, START, policies=POLICIES)
    ended = run.end("finished", {})
    assert run.end("finished", {})["digest"] == ended["digest"]
    with pytest.raises(StoreConflictError, match="no longer holds"):
        run.end("failed", {})
    assert len(run_records(store.database)) == 1
    check_sound(store)


def test_ctrl_c_waits_for_the_statement_under_way_and_a_second_one_does_not() -> None:
    """An interrupt inside the driver would leave half an answer on a connection that the sealing of the run then gets."""
    done: list[int] = []

    def statement(interrupts: int) -> None:
        for number in range(interrupts):
            signal.raise_signal(signal.SIGINT)
            done.append(number)

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(lambda: uninterrupted(lambda: statement(1)))
    assert done == [0]
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(lambda: statement(2))
    assert done == [0, 0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("way", ["read", "lookup", "write", "verify"])
def test_ctrl_c_waits_for_whatever_is_asked_of_the_server(store: Store, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """An interrupt of a look-up left a transaction for reading on the connection that the sealing of the run then got."""
    ended: list[str] = []
    for name in ("run", "begin_transaction", "execute_read", "execute_write"):
        real = getattr(neo4j.Session, name)

        def interrupted(*given: Any, real: Any = real, name: str = name, **more: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            found = real(*given, **more)
            ended.append(name)
            return found

        monkeypatch.setattr(neo4j.Session, name, interrupted)
    verified = neo4j.Driver.verify_connectivity

    def verifying(self: neo4j.Driver) -> None:
        signal.raise_signal(signal.SIGINT)
        verified(self)
        ended.append("verify")

    monkeypatch.setattr(neo4j.Driver, "verify_connectivity", verifying)
    asked: dict[str, Callable[[], Any]] = {
        "read": lambda: store.database.read("store.server"), "lookup": lambda: store.database.lookup("store.server"),
        "write": lambda: store.database.write(lambda tx: None), "verify": store.database.verify}
    with pytest.raises(KeyboardInterrupt):
        asked[way]()
    assert ended


@pytest.mark.parametrize(("what", "least"), [("Entity", 15), ("Assertion", 80)])
def test_ctrl_c_seals_the_run_as_interrupted(
    store: Store, start: Start, whole: str, tmp_path: Path, what: str, least: int,
) -> None:
    file = write(tmp_path / "corpus.jsonl", corpus())
    cypher_wipe(store)
    child = start(file)
    until(written(store, what, least))
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert (child.returncode, error) == (130, "")
    check_sound(store)
    assert run_records(store.database)[0]["status"] == "interrupted"
    assert store.load(files=[file], resume=1).run["graph_hash"] == whole


def test_a_file_that_changes_while_it_is_loaded_fails_the_run(store: Store, tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.jsonl", corpus())
    options = IngestOptions(policies=POLICIES, batch_size=BATCH, rejects=tmp_path / "r.jsonl")
    changed = False

    def meddle(progress: Any) -> None:
        nonlocal changed
        if not changed and progress.phase == "edges":
            changed = True
            write(file, [*corpus(), edge("System:X", "owns", "System:Y", "d1@1#c1", policy="public")])

    with pytest.raises(InputError, match="changed while it was loaded") as failure:
        ingest(store.database, [file], options, progress=meddle)
    assert failure.value.hint is not None
    assert "--resume" not in failure.value.hint, "a changed input cannot be resumed"
    assert run_records(store.database)[0]["status"] == "failed"
    check_sound(store)


def test_a_file_that_vanishes_while_it_is_loaded_fails_the_run(store: Store, tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.jsonl", corpus())

    def meddle(progress: Any) -> None:
        if progress.phase == "edges":
            file.unlink(missing_ok=True)

    with pytest.raises(InputError, match="cannot be read"):
        ingest(store.database, [file], IngestOptions(policies=POLICIES, rejects=tmp_path / "r.jsonl"), progress=meddle)
    assert run_records(store.database)[0]["status"] == "failed"
    check_sound(store)


def test_an_error_of_our_own_lets_the_store_go(store: Store, tmp_path: Path) -> None:
    """A bug in a callback must not hold the store until the process ends."""
    def broken(progress: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ingest(store.database, [write(tmp_path / "c.jsonl", corpus(5))], IngestOptions(policies=POLICIES), progress=broken)
    assert run_records(store.database)[0]["status"] == "failed"
    check_sound(store)


def test_only_an_unfinished_load_of_the_same_input_can_be_resumed(store: Store, tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.jsonl", corpus(5))
    with pytest.raises(InputError, match="no run 1"):
        store.load(files=[file], resume=1)
    store.load(files=[file])
    with pytest.raises(InputError, match="not an unfinished load"):
        store.load(files=[file], resume=1)
    runs.begin(store.database, runs.RunStart("policy-apply", "tester", "p", "1"), policies=POLICIES).end("failed", {})
    with pytest.raises(InputError, match="not an unfinished load"):
        store.load(files=[file], resume=2)
    cut_off = runs.begin(store.database, runs.RunStart("ingest", "tester", "p", "1", inputs=(
        {"name": "x", "bytes": 1, "sha256": "sha256:0"},)), policies=POLICIES)
    cut_off.end("failed", {})
    before = store.everything()
    with pytest.raises(InputError, match="not that of run 3"):
        store.load(files=[file], resume=3)
    assert store.everything() == before


# What a cut must not change, one by one

T = "2026-01-01T00:00:00Z"
CUT: dict[str, list[Record]] = {
    "two titles of one document": [document("d", title="Z"), document("d", title="B")],
    "two revisions of one instant": [revision("d@2", effective_at=T), document("d"), revision("d@1", effective_at=T)],
    "attributes of an entity": [entity("System:A", attributes={"a": 2}), entity("System:A", attributes={"a": 1})],
}


@pytest.mark.parametrize("name", CUT)
def test_a_load_cut_off_after_its_first_record_ends_as_if_it_had_not_been(store: Store, tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "in.jsonl", CUT[name])
    later = revision("d@0", effective_at="2020-01-01T00:00:00Z")  # the head is looked for once more
    store.load(files=[file], batch_size=1)
    whole = store.hash()
    store.load(later)
    then = store.hash()
    cypher_wipe(store)

    def cut(progress: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(store.database, [file], IngestOptions(policies=POLICIES, batch_size=1), progress=cut)
    assert run_records(store.database)[0]["status"] == "interrupted"
    assert store.one("MATCH (n:Document|Revision|Entity) WHERE n.digest IS NOT NULL RETURN count(n)") > 0
    store.load(files=[file], resume=1, batch_size=1)
    assert store.hash() == whole
    store.load(later)
    assert store.hash() == then
    check_sound(store)


def test_workers_that_meet_the_same_new_alias_make_it_once(store: Store) -> None:
    """Edges of several workers name known entities by ids that the normaliser changes, all at once."""
    store.load(*(entity(f"System:Hub{n}") for n in range(12)), entity("System:T"))
    edges = [edge(f"System: Hub{n}", "owns", "System:T", "d@1#c", policy="public", edge_id=f"E{n}-{k}", scope={"region": str(k)})
             for n in range(12) for k in range(8)]
    summary = store.load(*edges, workers=8, batch_size=1)
    assert summary.rejected == {}
    assert summary.outcome.entities["aliases"] == 12
    assert store.one("MATCH (a:Alias)-[:NAMES]->(:Entity) RETURN count(a)") == 12
    check_sound(store)
