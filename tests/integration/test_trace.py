"""A trace answers with a proved chain or says why not, and a reader never learns of what it may not see."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_provenance.access.interface import Decision, Grants
from graphrag_provenance.errors import AccessDeniedError, ConfigurationError, StoreTimeoutError
from graphrag_provenance.model.instants import parse_instant
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.queries.bounds import bounded
from graphrag_provenance.rules.answers import Audience, Trace
from graphrag_provenance.rules.chains import Conditions, Question, conditions
from graphrag_provenance.rules.claims import GoldenQuestion, parse_golden
from graphrag_provenance.rules.golden import differences
from graphrag_provenance.store import readers
from graphrag_provenance.store.asking import ask_claims
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.readers import Views
from graphrag_provenance.store.together import answer_together
from graphrag_provenance.store.traces import TraceSearch, trace, traces
from tests.corpus.worlds import SAMPLE, Load, edge, loader, reader, thing

Cypher = Callable[..., list[dict[str, Any]]]
GOLDEN = parse_golden(SAMPLE.joinpath("golden.toml").read_text(encoding="utf-8"), "golden.toml")
ACL = {"system": "wiki", "space": "s", "restriction_id": "r"}
ACL_KEY = '["wiki","s","r",null]'
INTERNAL = ("internal",)


@pytest.fixture(scope="module")
def wiped(wipe: Callable[[], None], database: Database) -> Database:
    """The store with the sample's order of policies, which the first load of this module makes the store's own."""
    wipe()
    return database


@pytest.fixture(scope="module")
def load(wiped: Database, tmp_path_factory: pytest.TempPathFactory) -> Load:
    return loader(wiped, tmp_path_factory.mktemp("worlds"))


@pytest.fixture(scope="module")
def sample(wiped: Database, load: Load) -> Database:
    load("unused", *(
        [json.loads(line) for line in SAMPLE.joinpath(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("documents", "entities", "edges")))
    return wiped


def ask(database: Database, tenant: str, source: str, target: str, *clearances: str, granted: frozenset[str] = frozenset(),
        auditor: bool = False, **more: Any) -> dict[str, Any]:
    """The answer about two Things, as JSON, with a fixed trace id so that answers compare."""
    question = Question(("Thing", source), ("Thing", target), **more)
    audience = "auditor" if auditor else "reader"
    return trace(database, question, reader(tenant, *(clearances or INTERNAL), auditor=auditor), granted=granted,
                 trace_id="0" * 32, audience=audience).as_json(audience)


def edges(answer: dict[str, Any]) -> list[str]:
    return [step["edge_id"] for path in answer["paths"] for step in path["steps"]]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.id)
def test_the_sample_answers_as_its_golden_questions_say(sample: Database, golden: GoldenQuestion) -> None:
    audience: Audience = "auditor" if "auditor" in (golden.roles or ()) else "reader"
    found = trace(sample, golden.question(), golden.reader(None, "alice"), audience=audience)
    assert differences(golden, found) == (), golden.why
    assert bool(found.chains) is bool(found.as_json()["citations"]) is (golden.expect_state == "supported")


@pytest.mark.parametrize("golden", [g for g in GOLDEN if not g.relations and g.expect_edges], ids=lambda g: g.id)
def test_an_open_question_and_its_exact_sequence_find_the_same_chain(sample: Database, golden: GoldenQuestion) -> None:
    wide, who = replace(golden.question(), max_hops=4), golden.reader(None, "alice")
    path = trace(sample, wide, who).as_json()["paths"][0]
    exact = replace(wide, sequence=tuple(step["relation"] for step in path["steps"]))
    assert trace(sample, exact, who).as_json()["paths"] == [path]


def test_a_step_carries_its_whole_evidence(sample: Database) -> None:
    question = Question(("System", "SYS_A"), ("System", "SYS_B"), at=datetime(2026, 2, 1, tzinfo=UTC))
    answer = trace(sample, question, reader("ACME", "internal")).as_json()
    (step,) = answer["paths"][0]["steps"]
    assert step["scope"] == {
        "environment": "production", "region": "eu-west", "valid_from": "2026-01-01T00:00:00Z", "valid_to": None}
    assert step["extracted_by"] == [{"pipeline": "graph/etl", "version": "2026.01"}]
    assert (step["confidence"], step["current"], step["forward"]) == (0.87, True, True)
    policy, runbook = step["evidence"]
    assert policy | {"run": None, "section_path": None} == {
        "doc": "POL-17@1.4", "doc_title": "Service dependencies and key custody", "chunk": "c-0291", "section_path": None,
        "span": [120, 214], "quote_hash": policy["quote_hash"], "polarity": "supports",
        "url": "https://policies.acme.example/POL-17/1.4", "head_revision": "POL-17@1.4", "is_stale": False, "run": None}
    assert runbook["doc"] == "RUNBOOK@2.1"
    assert policy["run"]["seq"] <= answer["generation"]
    assert policy["run"]["at"].endswith("Z")
    assert [c["n"] for c in answer["citations"]] == [1, 2]
    assert len(answer["trace_id"]) == 32


def test_evidence_in_a_replaced_revision_is_shown_as_stale(sample: Database) -> None:
    question = Question(("System", "payment-router"), ("System", "ledger"), environment="production")
    (step,) = trace(sample, question, reader("ACME", "internal")).as_json()["paths"][0]["steps"]
    assert [(e["doc"], e["is_stale"], e["head_revision"]) for e in step["evidence"]] == [
        ("conf:118020@v5", False, "conf:118020@v5"), ("conf:118020@v4", True, "conf:118020@v5")]


def test_no_policy_name_stands_in_what_a_reader_gets(sample: Database) -> None:
    for found in ask_claims(sample, GOLDEN, None, principal="alice", audience="reader"):
        answer = found.as_json()
        assert not {"policies", "rejected_chains"} & set(answer)
        assert all(not {"policies", "acl"} & set(step) for path in answer["paths"] for step in path["steps"])


# What is hidden is as if it were not there.

HIDDEN = [
    ("a hidden only hop", edge("a", "b", policy="hr")),
    ("a hidden detour", [*edge("a", "m", policy="restricted"), *edge("m", "b", policy="restricted")]),
    ("a hidden stale hop", edge("a", "b", policy="hr", stale=True)),
    ("a hidden disputed hop", edge("a", "b", policy="hr", refuted=True)),
    ("a hidden hop elsewhere", edge("a", "b", policy="hr", environment="staging")),
    ("a hop behind a live reference", edge("a", "b", acl=ACL)),
    ("a withheld hop", edge("a", "b", policy="pubilc")),
    ("a hop without any policy", edge("a", "b", policy=None)),
    ("a hidden declared alias", [*edge("z", "b", policy="hr"), *thing("z", ("a", "declared"))]),
]


@pytest.mark.parametrize("known", [False, True], ids=["unknown ends", "known ends"])
@pytest.mark.parametrize(("what", "hidden"), HIDDEN, ids=lambda v: v if isinstance(v, str) else "")
def test_a_hidden_thing_and_an_absent_one_give_the_same_answer(
    wiped: Database, load: Load, tenant: str, what: str, hidden: list[dict[str, Any]], known: bool) -> None:
    seen = [*edge("a", "x"), *edge("y", "b")] if known else edge("x", "y")
    load(tenant, seen, hidden)
    load(tenant + "-without", seen)
    full, without = (ask(wiped, name, "a", "b", environment="production") for name in (tenant, tenant + "-without"))
    assert full | {"generation": 0} == without | {"generation": 0}
    assert full["reason"] == ("no-path" if known else "unknown-entity")


def test_a_path_never_leads_through_a_hidden_hop_and_the_way_round_is_found(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "h", policy="restricted"), edge("h", "b"), edge("a", "c"), edge("c", "d"), edge("d", "b"))
    assert edges(ask(wiped, tenant, "a", "b")) == ["a->c", "c->d", "d->b"]
    assert edges(ask(wiped, tenant, "a", "b", "restricted")) == ["a->h", "h->b"]


def test_a_live_reference_opens_only_while_it_is_granted(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b", acl=ACL), edge("a", "x"), edge("y", "b"))
    assert ask(wiped, tenant, "a", "b", granted=frozenset({ACL_KEY}))["state"] == "supported"
    assert ask(wiped, tenant, "a", "b", granted=frozenset({"other"}))["reason"] == "no-path"


def test_nobody_is_cleared_by_default(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b", policy="public"))
    question = Question(("Thing", "a"), ("Thing", "b"))
    assert trace(wiped, question, reader(tenant)).as_json()["reason"] == "unknown-entity"
    with pytest.raises(ConfigurationError, match="confidential, hr, internal, legal, public, restricted"):
        trace(wiped, question, reader(tenant, "topsecret"))
    with pytest.raises(AccessDeniedError):
        trace(wiped, question, None)  # type: ignore[arg-type]


def test_a_changed_order_of_policies_counts_at_once(wiped: Database, load: Load, cypher: Cypher, tenant: str) -> None:
    load(tenant, edge("a", "b"), edge("a", "x", policy="public"), edge("x", "b", policy="public"))
    assert edges(ask(wiped, tenant, "a", "b", "hr")) == ["a->b"]
    (old,) = cypher("MATCH (s:Store) RETURN s.policies AS policies, s.policies_hash AS hash")
    order = json.loads(old["policies"]) | {"hr": ["public"]}
    try:
        cypher("MATCH (s:Store) SET s.policies = $order, s.policies_hash = 'other'", order=json.dumps(order))
        assert edges(ask(wiped, tenant, "a", "b", "hr")) == ["a->x", "x->b"]
    finally:
        cypher("MATCH (s:Store) SET s.policies = $policies, s.policies_hash = $hash", **old)
    assert edges(ask(wiped, tenant, "a", "b", "hr")) == ["a->b"]


def test_a_relationship_that_contradicts_its_evidence_is_not_believed(
    wiped: Database, load: Load, cypher: Cypher, tenant: str) -> None:
    load(tenant, edge("a", "b", policy="restricted"), edge("a", "x"), edge("y", "b"))
    cypher("MATCH ({tenant: $t, id: 'a'})-[r]->({id: 'b'}) SET r.policies = ['public']", t=tenant)
    assert ask(wiped, tenant, "a", "b")["reason"] == "no-path"


@pytest.mark.parametrize("damage", [
    "SET r.policies = []", "REMOVE r.policies", "REMOVE r.acl", "REMOVE r.tenant", "SET r.tenant = 'other'", "REMOVE r.disputed",
    "REMOVE r.current", "SET r.edge_id = 'nowhere'"])
def test_a_damaged_relationship_is_closed(wiped: Database, load: Load, cypher: Cypher, tenant: str, damage: str) -> None:
    load(tenant, edge("a", "b"), edge("a", "x"), edge("y", "b"))
    assert ask(wiped, tenant, "a", "b")["state"] == "supported"
    cypher("MATCH ({tenant: $t, id: 'a'})-[r]->({id: 'b'}) " + damage, t=tenant)
    assert ask(wiped, tenant, "a", "b")["state"] == "unresolved"


def test_a_relationship_between_tenants_is_not_walked(wiped: Database, load: Load, cypher: Cypher, tenant: str) -> None:
    load(tenant, edge("a", "x"), edge("y", "b"))
    load(tenant + "-other", edge("x", "y"))
    cypher("MATCH (x {tenant: $t, id: 'x'}), (y {tenant: $t, id: 'y'}), ({tenant: $o, id: 'x'})-[r]->({tenant: $o, id: 'y'}) "
           "CREATE (x)-[n:CALLS]->(y) SET n = properties(r)", t=tenant, o=tenant + "-other")
    assert ask(wiped, tenant, "a", "b")["reason"] == "no-path"


# The stored queries alone, without the second check behind them.

AT = datetime(2026, 3, 1, tzinfo=UTC)
ASKED = Conditions("production", "eu", AT, require_current=True, not_environments=("tried",), not_regions=("tried",))
SOUND = {"environment": "production", "region": "eu", "valid_from": "2026-03-01T00:00:00Z", "valid_to": "2026-03-01T00:00:01Z"}
UNSOUND: dict[str, tuple[dict[str, Any], str]] = {
    "policy": ({"policy": "hr"}, ""),
    "no policy": ({}, "SET r.policies = []"),
    "unknown policy": ({}, "SET r.policies = ['internal', 'pubilc']"),
    "lost policies": ({}, "REMOVE r.policies"),
    "reference": ({"acl": ACL}, ""),
    "lost references": ({}, "REMOVE r.acl"),
    "tenant": ({}, "SET r.tenant = 'other'"),
    "environment": ({"environment": "staging"}, ""),
    "region": ({"region": "us"}, ""),
    "not yet": ({"valid_from": "2026-03-01T00:00:00.000001Z"}, ""),
    "no longer": ({"valid_from": "2026-01-01T00:00:00Z", "valid_to": "2026-03-01T00:00:00Z"}, ""),
    "stale": ({"stale": True}, ""),
    "disputed": ({"refuted": True}, ""),
    "relation": ({"relation": "owns"}, ""),
}
FORMS: dict[str, dict[str, Any]] = {
    "directed": {"relations": ("calls",)},
    "undirected": {"relations": ("calls",), "directed": False},
    "sequence": {"sequence": ("calls",)},
    "sequence undirected": {"sequence": ("calls",), "directed": False},
}


@pytest.fixture(scope="module")
def pairs(wiped: Database, load: Load, cypher: Cypher) -> str:
    """A pair of Things for each unsound edge, and one pair with a sound one."""
    tenant = "T-pairs"
    load(tenant, edge("sound", "sound'", **SOUND),
         edge("tried", "tried'", environment="tried"), edge("place", "place'", region="tried"),
         *(edge(name, name + "'", **SOUND | fault) for name, (fault, _) in UNSOUND.items()))
    for name, (_, damage) in UNSOUND.items():
        if damage:
            cypher(f"MATCH ({{tenant: $t, id: $id}})-[r]->() {damage}", t=tenant, id=name)
    return tenant


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["sound", *UNSOUND])
def test_each_stored_query_refuses_by_itself(wiped: Database, pairs: str, name: str, form: str) -> None:
    asked = replace(ASKED, not_environments=(), not_regions=())
    assert bool(raw(wiped, pairs, name, form, asked)) is (name == "sound")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["tried", "place"])
def test_each_stored_query_leaves_out_what_was_tried(wiped: Database, pairs: str, name: str, form: str) -> None:
    anywhere = replace(ASKED, environment=None, region=None)
    assert raw(wiped, pairs, name, form, anywhere) == []
    assert raw(wiped, pairs, name, form, replace(anywhere, not_environments=(), not_regions=())) != []


HIDDEN_ONLY = ("policy", "unknown policy", "reference", "lost references")


@pytest.mark.parametrize("form", FORMS)
def test_each_stored_query_for_auditors_passes_by_permission_alone(wiped: Database, pairs: str, form: str) -> None:
    def found(names: Iterable[str], asked: Conditions) -> set[str]:
        searches = [search(wiped, pairs, name, name + "'", form)._any([asked]) for name in names]
        return {name for name, chains in zip(names, answer_together(wiped, searches), strict=True) if chains != [None]}

    assert found(["sound", *UNSOUND], replace(ASKED, not_environments=(), not_regions=())) == {"sound", *HIDDEN_ONLY}
    anywhere = replace(ASKED, environment=None, region=None)
    assert found(["tried", "place"], anywhere) == set()
    assert found(["tried", "place"], replace(anywhere, not_environments=(), not_regions=())) == {"tried", "place"}


@pytest.mark.parametrize("form", FORMS)
def test_each_stored_query_sees_an_end_by_what_the_reader_may_see_of_it(wiped: Database, pairs: str, form: str) -> None:
    """An end at hidden edges only is not there; one hidden end does not hide the other."""
    hidden = (*HIDDEN_ONLY, "no policy", "lost policies", "tenant")
    ends = [pair for name in hidden for pair in ((name, "sound"), ("sound", name))]
    searches = [search(wiped, pairs, *pair, form)._ask([ASKED]) for pair in ends]
    seen = [(row["source_visible"], row["target_visible"]) for (row,) in answer_together(wiped, searches)]
    assert dict(zip(ends, seen, strict=True)) == {pair: (pair[0] == "sound", pair[1] == "sound") for pair in ends}


def raw(database: Database, tenant: str, name: str, form: str, asked: Conditions) -> Any:
    """What the stored query of a form finds between `name` and `name'`."""
    return answer_together(database, [search(database, tenant, name, name + "'", form)._ask([asked])])[0][0]["chains"]


def search(database: Database, tenant: str, source: str, target: str, form: str) -> TraceSearch:
    question = Question(("Thing", source), ("Thing", target), **FORMS[form])
    return TraceSearch(Views(database, reader(tenant, "internal"), frozenset()), question)


# Scope.

@pytest.mark.parametrize(("at", "state"), [
    ("2026-03-01T00:00:00Z", "supported"), ("2026-03-31T23:59:59.999999Z", "supported"),
    ("2026-04-01T00:00:00Z", "unresolved"), ("2026-02-28T23:59:59.999999Z", "unresolved"),
    ("2026-04-01T01:00:00+02:00", "supported")])
def test_validity_is_half_open(wiped: Database, load: Load, tenant: str, at: str, state: str) -> None:
    load(tenant, edge("a", "b", valid_from="2026-03-01T00:00:00Z", valid_to="2026-04-01T00:00:00Z"))
    assert ask(wiped, tenant, "a", "b", at=parse_instant(at))["state"] == state


def test_without_an_instant_the_question_is_about_now(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b", valid_to="2020-01-01T00:00:00Z"))
    assert ask(wiped, tenant, "a", "b")["reason"] == "time-scope"


@pytest.mark.parametrize(("scope", "reason"), [("environment", "environment-scope"), ("region", "region-scope")])
def test_hops_that_hold_in_different_places_are_no_chain(wiped: Database, load: Load, tenant: str, scope: str, reason: str) -> None:
    load(tenant, edge("a", "m", **{scope: "one"}), edge("m", "b", **{scope: "two"}))
    assert ask(wiped, tenant, "a", "b")["reason"] == reason
    load(tenant, edge("m", "n", **{scope: "one"}), edge("n", "b"))
    assert edges(ask(wiped, tenant, "a", "b")) == ["a->m", "m->n", "n->b"]


def test_a_coherent_chain_in_a_third_place_is_found(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "m", environment="p", region="e"), edge("m", "b", environment="s", region="e"), edge("a", "x"),
         edge("x", "y", environment="t", region="u"), edge("y", "b", environment="t", region="u"))
    assert edges(ask(wiped, tenant, "a", "b")) == ["a->x", "x->y", "y->b"]


def test_a_stale_or_disputed_hop_is_usable_only_when_asked_for(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b", stale=True), edge("c", "d", refuted=True))
    assert ask(wiped, tenant, "a", "b")["reason"] == "stale-revision"
    assert ask(wiped, tenant, "a", "b", require_current=False)["state"] == "supported"
    assert ask(wiped, tenant, "c", "d", require_current=False)["reason"] == "disputed"


def test_two_failing_conditions_give_the_first_of_them(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "m", stale=True), edge("m", "b", environment="staging"))
    assert ask(wiped, tenant, "a", "b", environment="production")["reason"] == "environment-scope"


# Shape of the question.

def test_direction_counts_unless_the_question_says_otherwise(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "m"), edge("b", "m"))
    assert ask(wiped, tenant, "a", "b")["reason"] == "no-path"
    for more in ({}, {"sequence": ("calls", "calls")}):
        answer = ask(wiped, tenant, "a", "b", directed=False, **more)
        assert [(s["edge_id"], s["forward"]) for s in answer["paths"][0]["steps"]] == [("a->m", True), ("b->m", False)]


def test_relations_limit_what_is_walked_and_a_sequence_fixes_it(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b", relation="owns", edge_id="short"), edge("a", "m"), edge("m", "b", relation="governedBy"))
    assert edges(ask(wiped, tenant, "a", "b")) == ["short"]
    assert edges(ask(wiped, tenant, "a", "b", relations=("calls", "governedBy"))) == ["a->m", "m->b"]
    assert edges(ask(wiped, tenant, "a", "b", sequence=("calls", "governedBy"))) == ["a->m", "m->b"]
    assert ask(wiped, tenant, "a", "b", sequence=("governedBy", "calls"))["reason"] == "no-path"


@pytest.mark.parametrize("length", [1, 2, 3, 8])
def test_chains_up_to_the_longest_are_found_and_no_longer_ones(wiped: Database, load: Load, tenant: str, length: int) -> None:
    load(tenant, *(edge(f"n{i}", f"n{i + 1}") for i in range(length)))
    for directed in (True, False):
        assert len(edges(ask(wiped, tenant, "n0", f"n{length}", max_hops=length, directed=directed))) == length
        assert len(edges(ask(wiped, tenant, "n0", f"n{length}", sequence=("calls",) * length, directed=directed))) == length
        if length > 1:
            assert ask(wiped, tenant, "n0", f"n{length}", max_hops=length - 1, directed=directed)["reason"] == "no-path"


def test_a_thing_is_not_proved_by_itself(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b"), edge("b", "a"))
    assert ask(wiped, tenant, "a", "a")["reason"] == "no-path"


# Names.

def test_names_reach_ids_over_declared_aliases_of_visible_things_only(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b"), edge("a2", "b"), edge("h", "k", policy="hr"), edge("g", "k", acl=ACL),
         thing("g", ("Guarded", "declared")), thing("a", ("Alpha", "declared"), ("Al", "guess"), ("Both", "declared")),
         thing("a2", ("Both", "exact")), thing("h", ("Alpha", "declared"), ("Hidden", "declared")))
    assert edges(ask(wiped, tenant, "Alpha", "b")) == ["a->b"]
    assert ask(wiped, tenant, "Al", "b")["reason"] == "alias-guessed"
    assert ask(wiped, tenant, "Both", "b")["reason"] == "entity-join"
    assert ask(wiped, tenant, "Hidden", "b")["reason"] == "unknown-entity"
    assert ask(wiped, tenant, "Guarded", "b")["reason"] == "unknown-entity"
    assert ask(wiped, tenant, "Guarded", "k", granted=frozenset({ACL_KEY}))["reason"] is None
    assert ask(wiped, tenant, "Al", "nothing")["reason"] == "unknown-entity"


# Auditors.

def test_only_an_auditor_hears_that_permission_is_missing(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b", policy="hr"), edge("a", "x"), edge("y", "b"))
    answer = ask(wiped, tenant, "a", "b", auditor=True)
    assert (answer["reason"], answer["paths"]) == ("access", [])
    (rejected,) = answer["rejected_chains"]
    assert rejected["failures"] == [{"hop": 1, "edge_id": "a->b", "constraint": "access"}]
    assert rejected["steps"][0]["evidence"] == []
    with pytest.raises(AccessDeniedError, match="auditor"):
        trace(wiped, Question(("Thing", "a"), ("Thing", "b")), reader(tenant, "internal"), audience="auditor")


def test_an_auditor_sees_where_each_candidate_fails(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "m"), edge("m", "b", stale=True))
    answer = ask(wiped, tenant, "a", "b", auditor=True)
    assert answer["reason"] == "stale-revision"
    assert [r["failures"] for r in answer["rejected_chains"]] == [[{"hop": 2, "edge_id": "m->b", "constraint": "stale-revision"}]]


# Hubs.

@pytest.fixture
def hasty(server: Any, wiped: Database) -> Iterator[Database]:
    with Database(server.connection, read_timeout=0.001) as database:
        yield database


def test_a_search_out_of_time_says_truncated(hasty: Database, wiped: Database, cypher: Cypher, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "hub"), edge("y", "b"))
    cypher("MATCH (h {tenant: $t, id: 'hub'}), ({tenant: $t, id: 'a'})-[r]->(h) UNWIND range(1, 20000) AS i "
           "CREATE (h)-[n:CALLS]->(:Entity:Thing {tenant: $t, type: 'Thing', id: 'n' + i}) SET n = properties(r)", t=tenant)
    trace(wiped, Question(("Thing", "a"), ("Thing", "b")), reader(tenant, "internal"))
    readers._known[hasty] = readers._known[wiped]  # it must not run out of time before the search
    answer = ask(hasty, tenant, "a", "b", directed=False)
    assert (answer["state"], answer["reason"], answer["truncated"]) == ("unresolved", "no-path", True)


def test_the_filter_stands_inside_the_expansion(wiped: Database, cypher: Cypher, load: Load, tenant: str) -> None:
    """Behind the hidden hop lie thousands of edges on both sides: a reader who may not see it must not walk them."""
    load(tenant, edge("a", "hub", policy="hr"), edge("a", "x"), edge("y", "b"))
    cypher("MATCH (h {tenant: $t, id: 'hub'}), (b {tenant: $t, id: 'b'}), ({tenant: $t, id: 'a'})-[r]->({id: 'x'}) "
           "UNWIND range(1, 5000) AS i "
           "CREATE (h)-[n:CALLS]->(:Entity:Thing {tenant: $t, type: 'Thing', id: 'n' + i}) SET n = properties(r) "
           "CREATE (b)<-[m:CALLS]-(:Entity:Thing {tenant: $t, type: 'Thing', id: 'm' + i}) SET m = properties(r)", t=tenant)
    question = Question(("Thing", "a"), ("Thing", "b"))

    def hits(*clearances: str) -> int:
        search = TraceSearch(Views(wiped, reader(tenant, *clearances), frozenset()), question)
        with wiped._link._driver.session() as session:
            text: Any = "PROFILE " + bounded("path.directed", 4).text
            asked = {"number": 0, **search._parameters(conditions(question, datetime.now(UTC)))}
            plan = session.run(text, questions=[asked]).consume().profile
        assert plan is not None
        return sum(_hits(plan))

    assert hits("internal") * 10 < hits("hr")


def _hits(plan: dict[str, Any]) -> Iterator[int]:
    if "ShortestPath" in plan["operatorType"]:
        yield plan["args"]["DbHits"]
    for child in plan.get("children", ()):
        yield from _hits(child)


# Many questions at once.

def alone(database: Database, questions: list[Question], who: Reader, **more: Any) -> list[Trace]:
    return [replace(trace(database, question, who, **more), trace_id="") for question in questions]


def together(database: Database, questions: list[Question], who: Reader, **more: Any) -> list[Trace]:
    return [replace(found, trace_id="") for found in traces(database, questions, who, **more)]


NAMES = [("System", name) for name in (
    "checkout-api", "payment-router", "ledger", "Checkout", "pay-rtr", "status-page", "audit-log", "fraud-scorer", "fx-rates",
    "rate-cache", "settlement-batch", "SYS_A", "SYS_B", "nothing")]
NAMES += [("Policy", name) for name in ("POL-31", "POL-40", "POL-33", "POL-12", "POL-08")] + [("Nothing", "x")]
ASKABLE = st.builds(
    Question, st.sampled_from(NAMES), st.sampled_from(NAMES), directed=st.booleans(), max_hops=st.integers(3, 4),
    environment=st.sampled_from(["production", "staging", None]), region=st.sampled_from(["eu-west", "us-east", None]),
    at=st.sampled_from([parse_instant("2026-02-01T00:00:00Z"), parse_instant("2026-04-01T00:00:00Z")]),
    require_current=st.booleans()) | st.builds(
    Question, st.sampled_from(NAMES), st.sampled_from(NAMES), directed=st.booleans(),
    at=st.just(parse_instant("2026-04-01T00:00:00Z")),
    sequence=st.lists(st.sampled_from(["depends_on", "governed_by"]), min_size=2, max_size=2).map(tuple))


@pytest.mark.parametrize("audience", ["reader", "auditor"])
@hypothesis.settings(max_examples=6)
@given(questions=st.lists(ASKABLE, max_size=12), clearance=st.sampled_from(["public", "internal", "restricted"]))
def test_many_questions_together_are_answered_as_each_alone(
    sample: Database, audience: Any, questions: list[Question], clearance: str) -> None:
    who = reader("ACME", clearance, auditor=audience == "auditor")
    assert together(sample, questions, who, audience=audience) == alone(sample, questions, who, audience=audience)


def test_each_kind_of_statement_goes_once(sample: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    read = Database.read
    monkeypatch.setattr(Database, "read", lambda self, name, **more: sent.append(getattr(name, "name", name)) or read(self, name, **more))
    who = reader("ACME", "internal")
    supported = [g.question() for g in GOLDEN if g.expect_state == "supported" and g.reader(None, "alice") == who
                 and not {g.from_, g.to} & {"System:Checkout", "System:the ledger"} and not g.relations and g.max_hops is None]
    assert len(supported) > 10
    assert all(found.chains for found in traces(sample, supported, who))
    assert sent == ["path.directed"]
    sent.clear()
    traces(sample, [g.question() for g in GOLDEN if g.tenant == "ACME"], who)
    assert len(sent) < 30
    assert sent.count("path.aliases") == 1


def test_one_question_out_of_time_leaves_the_others_as_they_are(
    wiped: Database, load: Load, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tenant, edge("a", "b"), edge("y", "x"))
    read = Database.read

    def slow(self: Database, name: Any, **more: Any) -> Any:
        if any(q.get("source_id") == "y" for q in more.get("questions", ())):
            raise StoreTimeoutError("late")
        return read(self, name, **more)

    monkeypatch.setattr(Database, "read", slow)
    questions = [Question(("Thing", one), ("Thing", other)) for one, other in ("ab", "yx", "ax", "ya")]
    found = traces(wiped, questions, reader(tenant, "internal"))
    assert [(one.state, one.reason, one.truncated) for one in found] == [
        ("supported", None, False), ("unresolved", "no-path", True), ("unresolved", "no-path", False), ("unresolved", "no-path", True)]


def test_what_a_live_source_takes_back_no_answer_of_many_rests_on(wiped: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b", acl=ACL), edge("a", "x"), edge("y", "b"))

    class Fickle:
        name = "fickle"

        def granted(self, reader: Reader) -> Grants:
            return Grants("fickle", frozenset({ACL_KEY}))

        def check(self, reader: Reader, refs: Any) -> Decision:
            return Decision("fickle", denied=dict.fromkeys(refs, "not-a-reader"))

    questions = [Question(("Thing", one), ("Thing", other)) for one, other in ("ab", "ax", "xa")]
    found = traces(wiped, questions, reader(tenant, "internal"), access=Fickle())
    assert [one.reason for one in found] == ["no-path", None, "no-path"]
    assert traces(wiped, [], reader(tenant, "internal")) == []
