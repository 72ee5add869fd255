"""Recorded retrievals: one row a passage, as the reader may know it now; and what a linker made (spec 4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import TENANT, Record, Store, check_sound, chunk, document, edge, entity, registered, revision
from corpus.worlds import reader

from graphrag_provenance.access.interface import Decision, Grants
from graphrag_provenance.errors import AccessDeniedError, InputError, NotFoundError
from graphrag_provenance.model.identifiers import point_id
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.reports import AnswerReport, RetrievalReport
from graphrag_provenance.store.answers import record_answers
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.linking import entity_links
from graphrag_provenance.store.retrievals import explain_retrieval, record_retrievals
from graphrag_provenance.store.runs import run_json
from graphrag_provenance.store.verification import verify

TRACE = "b" * 32
ALICE = reader(TENANT, "internal")
BOB = Reader("bob", TENANT, frozenset({"internal"}))
CLEARED = Reader("carol", TENANT, frozenset({"secret"}))
AUDITOR = Reader("dora", TENANT, frozenset({"internal"}), frozenset({"reader", "auditor"}))  # type: ignore[arg-type]
NOBODYS = "00000000-0000-5000-8000-000000000000"


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    """A current and a replaced revision of d, a secret document s, and ids with every separator in them."""
    one = Store(fresh_database, cypher, tmp_path)
    one.load(document("d", policy="internal"), revision("d@1", source_url="https://d.example/1"), chunk("d@1", "c"),
             revision("d@2", supersedes="d@1", effective_at="2026-02-01T00:00:00Z"), chunk("d@2", "c", section_path=["2 Scope", "2.1"]),
             *registered("s@1#c", "secret"), document("x#y", policy="internal"), revision("x#y@1#2"), chunk("x#y@1#2", "c#3"))
    return one


def report(*passages: Any, **more: Any) -> RetrievalReport:
    named = [one if isinstance(one, dict) else {"id": one} for one in passages]
    return RetrievalReport.model_validate_json(json.dumps({"trace_id": TRACE, "passages": named} | more))


def rows(store: Store, who: Reader = ALICE, **more: Any) -> list[Record]:
    return [row for one in explain_retrieval(store.database, who, TRACE, **more)["retrievals"] for row in one["passages"]]


def test_each_passage_is_a_row_with_what_it_is_today(store: Store) -> None:
    record_retrievals(store.database, ALICE, [report(
        {"id": "d@1#c", "score": 0.9}, point_id(TENANT, "d@2", "c").upper(), {"doc": "x#y@1#2", "chunk": "c#3"}, "x#y@1#2#c#3",
        k=4, filter={"environment": "production"}, retriever="dense")])
    old, new, exact, split = rows(store)
    assert old == {
        "rank": 1, "id": "d@1#c", "score": 0.9, "document": "d", "doc_title": "Title of d", "revision": "d@1", "chunk": "c",
        "current_revision": "d@2", "is_stale": True, "section": "1 Purpose", "url": "https://d.example/1",
        "effective_at": "2026-01-01T00:00:00Z", "user_may_read": True, "why": None}
    assert (new["revision"], new["is_stale"], new["section"], new["effective_at"]) == (
        "d@2", False, "2 Scope › 2.1", "2026-02-01T00:00:00Z")
    assert exact["revision"] == split["revision"] == "x#y@1#2"
    assert exact["chunk"] == split["chunk"] == "c#3"
    (told,) = explain_retrieval(store.database, ALICE, TRACE)["retrievals"]
    assert (told["k"], told["filter"], told["retriever"], told["generation"]) == (4, {"environment": "production"}, "dense", 1)


UNRESOLVED = ("s@1#c", point_id(TENANT, "s@1", "c"), "d@9#c", NOBODYS, "no id")


def test_a_passage_that_may_not_be_read_is_answered_like_one_that_does_not_exist(store: Store) -> None:
    record_retrievals(store.database, ALICE, [report(*UNRESOLVED, filter={"policy": "secret"})])
    mine = rows(store)
    assert [(row["id"], row["why"], row["user_may_read"]) for row in mine] == [
        *((name, "unresolved", False) for name in UNRESOLVED[:4]), ("no id", "malformed-id", False)]
    same = [{**row, "rank": 0, "id": None} for row in mine[:4]]
    assert all(row == same[0] for row in same)
    theirs = explain_retrieval(store.database, BOB, TRACE)["retrievals"][0]
    assert [row["id"] for row in theirs["passages"]] == [None] * 5
    assert theirs["filter"] is None
    assert "secret" not in json.dumps(theirs)
    audited = rows(store, AUDITOR)
    assert [(row["id"], row["why"]) for row in audited] == list(zip(
        UNRESOLVED, ("access", "access", "unknown-passage", "unknown-passage", "malformed-id"), strict=True))
    assert audited[0]["policies"] == ["secret"]
    assert [row["document"] for row in rows(store, CLEARED)] == ["s", "s", None, None, None]


def test_what_a_reader_may_read_is_asked_now(store: Store) -> None:
    reference = {"system": "wiki", "space": "s"}
    key = '["wiki","s",null,null]'
    store.load(document("live", policy="public"), revision("live@1", acl_ref=reference), chunk("live@1", "c"))
    record_retrievals(store.database, ALICE, [report("live@1#c")])

    class Source:
        name = "test"

        def __init__(self, open_now: frozenset[str]) -> None:
            self.open_now = open_now

        def granted(self, reader: Reader) -> Grants:
            return Grants("test", self.open_now)

        def check(self, reader: Reader, refs: Any) -> Decision:
            return Decision("test", frozenset(refs) & self.open_now)

    assert rows(store)[0]["user_may_read"] is False
    assert rows(store, access=Source(frozenset({key})))[0]["user_may_read"] is True
    store.load(document("live", policy="secret"))
    assert rows(store, access=Source(frozenset({key})))[0]["why"] == "unresolved"


def test_an_id_that_may_mean_two_readable_passages_is_said_to_be_ambiguous(store: Store) -> None:
    store.load(revision("d@3", supersedes="d@2"), chunk("d@3", "a#b"), revision("d@3#a"), chunk("d@3#a", "b", policy="secret"))
    record_retrievals(store.database, ALICE, [report("d@3#a#b")])
    assert rows(store)[0]["chunk"] == "a#b", "what is hidden makes nothing ambiguous"
    assert rows(store, CLEARED)[0]["why"] == "ambiguous-id"


def test_recording_is_a_run_that_keeps_no_text_and_writes_nothing_twice(store: Store) -> None:
    before = store.hash()
    one, twin = report("d@1#c", k=1), report("d@1#c", k=1)
    done = record_retrievals(store.database, ALICE, [one, twin, report("d@2#c")])
    assert [r["recorded"] for r in done["retrievals"]] == [True] * 3
    run = run_json(store.database.read("run.by_seq", seq=2)[0]["run"])
    assert (run["kind"], run["status"], run["counts"]["retrievals"], run["graph_hash"]) == ("retrieval", "finished", 3, before)
    assert "Text of" not in store.one("MATCH (n:RecordedRetrieval) RETURN collect(n.content) AS all").__str__()
    again = record_retrievals(store.database, ALICE, [one, twin, report("d@2#c")])
    assert (again["run"], {r["recorded"] for r in again["retrievals"]}) == (None, {False})
    assert len(rows(store)) == 3
    check_sound(store)
    assert verify(store.database).ok


def test_a_trace_of_another_tenant_or_none_is_not_found_and_a_generation_must_exist(store: Store) -> None:
    record_retrievals(store.database, ALICE, [report("d@1#c")])
    for who, trace in ((reader("OTHER", "secret"), TRACE), (ALICE, "c" * 32)):
        with pytest.raises(NotFoundError):
            explain_retrieval(store.database, who, trace)
    with pytest.raises(InputError, match="no generation 9"):
        record_retrievals(store.database, ALICE, [report("d@1#c", generation=9)])
    assert store.database.read("run.by_seq", seq=3) == [], "bad input opens no run"
    assert verify(store.database).ok


@pytest.mark.parametrize("damage", [
    "MATCH (n:RecordedRetrieval) SET n.content = replace(n.content, 'd@1', 'd@2')",
    "MATCH (n:RecordedRetrieval) DELETE n",
    "MATCH (n:RecordedRetrieval) SET n.tenant = 'OTHER'",
    "MATCH (n:RecordedRetrieval) WITH n, properties(n) AS p SET n.retrieval_id = 'x' CREATE (m:RecordedRetrieval) SET m = p",
])
def test_verify_finds_what_was_done_to_a_recorded_retrieval(store: Store, cypher: Cypher, damage: str) -> None:
    record_retrievals(store.database, ALICE, [report("d@1#c")])
    cypher(damage)
    assert {v.invariant for v in verify(store.database).violations} == {"recorded"}


@pytest.mark.parametrize("passage", [{}, {"doc": "d@1"}, {"id": "a", "doc": "d@1", "chunk": "c"}, {"id": "a", "text": "words"},
                                     {"id": "a", "score": "0.9"}, {"doc": "d", "chunk": "c"}])
def test_a_passage_has_one_name_and_no_text(passage: Record) -> None:
    with pytest.raises(ValueError, match="passages"):
        report(passage)


# What a linker made


def linked(name: str, *aliases: tuple[str, str, str, str]) -> Record:
    return entity(f"System:{name}", aliases=[
        dict(zip(("alias", "method", "linker", "linker_version"), one, strict=True)) for one in aliases])


def test_a_linker_change_lists_its_aliases_entities_edges_and_answers(store: Store) -> None:
    store.load(linked("A", ("Alpha", "guess", "fuzzy", "1"), ("Al", "declared", "fuzzy", "2"), ("Ay", "declared", "catalogue", "1")),
               linked("B", ("Beta", "exact", "fuzzy", "2")), linked("Z", ("Zed", "declared", "catalogue", "1")),
               edge("System:A", "owns", "System:B", "d@2#c", edge_id="ab"), edge("System:A", "owns", "System:Z", "s@1#c", edge_id="az"),
               edge("System:Z", "owns", "System:Z2", "d@2#c", edge_id="zz"))
    record_answers(store.database, ALICE, [AnswerReport.model_validate_json(
        json.dumps({"answer_id": "A-1", "trace_id": TRACE, "claims": [{"path": ["ab"]}]}))])
    operator = reader(TENANT, operator=True)
    found = entity_links(store.database, operator, "fuzzy")
    assert [(one["id"], one["edges"], one["edge_ids"], sorted(a["alias"] for a in one["aliases"])) for one in found["entities"]] == [
        ("A", 2, ["ab", "az"], ["Al", "Alpha"]), ("B", 1, ["ab"], ["Beta"])]
    assert (found["aliases"], found["versions"], found["answers"]) == (3, ["1", "2"], [{"answer_id": "A-1", "edge_ids": ["ab"]}])
    first = entity_links(store.database, operator, "fuzzy", "1", limit=1)
    assert [(one["id"], one["edges"], one["edge_ids"]) for one in first["entities"]] == [("A", 2, ["ab"])]
    assert (first["truncated"], found["truncated"], first["entities"][0]["aliases"][0]["method"]) == (True, False, "guess")
    assert entity_links(store.database, AUDITOR, "catalogue")["aliases"] == 2
    assert entity_links(store.database, reader("OTHER", operator=True), "fuzzy")["entities"] == []
    with pytest.raises(AccessDeniedError):
        entity_links(store.database, CLEARED, "fuzzy")
