"""Revisions that replace each other, tombstones, and runs that fail half-way: what counts is what is declared, whatever the order of
loading (spec 3, revisions and runs; field reports 10, 18 and 22)."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import TENANT, Record, Store, check_sound, chunk, document, edge, revision, write

from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.model.instants import parse_instant
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.store import lookups
from graphrag_provenance.store.as_of import traces_as_of
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.documents import doc_diff
from graphrag_provenance.store.verification import verify

READER = Reader("ann", TENANT, frozenset({"internal"}))
AUDITOR = Reader("bob", TENANT, frozenset({"internal"}), frozenset({Role.AUDITOR}))


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def owns(edge_id: str, *evidence: str | Record, **more: Any) -> Record:
    return edge("A:a", "owns", f"A:{edge_id}", *evidence, edge_id=edge_id, **more)


def part(doc: str, *edge_ids: str, **more: Any) -> list[Record]:
    """A revision of month `version`, with a chunk c1, c2 … for each of the edges that it states."""
    doc_id, _, version = doc.rpartition("@")
    said = [document(doc_id, policy="public"), revision(doc, effective_at=f"2026-0{version}-01T00:00:00Z", **more)]
    return said + [r for edge_id in edge_ids for r in (chunk(doc, edge_id), owns(edge_id, f"{doc}#{edge_id}"))]


def tombstone(doc: str, name: str) -> Record:
    return {"kind": "tombstone", "doc_id": doc.rpartition("@")[0], "tenant": TENANT, "deleted_in_revision": doc, "chunk": name}


def cited(store: Store) -> dict[str, list[str]]:
    return {r["edge_id"]: r["evidence"] for r in store.relationships()}


def sound(store: Store) -> None:
    check_sound(store)
    assert verify(store.database).violations == ()


def wiped(store: Store) -> Store:
    store.cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
    return store


def test_report_10_a_complete_revision_retires_what_was_not_extracted_again(store: Store) -> None:
    store.load(*part("d@1", "c2", "c3"))
    summary = store.load(*part("d@2", "c2", complete=True, supersedes="d@1"))
    assert (summary.outcome.edges["retracted"], summary.outcome.evidence["retired"]) == (1, 2)
    assert (cited(store), store.state("c3")) == ({"c2": ["d@2#c2"]}, "retracted")
    found = doc_diff(store.database, READER, "d@1", "d@2")
    lost = [(e["edge_id"], e["state"], e["evidence"]["active"]) for e in found["lost"]]
    assert (found["complete"], lost) == (True, [("c3", "retracted", 0)])
    assert found["chunks"]["missing"] == ["c3"]
    history = lookups.edge_history(store.database, AUDITOR, "c3")["history"]
    assert [(one["since"], one["until"]) for one in history] == [(1, 2)]
    sound(store)


def test_what_another_document_states_stays_in_any_order_of_operations(store: Store) -> None:
    parts = {"old": part("d@1", "E"), "new": part("d@2", "other", complete=True), "beside": part("x@1", "E")}
    seen = set()
    for order in itertools.permutations(parts):
        wiped(store)
        for name in order:
            store.load(*parts[name])
        assert cited(store) == {"E": ["x@1#E"], "other": ["d@2#other"]}, order
        check_sound(store)
        seen.add(store.hash())
    assert len(seen) == 1
    sound(store)


def test_a_complete_revision_that_comes_late_retires_nothing_newer(store: Store) -> None:
    store.load(*part("d@3", "NEW"))
    store.load(*part("d@1", "OLDEST"))
    assert cited(store) == {"NEW": ["d@3#NEW"], "OLDEST": ["d@1#OLDEST"]}
    summary = store.load(*part("d@2", "OLD", complete=True))
    assert cited(store) == {"NEW": ["d@3#NEW"], "OLD": ["d@2#OLD"]}, "it retires what it replaced, and only that"
    assert (summary.outcome.edges["retracted"], store.assertion("OLD")["current"], store.assertion("NEW")["current"]) == (1, False, True)
    sound(store)


def test_evidence_of_a_replaced_revision_that_comes_later_never_counts_and_is_loaded_once(store: Store) -> None:
    store.load(*part("d@2", "NEW", complete=True, supersedes="d@1"))
    late = [*part("d@1", "OLD"), owns("NEW", "d@1#OLD"), owns("BARE", "d@1#nowhere")]
    first = store.load(*late)
    assert (cited(store), first.outcome.evidence["added"]) == ({"NEW": ["d@2#NEW"]}, 3)
    assert (store.state("OLD"), store.state("BARE")) == ("retracted", "retracted")
    for _ in range(2):
        again = store.load(*late)
        assert (again.outcome.writes.total, again.run["graph_hash"]) == (0, first.run["graph_hash"])
    never = [one for name in ("OLD", "BARE") for one in store.cypher(
        "MATCH (:Assertion {edge_id: $name})-[v:EVIDENCED_BY]->() RETURN v.since = v.until AS never", name=name)]
    assert never == [{"never": True}] * 2
    sound(store)


def test_a_revision_that_no_record_declares_is_replaced_only_if_another_one_names_it(store: Store) -> None:
    store.load(*part("d@2", "NEW", complete=True, supersedes="d@1"))
    store.load(owns("NAMED", "d@1#c"), owns("UNKNOWN", "d@0#c"))
    assert cited(store) == {"NEW": ["d@2#NEW"], "UNKNOWN": ["d@0#c"]}
    sound(store)


def test_a_chunk_tombstone_removes_that_passage_and_no_other(store: Store) -> None:
    store.load(*part("d@1", "c1", "c2"), *part("x@1", "c1"))
    summary = store.load(tombstone("d@1", "c2"))
    assert (summary.outcome.edges["retracted"], cited(store)) == (1, {"c1": ["d@1#c1", "x@1#c1"]})
    assert store.load(tombstone("d@1", "c2")).outcome.writes.total == 0
    store.load(tombstone("d@1", "c1"))
    assert cited(store) == {"c1": ["x@1#c1"]}
    store.load(*part("d@2", "c1", "c2", supersedes="d@1"))
    assert cited(store) == {"c1": ["d@2#c1", "x@1#c1"], "c2": ["d@2#c2"]}, "what the next revision says again counts again"
    assert doc_diff(store.database, READER, "d@1", "d@2")["chunks"]["missing"] == []
    sound(store)


def test_a_chunk_that_is_gone_is_missing_and_one_with_a_tombstone_is_deleted(store: Store) -> None:
    store.load(*part("d@1", "c1", "c2", "c3"))
    store.load(*part("d@2", "c1", complete=True, supersedes="d@1"), tombstone("d@2", "c3"))
    chunks = doc_diff(store.database, READER, "d@1", "d@2")["chunks"]
    assert (chunks["missing"], chunks["deleted"]) == (["c2"], ["c3"])


@pytest.mark.parametrize("written", ["2026-03-01T00:00:00Z", "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00[UTC]"])
def test_report_18_a_boundary_is_the_same_in_a_past_run(store: Store, written: str) -> None:
    """Which edges there are is a matter of the run, when they hold of their scope; the two clocks do not touch."""
    scopes = {"from": {"valid_from": written}, "to": {"valid_to": written}}
    store.load(*part("d@1"), *(owns(name, "d@1#c", scope=scope) for name, scope in scopes.items()))
    store.load(*part("d@2", complete=True, supersedes="d@1"))
    assert cited(store) == {}
    boundary = parse_instant("2026-03-01T00:00:00Z")
    asked = [Question(("A", "a"), ("A", name), directed=True, at=boundary) for name in scopes]
    for seq, states in ((1, ["supported", "unresolved"]), (2, ["unresolved", "unresolved"])):
        answers = [one.as_json() for one in traces_as_of(store.database, asked, READER, seq)]
        assert [one["state"] for one in answers] == states
        if seq == 1:
            assert answers[0]["paths"][0]["steps"][0]["scope"]["valid_from"] == "2026-03-01T00:00:00Z"
            assert json.loads(json.dumps(answers)) == answers


class HalfWay(Exception):
    """Ends a load in the middle."""


def test_report_22_a_generation_that_fails_half_way_is_rolled_back_to_the_one_before(store: Store) -> None:
    first = [*part("d@1", *(f"E{n}" for n in range(8))), *part("x@1", "E0")]
    second = [*part("d@2", *(f"E{n}" for n in range(4)), complete=True, supersedes="d@1"), tombstone("x@1", "E0"),
              *part("y@1", *(f"N{n}" for n in range(8)))]
    store.load(*first)
    before = store.hash(), store.published(), cited(store)

    def fail(progress: Any) -> None:
        """When all sources are stored and no edge is."""
        if progress.phase == "edges":
            raise HalfWay

    file = write(store.folder / "second.jsonl", second)
    options = IngestOptions(policies=store.policies, rejects=store.folder / "r.jsonl")
    with pytest.raises(HalfWay):
        ingest(store.database, [file], options, progress=fail)
    half = store.hash()
    assert half != before[0]
    assert lookups.run_show(store.database, 2)["status"] == "failed"
    done = rollback(store.database, RollbackOptions(1))
    assert (done.run["graph_hash"], store.hash(), store.published(), cited(store)) == (before[0], *before)
    sound(store)

    store.load(files=[file])
    whole = store.hash(), store.published()
    assert whole[0] != half
    assert rollback(store.database, RollbackOptions(2)).run["graph_hash"] == half
    assert [run["kind"] for run in lookups.run_list(store.database)] == ["rollback", "ingest", "rollback", "ingest", "ingest"]
    sound(store)
    wiped(store).load(*first)
    store.load(files=[file])
    assert (store.hash(), store.published()) == whole
