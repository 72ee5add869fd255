"""Faults that users of other stores reported in public, and the right behaviour (one test a report, named by its number)."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import neo4j
import pytest
from conftest import Cypher
from corpus.records import Record, Store, check_sound, cites, edge, entity, registered, revision, run_records, write
from pydantic import SecretStr

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import AccessDeniedError, StoreUnavailableError
from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.model.instants import parse_instant
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Connection, Database
from graphrag_provenance.store.traces import trace


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def reader(*clearances: str, tenant: str = "ACME") -> Reader:
    return Reader("alice", tenant, frozenset(clearances))


def ask(store: Store, source: str, target: str, who: Reader, **more: Any) -> Record:
    """The answer as JSON, without what differs from question to question by nature."""
    ends = [tuple(address.split(":", 1)) for address in (source, target)]
    answer = trace(store.database, Question(ends[0], ends[1], **more), who, trace_id="0" * 32).as_json()  # type: ignore[arg-type]
    return json.loads(json.dumps(answer))  # type: ignore[no-any-return]


def item(citation: str, policy: str, **more: Any) -> Record:
    return cites(citation, policy=policy, **more)


def test_report_3_what_two_documents_state_is_listed_for_both(store: Store) -> None:
    for files in (["d1", "d2"], ["d2", "d1"]):
        store.cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
        for name in files:
            store.load(entity("Company:Apple", name=f"Apple ({name})"), edge("Company:Apple", "makes", "Product:Phone",
                       item(f"{name}@1#c1", "public"), edge_id="E"))
        assert store.one("MATCH (n:Entity {id: 'Apple'}) RETURN n.names") == ["Apple (d1)", "Apple (d2)"]
        assert store.relationships()[0]["evidence"] == ["d1@1#c1", "d2@1#c1"]
        answer = ask(store, "Company:Apple", "Product:Phone", reader("public"))
        assert [e["doc"] for e in answer["paths"][0]["steps"][0]["evidence"]] == ["d1@1", "d2@1"]


@pytest.mark.parametrize("batch_size", [1, 100])
def test_report_5_an_edge_declared_twice_in_one_file_has_the_evidence_of_both(store: Store, batch_size: int) -> None:
    summary = store.load(edge("A:a", "owns", "A:b", item("d1@1#1", "public"), edge_id="E"),
                         edge("A:a", "owns", "A:b", item("d2@1#1", "internal"), edge_id="E"), batch_size=batch_size)
    assert (summary.outcome.edges["published"], summary.outcome.evidence["added"]) == (1, 2)
    (relationship,) = store.relationships()
    assert (relationship["evidence"], relationship["policies"]) == (["d1@1#1", "d2@1#1"], ["internal"])
    check_sound(store)


def test_report_6_three_hundred_evidence_items_are_three_hundred(store: Store) -> None:
    items = [item("d0@1#c", "secret"), *(item(f"d{n}@1#c", "public") for n in range(1, 300))]
    summary = store.load(edge("A:a", "owns", "A:b", *items, edge_id="E"))
    assert summary.outcome.evidence["added"] == 300
    (relationship,) = store.relationships()
    assert relationship["policies"] == ["secret"]
    assert len(relationship["evidence"]) == 300
    assert store.one("MATCH (:Assertion)-[v:EVIDENCED_BY]->() RETURN count(v)") == 300
    assert ask(store, "A:a", "A:b", reader("internal"))["state"] == "unresolved"
    assert len(ask(store, "A:a", "A:b", reader("secret"))["paths"][0]["steps"][0]["evidence"]) == 300


ODD = "a<SEP>b,c|d@e#f'g\")h;i`j$k{l}\\m\u2028n\u0000o\u202ep\U0001f600"


def test_report_7_odd_ids_round_trip_and_the_version_follows_the_last_at(store: Store) -> None:
    doc, name = f"{ODD}@2", f"{ODD}#1"
    end = ODD.replace("\u2028", "")  # white space inside an entity id is one space, by the declared rule
    record = edge(f"A:{end}", "owns", f"A:x{end}", {"doc": doc, "chunk": name}, edge_id=ODD)
    summary = store.load(
        *registered(f"{ODD}@1#plain"), revision(doc, policy="public", effective_at="2026-02-01T00:00:00Z"), record)
    assert summary.rejected == {}
    row = store.cypher("MATCH (a:Assertion)-[:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(r:Revision)<-[:HAS_REVISION]-(d:Document)"
                       " RETURN a.edge_id AS e, a.source_id AS s, c.chunk AS c, r.doc AS r, r.version AS v, d.doc_id AS d")
    assert row == [{"e": ODD, "s": end, "c": name, "r": doc, "v": "2", "d": ODD}]
    answer = ask(store, f"A:{end}", f"A:x{end}", reader("public"))
    (step,) = answer["paths"][0]["steps"]
    assert (step["edge_id"], step["evidence"][0]["doc"], step["evidence"][0]["chunk"]) == (ODD, doc, name)
    assert store.load(record).outcome.writes.total == 0
    check_sound(store)


def test_report_9_the_same_revision_three_times_is_written_once(store: Store) -> None:
    records = [*registered("d1@1#c1", "public"), edge("A:a", "owns", "A:b", "d1@1#c1", edge_id="E")]
    first = store.load(*records)
    assert first.outcome.writes.total > 0
    for _ in range(2):
        again = store.load(*records).as_json()
        assert again["writes"] == {"nodes": 0, "relationships": 0, "properties": 0}
        assert (again["sources"]["unchanged"], again["edges"]["unchanged"]) == (3, 1)
        assert again["run"]["graph_hash"] == first.run["graph_hash"]


def test_report_11_an_unregistered_source_is_flagged_or_refused(store: Store) -> None:
    known = edge("A:a", "owns", "A:b", "d1@1#c3", policy="internal", edge_id="K")
    unknown = edge("A:a", "owns", "A:c", "d1@1#c3", edge_id="U")
    summary = store.load(known, unknown)
    assert summary.outcome.edges["unregistered"] == 2
    assert store.published() == {"K": ("internal",)}
    assert store.assertion("K")["registered"] is False
    assert store.assertion("U")["reasons"] == ["undetermined-policy"]
    summary = store.load(edge("A:a", "owns", "A:d", "d1@1#c3", policy="internal", edge_id="R"), require_registered_sources=True)
    assert summary.rejected == {"unregistered-source": 1}
    assert "d1@1" in store.rejects(summary)[0]["message"]
    assert store.one("MATCH (a:Assertion {edge_id: 'R'}) RETURN count(a)") == 0


INJECTION = "OWNS`]->() DETACH DELETE n //"


def test_report_12_cypher_in_a_type_is_refused_and_in_a_name_it_is_a_name(store: Store) -> None:
    store.load(entity("System:A"))
    before = store.everything()[0]
    relation = edge("System:A", "owns", "System:B", "d1@1#1", policy="public") | {"relation": INJECTION}
    kind = edge("System:A", "owns", "System:B", "d1@1#1", policy="public")
    kind["target"]["type"] = INJECTION
    summary = store.load(relation, kind, entity("System:X") | {"type": INJECTION})
    assert summary.rejected == {"invalid-field": 3}
    assert [n for n in store.everything()[0] if n["l"][0] not in ("Run", "Store")] == [
        n for n in before if n["l"][0] not in ("Run", "Store")]
    store.load(entity("System:A", name=INJECTION), entity(f"System:{INJECTION}"))
    assert store.one("MATCH (n:Entity {id: 'A'}) RETURN n.names") == ["A", INJECTION]
    assert store.one("MATCH (n:Entity {id: $id}) RETURN n.name", id=INJECTION) == INJECTION


def test_report_13_a_path_through_a_secret_does_not_exist_for_a_low_reader(store: Store) -> None:
    chain = [("a", "b", "public"), ("b", "c", "secret"), ("c", "d", "public")]
    store.load(*(edge(f"S:{s}", "owns", f"S:{t}", item(f"{s}@1#1", policy), edge_id=f"{s}{t}") for s, t, policy in chain),
               edge("S:lone", "owns", "S:x", item("lone@1#1", "public"), edge_id="lone"))
    low = reader("public")
    hidden = ask(store, "S:a", "S:d", low)
    nothing = ask(store, "S:lone", "S:d", low)
    assert hidden["state"] == "unresolved"
    assert {k: v for k, v in hidden.items() if k != "claim"} == {k: v for k, v in nothing.items() if k != "claim"}
    assert len(ask(store, "S:a", "S:d", reader("secret"))["paths"][0]["steps"]) == 3
    store.load(*(edge(f"S:{s}", "owns", f"S:{t}", item(f"{s}@1#1", "public")) for s, t in (("b", "e"), ("e", "f"), ("f", "d"))))
    assert [e["id"] for e in ask(store, "S:a", "S:d", low, max_hops=5)["paths"][0]["entities"]] == ["a", "b", "e", "f", "d"]


@pytest.mark.parametrize("policy", [None, "", [], "PUBLIC ", "pubilc", 1, {"name": "public"}])
def test_report_14_an_unknown_policy_is_denied_and_the_operator_is_told(store: Store, policy: Any) -> None:
    summary = store.load(edge("A:a", "owns", "A:b", cites("d1@1#1", policy=policy), edge_id="E"))
    assert store.relationships() == []
    assert summary.as_json()["withheld_reasons"] == {"unknown-policy": 1}
    (reason,) = store.assertion("E")["reasons"]
    assert reason.startswith("unknown-policy: ")
    everything = reader("public", "internal", "confidential", "secret", "hr", "legal")
    assert ask(store, "A:a", "A:b", everything)["state"] == "unresolved"


@pytest.mark.parametrize(("principal", "tenant"), [
    ("", "ACME"), (" ", "ACME"), ("alice", ""), ("alice", " "), (None, "ACME"), ("alice", None)])
def test_report_14_a_query_without_principal_or_tenant_is_an_error(principal: Any, tenant: Any) -> None:
    with pytest.raises(AccessDeniedError):
        Reader(principal, tenant, frozenset({"public"}))


def test_report_14_an_empty_clearance_sees_nothing(store: Store) -> None:
    store.load(edge("A:a", "owns", "A:b", item("d1@1#1", "public")))
    answer = ask(store, "A:a", "A:b", reader())
    assert (answer["state"], answer["paths"]) == ("unresolved", [])


def test_report_17_two_intervals_are_two_edges(store: Store) -> None:
    years = [("2020-01-01T00:00:00Z", "2022-01-01T00:00:00Z"), ("2024-01-01T00:00:00Z", "2026-01-01T00:00:00Z")]
    for start, end in years:
        store.load(edge("A:a", "owns", "A:b", item("d1@1#1", "public"), scope={"valid_from": start, "valid_to": end}))
    assert len(store.relationships()) == 2
    states = {year: ask(store, "A:a", "A:b", reader("public"), at=parse_instant(f"{year}-06-01T00:00:00Z"))["state"]
              for year in range(2019, 2027)}
    assert [year for year, state in states.items() if state == "supported"] == [2020, 2021, 2024, 2025]


FORMS = {
    "Z": "2026-03-01T00:00:00Z", "an offset": "2026-03-01T00:00:00+00:00", "another offset": "2026-03-01T05:30:00+05:30",
    "a named zone": "2026-03-01T00:00:00[UTC]", "another named zone": "2026-03-01T01:00:00[Europe/Berlin]",
}


@pytest.mark.parametrize("name", FORMS)
def test_report_18_a_boundary_is_the_same_however_it_is_written(store: Store, name: str) -> None:
    written = FORMS[name]
    store.load(edge("A:a", "owns", "A:b", item("d1@1#1", "public"), edge_id="from", scope={"valid_from": written}),
               edge("B:a", "owns", "B:b", item("d1@1#1", "public"), edge_id="to", scope={"valid_to": written}))
    stored: dict[str, datetime] = {
        r["edge_id"]: (r.get("valid_from") or r["valid_to"]).to_native() for r in store.relationships()}
    assert set(stored.values()) == {parse_instant("2026-03-01T00:00:00Z")}
    for asked in FORMS.values():
        at = parse_instant(asked)
        assert ask(store, "A:a", "A:b", reader("public"), at=at)["state"] == "supported"
        assert ask(store, "B:a", "B:b", reader("public"), at=at)["state"] == "unresolved", "half-open"
    step = ask(store, "A:a", "A:b", reader("public"), at=parse_instant(written))["paths"][0]["steps"][0]
    assert step["scope"]["valid_from"] == "2026-03-01T00:00:00Z"
    first = FORMS["Z"]
    summary = store.load(edge("A:a", "owns", "A:b", item("d1@1#1", "public"), edge_id="from", scope={"valid_from": first}))
    assert (summary.rejected, summary.outcome.writes.total) == ({}, 0)


def test_report_19_composed_and_decomposed_are_one_id_and_case_makes_two(store: Store) -> None:
    composed, decomposed = "\u017bu\u0142awski", "Z\u0307u\u0142awski"
    store.load(entity(f"Person:{composed}"), entity(f"Person:{decomposed}"), entity("Thing:electrons"), entity("Thing:Electrons"),
               edge(f"Person:{decomposed}", "studies", "Thing:electrons", item("d1@1#1", "public"), edge_id="E"),
               edge(f"Person:{composed}", "studies", "Thing:electrons", item("d2@1#1", "public"), edge_id="E"))
    assert store.one("MATCH (n:Person) RETURN collect(n.id)") == [composed]
    assert set(store.one("MATCH (n:Thing) RETURN collect(n.id)")) == {"electrons", "Electrons"}
    assert store.relationships()[0]["evidence"] == ["d1@1#1", "d2@1#1"]
    assert store.one("MATCH (a:Alias)-[:NAMES]->(:Person) RETURN collect(a.alias)") == [decomposed]
    assert ask(store, f"Person:{decomposed}", "Thing:electrons", reader("public"))["state"] == "supported"


# Report 21: a server of our own, so that it can be killed


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    own = LocalServer(Settings(home=tmp_path_factory.mktemp("own-neo4j")))
    own.start()
    yield own
    own.stop()


@pytest.fixture
def own(home: LocalServer, tmp_path: Path) -> Iterator[Store]:
    home.start()
    uri, user, password = home.credentials()
    with Database(Connection(uri, user, SecretStr(password)), read_timeout=60, retry_seconds=5) as database:
        migrations.apply(database)
        with neo4j.GraphDatabase.driver(uri, auth=(user, password), notifications_min_severity="OFF") as driver:
            def cypher(text: str, /, **params: Any) -> list[dict[str, Any]]:
                return [dict(record) for record in driver.execute_query(text, params).records]

            cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
            yield Store(database, cypher, tmp_path)


def kill(home: LocalServer) -> None:
    pid = home.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while home._live_state() is not None:  # a process that is dying is not one that is starting
        time.sleep(0.01)


def big(edges: int = 200) -> list[Record]:
    records = [r for n in range(5) for r in registered(f"d{n}@1#c", "internal")]
    return records + [
        edge(f"S:{n % 30}", "owns", f"S:{n % 37}x", f"d{n % 5}@1#c", f"u{n % 11}@1#c", policy="public", edge_id=f"E{n}")
        for n in range(edges)]


class Killer:
    """Kills the server once enough is committed; starts it again after a while if told to."""

    def __init__(self, home: LocalServer, *, restart: bool) -> None:
        self.home, self.restart, self.killed = home, restart, False
        self.thread = threading.Thread(target=self._work)

    def __call__(self, progress: Any) -> None:
        if progress.phase == "edges" and progress.done > progress.total * 0.6 and not self.killed:
            self.killed = True
            kill(self.home)
            if self.restart:
                self.thread.start()

    def _work(self) -> None:
        self.home.start()


@pytest.mark.slow
def test_report_21_a_load_outlives_a_database_that_comes_back_soon(own: Store, home: LocalServer, tmp_path: Path) -> None:
    file = write(tmp_path / "in.jsonl", big())
    killer = Killer(home, restart=True)
    options = IngestOptions(policies=own.policies, batch_size=20, rejects=tmp_path / "r.jsonl", lease_seconds=2)
    with Database(own.database.connection, read_timeout=60, retry_seconds=120) as patient:
        try:
            ingest(patient, [file], options, progress=killer)
        except StoreUnavailableError:  # only an acknowledgement of a commit that was lost cannot be retried
            killer.thread.join()
            own.load(files=[file], resume=1, lease_seconds=2)
    assert killer.killed
    killer.thread.join()
    check_sound(own)
    done = own.hash()
    own.cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
    own.load(files=[file])
    assert own.hash() == done


@pytest.mark.slow
def test_report_21_a_load_whose_database_stays_away_fails_clearly_and_can_be_resumed(
    own: Store, home: LocalServer, tmp_path: Path,
) -> None:
    file = write(tmp_path / "in.jsonl", big())
    options = IngestOptions(policies=own.policies, batch_size=20, rejects=tmp_path / "r.jsonl", lease_seconds=2)
    started = time.monotonic()
    with pytest.raises(StoreUnavailableError, match="--resume 1") as failure:
        ingest(own.database, [file], options, progress=Killer(home, restart=False))
    assert failure.value.exit_status == 3
    assert time.monotonic() - started < 60
    home.start()
    assert own.one("MATCH (n) WHERE n:Assertion AND NOT EXISTS { (n)-[:EVIDENCED_BY]->() } RETURN count(n)") == 0
    assert 0 < own.one("MATCH (n:Assertion) RETURN count(n)") < 200
    assert own.one("MATCH (n) WHERE n.deleted_in_revision IS NOT NULL RETURN count(n)") == 0, "an outage is no deletion"
    own.load(files=[file], resume=1, lease_seconds=2)
    assert [r["status"] for r in run_records(own.database)] == ["interrupted", "finished"]
    check_sound(own)
    done = own.hash()
    own.cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
    own.load(files=[file])
    assert own.hash() == done


def test_report_24_refuting_evidence_never_supports(store: Store) -> None:
    def refuting(doc: str, policy: str) -> Record:
        return item(f"{doc}@1#1", policy, polarity="refutes")

    store.load(edge("A:a", "owns", "A:b", refuting("d1", "public"), edge_id="E"))
    assert store.assertion("E")["reasons"] == ["no-support"]
    assert store.relationships() == []
    store.load(edge("A:a", "owns", "A:b", item("d2@1#1", "public", confidence=0.4),
                    refuting("d3", "secret") | {"confidence": 0.9}, edge_id="E"))
    (relationship,) = store.relationships()
    assert (relationship["disputed"], relationship["policies"], relationship["confidence"]) == (True, ["secret"], 0.4)
    answer = ask(store, "A:a", "A:b", reader("secret"))
    assert (answer["state"], answer["reason"]) == ("unresolved", "disputed")
    check_sound(store)


def test_report_25_direction_and_type_make_different_edges(store: Store) -> None:
    store.load(*(edge(f"A:{s}", relation, f"A:{t}", item("d1@1#1", "public")) for s, relation, t in (
        ("A", "OWNS", "B"), ("B", "OWNS", "A"), ("A", "SUES", "B"))))
    assert sorted((r["source"], r["type"], r["target"]) for r in store.relationships()) == [
        ("A", "OWNS", "B"), ("A", "SUES", "B"), ("B", "OWNS", "A")]
    assert ask(store, "A:B", "A:A", reader("public"), relations=("SUES",))["state"] == "unresolved"
    assert ask(store, "A:A", "A:B", reader("public"), relations=("sues",))["state"] == "supported"
