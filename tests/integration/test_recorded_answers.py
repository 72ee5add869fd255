"""Recorded answers: what they keep, what a reader sees of them later, and which claims a change concerns (spec 4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import POLICIES, TENANT, Record, Store, check_sound, cites, document, edge, registered, revision
from corpus.worlds import reader

from graphrag_provenance.errors import (
    AccessDeniedError,
    InputError,
    NotFoundError,
    StoreConflictError,
    StoreUnavailableError,
)
from graphrag_provenance.ingest.policy import PolicyOptions, apply_policies
from graphrag_provenance.model.reports import AnswerReport
from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.rules.recorded import Impact, impacts
from graphrag_provenance.store.answers import answer_impact, answers_on, record_answers, show_answer
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.documents import doc_diff
from graphrag_provenance.store.lookups import run_list
from graphrag_provenance.store.recording import RecordingOptions, recorded_run
from graphrag_provenance.store.runs import Run, run_json
from graphrag_provenance.store.verification import verify

LOW, HIGH = reader(TENANT, "internal"), reader(TENANT, "secret")
AUDITOR, OPERATOR = reader(TENANT, "internal", auditor=True), reader(TENANT, operator=True)
TRACE = "a" * 32
ACL = {"system": "wiki", "space": "s"}
KEY = '["wiki","s",null,null]'


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    """A -e1-> B -e2-> C from documents d1 and d2 (internal), e1 from d3 too; A -s-> C is secret."""
    one = Store(fresh_database, cypher, tmp_path)
    one.load(*registered("d1@1#c", "internal"), *registered("d2@1#c", "internal"), *registered("d3@1#c", "internal"),
             *registered("s@1#c", "secret"), link("e1", "A", "B", "d1@1#c", "d3@1#c"), link("e2", "B", "C", "d2@1#c"),
             link("s", "A", "C", "s@1#c"))
    return one


def link(edge_id: str, source: str, target: str, *evidence: str | Record) -> Record:
    return edge(f"System:{source}", "depends_on", f"System:{target}", *evidence, edge_id=edge_id)


def answer(*claims: Any, answer_id: str = "A-1", **more: Any) -> AnswerReport:
    made = [one if isinstance(one, dict) else {"text": f"via {' '.join(one)}", "path": list(one)} for one in claims]
    return AnswerReport.model_validate_json(json.dumps({"answer_id": answer_id, "trace_id": TRACE, "claims": made} | more))


def record(store: Store, *reports: AnswerReport, who: Any = LOW, **more: Any) -> Record:
    return record_answers(store.database, who, reports, **more)


def impacted(store: Store, **more: Any) -> dict[str, list[str]]:
    """Claim → kinds."""
    found = answer_impact(store.database, OPERATOR, **more)
    return {f"{one['answer_id']}.{one['claim_id']}": list(one["impact"]) for one in found["claims"]}


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), "interrupted"), (InputError("no"), "failed")])
def test_a_recording_that_does_not_end_is_sealed_as_every_other_run(store: Store, error: BaseException, status: str) -> None:
    def make(_: Run) -> list[Record]:
        raise error

    with pytest.raises(type(error)):
        recorded_run(store.database, "answer", RecordingOptions(), make, ())
    assert run_list(store.database)[0]["status"] == status
    assert verify(store.database).ok


def test_an_answer_keeps_generation_graph_hash_and_each_edge_as_it_was(store: Store) -> None:
    before, digest = store.hash(), bytes(store.assertion("e1")["digest"]).hex()
    done = record(store, answer(["e1", "e2"]))
    shown = show_answer(store.database, LOW, "A-1")
    assert shown["recorded"] | {"at": None} == {
        "at": None, "run": 2, "generation": 1, "graph_hash": before, "digest": done["answers"][0]["digest"], "principal": "alice"}
    (claim,) = shown["claims"]
    assert (claim["claim_id"], claim["text"], claim["state"]) == ("1", "via e1 e2", "supported")
    assert [(step["edge_id"], step["state"], step["unchanged"]) for step in claim["path"]] == [
        ("e1", "standing", True), ("e2", "standing", True)]
    first = claim["path"][0]
    assert not {"digest", "policies", "acl"} & set(first["then"])
    assert show_answer(store.database, AUDITOR, "A-1")["claims"][0]["path"][0]["then"]["digest"] == f"sha256:{digest}"
    assert [one["doc"] for one in first["then"]["evidence"]] == [one["doc"] for one in first["now"]["evidence"]] == ["d1@1", "d3@1"]
    kept = json.loads(store.one("MATCH (n:RecordedAnswer) RETURN n.content"))[0]["steps"][0]
    assert (kept["digest"], kept["policies"], kept["current"]) == (f"sha256:{digest}", ["internal"], True)


def test_recording_is_a_run_of_its_own_that_leaves_the_graph_hash_alone(store: Store) -> None:
    before = store.hash()
    done = record(store, answer(["e1"]), answer(["e2"], answer_id="A-2"))
    run = run_json(store.database.read("run.by_seq", seq=2)[0]["run"])
    assert (run["kind"], run["status"], run["graph_hash"], run["counts"]["answers"]) == ("answer", "finished", before, 2)
    assert (done["run"]["digest"], store.hash()) == (run["digest"], before)
    check_sound(store)
    report = verify(store.database)
    assert (report.violations, report.checked["answers"]) == ((), 2)


def test_recording_again_writes_nothing_and_a_recorded_answer_never_changes(store: Store) -> None:
    record(store, answer(["e1"]))
    before = store.everything()
    again = record(store, answer(["e1"]))
    assert (again["run"], again["answers"][0]["recorded"], again["answers"][0]["run"]) == (None, False, 2)
    with pytest.raises(StoreConflictError):
        record(store, answer(["e2"]))
    assert store.everything() == before


@pytest.mark.parametrize(("claim", "told"), [
    (["nowhere"], "no edge nowhere"), (["e2", "nowhere"], "no edge nowhere"), (["s"], "no edge s"),
    (["e1", "s"], "no edge s"),
    ({"path": [{"edge_id": "e1", "evidence": [{"doc": "d2@1", "chunk": "c"}]}]}, "d2@1#c does not support edge e1"),
])  # fmt: skip
def test_what_the_reader_cannot_see_is_not_recorded_and_nothing_is_written(store: Store, claim: Any, told: str) -> None:
    before = store.everything()
    with pytest.raises(InputError) as caught:
        record(store, answer(["e1"], claim))
    assert told in str(caught.value)
    assert "claim 2" in str(caught.value)
    assert store.everything() == before


def test_a_recording_that_is_cut_off_keeps_what_it_committed_and_is_completed_by_the_same_call(
    store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(run: Run, status: str, counts: Any) -> None:
        run.stop_heartbeat()
        raise StoreUnavailableError("gone")

    with monkeypatch.context() as broken:
        broken.setattr(Run, "end", lost)
        with pytest.raises(StoreUnavailableError):
            record(store, answer(["e1"]), options=RecordingOptions(lease_seconds=0.3))
    again = record(store, answer(["e1"]), answer(["e2"], answer_id="A-2"), options=RecordingOptions(wait_seconds=30))
    assert [(one["recorded"], one["run"]) for one in again["answers"]] == [(False, 2), (True, 3)]
    assert run_json(store.database.read("run.by_seq", seq=2)[0]["run"])["status"] == "interrupted"
    assert verify(store.database).violations == ()


def test_a_path_is_a_chain_in_either_direction(store: Store) -> None:
    store.load(link("e3", "C", "D", "d1@1#c"))
    with pytest.raises(InputError, match="step 2 does not start"):
        record(store, answer(["e1", "e3"]))
    with pytest.raises(InputError, match="step 3 does not start"):
        record(store, answer(["e1", "e2", "e1"]))
    record(store, answer(["e3", "e2", "e1"]))


def test_an_answer_from_an_earlier_generation_is_recorded_only_if_its_edges_are_what_they_were(store: Store) -> None:
    store.load(*registered("d4@1#c", "internal"), link("e2", "B", "C", "d4@1#c"))
    record(store, answer(["e1"], generation=1))
    shown = show_answer(store.database, LOW, "A-1")["recorded"]
    assert (shown["generation"], shown["graph_hash"]) == (1, run_json(store.database.read("run.by_seq", seq=1)[0]["run"])["graph_hash"])
    with pytest.raises(InputError, match="changed in run 2"):
        record(store, answer(["e2"], answer_id="A-2", generation=1))
    with pytest.raises(InputError, match="no generation 99"):
        record(store, answer(["e1"], answer_id="A-3", generation=99))


def test_only_the_cited_passages_are_kept(store: Store) -> None:
    record(store, answer({"path": [{"edge_id": "e1", "evidence": [{"doc": "d3@1", "chunk": "c"}]}]}))
    step = show_answer(store.database, LOW, "A-1")["claims"][0]["path"][0]
    assert [one["doc"] for one in step["then"]["evidence"]] == ["d3@1"]
    assert [one["doc"] for one in step["now"]["evidence"]] == ["d1@1", "d3@1"]


def test_a_cited_passage_is_told_apart_when_it_was_retired_and_when_it_came_back(store: Store, cypher: Cypher) -> None:
    def then() -> list[tuple[str, bool, int | None]]:
        step = show_answer(store.database, LOW, "A-1")["claims"][0]["path"][0]
        return [(one["doc"], one["active"], one["retired_by"]) for one in step["then"]["evidence"]]

    evidence = "MATCH (:Assertion {edge_id: 'e1'})-[e:EVIDENCED_BY]->(c:Chunk {doc: 'd1@1'}) "
    record(store, answer(["e1"]))
    assert then() == [("d1@1", True, None), ("d3@1", True, None)]
    cypher(evidence + "SET e.until = 2")
    assert then() == [("d1@1", False, 2), ("d3@1", True, None)]
    cypher(evidence + "MATCH (a:Assertion {edge_id: 'e1'}) CREATE (a)-[:EVIDENCED_BY {polarity: 'supports', since: 2}]->(c)")
    assert then() == [("d1@1", True, 2), ("d3@1", True, None)]
    cypher(evidence + "WHERE e.since = 1 DELETE e")
    assert then() == [("d1@1", True, None), ("d3@1", True, None)]


def test_a_hidden_edge_is_answered_like_one_that_is_gone_and_an_auditor_hears_why(store: Store, cypher: Cypher) -> None:
    record(store, answer(["e1", "e2"]), answer(["e2"], answer_id="A-2"))
    retract(cypher, "e1")
    gone = show_answer(store.database, LOW, "A-1")
    store.load(document("d2", policy="secret"))
    hidden = show_answer(store.database, LOW, "A-2")
    assert gone["claims"][0]["state"] == hidden["claims"][0]["state"] == "unsupported"
    assert gone["claims"][0]["text"] is hidden["claims"][0]["text"] is None
    assert gone["claims"][0]["path"][0] == hidden["claims"][0]["path"][0] == {
        "state": "gone", "edge_id": None, "then": None, "now": None}
    audited = show_answer(store.database, AUDITOR, "A-1")["claims"][0]
    assert [(step["edge_id"], step["why"], step["policies"]) for step in audited["path"]] == [
        ("e1", "retracted", []), ("e2", "access", ["secret"])]
    assert audited["text"] is None
    assert show_answer(store.database, HIGH, "A-2")["claims"][0]["state"] == "supported"
    for answer_id in ("A-1", "A-9"):
        with pytest.raises(NotFoundError):
            show_answer(store.database, reader("OTHER", "secret"), answer_id)


def test_what_an_edge_was_then_is_for_who_could_see_it_then(store: Store, cypher: Cypher) -> None:
    record(store, answer(["s"]), who=HIGH)
    assert show_answer(store.database, LOW, "A-1")["claims"][0]["path"][0]["state"] == "gone"
    cypher("MATCH (a:Assertion {edge_id: 's'})-[e:EVIDENCED_BY]->(c:Chunk)<--(:Revision)<--(d:Document) SET d.policies = ['internal'] "
           "SET a.policies = ['internal'] WITH a MATCH (:Entity)-[r {edge_id: 's'}]->(:Entity) SET r.policies = ['internal']")
    claim = show_answer(store.database, LOW, "A-1")["claims"][0]
    assert (claim["state"], claim["text"], claim["path"][0]["then"]) == ("supported", None, None)
    assert claim["path"][0]["now"]["evidence"]
    assert show_answer(store.database, HIGH, "A-1")["claims"][0]["path"][0]["then"]["evidence"]


def test_the_stored_query_refuses_by_itself(store: Store) -> None:
    def found(*allowed: str, granted: tuple[str, ...] = ()) -> set[str]:
        rows = store.database.read("answer.edges", tenant=TENANT, allowed=list(allowed), granted=list(granted), edge_ids=["e1", "s", "l"])
        return {row["assertion"]["edge_id"] for row in rows}

    store.load(document("l"), revision("l@1", acl_ref=ACL, policy="public"), link("l", "A", "C", "l@1#c"))
    assert found("public", "internal") == {"e1"}
    assert found("public", "internal", granted=(KEY,)) == {"e1", "l"}
    assert found("public", "internal", "confidential", "secret") == {"e1", "s"}


def test_an_answer_that_is_too_much_to_keep_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphrag_provenance.store.answers._MOST_CONTENT", 100)
    with pytest.raises(InputError, match="too much to keep"):
        record(store, answer(["e1"]))


def test_impact_names_each_kind_of_change_and_only_the_claims_it_concerns(store: Store) -> None:
    record(store, answer(["e1"], ["e2"]), answer(["s"], answer_id="A-2"), who=HIGH)
    assert impacted(store) == {}
    store.load(revision("d2@2", supersedes="d2@1", effective_at="2026-02-01T00:00:00Z"))
    assert impacted(store) == {"A-1.2": ["stale"]}
    store.load(link("e1", "A", "B", cites("d3@1#c", polarity="refutes")))
    assert impacted(store) == {"A-1.1": ["disputed"], "A-1.2": ["stale"]}
    assert impacted(store, since=3) == {} | {"A-1.1": ["disputed"]}
    assert impacted(store, since=4) == {}
    store.load(document("s", policy="no-such"))
    store.load(document("d3", policy="confidential"))
    assert impacted(store) == {"A-1.1": ["restricted", "disputed"], "A-1.2": ["stale"], "A-2.1": ["withheld"]}
    (one,) = [c for c in answer_impact(store.database, OPERATOR)["claims"] if c["answer_id"] == "A-2"]
    assert one["edges"][0]["reasons"] == ["unknown-policy: no-such"]
    assert "via" not in json.dumps(answer_impact(store.database, OPERATOR)), "the words of a claim are for who may see its path"


def test_evidence_that_is_only_added_changes_nothing_for_the_worse(store: Store) -> None:
    record(store, answer(["e2"]))
    store.load(*registered("d4@1#c", "public"), link("e2", "B", "C", "d4@1#c"))
    assert impacted(store) == {}
    step = show_answer(store.database, LOW, "A-1")["claims"][0]["path"][0]
    assert (step["unchanged"], len(step["then"]["evidence"]), len(step["now"]["evidence"])) == (False, 1, 2)


ORDER = POLICIES
THEN = {"policies": ["internal"], "acl": [KEY], "current": True, "disputed": False,
        "evidence": [{"doc": "d@1", "chunk": "c", "span": None, "quote_hash": None, "polarity": "supports", "since": 1}]}
STILL = THEN["evidence"][0]
NOW = {"state": "published", "policies": ["internal"], "acl": [KEY], "current": True, "disputed": False}


@pytest.mark.parametrize(("now", "active", "kinds"), [
    (NOW, [STILL], []),
    (None, [], ["lost-support"]),
    (NOW | {"state": "retracted"}, [], ["lost-support"]),
    (NOW | {"state": "withheld"}, [STILL], ["withheld"]),
    (NOW | {"policies": ["public"], "acl": []}, [STILL], []),
    (NOW | {"policies": ["confidential"]}, [STILL], ["restricted"]),
    (NOW | {"policies": ["hr", "legal"]}, [STILL], ["restricted"]),
    (NOW | {"acl": [KEY, "other"]}, [STILL], ["restricted"]),
    (NOW | {"current": False, "disputed": True}, [STILL], ["stale", "disputed"]),
    (NOW, [STILL | {"since": 2}], []),
    (NOW, [STILL | {"chunk": "other"}], ["evidence-retired"]),
    (NOW, [STILL | {"polarity": "refutes"}], ["evidence-retired"]),
])  # fmt: skip
def test_the_kinds_of_change(now: Any, active: Any, kinds: list[str]) -> None:
    assert impacts(ORDER, THEN, now, active) == [Impact(kind) for kind in kinds]
    known = impacts(lattice({"internal": []}), THEN | {"policies": ["dropped"]}, now, active)
    assert (Impact.RESTRICTED in known) == (now is not None and now["state"] == "published"), "an unknown clearance covers nothing"


def test_impact_is_for_auditors_and_operators_of_the_tenant(store: Store) -> None:
    with pytest.raises(AccessDeniedError):
        answer_impact(store.database, HIGH)
    with pytest.raises(AccessDeniedError):
        answers_on(store.database, HIGH, ["e1"])
    record(store, answer(["e1", "e2"]), answer(["e2"], answer_id="A-2"))
    assert answers_on(store.database, AUDITOR, ["e1", "s"]) == [{"answer_id": "A-1", "edge_ids": ["e1"]}]
    assert [one["answer_id"] for one in answers_on(store.database, OPERATOR, ["e2"])] == ["A-1", "A-2"]
    assert answer_impact(store.database, reader("OTHER", operator=True))["claims_checked"] == 0


def test_answers_survive_another_order_of_policies(store: Store) -> None:
    record(store, answer(["e1"]))
    stricter = lattice({name: list(below) for name, below in POLICIES.parents.items() if name != "internal"} | {
        "internal": ["public"], "top": ["secret"]})
    apply_policies(store.database, stricter, PolicyOptions())
    assert impacted(store) == {}


@pytest.mark.parametrize("damage", [
    "MATCH (n:RecordedAnswer {answer_id: 'A-1'}) SET n.content = replace(n.content, 'd1@1', 'd9@1')",
    "MATCH (n:RecordedAnswer {answer_id: 'A-1'}) SET n.principal = 'mallory'",
    "MATCH (n:RecordedAnswer {answer_id: 'A-1'}) DETACH DELETE n",
    "MATCH (:RecordedAnswer {answer_id: 'A-1'})-->(s:RecordedStep) DETACH DELETE s",
    "MATCH (s:RecordedStep {answer_id: 'A-1'}) SET s.edge_id = 's'",
    "MATCH (n:RecordedAnswer {answer_id: 'A-1'}) SET n.since = 1",
    "MATCH (n:RecordedAnswer {answer_id: 'A-1'}) SET n.content_digest = 'sha256:00'",
    "MATCH (n:RecordedAnswer {answer_id: 'A-1'}) REMOVE n.at",
    "MATCH (n:RecordedAnswer {answer_id: 'A-1'}), (a:Assertion {edge_id: 'e1'}) CREATE (n)-[:RESTS_ON]->(a)",
])
def test_verify_finds_what_was_done_to_a_recorded_answer(store: Store, cypher: Cypher, damage: str) -> None:
    record(store, answer(["e1", "e2"]), answer(["e2"], answer_id="A-2"))
    assert verify(store.database).ok
    cypher(damage)
    violations = verify(store.database).violations
    assert violations
    assert {v.invariant for v in violations} <= {"recorded", "malformed", "stray"}


def test_a_claim_file_that_contradicts_itself_is_refused() -> None:
    for body in ({"claims": []}, {"claims": [{"path": []}]}, {"trace_id": "x"}, {"generation": 0},
                 {"claims": [{"claim_id": "a", "path": ["e"]}, {"claim_id": "a", "path": ["e"]}]},
                 {"claims": [{"claim_id": "2", "path": ["e"]}, {"path": ["e"]}]}):
        with pytest.raises(ValueError, match=r"claim|path|trace_id|generation"):
            answer(["e"], **body)


def retract(cypher: Cypher, edge_id: str) -> None:
    """As if all its evidence were retired."""
    cypher("MATCH (a:Assertion {edge_id: $id})-[e:EVIDENCED_BY]->() SET e.until = 2, a.state = 'retracted' REMOVE a.digest", id=edge_id)
    cypher("MATCH (a:Assertion {edge_id: $id}) SET a.policies = [], a.acl = []", id=edge_id)
    cypher("MATCH (:Entity)-[r {edge_id: $id}]->(:Entity) DELETE r", id=edge_id)




def test_the_difference_of_two_revisions_names_the_answers_it_touches(store: Store) -> None:
    record(store, answer(["e1", "e2"]), answer(["e2"], answer_id="A-2"))
    store.load(revision("d1@2", effective_at="2026-02-01T00:00:00Z", supersedes="d1@1", complete=True))
    found = doc_diff(store.database, AUDITOR, "d1@1", "d1@2")
    assert [edge["edge_id"] for edge in found["lost"]] == ["e1"]
    assert found["answers"] == [{"answer_id": "A-1", "edge_ids": ["e1"]}]
    assert "answers" not in doc_diff(store.database, LOW, "d1@1", "d1@2")
