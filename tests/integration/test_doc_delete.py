"""A document is deleted: its evidence is retired, nothing else moves, and the receipt says all of it (spec 3; field reports 1 and 2)."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import POLICIES, TENANT, Record, Store, check_sound, chunk, cites, document, edge, entity, registered, revision

from graphrag_provenance.errors import InputError, NotFoundError, StoreConflictError
from graphrag_provenance.ingest.deletion import DeletionOptions, Receipt, delete_document
from graphrag_provenance.ingest.policy import PolicyOptions, apply_policies
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.reports import AnswerReport
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.store import lookups, runs
from graphrag_provenance.store.answers import answer_impact, record_answers
from graphrag_provenance.store.as_of import traces_as_of
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.documents import doc_diff
from graphrag_provenance.store.verification import verify

READER = Reader("ann", TENANT, frozenset({"secret", "hr"}))
AUDITOR = Reader("bob", TENANT, frozenset({"secret", "hr"}), frozenset({Role.AUDITOR}))


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def delete(store: Store, doc: str, revision: str | None = None, *, tenant: str = TENANT, **more: Any) -> Receipt:
    return delete_document(store.database, DeletionOptions(tenant, doc, revision, actor="boss", **more))


def lines(receipt: Receipt) -> dict[str, list[Any]]:
    """Fate → (edge, state and evidence before, after)."""
    body = receipt.as_json()
    fates = ("published", "relaxed", "tightened", "withheld", "retracted", "kept")
    return {one: [(line["edge_id"], *((line[side]["state"], line[side]["evidence"]) for side in ("before", "after")))
                  for line in body[one]] for one in fates if body[one]}


def owns(edge_id: str, *evidence: str | Record, **more: Any) -> Record:
    return edge("A:a", "owns", f"A:{edge_id}", *evidence, edge_id=edge_id, **more)


def sound(store: Store) -> None:
    check_sound(store)
    assert verify(store.database).violations == ()


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("steps", list(itertools.permutations(["d1", "d2", "delete"])))
def test_report_1_an_edge_stays_with_the_document_that_still_states_it(store: Store, steps: tuple[str, ...], swapped: bool) -> None:
    """Whatever comes first: deleting d1 never takes what d2 supports, and d1 comes back by no later load of it."""
    store.load(document("d1", policy="secret"), document("d2", policy="public"), revision("d1@1"), revision("d2@1"))
    both = ["d1@1#1", "d2@1#1"]
    for step in steps:
        if step == "delete":
            delete(store, "d1")
        else:
            store.load(owns("E", *(sorted(both, reverse=swapped) if step == "d2" else both[:1])))
    assert [(r["edge_id"], r["evidence"], r["policies"]) for r in store.relationships()] == [("E", ["d2@1#1"], ["public"])]
    sound(store)


def test_report_2_the_same_document_in_another_tenant_does_not_change_by_a_byte(store: Store) -> None:
    both = [[r | ({"access": {"tenant": tenant}} if r["kind"] == "edge" else {"tenant": tenant})
             for r in (*registered("d@1#c", "public"), owns("E", "d@1#c"))] for tenant in ("alfa", "beta")]
    store.load(*itertools.chain(*both))

    def of_beta() -> list[Any]:
        return [store.cypher("MATCH (n {tenant: 'beta'}) RETURN elementId(n) AS id, labels(n) AS l, properties(n) AS p ORDER BY id"),
                store.cypher("MATCH (n {tenant: 'beta'})-[r]->() RETURN elementId(r) AS id, type(r) AS t, properties(r) AS p ORDER BY id")]

    before = of_beta()
    assert lines(delete(store, "d", tenant="alfa")) == {"retracted": [("E", ("published", 1), ("retracted", 0))]}
    assert of_beta() == before
    assert [r["tenant"] for r in store.relationships()] == ["beta"]
    sound(store)


def many_fates() -> list[Record]:
    """Edges on d1, which says internal, with other documents beside it; one edge apart from it."""
    return [*registered("d1@1#c", "internal"), *registered("d2@1#c", "internal"), *registered("d3@1#c", "public"),
            *registered("s@1#c", "hr"), entity("A:a", policy="public"),
            owns("gone", "d1@1#c"), owns("kept", "d1@1#c", "d2@1#c"), owns("relaxed", "d1@1#c", "d3@1#c"),
            owns("unref", cites("d1@1#c", acl_ref={"system": "wiki", "space": "x"}), "d2@1#c"),
            owns("opened", cites("d1@1#c", policy="pubilc"), "d3@1#c"), owns("mute", "d1@1#c", "bare@1#c"),
            owns("refuted", "d1@1#c", cites("d3@1#c", polarity="refutes")), owns("apart", "d2@1#c", "s@1#c")]


def test_a_receipt_names_every_edge_that_changed_with_before_and_after(store: Store) -> None:
    store.load(*many_fates())
    before = store.everything()
    planned = delete(store, "d1", dry_run=True)
    assert store.everything() == before
    done = delete(store, "d1", reason="contract ended")
    assert lines(done) == {
        "published": [("opened", ("withheld", 2), ("published", 1))],
        "relaxed": [("relaxed", ("published", 2), ("published", 1)), ("unref", ("published", 2), ("published", 1))],
        "withheld": [("refuted", ("published", 2), ("withheld", 1))],
        "retracted": [("gone", ("published", 1), ("retracted", 0))],
        "kept": [("kept", ("published", 2), ("published", 1)), ("mute", ("withheld", 2), ("withheld", 1))],
    }
    told, body = planned.as_json(), done.as_json()
    assert {n: v for n, v in told.items() if n not in ("run", "writes", "seconds", "dry_run", "reason")} == {
        n: v for n, v in body.items() if n not in ("run", "writes", "seconds", "dry_run", "reason")}
    assert body["counts"] == {
        "published": 1, "relaxed": 2, "tightened": 0, "withheld": 1, "retracted": 1, "kept": 2, "evidence_retired": 7}
    relaxed = body["relaxed"][0]
    assert (relaxed["before"]["policies"], relaxed["after"]["policies"]) == (["internal"], ["public"])
    assert [relaxed[name] for name in ("source", "relation", "target")] == [
        {"type": "A", "id": "a"}, "owns", {"type": "A", "id": "relaxed"}]
    run = lookups.run_show(store.database, 2)
    assert (run["kind"], run["actor"], run["status"], run["inputs"]) == ("doc-delete", "boss", "finished", [
        {"tenant": TENANT, "doc_id": "d1", "deleted_in_revision": "d1@1", "reason": "contract ended"}])
    assert run["counts"]["retracted"] == 1
    sound(store)


def test_other_documents_and_their_edges_do_not_change_by_a_byte(store: Store) -> None:
    store.load(*many_fates())

    def others() -> list[Any]:
        return [store.cypher("MATCH (n) WHERE n:Document AND n.doc_id <> 'd1' OR n:Revision AND n.doc_id <> 'd1'"
                             " OR n:Chunk AND n.doc <> 'd1@1' OR n:Entity OR n:Alias OR n:Assertion AND n.edge_id = 'apart'"
                             " RETURN elementId(n) AS id, labels(n) AS l, properties(n) AS p ORDER BY id"),
                store.cypher("MATCH (a)-[r]->(b) WHERE r.edge_id = 'apart' OR type(r) = 'EVIDENCED_BY' AND b.doc <> 'd1@1'"
                             " RETURN elementId(r) AS id, type(r) AS t, properties(r) AS p ORDER BY id")]

    before = others()
    delete(store, "d1")
    assert others() == before
    again = delete(store, "d1")
    assert (again.already, lines(again), again.as_json()["writes"]["properties"]) == (True, {}, 0)
    assert others() == before


def test_what_is_not_deleted_clearly_is_not_deleted_at_all(store: Store) -> None:
    with pytest.raises(NotFoundError, match="There is no document d1"):
        delete(store, "d1")
    store.load(*registered("d1@1#c", "public"), owns("E", "d1@1#c"), owns("BARE", "bare@1#c", policy="public"))
    before = store.everything()
    for doc, revision_, error, told in (
        ("nobody", None, NotFoundError, "There is no document nobody in tenant ACME"), ("d1@1", None, NotFoundError, "no document"),
        ("bare", None, InputError, "--in bare@VERSION"), ("d1", "d2@1", InputError, "revision of another document"),
        ("d1", "d1", InputError, "d1")):
        for dry in (True, False):
            with pytest.raises(error, match=told):
                delete(store, doc, revision_, dry_run=dry)
    with pytest.raises(NotFoundError):
        delete(store, "d1", tenant="beta")
    assert store.everything() == before
    assert lines(delete(store, "bare", "bare@1")) == {"retracted": [("BARE", ("published", 1), ("retracted", 0))]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphrag_provenance.ingest.policy.reevaluate_edges", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            apply_policies(store.database, lattice({"public": []}), PolicyOptions())
    for dry in (True, False):
        with pytest.raises(StoreConflictError, match="cut off"):
            delete(store, "d1", dry_run=dry)
    assert store.published() == {"E": ("public",)}
    apply_policies(store.database, POLICIES, PolicyOptions())


def test_a_deletion_that_is_cut_off_has_done_nothing_and_one_that_lost_a_race_says_so(store: Store) -> None:
    store.load(*registered("d1@1#c", "public"), owns("E", "d1@1#c"))
    state = store.hash(), store.published()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs.Run, "account", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            delete(store, "d1")
    assert (store.hash(), store.published()) == state
    assert lookups.run_show(store.database, 2)["status"] == "failed"
    begin = runs.begin

    def late(*args: Any, **more: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runs, "begin", begin)
            store.load(revision("d1@2", effective_at="2026-02-01T00:00:00Z"))
        return begin(*args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "begin", late)
        with pytest.raises(StoreConflictError, match="Another run changed d1"):
            delete(store, "d1")
    assert list(store.published()) == ["E"]
    sound(store)


def test_what_comes_after_the_deletion_counts_again_and_what_came_before_does_not(store: Store) -> None:
    store.load(*registered("d1@1#c", "public"), owns("OLD", "d1@1#c"))
    delete(store, "d1")
    store.load(owns("LATE", "d1@1#c"))
    assert (store.state("OLD"), store.state("LATE")) == ("retracted", "retracted")
    store.load(revision("d1@2", effective_at="2026-02-01T00:00:00Z"), chunk("d1@2", "c"), owns("NEW", "d1@2#c"))
    assert list(store.published()) == ["NEW"]
    assert lines(delete(store, "d1", "d1@1")) == {}
    assert lines(delete(store, "d1")) == {"retracted": [("NEW", ("published", 1), ("retracted", 0))]}
    assert doc_diff(store.database, AUDITOR, "d1@1", "d1@2")["chunks"]["missing"] == []
    sound(store)


def test_a_rollback_brings_a_deleted_document_back_and_a_past_run_has_it_still(store: Store) -> None:
    store.load(*many_fates())
    before, published = store.hash(), store.published()
    delete(store, "d1")
    assert store.hash() != before
    question = [Question(("A", "a"), ("A", "gone"), directed=True)]
    assert [traces_as_of(store.database, question, READER, seq)[0].as_json()["state"] for seq in (1, 2)] == ["supported", "unresolved"]
    rollback(store.database, RollbackOptions(1))
    assert (store.hash(), store.published()) == (before, published)
    history = lookups.edge_history(store.database, AUDITOR, "gone")
    assert [(one["since"], one["until"]) for one in history["history"]] == [(1, 2), (3, None)]
    assert history["history"][0]["retired_by"]["kind"] == "doc-delete"
    sound(store)


def test_a_recorded_answer_hears_that_its_document_is_gone(store: Store) -> None:
    store.load(*many_fates())
    passage = {"doc": "d1@1", "chunk": "c"}
    claims = [*({"path": [name]} for name in ("gone", "apart")), {"path": [{"edge_id": "kept", "evidence": [passage]}]}]
    record_answers(store.database, READER, [AnswerReport.model_validate({"answer_id": "A", "trace_id": "a" * 32, "claims": claims})])
    delete(store, "d1")
    found = answer_impact(store.database, AUDITOR)
    assert [(claim["claim_id"], [(one["edge_id"], one["impact"]) for one in claim["edges"]]) for claim in found["claims"]] == [
        ("1", [("gone", ["lost-support"])]), ("3", [("kept", ["evidence-retired"])])]
