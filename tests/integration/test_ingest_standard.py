"""The standard record and what one load does with it: the shape of the graph, the summary, policies that arrive later."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import (
    STANDARD,
    Record,
    Store,
    check_sound,
    chunk,
    cites,
    document,
    edge,
    entity,
    registered,
    revision,
    run_records,
    sha256,
    write,
)

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.rules.relations import parse_relations
from graphrag_provenance.store.database import Database

E = "E:dep:SYS_A->SYS_B"


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def standard(**more: Any) -> Record:
    record: Record = json.loads(STANDARD)
    return record | more


# The standard record


def test_the_standard_record_loads_verbatim_and_is_published_as_internal(store: Store) -> None:
    summary = store.load(STANDARD)
    assert not summary.findings
    assert store.state(E) == "published"
    (relationship,) = store.relationships()
    assert relationship["policies"] == ["internal"]
    check_sound(store)


def test_the_graph_has_the_documented_shape_and_nothing_else(store: Store) -> None:
    named = entity("System:SYS_A", name="System A", attributes={"tier": 1})
    store.load(STANDARD, named, *registered("RUNBOOK@2.1#c-1044", "public"))
    labels = Counter(":".join(row["l"]) for row in store.cypher("MATCH (n) WHERE NOT n:Migration RETURN labels(n) AS l"))
    assert labels == {
        "Document": 2, "Revision": 2, "Chunk": 2, "Entity:System": 2, "Assertion": 1, "Run": 1, "Store": 1,
    }  # fmt: skip
    kinds = Counter(row["t"] for row in store.cypher("MATCH ()-[r]->() RETURN type(r) AS t"))
    assert kinds == {"HAS_REVISION": 2, "HAS_CHUNK": 2, "EVIDENCED_BY": 2, "DEPENDS_ON": 1}
    evidence = store.cypher(
        "MATCH (:Assertion {edge_id: $e})-[v:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(r:Revision)<-[:HAS_REVISION]-(d:Document)"
        " RETURN d.doc_id AS d, r.doc AS r, c.chunk AS c, properties(v) AS v ORDER BY d", e=E)
    by = {"pipeline": "graph/etl", "version": "2026.01", "confidence": 0.87, "polarity": "supports", "since": 1}
    assert evidence == [
        {"d": "POL-17", "r": "POL-17@1.4", "c": "c-0291",
         "v": by | {"quote_hash": "sha256:…", "span": [120, 214], "policy": "internal"}},
        {"d": "RUNBOOK", "r": "RUNBOOK@2.1", "c": "c-1044", "v": by},
    ]  # fmt: skip
    (relationship,) = store.relationships()
    assert str(relationship.pop("valid_from")) == "2026-01-01T00:00:00.000000000+00:00"
    assert relationship == {
        "type": "DEPENDS_ON", "source": "SYS_A", "target": "SYS_B", "edge_id": E, "tenant": "ACME", "policies": ["internal"],
        "acl": [], "environment": "production", "region": "eu-west", "confidence": 0.87, "current": True, "disputed": False,
        "evidence": ["POL-17@1.4#c-0291", "RUNBOOK@2.1#c-1044"],
    }  # fmt: skip
    assertion = store.assertion(E)
    assert assertion["declared"] == ["internal"]
    assert (assertion["state"], assertion["reasons"], assertion["since"], assertion["changed"]) == ("published", [], 1, 1)
    assert not assertion["registered"], "POL-17 has no record"
    ends = {row["p"]["id"]: row["p"] for row in store.cypher("MATCH (n:Entity) RETURN properties(n) AS p")}
    assert (ends["SYS_A"]["name"], ends["SYS_A"]["names"], ends["SYS_A"]["declared"]) == ("System A", ["System A"], True)
    assert (ends["SYS_B"]["name"], ends["SYS_B"]["names"], ends["SYS_B"]["declared"]) == ("SYS_B", [], False)
    assert store.one("MATCH (d:Document {doc_id: 'POL-17'}) RETURN d.registered") is False
    (run,) = run_records(store.database)
    assert (run["seq"], run["status"], run["actor"], run["kind"]) == (1, "finished", "tester", "ingest")
    assert run["inputs"][0]["sha256"].startswith("sha256:")
    check_sound(store)


def test_the_summary_is_the_documented_json(store: Store) -> None:
    body = store.load(STANDARD, "{", entity("System:Z"), edge("System:A", "owns", "System:B", "d1@1#1", edge_id="W")).as_json()
    assert json.loads(json.dumps(body)) == body
    run, seconds, rejects_file = body.pop("run"), body.pop("seconds"), body.pop("rejects_file")
    assert seconds > 0
    assert set(run) == {"seq", "run_id", "trace_id", "pipeline", "version", "actor", "status", "digest", "graph_hash"}
    assert (run["seq"], run["status"], run["actor"]) == (1, "finished", "tester")
    assert Path(rejects_file).is_file()
    assert body.pop("writes").keys() == {"nodes", "relationships", "properties"}
    assert body == {
        "schema": 1, "dry_run": False, "policies_differ": False,
        "records": {"read": 4, "accepted": 3, "rejected": 1}, "quotes": {},
        "edges": {"published": 1, "withheld": 1, "unchanged": 0, "retracted": 0, "unregistered": 2, "overruled": 0},
        "evidence": {"added": 3, "unchanged": 0, "retired": 0},
        "entities": {"created": 1, "updated": 0, "unchanged": 0, "from_edges": 4, "aliases": 0},
        "sources": {"created": 0, "updated": 0, "unchanged": 0},
        "withheld_reasons": {"undetermined-policy": 1}, "rejected_reasons": {"not-json": 1},
    }  # fmt: skip


def test_a_second_load_writes_nothing_and_says_so(store: Store) -> None:
    records = [STANDARD, *registered("RUNBOOK@2.1#c-1044", "internal"), entity("System:SYS_A", aliases=[
        {"alias": "Alpha", "method": "declared", "linker": "l", "linker_version": "1"}])]
    first = store.load(*records)
    before = store.everything()[0]
    second = store.load(*records).as_json()
    assert second["writes"] == {"nodes": 0, "relationships": 0, "properties": 0}
    assert second["edges"] == {"published": 0, "withheld": 0, "unchanged": 1, "retracted": 0, "unregistered": 0, "overruled": 0}
    assert second["evidence"] == {"added": 0, "unchanged": 2, "retired": 0}
    assert second["entities"] == {"created": 0, "updated": 0, "unchanged": 1, "from_edges": 0, "aliases": 0}
    assert second["sources"] == {"created": 0, "updated": 0, "unchanged": 3}
    assert second["run"]["graph_hash"] == first.run["graph_hash"]
    ours = [n for n in before if n["l"] not in (["Run"], ["Store"])]
    assert [n for n in store.everything()[0] if n["l"] not in (["Run"], ["Store"])] == ours


def test_input_that_contradicts_itself_comes_to_rest(store: Store) -> None:
    """Two titles in one run: the greater stands, whatever the order, and loading it again changes nothing."""
    records = [document("d1", title="Z", attributes={"a": 2}), document("d1", title="B", attributes={"a": 1}),
               entity("System:A", attributes={"a": 2}), entity("System:A", attributes={"a": 1}),
               edge("System:A", "owns", "System:B", "d1@1#1", policy="public", edge_id="E", attributes={"a": 2}),
               edge("System:A", "owns", "System:B", "d1@1#1", policy="public", edge_id="E", attributes={"a": 1})]  # fmt: skip
    first = store.load(*records, batch_size=1)
    assert store.one("MATCH (d:Document) RETURN d.title") == "Z"
    for options in ({"batch_size": 1}, {"batch_size": 100}):
        again = store.load(*records, **options)
        assert again.run["graph_hash"] == first.run["graph_hash"]
        assert again.outcome.writes.total == 0
    assert store.load(*reversed(records), batch_size=100).run["graph_hash"] == first.run["graph_hash"]
    check_sound(store)


def test_a_later_run_replaces_what_an_earlier_one_stated(store: Store) -> None:
    store.load(document("d1", title="Z", attributes={"a": 2, "b": 1}))
    store.load(document("d1", title="B", attributes={"a": 1}))
    (node,) = store.cypher("MATCH (d:Document) RETURN d.title AS title, d.attributes AS attributes")
    assert node == {"title": "B", "attributes": '{"a":1,"b":1}'}
    check_sound(store)


# Dry run


AGAIN = edge("System:P", "owns", "System:Q", "late@1#1", edge_id="P", policy="public")


def dry_runs() -> list[Record | str]:
    alias = {"alias": "Alpha", "method": "declared", "linker": "l", "linker_version": "1"}
    return [
        STANDARD, "{broken", *registered("RUNBOOK@2.1#c-1044", "secret"), entity("System:SYS_A", aliases=[alias]),
        entity("System:SYS_A", name="Other", aliases=[alias]), document("RUNBOOK", title="Another", policy="hr"),
        edge("System:A ", "owns", "System:B", "d1@1#1", edge_id="W"), edge("System:A ", "owns", "System:B", "d1@1#1", edge_id="W"),
        edge("System:A", "owns", "System:C", "d2@1#1", edge_id="W", policy="public"),
        edge("System:A ", "owns", "System:D", "d1@1#1"),
        document("FOREIGN", tenant="OTHER"), edge("System:A", "owns", "System:F", "FOREIGN@1#1", policy="public"),
        AGAIN, {"kind": "tombstone", "doc_id": "late", "tenant": "ACME", "deleted_in_revision": "late@1"},
    ]  # fmt: skip


@pytest.mark.parametrize("batch_size", [1, 1000])
@pytest.mark.parametrize("start", ["empty", "filled"])
def test_a_dry_run_writes_nothing_and_counts_what_the_load_does(store: Store, batch_size: int, start: str) -> None:
    if start == "filled":
        store.load(*registered("RUNBOOK@2.1#c-1044", "internal"), document("gone", policy="public"),
                   edge("System:X", "owns", "System:Y", "RUNBOOK@2.1#c-1044", "gone@1#1", edge_id="X"), AGAIN)
    before = store.everything()
    planned = store.load(*dry_runs(), batch_size=batch_size, dry_run=True, rejects=None).as_json()
    assert store.everything() == before
    done = store.load(*dry_runs(), batch_size=batch_size).as_json()
    assert planned["dry_run"]
    assert planned["writes"] == {"nodes": 0, "relationships": 0, "properties": 0}
    assert planned["run"]["status"] == "dry-run"
    assert planned["rejects_file"] is None
    for part in ("records", "edges", "evidence", "entities", "sources", "withheld_reasons", "rejected_reasons"):
        assert planned[part] == done[part], part
    assert done["rejected_reasons"] == {"edge-id-conflict": 1, "not-json": 1, "tenant-mismatch": 1}


# Sources that come later


LATER: dict[str, tuple[list[Record], str, tuple[str, ...]]] = {
    "a document that is stricter": ([document("d1", policy="confidential")], "published", ("confidential",)),
    "a revision that is stricter": ([revision("d1@1", policy="secret")], "published", ("secret",)),
    "a chunk that is stricter": ([chunk("d1@1", "c1", policy="secret")], "published", ("secret",)),
    "a document beside the order": ([document("d1", policy="hr")], "published", ("hr",)),
    "a chunk and a document, incomparable": (
        [document("d1", policy="hr"), chunk("d1@1", "c1", policy="legal")], "published", ("hr", "legal")),
    "a document with an unknown policy": ([document("d1", policy="pubilc")], "withheld", ()),
    "a revision with an unknown policy": ([revision("d1@1", policy="PUBLIC ")], "withheld", ()),
    "a chunk with policy null": ([chunk("d1@1", "c1", policy=None)], "withheld", ()),
    "a document that says nothing": ([document("d1")], "published", ("internal",)),
    "a document that is laxer": ([document("d1", policy="public")], "published", ("internal",)),
}  # fmt: skip
EDGE = edge("System:A", "owns", "System:B", cites("d1@1#c1", policy="internal"), edge_id="E")


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("when", ["later in the file", "in a later file", "in a later run", "before"])
def test_a_policy_that_is_stated_later_decides_as_if_it_had_been_there(
    store: Store, tmp_path: Path, name: str, when: str,
) -> None:
    records, state, policies = LATER[name]
    if when == "later in the file":
        store.load(EDGE, *records, batch_size=1)
    elif when == "in a later file":
        store.load(files=[write(tmp_path / "a.jsonl", [EDGE]), write(tmp_path / "b.jsonl", records)])
    elif when == "in a later run":
        store.load(EDGE)
        assert store.published() == {"E": ("internal",)}
        summary = store.load(*records)
        assert summary.outcome.edges[state] == (state == "withheld" or policies != ("internal",))
    else:
        store.load(*records)
        store.load(EDGE)
    assert store.state("E") == state
    assert store.published() == ({"E": policies} if state == "published" else {})
    assert tuple(store.assertion("E")["policies"]) == policies
    assert store.one("MATCH (a:Assertion {edge_id: 'E'}) RETURN a:Withheld") is (state == "withheld")
    check_sound(store)


def test_sources_that_come_later_give_the_graph_that_sources_first_give(store: Store, cypher: Cypher) -> None:
    sources = [*registered("d1@1#c1", "internal"), chunk("d1@1", "c2", policy="hr"),
               revision("d1@2", effective_at="2026-02-01T00:00:00Z")]
    edges = [EDGE, edge("System:A", "owns", "System:C", "d1@1#c2", "d1@2#c1", edge_id="F")]
    store.load(*edges)
    store.load(*sources)
    later = store.hash()
    check_sound(store)
    assert not store.assertion("E")["current"], "d1@2 is the head now"
    assert store.assertion("F")["current"]
    cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
    store.load(*sources, *edges)
    assert store.hash() == later


@pytest.mark.parametrize("batch_size", [1, 100])
@pytest.mark.parametrize("place", ["document", "revision", "chunk"])
def test_adding_evidence_forgets_nothing_that_sources_say_about_what_is_there(store: Store, place: str, batch_size: int) -> None:
    said = {"document": document("d1", policy="secret"), "revision": revision("d1@1", policy="secret"),
            "chunk": chunk("d1@1", "c1", policy="secret")}[place]
    more = edge("System:A", "owns", "System:B", cites("d2@1#c1", policy="public"), edge_id="E")
    store.load(EDGE, said)
    store.load(more, more | {"attributes": {"a": 1}}, batch_size=batch_size)
    assert store.published() == {"E": ("secret",)}
    check_sound(store)


def test_adding_evidence_of_unknown_policy_withdraws_a_published_edge(store: Store) -> None:
    store.load(EDGE)
    summary = store.load(edge("System:A", "owns", "System:B", cites("d2@1#c1", policy="PUBLIC "), edge_id="E"))
    assert store.relationships() == []
    assert store.assertion("E")["reasons"] == ["unknown-policy: PUBLIC "]
    assert summary.as_json()["withheld_reasons"] == {"unknown-policy": 1}
    assert summary.findings
    check_sound(store)


def test_registered_sources_can_be_required(store: Store) -> None:
    declared_only = edge("System:A", "owns", "System:B", "d1@1#c1", policy="internal", edge_id="D")
    unknown = edge("System:A", "owns", "System:C", "d1@1#c1", "d9@1#c1", policy="internal", edge_id="U")
    records = [declared_only, unknown, document("d1"), revision("d1@1"), chunk("d1@1", "c1")]
    summary = store.load(*records, require_registered_sources=True)
    assert summary.rejected == {"unregistered-source": 1}
    assert "d9@1" in store.rejects(summary)[0]["message"]
    assert store.assertion("D")["reasons"] == ["undetermined-policy"], "the declared policy does not stand in"
    assert store.one("MATCH (d:Document {doc_id: 'd9'}) RETURN count(d)") == 0
    store.load(document("d1", policy="public"), require_registered_sources=True)
    assert store.published() == {"D": ("internal",)}
    check_sound(store)


def test_a_laxer_declared_policy_is_overruled_and_counted_and_a_stricter_one_holds(store: Store) -> None:
    lax = edge("System:A", "owns", "System:B", cites("d1@1#c1", policy="secret"), policy="public", edge_id="lax")
    strict = edge("System:A", "owns", "System:C", cites("d1@1#c1", policy="public"), policy="hr", edge_id="strict")
    beside = edge("System:A", "owns", "System:D", cites("d1@1#c1", policy="legal"), policy="hr", edge_id="beside")
    summary = store.load(lax, strict, beside, batch_size=1)
    assert store.published() == {"lax": ("secret",), "strict": ("hr",), "beside": ("hr", "legal")}
    assert summary.outcome.edges["overruled"] == 1
    check_sound(store)


@pytest.mark.parametrize("batch_size", [1, 100])
def test_counts_are_those_of_the_last_state_whatever_the_batches(store: Store, batch_size: int) -> None:
    once = edge("System:A", "owns", "System:B", cites("d1@1#c1", policy="public"), policy="public", edge_id="E")
    more = edge("System:A", "owns", "System:B", cites("d2@1#c1", policy="secret"), policy="public", edge_id="E")
    last = edge("System:A", "owns", "System:C", cites("d2@1#c1", policy="no"), cites("d3@1#c1", policy="never"), edge_id="F")
    summary = store.load(once, more, more, once, last, last, *registered("d1@1#c1"), batch_size=batch_size)
    assert summary.as_json()["edges"] == {
        "published": 1, "withheld": 1, "unchanged": 0, "retracted": 0, "unregistered": 2, "overruled": 1}  # fmt: skip
    assert summary.as_json()["withheld_reasons"] == {"unknown-policy": 1}


# Identity


CONFLICTS = {
    "another source": edge("System:X", "owns", "System:B", "d2@1#c1", edge_id="E"),
    "another target": edge("System:A", "owns", "System:X", "d2@1#c1", edge_id="E"),
    "another type": edge("Team:A", "owns", "System:B", "d2@1#c1", edge_id="E"),
    "another relation": edge("System:A", "sues", "System:B", "d2@1#c1", edge_id="E"),
    "another direction": edge("System:B", "owns", "System:A", "d2@1#c1", edge_id="E"),
    "another scope": edge("System:A", "owns", "System:B", "d2@1#c1", edge_id="E", scope={"environment": "staging"}),
    "another interval": edge("System:A", "owns", "System:B", "d2@1#c1", edge_id="E", scope={"valid_to": "2026-01-01T00:00:00Z"}),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_an_edge_id_names_one_edge(store: Store, name: str) -> None:
    other = CONFLICTS[name] | {"access": {"policy": "public", "tenant": "ACME"}}
    for number, batch_size in enumerate((100, 1)):
        summary = store.load(EDGE, other, batch_size=batch_size)
        assert summary.rejected == {"edge-id-conflict": 1}, number
        (reject,) = store.rejects(summary)
        assert (reject["line"], reject["code"]) == (2, "edge-id-conflict")
        assert json.loads(reject["record"]) == other
    assert store.load(other).rejected == {"edge-id-conflict": 1}, "in a later run"
    assert store.published() == {"E": ("internal",)}
    assert store.one("MATCH (c:Chunk) RETURN count(c)") == 1, "a refused edge leaves no placeholder"
    check_sound(store)


def test_the_same_id_in_another_tenant_is_another_edge(store: Store) -> None:
    theirs = {**edge("System:X", "sues", "System:Y", cites("t@1#1", policy="public"), edge_id="E"), "access": {"tenant": "OTHER"}}
    assert not store.load(EDGE, theirs).findings
    assert store.one("MATCH (a:Assertion {edge_id: 'E'}) RETURN count(a)") == 2
    check_sound(store)


def test_an_edge_without_an_id_gets_the_same_one_each_time(store: Store) -> None:
    anonymous = edge("System:A", "owns", "System:B", cites("d1@1#c1", policy="public"))
    store.load(anonymous, anonymous | {"relation": "OWNS"})
    (first,) = store.published()
    assert store.load(anonymous).outcome.writes.total == 0
    assert store.published() == {first: ("public",)}


def test_parts_of_different_tenants_are_refused(store: Store) -> None:
    foreign_end = edge("System:A", "owns", "System:B", "d1@1#c1", policy="public")
    foreign_end["target"]["tenant"] = "OTHER"
    foreign_item = edge("System:A", "owns", "System:B", cites("d1@1#c1", tenant="OTHER"), policy="public")
    foreign_document = edge("System:A", "owns", "System:B", "theirs@1#c1", policy="public")
    summary = store.load(foreign_end, foreign_item, foreign_document, document("theirs", tenant="OTHER"))
    assert summary.rejected == {"tenant-mismatch": 3}
    assert store.one("MATCH (n:Entity) RETURN count(n)") == 0
    homeless = edge("System:A", "owns", "System:B", "d1@1#c1")
    del homeless["access"]
    assert store.load(homeless).rejected == {"tenant-missing": 1}
    assert store.load(homeless, tenant="ACME").rejected == {}


# Entities


def test_ends_without_a_record_are_made_and_counted_and_a_record_later_declares_them(store: Store) -> None:
    summary = store.load(EDGE)
    assert summary.outcome.entities["from_edges"] == 2
    summary = store.load(entity("System:A", name="Alpha"))
    assert summary.outcome.entities["created"] == 1
    assert store.one("MATCH (n:Entity {id: 'A'}) RETURN n.names") == ["Alpha"]
    check_sound(store)


def test_names_and_aliases_accumulate_and_never_replace(store: Store) -> None:
    def alias(name: str, linker: str = "l") -> Record:
        return {"alias": name, "method": "declared", "linker": linker, "linker_version": "1"}

    store.load(entity("System:A", name="Beta", aliases=[alias("one")]),
               entity("System:A", name="Alpha", aliases=[alias("one"), alias("two")]))
    summary = store.load(entity("System:A", name="Gamma", aliases=[alias("two"), alias("one", "other")]))
    assert (summary.outcome.entities["updated"], summary.outcome.entities["aliases"]) == (1, 1)
    assert store.one("MATCH (n:Entity) RETURN n.names") == ["Alpha", "Beta", "Gamma"]
    assert store.one("MATCH (n:Entity) RETURN n.name") == "Alpha"
    rows = store.cypher(
        "MATCH (a:Alias)-[:NAMES]->(n:Entity {id: 'A'}) RETURN a.alias AS alias, a.linker AS linker ORDER BY alias, linker")
    assert [(row["alias"], row["linker"]) for row in rows] == [("one", "l"), ("one", "other"), ("two", "l")]
    check_sound(store)


def test_an_id_that_was_normalised_stays_reachable_as_written(store: Store) -> None:
    store.load(entity("System: Z\u0307uraw  I "),
               edge("System:\u017buraw I", "owns", "System:x\u00a0y", cites("d@1#1", policy="public")))
    assert sorted(store.one("MATCH (n:Entity) RETURN collect(n.id)")) == ["x y", "\u017buraw I"]
    rows = store.cypher("MATCH (a:Alias)-[:NAMES]->(n:Entity) RETURN a.alias AS alias, a.method AS method, n.id AS id")
    assert {(row["alias"], row["method"], row["id"]) for row in rows} == {
        (" Z\u0307uraw  I ", "exact", "\u017buraw I"), ("x\u00a0y", "exact", "x y")}
    check_sound(store)


def test_attributes_are_kept_as_they_are(store: Store) -> None:
    attributes = {"text": "a", "int": -5, "big": 2**62, "float": 0.5, "flag": True, "list": ["a", "b"], "ü": [1, 2]}
    store.load(entity("System:A", attributes=attributes), document("d1", attributes=attributes),
               EDGE | {"attributes": attributes})
    for label in ("Entity {id: 'A'}", "Document {doc_id: 'd1'}", "Assertion"):
        assert json.loads(store.one(f"MATCH (n:{label}) RETURN n.attributes")) == attributes
    assert store.load(EDGE | {"attributes": attributes}).outcome.writes.total == 0
    summary = store.load(EDGE | {"attributes": {"int": 6, "new": False}})
    assert summary.outcome.edges["published"] == 1
    assert json.loads(store.one("MATCH (n:Assertion) RETURN n.attributes")) == attributes | {"int": 6, "new": False}
    check_sound(store)


def test_declared_relations_are_enforced(store: Store) -> None:
    relations = parse_relations('[relations.owns]\ndomain=["Team"]\nrequired_scope=["environment"]')
    scoped = {"scope": {"environment": "production"}}
    summary = store.load(
        edge("System:A", "owns", "System:B", "d1@1#c1", policy="public", **scoped),
        edge("Team:A", "OWNS", "System:B", "d1@1#c1", policy="public"),
        edge("Team:A", "owns", "System:B", "d1@1#c1", policy="public", edge_id="good", **scoped), relations=relations)
    assert summary.rejected == {"relation-domain": 1, "scope-required": 1}
    assert set(store.published()) == {"good"}


# Revisions


def test_a_revision_that_contradicts_itself_or_the_store_is_refused_and_the_rest_loads(store: Store) -> None:
    store.load(*registered("d1@1#c1", "public"), revision("d2@1", content_sha256=sha256("a")))
    bad = {
        "revision-mutated": revision("d2@1", content_sha256=sha256("b")),
        "chunk-mutated": chunk("d1@1", "c1", text="x", content_sha256=sha256("x")),
        "content-hash-mismatch": chunk("d1@1", "c9", text="x", content_sha256=sha256("y")),
        "revision-self-check": revision("conf:1@v9", source_url="https://wiki/1/v8"),
        "future-date": revision("d3@1", effective_at="2999-01-01T00:00:00Z"),
    }
    bad_document = document("conf:7", source_type="sharepoint", policy="secret")
    for batch_size in (1, 100):
        summary = store.load(*bad.values(), bad_document, chunk("d1@1", "good"), batch_size=batch_size)
        assert summary.rejected == dict.fromkeys(bad, 1) | {"revision-self-check": 2}
        assert [r["line"] for r in store.rejects(summary)] == [1, 2, 3, 4, 5, 6]
    assert store.one("MATCH (c:Chunk {chunk: 'good'}) RETURN count(c)") == 1
    assert store.one("MATCH (r:Revision) RETURN collect(r.doc)").count("d3@1") == 0
    check_sound(store)


# Policies of the store


def test_the_store_keeps_its_order_of_policies_and_says_when_the_file_differs(store: Store) -> None:
    store.load(EDGE)
    summary = store.load(STANDARD)
    assert not summary.policies_differ
    store.policies = lattice({"internal": [], "pubilc": []})
    summary = store.load(edge("System:A", "owns", "System:Q", cites("d1@1#c1", policy="pubilc"), edge_id="Q"))
    assert summary.policies_differ
    assert summary.order is not None
    assert not summary.order.knows("pubilc"), "it is the store's"
    assert store.state("Q") == "withheld"


def test_the_reject_file_must_not_be_an_input_file(store: Store, tmp_path: Path) -> None:
    file = write(tmp_path / "in.jsonl", [STANDARD, "{"])
    content = file.read_bytes()
    with pytest.raises(InputError, match="is an input file"):
        store.load(files=[file], rejects=file)
    assert file.read_bytes() == content
