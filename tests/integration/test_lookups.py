"""Look-ups show what a reader may see, and answer for a hidden thing as for an absent one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_provenance.errors import AccessDeniedError, ConfigurationError, InputError, NotFoundError
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.lookups import (
    edge_history,
    edge_list,
    edge_show,
    entity_find,
    entity_show,
    run_list,
    run_show,
)
from tests.corpus.worlds import Load, edge, loader, reader, thing

Cypher = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def store(wipe: Callable[[], None], database: Database) -> Database:
    wipe()
    return database


@pytest.fixture(scope="module")
def load(store: Database, tmp_path_factory: pytest.TempPathFactory) -> Load:
    return loader(store, tmp_path_factory.mktemp("worlds"))


@pytest.fixture(scope="module")
def world(store: Database, load: Load, cypher: Cypher) -> str:
    """a calls b (internal); a calls h (hr); withheld w calls b; lonely l declares a policy, m does not."""
    tenant = "T-lookups"
    load(tenant, edge("a", "b", environment="production"), edge("a", "h", policy="hr"), edge("w", "b", policy="pubilc"),
         thing("a", ("Alpha One", "declared"), ("Guessed", "guess")), thing("h", ("Hotel", "declared")),
         thing("lonely", policy="internal"), thing("mute"))
    load(tenant + "-other", edge("a", "b", policy="public", edge_id="foreign"))
    cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    return tenant


def test_an_edge_shows_its_scope_and_evidence(store: Database, world: str) -> None:
    shown = edge_show(store, reader(world, "internal"), "a->b")
    assert (shown["schema"], shown["relation"], shown["state"], shown["scope"]["environment"]) == (1, "calls", "published", "production")
    (evidence,) = shown["evidence"]
    assert evidence["doc"].endswith("@1")
    assert not {"policies", "acl", "reasons"} & set(shown)
    assert "internal" not in json.dumps(shown)


@pytest.mark.parametrize("hidden", ["a->h", "w->b", "foreign"])
@pytest.mark.parametrize("look", [edge_show, edge_history])
def test_a_hidden_edge_is_not_found_in_the_words_of_an_absent_one(
    store: Database, world: str, look: Callable[..., Any], hidden: str) -> None:
    errors = []
    for edge_id in (hidden, "absent"):
        with pytest.raises(NotFoundError) as caught:
            look(store, reader(world, "internal"), edge_id)
        errors.append(str(caught.value).replace(edge_id, "X"))
    assert errors[0] == errors[1]


def test_what_is_lost_of_a_record_is_told_as_nothing(store: Database, load: Load, cypher: Cypher, tenant: str) -> None:
    load(tenant, edge("a", "b", relation="dependsOn"), edge("a", "w", policy="pubilc"), thing("w", policy="internal"))
    cypher("MATCH (x:Assertion {tenant: $t, edge_id: 'a->w'}) REMOVE x.reasons, x.policies, x.acl", t=tenant)
    cypher("MATCH (x:Assertion {tenant: $t, edge_id: 'a->b'}) DETACH DELETE x", t=tenant)
    cypher("MATCH (x:Entity {tenant: $t}) REMOVE x.names", t=tenant)
    withheld = edge_show(store, reader(tenant, "internal", auditor=True), "a->w")
    cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    assert [one["names"] for one in entity_find(store, reader(tenant, "internal"), "a")] == [[]]
    assert (withheld["reasons"], withheld["policies"], withheld["acl"]) == ([], [], [])
    shown = entity_show(store, reader(tenant, "internal"), ("Thing", "a"))
    assert (shown["names"], [one["relation"] for one in shown["edges"]]) == ([], ["dependson"])


def test_an_auditor_sees_why_an_edge_is_withheld_but_not_past_its_clearance(store: Database, world: str) -> None:
    who = reader(world, "internal", auditor=True)
    shown = edge_show(store, who, "w->b")
    assert (shown["state"], shown["reasons"]) == ("withheld", ["unknown-policy: pubilc"])
    with pytest.raises(NotFoundError):
        edge_show(store, who, "a->h")


def test_edges_are_listed_page_by_page_and_only_visible_ones(store: Database, world: str) -> None:
    def ids(*clearances: str, **more: Any) -> list[str]:
        return [e["edge_id"] for e in edge_list(store, reader(world, *clearances), **more)]

    assert ids("internal") == ["a->b"]
    assert ids("hr") == ["a->b", "a->h"]
    assert ids("hr", limit=1) == ["a->b"]
    assert ids("hr", limit=1, after="a->b") == ["a->h"]
    assert ids("public") == ids() == []
    with pytest.raises(InputError):
        ids("hr", limit=0)


def test_withheld_edges_are_for_auditors_and_operators(store: Database, world: str) -> None:
    for role in ({"auditor": True}, {"operator": True}):
        (one,) = edge_list(store, reader(world, **role), withheld=True)
        assert (one["edge_id"], one["reasons"]) == ("w->b", ["unknown-policy: pubilc"])
    with pytest.raises(AccessDeniedError):
        edge_list(store, reader(world, "restricted"), withheld=True)


def test_an_edge_without_its_relationship_is_not_shown(store: Database, load: Load, cypher: Cypher, tenant: str) -> None:
    load(tenant, edge("a", "b"))
    cypher("MATCH ({tenant: $t, id: 'a'})-[r]->({tenant: $t, id: 'b'}) DELETE r", t=tenant)
    assert edge_list(store, reader(tenant, "internal")) == []
    with pytest.raises(NotFoundError):
        edge_show(store, reader(tenant, "internal"), "a->b")


def test_history_keeps_retired_evidence_and_hides_what_is_stricter(
    store: Database, load: Load, cypher: Cypher, tenant: str) -> None:
    load(tenant, edge("a", "b"))
    load(tenant, edge("a", "b"))
    load(tenant, edge("a", "b", policy="hr"))
    last = run_list(store, limit=1)[0]["seq"]
    cypher("MATCH (:Assertion {tenant: $t})-[e:EVIDENCED_BY]->() WHERE e.policy = 'hr' SET e.until = $seq", t=tenant, seq=last)
    cypher("MATCH (x:Assertion {tenant: $t}) SET x.policies = ['internal'] "
           "WITH x MATCH ({tenant: $t})-[r {edge_id: x.edge_id}]->() SET r.policies = ['internal']", t=tenant)
    seen = edge_history(store, reader(tenant, "internal"), "a->b")["history"]
    assert [h["until"] for h in seen] == [None, None]
    assert seen[0]["since"] < seen[1]["since"]
    full = edge_history(store, reader(tenant, "hr"), "a->b")["history"]
    assert [h["until"] for h in full] == [None, None, last]
    assert full[2]["retired_by"]["seq"] == last
    assert len(edge_show(store, reader(tenant, "hr"), "a->b")["evidence"]) == 2
    run = run_show(store, last)
    who = {name: run[name] for name in ("kind", "actor", "run_id", "trace_id")}
    audited = edge_history(store, reader(tenant, "hr", auditor=True), "a->b")["history"]
    for told in (audited[2]["run"], audited[2]["retired_by"]):
        assert {**told, **who} == told
    assert not who.keys() & (full[2]["run"] | full[2]["retired_by"]).keys()


def test_history_is_in_the_order_of_the_runs_and_what_was_retired_comes_first(
    store: Database, load: Load, cypher: Cypher, tenant: str) -> None:
    cited = [{"doc": f"{doc}@1", "chunk": "c", "policy": "internal"} for doc in "abc"]
    load(tenant, [{**one, "evidence": cited} for one in edge("a", "b") if one["kind"] == "edge"])
    for doc, since, until in (("a", 3, None), ("b", 1, None), ("c", 1, 2)):
        cypher("MATCH (:Assertion {tenant: $t})-[e:EVIDENCED_BY]->({doc: $doc}) SET e.since = $since, e.until = $until",
               t=tenant, doc=f"{doc}@1", since=since, until=until)
    history = edge_history(store, reader(tenant, "internal"), "a->b")["history"]
    assert [(one["doc"], one["since"], one["until"]) for one in history] == [("c@1", 1, 2), ("b@1", 1, None), ("a@1", 3, None)]


def test_who_changed_an_edge_is_for_auditors(store: Database, world: str, cypher: Cypher) -> None:
    shown = edge_history(store, reader(world, "internal"), "a->b")
    assert "changed_by" not in shown
    assert [set(one["run"]) for one in shown["history"]] == [{"seq", "pipeline", "version", "at"}]
    heard = edge_history(store, reader(world, "internal", auditor=True), "a->b")
    assert set(heard["changed_by"]) == {"seq", "kind", "pipeline", "version", "actor", "at"}
    assert (heard["changed_by"]["kind"], heard["changed_by"]["seq"]) == ("ingest", heard["history"][0]["run"]["seq"])
    assert heard["history"][0]["run"]["actor"] == heard["changed_by"]["actor"]
    run = run_show(store, heard["changed_by"]["seq"])
    assert (run["schema"], heard["schema"], shown["schema"], heard["changed_by"]["at"]) == (1, 1, 1, run["finished_at"])
    cypher("MATCH (run:Run {seq: $seq}) SET run.kept = run.finished_at REMOVE run.finished_at", seq=run["seq"])
    try:  # a run that has not ended yet
        at = edge_history(store, reader(world, "internal", auditor=True), "a->b")["changed_by"]["at"]
    finally:
        cypher("MATCH (run:Run {seq: $seq}) SET run.finished_at = run.kept REMOVE run.kept", seq=run["seq"])
    assert at == run["started_at"]


def test_an_entity_is_told_whole_and_in_order(store: Database, load: Load, tenant: str, cypher: Cypher) -> None:
    load(tenant, edge("n", "b", relation="dependsOn"), edge("b", "n", edge_id="back"), edge("n", "c"), edge("n", "d", relation="owns"),
         edge("d", "n", relation="dependsOn"),
         thing("n", ("Zulu", "declared"), ("Alfa", "declared"), ("Mike", "declared"), ("Echo", "exact"), attributes={"a": 1}))
    cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    shown = entity_show(store, reader(tenant, "internal"), ("Thing", "n"))
    assert [one["alias"] for one in shown["aliases"]] == sorted(one["alias"] for one in shown["aliases"])
    assert (shown["schema"], shown["attributes"]) == (1, {"a": 1})
    assert [(one["relation"], one["outgoing"]) for one in shown["counts"]] == [
        ("calls", True), ("calls", False), ("dependsOn", True), ("dependsOn", False), ("owns", True)]
    assert [(one["relation"], one["edge_id"]) for one in shown["edges"]] == [
        ("calls", "back"), ("calls", "n->c"), ("dependsOn", "d->n"), ("dependsOn", "n->b"), ("owns", "n->d")]
    (found,) = entity_find(store, reader(tenant, "internal"), "Zulu")
    assert (found["names"], shown["names"]) == (shown["names"], shown["names"])
    assert shown["names"]


@pytest.mark.parametrize(("text", "found"), [
    ("a", ["a"]), ("Alpha One", ["a"]), ("lonely", ["lonely"]), ("lone", ["lonely"]), ("mute", []), ("h", []), ("Hotel", []),
    ('a" OR *:* ~', []), ("!!", []), ("absent", [])])
def test_finding_shows_visible_entities_only(store: Database, world: str, text: str, found: list[str]) -> None:
    assert [e["id"] for e in entity_find(store, reader(world, "internal"), text)] == found


def test_a_cleared_reader_finds_more(store: Database, world: str) -> None:
    assert [e["id"] for e in entity_find(store, reader(world, "hr"), "Hotel")] == ["h"]
    assert entity_find(store, reader(world), "lonely") == []
    with pytest.raises(InputError):
        entity_find(store, reader(world, "hr"), "  ")


def test_a_neighbourhood_counts_visible_edges_only(store: Database, world: str) -> None:
    seen = entity_show(store, reader(world, "internal"), ("Thing", "a"))
    assert seen["counts"] == [{"relation": "calls", "outgoing": True, "edges": 1}]
    assert [(e["edge_id"], e["other"]["id"]) for e in seen["edges"]] == [("a->b", "b")]
    assert entity_show(store, reader(world, "hr"), ("Thing", "a"))["counts"][0]["edges"] == 2
    assert [a["alias"] for a in seen["aliases"]] == ["Alpha One", "Guessed"]


def test_an_entity_is_found_by_a_declared_alias_and_never_by_a_guess(store: Database, world: str) -> None:
    assert entity_show(store, reader(world, "internal"), ("Thing", " Alpha  One"))["id"] == "a"
    with pytest.raises(NotFoundError):
        entity_show(store, reader(world, "internal"), ("Thing", "Guessed"))


@pytest.mark.parametrize("hidden", ["h", "w", "mute", "Hotel"])
def test_a_hidden_entity_is_not_found_in_the_words_of_an_absent_one(store: Database, world: str, hidden: str) -> None:
    errors = []
    for name in (hidden, "absent"):
        with pytest.raises(NotFoundError) as caught:
            entity_show(store, reader(world, "internal"), ("Thing", name))
        errors.append(str(caught.value).replace(f":{name}.", ":X."))
    assert errors[0] == errors[1]


def test_what_was_read_and_how_much_is_not_told_beside_another_tenant(store: Database, world: str, cypher: Cypher) -> None:
    newest = run_list(store, limit=1)[0]
    assert {"inputs", "counts"} <= newest.keys()
    for runs in (run_list(store, reader(world, operator=True), limit=1), [run_show(store, newest["seq"], reader(world, auditor=True))]):
        assert {*newest} - {*runs[0]} == {"inputs", "counts"}
        assert runs[0]["seq"] == newest["seq"]


def test_runs_are_for_operators_and_auditors(store: Database, world: str) -> None:
    newest, older = run_list(store, reader(world, operator=True), limit=2)
    assert newest["seq"] == older["seq"] + 1
    assert run_list(store, limit=1, before=newest["seq"])[0]["seq"] == older["seq"]
    assert run_show(store, older["seq"], reader(world, auditor=True))["run_id"] == older["run_id"]
    with pytest.raises(NotFoundError):
        run_show(store, 10**9)
    for look in (lambda: run_list(store, reader(world, "restricted")), lambda: run_show(store, 1, reader(world, "restricted"))):
        with pytest.raises(AccessDeniedError):
            look()


def test_an_unknown_clearance_is_an_error_in_every_look_up(store: Database, world: str) -> None:
    who = reader(world, "topsecret")
    for look in (lambda: edge_show(store, who, "a->b"), lambda: edge_list(store, who), lambda: edge_history(store, who, "a->b"),
                 lambda: entity_find(store, who, "a"), lambda: entity_show(store, who, ("Thing", "a"))):
        with pytest.raises(ConfigurationError, match="Known policies"):
            look()
