"""A staged generation: held back whole, checked as it will be, then live or gone (spec 3, staged generations)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import POLICIES, TENANT, Record, Store, check_sound, chunk, edge, entity, registered, revision, run_records, write

from graphrag_provenance.errors import InputError, StoreConflictError, StoreError
from graphrag_provenance.ingest import IngestOptions, Summary, staging
from graphrag_provenance.ingest.deletion import DeletionOptions, delete_document
from graphrag_provenance.ingest.merging import MergeOptions, merge_entities
from graphrag_provenance.ingest.policy import PolicyOptions, apply_policies
from graphrag_provenance.ingest.purging import PurgeOptions, purge_texts
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.ingest.staging import SettleOptions, ask_candidate, discard, publish, stage
from graphrag_provenance.model.instants import now
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.reports import AnswerReport
from graphrag_provenance.rules.answers import Audience
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.store import runs
from graphrag_provenance.store.answers import record_answers
from graphrag_provenance.store.auditing import audit_verify
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.documents import doc_diff, doc_show
from graphrag_provenance.store.lookups import edge_history, edge_list, edge_show, entity_find, entity_show, run_list, run_show
from graphrag_provenance.store.staging import read_held
from graphrag_provenance.store.traces import trace
from graphrag_provenance.store.verification import verify

READER = Reader("ann", TENANT, frozenset({"confidential"}))
AUDITOR = Reader("aud", TENANT, frozenset({"secret", "hr", "legal"}), frozenset({Role.AUDITOR, Role.OPERATOR}))
OLD = [
    *registered("d1@1#c1", "internal"), *registered("d2@1#c1", "public"),
    entity("System:A", name="Alpha"),
    edge("System:A", "depends_on", "System:B", "d1@1#c1", edge_id="E1"),
    edge("System:B", "depends_on", "System:C", "d1@1#c1", "d2@1#c1", edge_id="E2"),
]
NEW = [  # a complete revision of d1 without E1, a document, an entity and an edge that are new, and a name for an old entity
    revision("d1@2", supersedes="d1@1", effective_at="2026-02-01T00:00:00Z", complete=True, policy="internal"), chunk("d1@2", "c1"),
    *registered("d3@1#c9", "internal"), entity("System:A", name="A prime"), entity("System:X", name="Xi"),
    edge("System:C", "depends_on", "System:X", "d3@1#c9", edge_id="E3"),
    edge("System:B", "depends_on", "System:C", "d1@2#c1", edge_id="E2"),
]


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    found = Store(fresh_database, cypher, tmp_path)
    found.load(*OLD)
    return found


def staged(store: Store, *records: Record | str | bytes, **options: Any) -> Summary:
    file = write(store.folder / "staged.jsonl", records or NEW)
    chosen = {"actor": "stager", "pipeline": "graph/etl", "version": "7", "rejects": store.folder / "rejected.jsonl"} | options
    return stage(store.database, [file], IngestOptions(POLICIES, **chosen))


def seen(database: Database) -> list[Any]:
    """What readers and auditors are told, errors included, but for the number of the generation and of the question."""
    def told(ask: Callable[[], Any]) -> Any:
        try:
            found = ask()
        except Exception as error:  # noqa: BLE001 - the text is compared
            return type(error).__name__, str(error)
        return json.loads(json.dumps(found.as_json("auditor") if hasattr(found, "as_json") else found, default=str),
                          object_hook=lambda one: {k: v for k, v in one.items() if k not in ("generation", "trace_id")})

    return [told(ask) for who in (READER, AUDITOR) for ask in _asks(database, who, "auditor" if who.is_auditor else "reader")]


def _asks(database: Database, who: Reader, audience: Audience) -> list[Callable[[], Any]]:
    return [
        lambda: edge_list(database, who), *(lambda e=e: edge_show(database, who, e) for e in ("E1", "E2", "E3")),
        *(lambda e=e: edge_history(database, who, e) for e in ("E1", "E2", "E3")),
        *(lambda d=d: doc_show(database, who, d) for d in ("d1", "d1@2", "d2", "d3")),
        lambda: doc_diff(database, who, "d1@1", "d1@2"), lambda: entity_find(database, who, "prime"),
        *(lambda n=n: entity_show(database, who, ("System", n)) for n in "ACX"),
        *(lambda t=t: trace(database, Question(("System", "A"), ("System", t)), who, audience=audience) for t in "CX"),
        lambda: trace(database, Question(("System", "A prime"), ("System", "Xi")), who, audience=audience),
    ]


def test_nobody_sees_a_staged_generation_and_verify_holds(store: Store) -> None:
    before, graph, hash_ = seen(store.database), store.relationships(), store.hash()
    summary = staged(store)
    assert summary.run["status"] == "staged"
    assert summary.outcome.as_json()["edges"] | {"overruled": 0} == {
        "published": 2, "withheld": 0, "unchanged": 0, "retracted": 1, "unregistered": 0, "overruled": 0}
    assert summary.as_json()["writes"] == {"nodes": 0, "relationships": 0, "properties": 0}
    assert seen(store.database) == before
    assert (store.relationships(), store.hash()) == (graph, hash_)
    assert store.cypher("MATCH (n:Document|Chunk|Revision|Entity|Assertion|Alias|Past) WHERE n.since > 1 RETURN n") == []
    check_sound(store)
    assert verify(store.database).ok


def test_a_candidate_answers_as_the_store_does_once_it_is_published(store: Store) -> None:
    summary = staged(store)
    asked = ask_candidate(store.database, seen)
    assert asked != seen(store.database)
    before = store.everything()
    assert ask_candidate(store.database, lambda d: d.read("store.state", id="store")) != []
    assert store.everything() == before
    done = publish(store.database, SettleOptions(summary.run["seq"], "publisher"))
    live = seen(store.database)
    strip = lambda text: json.dumps(text, sort_keys=True).replace(f'"seq": {done.run["seq"]}', '"seq": 2')  # noqa: E731 - the run that it counts from
    assert strip(_without_run(live)) == strip(_without_run(asked))
    assert store.hash() == summary.candidate_hash == done.run["graph_hash"]


def _without_run(value: Any) -> Any:
    """Evidence says which run brought it: the staged one to a candidate, the one that published it from then on."""
    if isinstance(value, dict):
        return {k: _without_run(v) for k, v in value.items() if k not in ("run", "since", "until", "changed_by", "retired_by")}
    return [_without_run(one) for one in value] if isinstance(value, list) else value


def test_publishing_gives_the_graph_of_an_ordinary_load(store: Store) -> None:
    summary = staged(store)
    publish(store.database, SettleOptions(summary.run["seq"]))
    check_sound(store)
    assert verify(store.database).ok
    published = store.hash(), store.published()
    rollback(store.database, RollbackOptions(1))
    store.load(*NEW)
    assert (store.hash(), store.published()) == published
    assert store.load(*NEW).outcome.writes.total == 0


def test_loading_the_staged_input_again_once_it_is_live_writes_nothing(store: Store) -> None:
    publish(store.database, SettleOptions(staged(store).run["seq"]))
    assert store.load(*NEW).outcome.writes.total == 0


def test_discarding_leaves_the_graph_and_keeps_who_did_what(store: Store) -> None:
    before, hash_ = seen(store.database), store.hash()
    summary = staged(store)
    record = discard(store.database, SettleOptions(summary.run["seq"], "judge"))
    assert (record["graph_hash"], store.hash(), seen(store.database)) == (hash_, hash_, before)
    assert store.cypher("MATCH (n:Staged) RETURN n") == []
    assert [(one["kind"], one["status"], one["actor"]) for one in reversed(run_list(store.database))] == [
        ("ingest", "finished", "tester"), ("stage", "discarded", "stager"), ("discard", "finished", "judge")]
    check_sound(store)
    assert verify(store.database).ok
    store.load(*NEW)
    assert store.hash() == summary.candidate_hash


def test_runs_say_who_staged_and_who_published_and_the_chain_holds(store: Store) -> None:
    summary = staged(store)
    assert run_show(store.database, 2)["status"] == "staged"
    publish(store.database, SettleOptions(2, "publisher", trace_id="4bf92f3577b34da6a3ce929d0e0e4736"))
    first, second = run_show(store.database, 2), run_show(store.database, 3)
    assert (first["status"], first["settled"], first["actor"]) == ("published", 3, "stager")
    assert first["counts"]["candidate_hash"] == summary.candidate_hash
    assert (second["kind"], second["status"], second["actor"], second["pipeline"], second["version"]) == (
        "publish", "finished", "publisher", "graph/etl", "7")
    assert second["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert second["inputs"] == [{"staged": 2, "digest": first["digest"]}, *first["inputs"]]
    assert run_records(store.database)[1]["status"] == "staged", "what is hashed is what was sealed"
    assert audit_verify(store.database, AUDITOR).ok
    live = edge_history(store.database, AUDITOR, "E3")["history"][0]
    assert (live["since"], live["run"]["actor"]) == (3, "publisher")


def _writers(store: Store) -> dict[str, Callable[[], Any]]:
    database = store.database
    narrow = lattice({"public": [], "internal": ["public"], "confidential": ["internal"]})
    return {
        "ingest": lambda: store.load(*NEW),
        "stage": lambda: staged(store),
        "stage dry": lambda: staged(store, dry_run=True),
        "policy": lambda: apply_policies(database, narrow, PolicyOptions()),
        "merge": lambda: merge_entities(database, MergeOptions(TENANT, ("System", "A"), ("System", "B"))),
        "delete": lambda: delete_document(database, DeletionOptions(TENANT, "d1")),
        "rollback": lambda: rollback(database, RollbackOptions(1)),
    }


@pytest.mark.parametrize("writer", ["ingest", "stage", "stage dry", "policy", "merge", "delete", "rollback"])
def test_other_writers_are_told_that_a_run_is_staged_and_stop(store: Store, writer: str) -> None:
    staged(store)
    before = store.everything()
    with pytest.raises(StoreConflictError, match=r"^Run 2 is staged: nothing else is written until it is published or discarded\."):
        _writers(store)[writer]()
    assert store.everything() == before


def test_a_purge_with_something_to_purge_is_told_too(store: Store) -> None:
    store.load(*NEW)
    staged(store, edge("System:A", "depends_on", "System:Y", "d2@1#c1"))
    with pytest.raises(StoreConflictError, match=r"^Run 3 is staged"):
        purge_texts(store.database, PurgeOptions(TENANT, now()))


def test_answers_are_recorded_while_a_run_is_staged_and_it_is_published_all_the_same(store: Store) -> None:
    summary = staged(store)
    report = {"answer_id": "A-1", "trace_id": "a" * 32, "claims": [{"path": ["E1"]}]}
    assert record_answers(store.database, READER, [AnswerReport.model_validate(report)])["run"]["seq"] == 3
    assert ask_candidate(store.database, lambda seen: edge_show(seen, READER, "E3"))["evidence"][0]["run"]["seq"] == 2
    assert publish(store.database, SettleOptions(2)).run["graph_hash"] == summary.candidate_hash
    assert verify(store.database).ok


def test_what_is_refused_is_refused_once_and_stays_out(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    tomorrow = revision("d3@2", effective_at="2999-01-01T00:00:00Z")
    summary = staged(store, *NEW, "{broken", tomorrow, b"", edge("System:A", "depends_on", "System:B", "d1@1#c1", edge_id="E3"))
    assert summary.rejected == {"not-json": 1, "future-date": 1, "edge-id-conflict": 1}
    refused = {one["line"] for one in store.rejects(summary)}
    given = (store.folder / "staged.jsonl").read_bytes().splitlines()
    held = b"".join(content for _, _, content in read_held(store.database).sources()).splitlines()
    assert held == [b"" if number in refused else line for number, line in enumerate(given, 1)], "every line is at its place"
    monkeypatch.setattr("graphrag_provenance.ingest.loading.now", lambda: datetime(3000, 1, 1, tzinfo=UTC))
    done = publish(store.database, SettleOptions(2))
    assert (done.rejected, done.run["graph_hash"]) == ({}, summary.candidate_hash)


def test_the_conditions_of_staging_are_those_of_publishing(store: Store) -> None:
    """Tenant of records that name none, and whether a declared policy may stand in for sources that say nothing."""
    records = [{**one, "access": {"policy": "public"}} if one["kind"] == "edge" else {k: v for k, v in one.items() if k != "tenant"}
               for one in (*registered("d9@1#c1"), edge("System:A", "depends_on", "System:Z", "d9@1#c1", edge_id="E9"))]
    summary = staged(store, *records, tenant=TENANT, require_registered_sources=True)
    assert (summary.rejected, summary.outcome.edges["withheld"]) == ({}, 1)
    done = publish(store.database, SettleOptions(2))
    assert (done.outcome.edges["withheld"], store.state("E9")) == (1, "withheld")


def test_a_store_without_anything_can_be_staged(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> None:
    store = Store(fresh_database, cypher, tmp_path)
    summary = staged(store, *OLD)
    assert verify(store.database).ok
    publish(store.database, SettleOptions(1))
    assert store.hash() == summary.candidate_hash
    assert sorted(store.published()) == ["E1", "E2"]


def test_a_dry_run_of_staging_writes_nothing(store: Store) -> None:
    before = store.everything()
    summary = staged(store, dry_run=True)
    assert (summary.run["status"], summary.outcome.edges["published"]) == ("dry-run", 2)
    assert store.everything() == before


@pytest.mark.parametrize("ask", [publish, discard])
def test_only_the_staged_run_can_be_settled(store: Store, ask: Callable[..., Any]) -> None:
    for seq, told in ((1, r"^Run 1 is not staged: it is ingest, finished\. No run is"), (9, r"^There is no run 9\.")):
        with pytest.raises(InputError, match=told):
            ask(store.database, SettleOptions(seq))
    staged(store)
    with pytest.raises(InputError, match=r"^Run 1 is not staged: it is ingest, finished\. Run 2 is\."):
        ask(store.database, SettleOptions(1))
    ask(store.database, SettleOptions(2))
    with pytest.raises(InputError, match=r"^Run 2 is not staged: it was (published|discarded) by run 3\."):
        ask(store.database, SettleOptions(2))
    with pytest.raises(InputError, match=r"^No run is staged\."):
        ask_candidate(store.database, seen)


class Cut(Exception):
    """The process ends here."""


def _cut(*_: Any, **__: Any) -> Any:
    raise Cut


def _abandon(store: Store, monkeypatch: pytest.MonkeyPatch, place: str, work: Callable[[], Any]) -> None:
    """Do `work` in a process that dies at `place`: nothing is sealed, the lease lapses."""
    begun: list[runs.Run] = []
    began = runs.Run.start_heartbeat
    with monkeypatch.context() as patch:
        patch.setattr(runs.Run, "start_heartbeat", lambda run: begun.append(run) or began(run))
        patch.setattr(place, _cut)
        patch.setattr("graphrag_provenance.store.sealing.Run.end", _cut)
        with pytest.raises(Cut):
            work()
    for run in begun:
        run.stop_heartbeat()
    store.cypher("MATCH (s:Store) SET s.lease_until = datetime('2020-01-01T00:00:00Z')")


@pytest.mark.parametrize("place", ["graphrag_provenance.ingest.staging.packed", "graphrag_provenance.store.runs.Run.end"])
def test_a_staging_that_is_cut_off_has_staged_nothing_and_is_asked_for_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, place: str,
) -> None:
    hash_ = store.hash()
    _abandon(store, monkeypatch, place, lambda: staged(store))
    summary = staged(store, resume=2)
    first, second = run_records(store.database)[1:]
    assert (first["status"], second["status"], second["resumes"]) == ("interrupted", "staged", 2)
    assert store.hash() == hash_
    publish(store.database, SettleOptions(3))
    assert store.hash() == summary.candidate_hash
    assert verify(store.database).ok


def test_an_input_that_changes_while_it_is_staged_is_told_that_nothing_was_staged(
    store: Store, monkeypatch: pytest.MonkeyPatch,
) -> None:
    carry_out = staging.carry_out

    def changing(load: Any) -> None:
        carry_out(load)
        with load.sources[0].path.open("ab") as file:
            file.write(b"\n")

    monkeypatch.setattr(staging, "carry_out", changing)
    with pytest.raises(InputError, match="changed while it was loaded") as told:
        staged(store)
    assert told.value.hint == "Nothing was staged; stage it again."
    assert run_list(store.database)[0]["status"] == "failed"


@pytest.mark.parametrize(("what", "status"), [(publish, "published"), (discard, "discarded")])
@pytest.mark.parametrize("place", ["graphrag_provenance.ingest.staging.settle", "graphrag_provenance.store.runs.Run.account"])
def test_a_settling_that_is_cut_off_before_its_commit_has_done_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, place: str, what: Callable[..., Any], status: str,
) -> None:
    summary = staged(store)
    before = store.hash(), store.relationships()
    _abandon(store, monkeypatch, place, lambda: what(store.database, SettleOptions(2)))
    assert (store.hash(), store.relationships()) == before
    what(store.database, SettleOptions(2))
    assert run_show(store.database, 2)["status"] == status
    assert (store.hash() == summary.candidate_hash) is (status == "published")
    assert [one["status"] for one in run_records(store.database)] == ["finished", "staged", "interrupted", "finished"]
    check_sound(store)
    assert verify(store.database).ok


@pytest.mark.parametrize(("what", "status"), [(publish, "published"), (discard, "discarded")])
def test_a_settling_that_is_cut_off_after_its_commit_has_done_all_of_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, what: Callable[..., Any], status: str,
) -> None:
    summary = staged(store)
    _abandon(store, monkeypatch, "graphrag_provenance.store.runs.Run.end", lambda: what(store.database, SettleOptions(2)))
    with pytest.raises(InputError, match=f"Run 2 is not staged: it was {status} by run 3"):
        what(store.database, SettleOptions(2))
    store.load(*OLD)  # the next writer seals the run that was cut off
    assert [one["status"] for one in run_records(store.database)][2] == "interrupted"
    assert (store.hash() == summary.candidate_hash) is (status == "published")
    check_sound(store)
    assert verify(store.database).ok


def test_what_was_altered_while_it_was_held_back_is_not_published(store: Store) -> None:
    staged(store)
    before = store.hash(), store.relationships()
    store.cypher("MATCH (p:Staged {source: 1}) SET p.content = $other", other=zlib.compress(b'{"kind":"entity"}\n'))
    for ask in (lambda: publish(store.database, SettleOptions(2)), lambda: ask_candidate(store.database, seen)):
        with pytest.raises(StoreError, match=r"^What run 2 holds back is not what was staged\."):
            ask()
    assert {one.invariant for one in verify(store.database).violations} == {"staged"}
    discard(store.database, SettleOptions(2))
    assert (store.hash(), store.relationships()) == before
    assert verify(store.database).ok


def test_a_candidate_that_is_discarded_while_it_is_asked_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    staged(store)
    carried_out = staging._carried_out

    def after_discarding(*args: Any) -> Any:
        discard(store.database, SettleOptions(2))
        return carried_out(*args)

    monkeypatch.setattr(staging, "_carried_out", after_discarding)
    with pytest.raises(StoreConflictError, match=r"^Run 2 was published or discarded meanwhile\."):
        ask_candidate(store.database, seen)


def test_a_graph_that_changed_past_the_product_is_not_published_to(store: Store) -> None:
    staged(store)
    store.cypher("MATCH (a:Assertion {edge_id: 'E2'}) SET a.declared = ['secret']")
    before = store.relationships()
    with pytest.raises(StoreError, match=r"does not lead to the graph hash that was staged; nothing was changed\."):
        publish(store.database, SettleOptions(2))
    assert store.relationships() == before
    assert run_records(store.database)[-1]["status"] == "failed"


def test_a_store_goes_back_and_forth_over_a_published_generation(store: Store) -> None:
    first = store.hash()
    summary = staged(store)
    publish(store.database, SettleOptions(2))
    rollback(store.database, RollbackOptions(2))
    assert store.hash() == first, "after run 2 nothing was live yet"
    rollback(store.database, RollbackOptions(3))
    assert store.hash() == summary.candidate_hash
    assert verify(store.database).ok
