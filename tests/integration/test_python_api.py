"""The Python API on a real store: a program asks, records, loads and looks after it, synchronously and with asyncio (spec 5, Python)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from graphrag_provenance import (
    AccessDeniedError,
    AsyncStore,
    ConfigurationError,
    FileSource,
    InputError,
    NotFoundError,
    Question,
    Reader,
    Role,
    SchemaVersionError,
    Store,
    StoreError,
    StoreUnavailableError,
)
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.lookups import run_show
from tests.corpus.worlds import edge

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "etl" / "samples" / "payments"
READER = Reader("me", tenant="ACME", clearances={"internal"})
OPERATOR = Reader("op", tenant="ACME", clearances={"internal"}, roles={Role.OPERATOR})
CLAIM = ("System:checkout-api", "Policy:POL-31")
Cypher = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def environment(server: Any, wipe: Callable[[], None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The test server in the environment, its store empty, in a folder without a workspace file."""
    wipe()
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_")):
                patch.delenv(name)
        for name, value in server.environment().items():
            patch.setenv(name, value)
        patch.setenv("GRAPHRAG_PROVENANCE_QUERY_TIMEOUT_SECONDS", "120")
        patch.chdir(tmp_path_factory.mktemp("program"))
        yield


@pytest.fixture(scope="module")
def store(environment: None, cypher: Cypher) -> Iterator[Store]:
    """The shipped sample, and a tenant with a live reference and an edge that only hr may see."""
    with Store.open(relations=ROOT / "etl" / "relations.toml") as opened:
        summary = opened.ingest(SAMPLE, policies=SAMPLE / "policies.toml", pipeline="sample", version="1")
        assert summary.outcome.edges["withheld"] == 3
        fin = {"system": "conf", "space": "FIN", "restriction_id": "7", "incarnation": "1"}
        world = [*edge("a", "b", valid_from="2026-01-01T00:00:00Z"), *edge("b", "c", policy="hr"), *edge("b", "d", acl=fin)]
        opened.ingest(world, tenant="T-api")
        cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
        yield opened


def fences(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)


