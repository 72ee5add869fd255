"""Texts past the retention window go, and nothing else does (spec 3, retention)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import TENANT, Store, check_sound, chunk, document, edge, registered, revision, sha256

from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.ingest.deletion import DeletionOptions, delete_document
from graphrag_provenance.ingest.purging import PurgeOptions, PurgeSummary, purge_texts, window
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.model.instants import now, parse_instant
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.store import lookups, purging, runs
from graphrag_provenance.store.as_of import traces_as_of
from graphrag_provenance.store.auditing import audit_verify
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.documents import doc_show
from graphrag_provenance.store.verification import verify

READER = Reader("ann", TENANT, frozenset({"public"}))
AUDITOR = Reader("bob", TENANT, frozenset({"public"}), frozenset({Role.AUDITOR}))
FIRST = [document("d1", policy="public"), revision("d1@1"), chunk("d1@1", "a"), chunk("d1@1", "b"),
         edge("A:a", "owns", "A:b", "d1@1#a", edge_id="STAYS"), edge("A:a", "owns", "A:c", "d1@1#b", edge_id="GOES")]
SECOND = [revision("d1@2", effective_at="2026-02-01T00:00:00Z", complete=True), chunk("d1@2", "a"),
          edge("A:a", "owns", "A:b", "d1@2#a", edge_id="STAYS")]


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def purge(store: Store, doc: str | None = None, *, tenant: str = TENANT, before: Any = None, **more: Any) -> PurgeSummary:
    return purge_texts(store.database, PurgeOptions(tenant, before or now(), doc, actor="boss", **more))


def delete(store: Store, doc: str, revision: str | None = None) -> None:
    delete_document(store.database, DeletionOptions(TENANT, doc, revision))


def told(summary: PurgeSummary) -> dict[str, tuple[Any, ...]]:
    return {one["doc"]: (one["state"], one["since_run"], one["passages"], one["in_use"]) for one in summary.as_json()["revisions"]}


def texts(store: Store) -> list[str]:
    """The words of passages, wherever in the store they stand: of past versions too."""
    rows = store.cypher("MATCH (n) UNWIND keys(n) AS name WITH n[name] AS value WHERE value IS :: STRING AND value STARTS WITH 'Text of '"
                        " RETURN DISTINCT value ORDER BY value")
    return [row["value"].removeprefix("Text of ").removesuffix(".") for row in rows]


def sound(store: Store) -> None:
    check_sound(store)
    assert verify(store.database).violations == ()
    assert audit_verify(store.database, AUDITOR).ok


def test_the_texts_of_a_replaced_revision_go_and_nothing_else_does(store: Store) -> None:
    store.load(*FIRST)
    store.load(chunk("d1@1", "a", policy="public"))  # so that a past version keeps a copy
    store.load(*SECOND)
    assert texts(store) == ["d1@1 a", "d1@1 b", "d1@2 a"]
    question = [Question(("A", "a"), ("A", "c"), directed=True)]

    def rest() -> list[Any]:
        """Everything but texts, the mark of the purge, and runs."""
        nodes = store.cypher("MATCH (n) WHERE NOT n:Migration AND NOT n:Run AND NOT n:Store RETURN elementId(n) AS id, labels(n) AS l,"
                             " n {.*, text: null, purged: null} AS p ORDER BY id")
        return [nodes, store.everything()[1], store.hash(), [one["paths"] for one in (
            answer.as_json() for seq in (1, 2) for answer in traces_as_of(store.database, question, READER, seq))]]

    before, whole = rest(), store.everything()
    planned = purge(store, "d1", dry_run=True)
    assert store.everything() == whole
    done = purge(store, "d1")
    assert rest() == before
    assert texts(store) == ["d1@2 a"]
    assert told(planned) == told(done) == {"d1@1": ("superseded", 3, 2, 0)}
    assert done.as_json()["counts"] == planned.as_json()["counts"] == {"revisions": 1, "passages": 2, "texts": 3, "in_use": 0}
    run = lookups.run_show(store.database, 4)
    assert (run["kind"], run["actor"], run["status"], run["counts"]["texts"]) == ("doc-purge", "boss", "finished", 3)
    assert {one["doc"]: one["purged"] for one in doc_show(store.database, READER, "d1")["revisions"]} == {"d1@1": 2, "d1@2": 0}
    sound(store)


def test_a_rollback_to_before_a_purge_restores_all_but_the_texts_and_says_so(store: Store) -> None:
    store.load(*FIRST)
    first = store.hash(), store.published()
    store.load(*SECOND)
    second = store.hash(), store.published()
    purge(store)
    for to, state in ((1, first), (2, second), (1, first)):
        planned, done = (rollback(store.database, RollbackOptions(to, dry_run=dry)).as_json() for dry in (True, False))
        assert (planned["texts_purged"], done["texts_purged"]) == (2, 2)
        assert (store.hash(), store.published()) == state
        assert texts(store) == (["d1@2 a"] if to == 2 else texts(store))
        assert not {"d1@1 a", "d1@1 b"} & set(texts(store))
        sound(store)
    assert rollback(store.database, RollbackOptions(3)).as_json()["texts_purged"] == 0


def test_a_purged_text_does_not_come_back_with_a_record_that_states_it_again(store: Store) -> None:
    store.load(*FIRST)
    store.load(*SECOND)
    purge(store)
    assert store.load(*FIRST).outcome.writes.total == 0
    store.load(chunk("d1@1", "a", policy="public"), chunk("d1@1", "b", section_path=["9 Elsewhere"]))
    assert texts(store) == ["d1@2 a"]
    sound(store)
    assert told(purge(store)) == {}
    store.load(chunk("d1@1", "a", chunker_version="2", text="Text of another cut.", content_sha256=sha256("Text of another cut.")))
    assert texts(store) == ["another cut", "d1@2 a"]
    sound(store)
    seq = purge(store).run["seq"]
    assert texts(store) == ["d1@2 a"]
    for to in (3, seq - 1, seq):
        rollback(store.database, RollbackOptions(to))
        assert texts(store) == ["d1@2 a"]
        sound(store)


def end_of(store: Store, seq: int) -> Any:
    return parse_instant(lookups.run_show(store.database, seq)["finished_at"])


def test_the_window_runs_from_when_a_text_was_last_replaced_or_came(store: Store) -> None:
    store.load(*FIRST)
    store.load(*SECOND)
    rollback(store.database, RollbackOptions(1))
    store.load(*SECOND)
    store.load(revision("d1@0", effective_at="2025-01-01T00:00:00Z"), chunk("d1@0", "a"))
    store.load(chunk("d1@1", "late"))
    store.load(*registered("d2@1#c", "public"), *registered("d3@1#c", "public"), chunk("d3@1", "x"), *registered("d4@1#c", "public"))
    delete(store, "d2")
    store.load({"kind": "tombstone", "doc_id": "d3", "chunk": "x", "tenant": TENANT, "deleted_in_revision": "d3@1"})
    assert told(purge(store, dry_run=True)) == {
        "d1@0": ("superseded", 5, 1, 0), "d1@1": ("superseded", 4, 3, 0), "d2@1": ("tombstoned", 8, 1, 0), "d3@1": ("tombstoned", 9, 1, 0)}
    end = end_of(store, 4)
    assert told(purge(store, before=end)) == {}, "half-open"
    assert told(purge(store, before=end + timedelta(microseconds=1))) == {"d1@1": ("superseded", 4, 2, 0)}
    assert told(purge(store, "d2")) == {"d2@1": ("tombstoned", 8, 1, 0)}
    assert texts(store) == ["d1@0 a", "d1@1 late", "d1@2 a", "d3@1 c", "d3@1 x", "d4@1 c"]
    purge(store)
    assert texts(store) == ["d1@2 a", "d3@1 c", "d4@1 c"]
    sound(store)


def test_what_evidence_in_force_cites_keeps_its_text_whatever_its_age(store: Store) -> None:
    store.load(*FIRST)
    store.load(revision("d1@2", effective_at="2026-02-01T00:00:00Z"), chunk("d1@2", "a"))
    assert told(purge(store)) == {"d1@1": ("superseded", 2, 0, 2)}
    assert (lookups.run_list(store.database)[0]["seq"], purge(store).run) == (2, {}), "nothing to do is no run"
    store.load(chunk("d1@1", "free"))
    assert told(purge(store)) == {"d1@1": ("superseded", 2, 1, 2)}
    assert texts(store) == ["d1@1 a", "d1@1 b", "d1@2 a"]
    delete(store, "d1")
    assert told(purge(store)) == {"d1@1": ("tombstoned", 2, 2, 0), "d1@2": ("tombstoned", 5, 1, 0)}
    assert texts(store) == []
    sound(store)


def test_a_text_that_only_history_keeps_goes_with_its_document(store: Store) -> None:
    store.load(*registered("d2@1#c", "public"))
    store.load(*FIRST)
    rollback(store.database, RollbackOptions(1))
    assert {"d1@1 a", "d1@1 b"} < set(texts(store))
    delete(store, "d1", "d1@1")
    assert told(purge(store, "d1")) == {"d1@1": ("tombstoned", 4, 2, 0)}
    assert texts(store) == ["d2@1 c"]
    rollback(store.database, RollbackOptions(2))
    assert texts(store) == ["d2@1 c"]
    sound(store)


def test_another_tenant_keeps_its_texts(store: Store) -> None:
    for name in (TENANT, "beta"):
        store.load(*(r | ({"access": {"tenant": name}} if r["kind"] == "edge" else {"tenant": name}) for r in (*FIRST, *SECOND)))
    purge(store)
    assert {row["t"] for row in store.cypher("MATCH (n) WHERE n.text IS NOT NULL AND n.doc = 'd1@1' RETURN n.tenant AS t")} == {"beta"}
    assert told(purge(store, tenant="beta")).keys() == {"d1@1"}
    assert told(purge(store, tenant="nobody")) == {}


def test_a_purge_that_is_cut_off_is_completed_by_the_next(store: Store) -> None:
    store.load(*FIRST)
    store.load(*SECOND)
    left = iter([None])
    account = runs.Run.account

    def some(*args: Any) -> None:
        next(left)
        account(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs.Run, "account", some)
        patch.setattr(purging, "_PASSAGES", 1)
        with pytest.raises(StopIteration):
            purge(store)
    assert texts(store) == ["d1@1 b", "d1@2 a"]
    run = lookups.run_show(store.database, 3)
    assert (run["status"], run["counts"]["texts"]) == ("failed", 1)
    sound(store)
    assert told(purge(store)) == {"d1@1": ("superseded", 2, 1, 0)}
    assert texts(store) == ["d1@2 a"]
    assert rollback(store.database, RollbackOptions(1)).texts_purged == 2
    sound(store)


def test_a_window_that_is_none_or_to_come_and_an_unknown_document_purge_nothing(store: Store) -> None:
    assert window(None, None) is None
    three = window(3, None)
    assert three is not None
    assert abs(now() - timedelta(days=3) - three) < timedelta(minutes=1)
    with pytest.raises(InputError, match="future"):
        window(None, now() + timedelta(minutes=1))
    with pytest.raises(NotFoundError, match="There is no document d1"):
        purge(store, "d1")
    store.load(*FIRST)
    for dry in (True, False):
        with pytest.raises(NotFoundError, match="There is no document d2"):
            purge(store, "d2", dry_run=dry)
    assert len(texts(store)) == 2


@pytest.mark.parametrize("damage", ["SET c.text = 'Text of d1@1 a.'", "REMOVE c.purged", "SET c.purged = 99"])
def test_verify_tells_a_purged_chunk_that_is_not_as_the_purge_left_it(store: Store, damage: str) -> None:
    store.load(*FIRST)
    store.load(*SECOND)
    purge(store)
    store.cypher(f"MATCH (c:Chunk {{doc: 'd1@1', chunk: 'a'}}) {damage}")
    assert {name for one in verify(store.database).violations for name in one.ids} == {"d1@1#a"}