def test_the_ten_lines_of_the_readme_run(store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = fences("README.md")
    assert len(example.splitlines()) <= 10
    monkeypatch.chdir(ROOT)
    exec(compile(example, "README.md", "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "supported"
    assert "[1] Payments operations handbook, RUNBOOK@2.1, https://handbook.acme.example/payments/2.1" in shown


def test_the_examples_of_the_page_run_one_after_another(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    known: dict[str, Any] = {}
    for number, example in enumerate(fences("docs/python.md"), 1):
        exec(compile(example, f"docs/python.md, example {number}", "exec"), known)
    assert "supported" in capsys.readouterr().out


def test_a_program_gets_what_the_command_line_prints(store: Store) -> None:
    answer = store.trace(*CLAIM, reader=READER, environment="production", region="eu-west", trace_id="a" * 32)
    assert (answer.state, answer.trace_id) == ("supported", "a" * 32)
    (path,) = answer.as_json()["paths"]
    assert [e["id"] for e in path["entities"]] == ["checkout-api", "payment-router", "ledger", "POL-31"]
    asked = [Question(("System", "checkout-api"), ("Policy", "POL-31"), environment="production", region=where)
             for where in ("eu-west", "us-east")]
    assert [one.state for one in store.traces(asked, reader=READER)] == ["supported", "unresolved"]
    low = Reader("me", "T-api", {"internal"})
    assert [store.trace(("Thing", "a"), ("Thing", "b"), reader=low, at=when).state
            for when in ("2025-12-31T23:59:59Z", datetime(2026, 1, 1, tzinfo=UTC))] == ["unresolved", "supported"]
    edge_id = path["steps"][0]["edge_id"]
    assert store.edge(edge_id, reader=READER)["evidence"][0]["doc"] == "RUNBOOK@2.1"
    assert store.edge_history(edge_id, reader=READER)["history"]
    assert store.edge(edge_id, reader=READER, as_of=1)["edge_id"] == edge_id
    assert store.trace(*CLAIM, reader=READER, as_of=1, environment="production", region="eu-west").state == "supported"
    assert store.find_entities("Checkout API", reader=READER)[0]["id"] == "checkout-api"
    assert store.entity("System:checkout-api", reader=READER)["edges"]
    assert store.edges(reader=READER, limit=1)[0]["state"] == "published"
    assert len(store.edges(reader=OPERATOR, withheld=True)) == 3


def test_an_answer_is_recorded_and_judged(store: Store) -> None:
    answer = store.trace(*CLAIM, reader=READER, environment="production", region="eu-west")
    edges = [step["edge_id"] for step in answer.as_json()["paths"][0]["steps"]]
    report = {"answer_id": "A-1", "trace_id": "b" * 32, "claims": [{"text": "It does.", "path": edges}]}
    assert store.record_answer(report, reader=READER)["answers"][0]["recorded"]
    assert not store.record_answer(report, reader=READER)["answers"][0]["recorded"]
    assert store.answer("A-1", reader=READER)["claims"][0]["state"] == "supported"
    assert "claims" in store.impact(reader=OPERATOR)
    retrieval = {"trace_id": "b" * 32, "passages": [{"doc": "RUNBOOK@2.1", "chunk": "c-1010"}]}
    assert store.record_retrieval(retrieval, reader=READER)["retrievals"][0]["recorded"]
    assert store.retrieval("b" * 32, reader=READER)["retrievals"][0]["passages"][0]["document"] == "RUNBOOK"
    judged = store.gate({"facets": ["diagnosis"], "entries": [{"sentence": "It does.", "facet": "diagnosis", "edges": edges[:1]}]},
                        reader=READER)
    assert judged.as_json()["state"] == "evidence-complete"


@pytest.mark.parametrize(("what", "call"), [
    ("answer", lambda store: store.record_answer({"answer_id": "x"}, reader=READER)),
    ("answer", lambda store: store.record_answer({"answer_id": object()}, reader=READER)),
    ("ledger", lambda store: store.gate({"entries": 3}, reader=READER)),
    ("at", lambda store: store.trace(*CLAIM, reader=READER, at="yesterday")),
    ("address", lambda store: store.trace("nobody", "Policy:POL-31", reader=READER)),
    ("record 1 is no json", lambda store: store.ingest([{"kind": object()}])),
    ("number 2", lambda store: store.ingest([{"kind": "edge"}, "a-path"])),
    ("number 2", lambda store: store.ingest(["a-path", {"kind": "edge"}])),
    ("nothing to load", lambda store: store.ingest({"kind": "edge"})),
    ("nothing to load", lambda store: store.ingest([])),
    ("there is no file", lambda store: store.ingest("absent.jsonl")),
])
def test_input_that_cannot_be_used_is_one_sentence(store: Store, what: str, call: Callable[[Store], Any]) -> None:
    with pytest.raises(InputError) as caught:
        call(store)
    assert what in str(caught.value).lower()
    assert "\n" not in str(caught.value)


def test_the_operator_sees_runs_and_proves_the_invariants(store: Store) -> None:
    assert store.verify(reader=OPERATOR).ok
    assert store.runs(reader=OPERATOR)[-1]["pipeline"] == "sample"
    assert store.run(1, reader=OPERATOR)["version"] == "1"
    with pytest.raises(NotFoundError):
        store.run(999_999, reader=OPERATOR)


def test_records_and_files_load_and_a_second_time_writes_nothing(store: Store, database: Database, tmp_path: Path) -> None:
    records = [*edge("k", "l", edge_id="kl"), {"kind": "edge", "relation": "x"}]
    first = store.ingest(iter(records), tenant="T-api-load", rejects=tmp_path / "rejects.jsonl", actor="me", trace_id="c" * 32)
    assert (first.read, sum(first.rejected.values()), first.findings) == (5, 1, True)
    (refused,) = map(json.loads, (tmp_path / "rejects.jsonl").read_text(encoding="utf-8").splitlines())
    assert (refused["file"], refused["line"]) == ("records", 5)
    run = store.run(first.run["seq"], reader=OPERATOR)
    assert (run["actor"], run["trace_id"]) == ("me", "c" * 32)
    assert "inputs" not in run  # the store has other tenants, whose files these could be
    assert run_show(database, first.run["seq"])["inputs"][0]["name"] == "records"
    file = tmp_path / "again.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records[:-1]), encoding="utf-8")
    assert not any(store.ingest([str(file)], tenant="T-api-load").as_json()["writes"].values())
    assert store.ingest(file, tenant="T-api-other", dry_run=True).as_json()["dry_run"]
    assert store.edges(reader=Reader("me", "T-api-other", {"internal"})) == []


READS: list[tuple[str, tuple[Any, ...]]] = [
    ("trace", CLAIM), ("traces", ([],)), ("gate", ({"entries": []},)), ("record_answer", ({},)), ("answer", ("A-1",)), ("impact", ()),
    ("record_retrieval", ({},)), ("retrieval", ("b" * 32,)), ("edge", ("x",)), ("edge_history", ("x",)), ("edges", ()),
    ("find_entities", ("x",)), ("entity", ("System:x",)), ("verify", ()), ("runs", ()), ("run", (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), READS)
@pytest.mark.parametrize("nobody", [None, "me", {"tenant": "ACME"}])
def test_a_read_without_a_reader_is_refused(store: Store, name: str, arguments: tuple[Any, ...], nobody: Any) -> None:
    with pytest.raises(AccessDeniedError):
        getattr(store, name)(*arguments, reader=nobody)


@pytest.mark.parametrize("name", ["verify", "runs", "impact"])
def test_what_spans_the_store_needs_a_role(store: Store, name: str) -> None:
    with pytest.raises(AccessDeniedError):
        getattr(store, name)(reader=READER)


def test_what_a_reader_may_not_see_is_answered_as_if_it_did_not_exist(store: Store) -> None:
    low = Reader("me", "T-api", {"internal"})
    assert store.trace("Thing:a", "Thing:b", reader=low).state == "supported"
    assert store.trace("Thing:b", "Thing:c", reader=low).reason == store.trace("Thing:b", "Thing:absent", reader=low).reason
    assert store.trace("Thing:b", "Thing:c", reader=Reader("me", "T-api", {"hr"})).state == "supported"
    assert store.find_entities("c", reader=low) == []


def test_a_live_reference_opens_only_by_the_access_source_that_the_program_sets(store: Store, tmp_path: Path) -> None:
    low = Reader("bob", "T-api", {"internal"})
    claim = ("Thing:b", "Thing:d")
    assert store.trace(*claim, reader=low).state == "unresolved"
    file = tmp_path / "access.toml"
    file.write_text('schema = 1\n[systems.conf.spaces.FIN]\nrestrictions = [{id = "7", incarnation = "1", readers = ["user:bob"]}]\n',
                    encoding="utf-8")
    with Store.open(access=FileSource(file)) as opened:
        assert opened.trace(*claim, reader=low).state == "supported"
        assert opened.trace(*claim, reader=Reader("eve", "T-api", {"internal"})).state == "unresolved"
        file.write_text("schema = 1\n", encoding="utf-8")
        assert opened.trace(*claim, reader=low).state == "unresolved"


def test_what_is_passed_comes_before_the_environment_and_the_workspace(
    store: Store, server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = server.connection
    (tmp_path / "gprov.toml").write_text('neo4j_uri = "bolt://127.0.0.1:9"\nmax_hops = 1\n', encoding="utf-8")
    with Store.open(workspace=tmp_path) as opened:  # the environment names the server, the workspace the longest chain
        assert opened.trace(*CLAIM, reader=READER, environment="production", region="eu-west").state == "unresolved"
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:9")
    monkeypatch.setenv("NEO4J_PASSWORD", "wrong")
    with Store.open(place.uri, username=place.username, password=place.password, database=place.database) as opened:
        assert opened.runs(reader=OPERATOR)
    with pytest.raises(StoreUnavailableError, match="refuses the credentials"):
        Store.open(place.uri)
    with pytest.raises(StoreUnavailableError, match="No Neo4j answers"):
        Store.open()
    with pytest.raises(ConfigurationError):
        Store.open("http://localhost:7474")


def test_a_closed_store_says_so(environment: None) -> None:
    opened = Store.open()
    opened.close()
    opened.close()
    with pytest.raises(StoreError, match="The store is closed"):
        opened.edges(reader=READER)


def test_a_store_with_another_schema_is_told_before_anything_is_read(store: Store, cypher: Cypher) -> None:
    (last,) = cypher("MATCH (m:Migration) RETURN m ORDER BY m.version DESC LIMIT 1")
    cypher("MATCH (m:Migration {version: $v}) DELETE m", v=last["m"]["version"])
    try:
        with Store.open() as opened, pytest.raises(SchemaVersionError):
            opened.edges(reader=READER)
    finally:
        cypher("CREATE (m:Migration) SET m = $m", m=dict(last["m"]))


def test_the_same_store_serves_two_event_loops(store: Store) -> None:
    async def ask(shared: AsyncStore) -> list[str]:
        asked = (shared.trace(*CLAIM, reader=READER, environment="production", region=where) for where in ("eu-west", "us-east"))
        return [answer.state for answer in await asyncio.gather(*asked)]

    async def last(shared: AsyncStore) -> list[str]:
        async with shared:
            return await ask(shared)

    shared = asyncio.run(AsyncStore.open())
    assert asyncio.run(ask(shared)) == asyncio.run(last(shared)) == ["supported", "unresolved"]
    with pytest.raises(StoreError, match="closed"):
        asyncio.run(ask(shared))


def test_errors_and_refusals_are_the_same_with_asyncio(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def use() -> None:
        async with await AsyncStore.open() as shared:
            with pytest.raises(NotFoundError):
                await shared.edge("absent", reader=READER)
            with pytest.raises(AccessDeniedError):
                await shared.edges(reader=None)  # type: ignore[arg-type]
            loaded = await shared.ingest(edge("m", "n"), tenant="T-api-async")
            assert loaded.outcome.edges["published"] == 1

    asyncio.run(use())
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:9")
    with pytest.raises(StoreUnavailableError):
        asyncio.run(AsyncStore.open())


def test_a_cancelled_call_leaves_no_session_behind(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    real = Database.read
    in_use: list[int] = []

    def slow(self: Database, name: Any, /, **params: Any) -> Any:
        found = real(self, name, **params)
        if threading.current_thread().name.startswith("graphrag-provenance"):
            begun.set()
            go_on.wait(30)
        return found

    async def use() -> None:
        inner = Store.open()
        opened = AsyncStore(inner, at_once=1)
        running = asyncio.create_task(opened.edges(reader=READER))
        await asyncio.to_thread(begun.wait, 30)
        waiting = asyncio.create_task(opened.edges(reader=READER))
        await asyncio.sleep(0)
        for task in (running, waiting):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        asyncio.get_running_loop().call_later(0.2, go_on.set)
        before = time.monotonic()
        await opened.close()  # waits for the call that runs
        assert time.monotonic() - before > 0.1
        pool = inner._database._link._driver._pool
        in_use.extend(pool.in_use_connection_count(place) for place in list(pool.connections))

    monkeypatch.setattr(Database, "read", slow)
    asyncio.run(use())
    assert not any(in_use)
    assert not [one for one in threading.enumerate() if one.name.startswith("graphrag-provenance")]
