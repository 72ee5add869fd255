"""Verification finds every damage that somebody can do past the product, names it, and finds nothing else."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.ingest.batches import reevaluate_edges
from graphrag_provenance.ingest.policy import PolicyOptions, apply_policies
from graphrag_provenance.resources import resource_root
from graphrag_provenance.rules.invariants import Invariant
from graphrag_provenance.rules.policies import lattice, parse_policies
from graphrag_provenance.store import migrations, runs
from graphrag_provenance.store.assertions import Rules
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.verification import Progress, Report, verify
from graphrag_provenance.store.view import View

Cypher = Callable[..., list[dict[str, Any]]]

SAMPLE = resource_root("etl").joinpath("samples", "payments")
POLICIES = parse_policies(SAMPLE.joinpath("policies.toml").read_text(encoding="utf-8"))
A_B = "E:dep:SYS_A->SYS_B"
C_0291 = "POL-17@1.4#c-0291"
ROUTER = "E:dep:payment-router->fraud-scorer"
WITHHELD = "E:dep:webhook-dispatcher->notify-hub"
DISPUTED = "E:dep:fx-rates->rate-cache"


def load(database: Database, *names: str) -> dict[str, Any]:
    return ingest(database, [Path(str(SAMPLE.joinpath(name))) for name in names], IngestOptions(POLICIES)).run


class Copy(NamedTuple):
    """A whole store, to be put back after damage."""

    nodes: list[dict[str, Any]]
    relationships: list[dict[str, Any]]

    @staticmethod
    def of(cypher: Cypher) -> Copy:
        return Copy(
            cypher("MATCH (n) WHERE NOT n:Migration RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties"),
            cypher("MATCH (s)-[r]->(t) RETURN elementId(s) AS s, elementId(t) AS t, type(r) AS type, properties(r) AS properties"))

    def content(self) -> tuple[list[str], list[str]]:
        """All of it but the server's own ids."""
        return (sorted(str((sorted(node["labels"]), sorted(node["properties"].items()))) for node in self.nodes),
                sorted(str((one["type"], sorted(one["properties"].items()))) for one in self.relationships))

    def put_back(self, cypher: Cypher) -> None:
        cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
        made = cypher("UNWIND $rows AS row CREATE (n:$(row.labels)) SET n = row.properties "
                      "RETURN row.id AS old, elementId(n) AS new", rows=self.nodes)
        new = {row["old"]: row["new"] for row in made}
        cypher("UNWIND $rows AS row MATCH (s) WHERE elementId(s) = row.s MATCH (t) WHERE elementId(t) = row.t "
               "CREATE (s)-[r:$(row.type)]->(t) SET r = row.properties",
               rows=[{**row, "s": new[row["s"]], "t": new[row["t"]]} for row in self.relationships])


@pytest.fixture(scope="module")
def copies() -> dict[str, Copy]:
    return {}


@pytest.fixture
def sample(request: pytest.FixtureRequest, database: Database, cypher: Cypher, copies: dict[str, Copy]) -> Database:
    """The sample, loaded by two runs, whatever was done to the store before."""
    if "sample" not in copies:
        fresh = request.getfixturevalue("fresh_database")
        load(fresh, "documents.jsonl", "entities.jsonl")
        load(fresh, "edges.jsonl")
        copies["sample"] = Copy.of(cypher)
    elif Copy.of(cypher).content() != copies["sample"].content():
        copies["sample"].put_back(cypher)
    return database


def found(report: Report) -> dict[str, set[str]]:
    """Invariant → ids."""
    together: dict[str, set[str]] = {}
    for violation in report.violations:
        together.setdefault(violation.invariant, set()).update(violation.ids)
    return together


def test_an_empty_store_is_sound(fresh_database: Database) -> None:
    report = verify(fresh_database)
    assert report.ok
    assert set(report.checked.values()) == {0}


def test_a_loaded_store_is_sound_and_its_hash_is_that_of_the_last_run(sample: Database) -> None:
    report = verify(sample)
    assert report.violations == ()
    assert report.checked == {
        "documents": 31, "revisions": 41, "chunks": 101, "entities": 59, "aliases": 8, "edges": 75, "evidence": 83,
        "relationships": 72, "versions": 0, "runs": 2,
        "answers": 0, "retrievals": 0, "running": 0, "graph_hash": 1}
    state = runs.store_state(sample)
    assert state is not None
    assert report.graph_hash == state["graph_hash"]


def test_a_store_is_sound_after_the_same_input_was_loaded_again(sample: Database) -> None:
    before = verify(sample)
    load(sample, "documents.jsonl", "entities.jsonl", "edges.jsonl")
    after = verify(sample)
    assert after.ok
    assert (before.graph_hash, before.checked["runs"] + 1) == (after.graph_hash, after.checked["runs"])


def test_the_json_is_the_documented_one(sample: Database, cypher: Cypher) -> None:
    cypher("MATCH (a:Assertion {edge_id: $id}) SET a.current = false", id=A_B)
    body = json.loads(json.dumps(verify(sample).as_json()))
    assert list(body) == ["schema", "ok", "checked", "violations", "graph_hash"]
    assert body["schema"] == 1
    assert body["ok"] is False
    assert all(list(violation) == ["invariant", "message", "ids"] for violation in body["violations"])
    assert {violation["invariant"] for violation in body["violations"]} <= set(Invariant)


def test_progress_tells_of_every_kind(sample: Database) -> None:
    told: list[Progress] = []
    verify(sample, progress=told.append)
    assert {p.phase: p.done for p in told}["edges"] == 75
    assert all(p.done <= p.total for p in told)


EDGE = "MATCH (a:Assertion {tenant: 'ACME', edge_id: $edge}) "
REL = "MATCH (s:Entity)-[r {tenant: 'ACME', edge_id: $edge}]->(t:Entity) "
SYS_A = "MATCH (e:Entity {tenant: 'ACME', id: 'SYS_A'}) "
POL_17 = "MATCH (d:Document {tenant: 'ACME', doc_id: 'POL-17'}) "
CHUNK = "MATCH (c:Chunk {tenant: 'ACME', doc: 'POL-17@1.4', chunk: 'c-0291'}) "
CITED = "MATCH (c:Chunk {doc: 'conf:204417@v3', chunk: 'c-1'}) "
LAST = "MATCH (n:Run {seq: 2}) "
STORE = "MATCH (n:Store) "

DAMAGES: dict[str, tuple[str, str, set[str]]] = {
    # 1: evidence
    "the only evidence of an edge is deleted": (
        EDGE.replace("$edge", "$router") + "MATCH (a)-[v:EVIDENCED_BY]->() DELETE v", "edge-without-support", {ROUTER}),
    "the only support of an edge is turned into refutation": (
        "MATCH (:Assertion {edge_id: $router})-[v:EVIDENCED_BY]->() SET v.polarity = 'refutes'", "edge-without-support", {ROUTER}),
    "one of two evidence items is deleted": (
        EDGE + "MATCH (a)-[v:EVIDENCED_BY]->({chunk: 'c-1044'}) DELETE v", "record-digest", {A_B}),
    "evidence is ended by hand": (
        EDGE + "MATCH (a)-[v:EVIDENCED_BY]->({chunk: 'c-1044'}) SET v.until = 2, v.since = 1", "record-digest", {A_B}),
    "a cited chunk is deleted": (CITED + "DETACH DELETE c", "edge-without-support", {ROUTER}),
    "a cited chunk is cut off its revision": (
        CITED + "MATCH ()-[h:HAS_CHUNK]->(c) DELETE h", "evidence-unresolved", {ROUTER}),
    "a chunk that nothing cites is cut off its revision": (
        "MATCH (c:Chunk {doc: 'POL-17@1.4', chunk: 'c-0290'}) MATCH ()-[h:HAS_CHUNK]->(c) DELETE h",
        "parent", {"POL-17@1.4#c-0290"}),
    "a revision is cut off its document": (
        "MATCH (:Document)-[h:HAS_REVISION]->(:Revision {doc: 'conf:204417@v3'}) DELETE h", "evidence-unresolved", {ROUTER}),
    "a revision loses its document": ("MATCH (d:Document {doc_id: 'conf:204417'}) DETACH DELETE d", "parent", {"conf:204417@v3"}),
    "a cited chunk loses its label": (
        CITED + "REMOVE c:Chunk", "evidence-unresolved", {ROUTER}),
    "evidence points to a document": (
        EDGE + POL_17 + "CREATE (a)-[:EVIDENCED_BY {since: 1, polarity: 'supports'}]->(d)",
        "evidence-unresolved", {A_B}),
    # 2: what the evidence gives
    "the policies of an edge are loosened": (EDGE + "SET a.policies = ['public']", "verdict", {A_B}),
    "policies are loosened on edge and relationship": (
        EDGE + "SET a.policies = ['public'] WITH a " + REL + "SET r.policies = ['public']", "verdict", {A_B}),
    "live access references are taken off edge and relationship": (
        "MATCH (a:Assertion {edge_id: $router}) SET a.acl = [] WITH a MATCH ()-[r {edge_id: $router}]->() SET r.acl = []",
        "verdict", {ROUTER}),
    "a published edge names an unknown policy": (EDGE + "SET a.policies = ['pubilc']", "unknown-policy", {A_B}),
    "the confidence of an edge is raised": (EDGE + "SET a.confidence = 0.99", "verdict", {A_B}),
    "a dispute is hidden": ("MATCH (a:Assertion {edge_id: $disputed}) SET a.disputed = false", "verdict", {DISPUTED}),
    "a stale edge is called current": (
        "MATCH (a:Assertion {edge_id: $edge}) SET a.current = NOT a.current", "verdict", {A_B}),
    "the policy of a document is loosened": (
        "MATCH (d:Document {tenant: 'ACME', doc_id: 'conf:204417'}) SET d.policies = ['public']", "record-digest", {"conf:204417"}),
    "the policy of a chunk becomes stricter past the product": (
        CHUNK + "SET c.policies = ['restricted']", "verdict", {A_B}),
    "the reasons of a withheld edge are emptied": (
        "MATCH (a:Assertion {edge_id: $withheld}) SET a.reasons = []", "verdict", {WITHHELD}),
    "the order of policies is not JSON": (STORE + "SET n.policies = '{'", "policy-order", {"store"}),
    "the order of policies has a cycle": (STORE + "SET n.policies = '{\"a\": [\"b\"], \"b\": [\"a\"]}'", "policy-order", {"store"}),
    "the order of policies is turned over": (
        STORE + "SET n.policies = '{\"internal\": [\"restricted\"], \"public\": [\"internal\"], \"restricted\": []}'",
        "policy-order", {"store"}),
    "the order of policies is gone": (STORE + "REMOVE n.policies", "policy-order", {"store"}),
    # 3: relationship iff published
    "a withheld edge is published by hand": (
        "MATCH (a:Assertion {edge_id: $withheld}) SET a.state = 'published'", "verdict", {WITHHELD}),
    "a withheld edge gets a relationship": (
        "MATCH (a:Assertion {edge_id: $withheld}) MATCH (s:Entity {tenant: 'ACME', id: a.source_id}) "
        "MATCH (t:Entity {tenant: 'ACME', id: a.target_id}) "
        "CREATE (s)-[:DEPENDS_ON {edge_id: $withheld, tenant: 'ACME', policies: ['internal'], acl: []}]->(t)",
        "relationship-unfounded", {WITHHELD}),
    "a published edge is withheld by hand": (EDGE + "SET a.state = 'withheld', a:Withheld", "relationship-unfounded", {A_B}),
    "a relationship is deleted": (REL + "DELETE r", "relationship-missing", {A_B}),
    "a relationship exists twice": (
        REL + "CREATE (s)-[x:DEPENDS_ON]->(t) SET x = properties(r)", "relationship-duplicate", {A_B}),
    "a relationship is turned round": (
        REL + "CREATE (t)-[x:DEPENDS_ON]->(s) SET x = properties(r) DELETE r", "relationship-differs", {A_B}),
    "a relationship has another type": (
        REL + "CREATE (s)-[x:CALLS]->(t) SET x = properties(r) DELETE r", "relationship-differs", {A_B}),
    "a relationship leads to another entity": (
        REL + "MATCH (o:Entity {tenant: 'ACME', type: 'System', id: 'ledger'}) CREATE (s)-[x:DEPENDS_ON]->(o) "
        "SET x = properties(r) DELETE r", "relationship-differs", {A_B}),
    "a relationship is opened": (REL + "SET r.policies = ['public']", "relationship-differs", {A_B}),
    "a relationship lists other evidence": (REL + "SET r.evidence = r.evidence[1..]", "relationship-differs", {A_B}),
    "a relationship holds longer": (REL + "SET r.valid_from = datetime('2020-01-01T00:00:00Z')", "relationship-differs", {A_B}),
    "a relationship carries one property more": (REL + "SET r.weight = point({x: 1, y: 2})", "relationship-differs", {A_B}),
    "somebody relates two entities without an edge": (
        "MATCH (s:Entity {tenant: 'ACME', id: 'SYS_A'}), (t:Entity {tenant: 'ACME', id: 'SYS_B'}) CREATE (s)-[:KNOWS]->(t)",
        "relationship-unfounded", {"System:SYS_A -KNOWS-> System:SYS_B"}),
    "somebody relates two entities under a made-up edge id": (
        "MATCH (s:Entity {tenant: 'ACME', id: 'SYS_A'}), (t:Entity {tenant: 'ACME', id: 'SYS_B'}) "
        "CREATE (s)-[:DEPENDS_ON {edge_id: 'forged', tenant: 'ACME', policies: ['public'], acl: []}]->(t)",
        "relationship-unfounded", {"forged"}),
    "two entities are tied by a type of the store itself": (
        "MATCH (s:Entity {tenant: 'ACME', id: 'SYS_A'}), (t:Entity {tenant: 'ACME', id: 'SYS_B'}) CREATE (s)-[:NAMES]->(t)",
        "relationship-unfounded", {"System:SYS_A -NAMES-> System:SYS_B"}),
    "an edge record is deleted, its relationship stays": (EDGE + "DETACH DELETE a", "relationship-unfounded", {A_B}),
    "a document is tied to an entity": (
        "MATCH (d:Document {tenant: 'ACME', doc_id: 'POL-17'}), (e:Entity {tenant: 'ACME', id: 'SYS_A'}) CREATE (d)-[:ABOUT]->(e)",
        "stray", {"Document:POL-17 -> Entity:SYS_A"}),
    "the label Withheld is gone": ("MATCH (a:Assertion {edge_id: $withheld}) REMOVE a:Withheld", "withheld-label", {WITHHELD}),
    "the label Withheld is on a published edge": (EDGE + "SET a:Withheld", "withheld-label", {A_B}),
    "the label Withheld is on an entity": (
        SYS_A + "SET e:Withheld", "entity-label", {"System:SYS_A"}),
    "an entity loses its type": (SYS_A + "REMOVE e:System", "entity-label", {"System:SYS_A"}),
    "an end of a published edge is deleted": (SYS_A + "DETACH DELETE e",
                                             "relationship-missing", {A_B}),
    "an end of a withheld edge is deleted": ("MATCH (e:Entity {tenant: 'ACME', id: 'notify-hub'}) DETACH DELETE e",
                                            "edge-ends", {WITHHELD}),
    # 4: tenants
    "a relationship crosses tenants": (
        REL + "MATCH (o:Entity {tenant: 'GLOBEX'}) WITH r, s, o LIMIT 1 "
        "CREATE (s)-[x:DEPENDS_ON]->(o) SET x = properties(r) DELETE r",
        "tenant", {A_B}),
    "a relationship names another tenant": (REL + "SET r.tenant = 'GLOBEX'", "tenant", {A_B}),
    "evidence cites another tenant": (
        EDGE + "MATCH (c:Chunk {tenant: 'GLOBEX'}) WITH a, c LIMIT 1 "
        "CREATE (a)-[:EVIDENCED_BY {since: 1, polarity: 'supports'}]->(c)",
        "tenant", {A_B}),
    "a chunk hangs under the revision of another tenant too": (
        "MATCH (c:Chunk {tenant: 'ACME', doc: 'POL-17@1.4', chunk: 'c-0291'}), (r:Revision {tenant: 'GLOBEX'}) "
        "WITH c, r LIMIT 1 CREATE (r)-[:HAS_CHUNK]->(c)", "tenant", {A_B, C_0291}),
    "a document holds a revision of another tenant": (
        "MATCH (d:Document {tenant: 'ACME', doc_id: 'POL-17'}), (r:Revision {tenant: 'GLOBEX'}) "
        "WITH d, r LIMIT 1 CREATE (d)-[:HAS_REVISION]->(r)", "tenant", {"POL-17"}),
    "an alias names an entity of another tenant": (
        "MATCH (n:Alias {tenant: 'ACME', alias: 'Checkout'})-[x:NAMES]->() DELETE x WITH n MATCH (e:Entity {tenant: 'GLOBEX'}) "
        "WITH n, e LIMIT 1 CREATE (n)-[:NAMES]->(e) SET n.alias_id = 'x'", "tenant", {"x"}),
    # 5: runs
    "evidence begins with a run that does not exist": (
        EDGE + "MATCH (a)-[v:EVIDENCED_BY]->() SET v.since = 99", "unknown-run", {A_B}),
    "evidence ends with a run that does not exist": (
        EDGE + "MATCH (a)-[v:EVIDENCED_BY]->() SET v.until = 99", "unknown-run", {A_B}),
    "a change names a run that does not exist": (EDGE + "SET a.changed = 99", "unknown-run", {A_B}),
    "a document names no run": (POL_17 + "REMOVE d.since", "unknown-run", {"POL-17"}),
    "evidence ends before it begins": (EDGE + "MATCH (a)-[v:EVIDENCED_BY]->() SET v.until = 1", "evidence-interval", {A_B}),
    "the same evidence is active twice": (
        EDGE + "MATCH (a)-[v:EVIDENCED_BY]->(c) CREATE (a)-[x:EVIDENCED_BY]->(c) SET x = properties(v)",
        "evidence-interval", {A_B}),
    "a run is deleted": ("MATCH (n:Run {seq: 1}) DELETE n", "run-sequence", {"1"}),
    "the run before is another": ("MATCH (n:Run {seq: 1}) SET n.digest = 'sha256:00'", "run-chain", {"2"}),
    "the last run is deleted": (LAST + "DELETE n", "store-record", {"store"}),
    "somebody else did it": (LAST + "SET n.actor = 'mallory'", "run-digest", {"2"}),
    "the counts of a run are no JSON": (LAST + "SET n.counts = '{'", "malformed", {"2"}),
    "an ended run is running again": (LAST + "SET n.status = 'running'", "store-record", {"store"}),
    "an early run is running": ("MATCH (n:Run {seq: 1}) SET n.status = 'running'", "run-sequence", {"1"}),
    "the store names another last run": (STORE + "SET n.digest = 'sha256:00'", "store-record", {"store"}),
    "the store counts other runs": (STORE + "SET n.head_seq = 7", "store-record", {"store"}),
    "the record of the store is gone": (STORE + "DELETE n", "store-record", {"store"}),
    "there are two records of the store": ("CREATE (:Store {id: 'other'})", "store-record", {"store"}),
    "a change of the graph hash is left over": (STORE + "CREATE (:Delta {seq: 1, sum: n.sum})", "store-record", {"1"}),
    # 8: hashes and derivations
    "the sum of the store is another": (STORE + "MATCH (a:Assertion {edge_id: $edge}) SET n.sum = $zeros", "graph-hash", {"store"}),
    "the graph hash of the store is another": (STORE + "SET n.graph_hash = 'sha256:00'", "store-record", {"store"}),
    "an edge vanishes whole": (REL + "DELETE r WITH s " + EDGE + "DETACH DELETE a", "graph-hash", {"store"}),
    "the digest of an edge is another": (EDGE + "SET a.digest = $short", "record-digest", {A_B}),
    "an edge says something else": (EDGE + "SET a.attributes = '{\"x\":1}'", "record-digest", {A_B}),
    "a document has another title": (
        POL_17 + "SET d.title = 'Nothing'", "record-digest", {"POL-17"}),
    "an undeclared record counts": (
        SYS_A + "SET e.declared = false", "record-digest", {"System:SYS_A"}),
    "an alias has another method": (
        "MATCH (n:Alias {tenant: 'ACME', alias: 'pay-rtr'}) SET n.method = 'exact', n.alias_id = 'x'", "identifier", {"x"}),
    "an alias names another entity": (
        "MATCH (n:Alias {tenant: 'ACME', alias: 'Checkout'})-[x:NAMES]->() DELETE x WITH n "
        "MATCH (e:Entity {tenant: 'ACME', type: 'System', id: 'ledger'}) "
        "CREATE (n)-[:NAMES]->(e) SET n.alias_id = 'x'", "alias", {"x"}),
    "the text of a chunk is another": (
        CHUNK + "SET c.text = c.text + ' not'",
        "chunk-text", {C_0291}),
    "the text of a chunk is gone": (
        CHUNK + "REMOVE c.text", "chunk-text", {C_0291}),
    "the point of a chunk is another": (
        CHUNK + "SET c.point_id = 'x'", "identifier", {C_0291}),
    "the head of a document is an old revision": (
        POL_17 + "SET d.head = 'POL-17@1.3'", "head", {"POL-17"}),
    "an entity id is not in normal form": (
        SYS_A + "SET e.id = ' SYS_A'", "identifier", {"System: SYS_A"}),
    "an entity shows another name": (SYS_A + "SET e.name = 'Z'", "identifier", {"System:SYS_A"}),
    "a revision belongs to another document": (
        "MATCH (r:Revision {tenant: 'ACME', doc: 'POL-17@1.4'}) SET r.doc_id = 'POL-18'", "identifier", {"POL-17@1.4"}),
    "an edge lacks a property": (EDGE + "REMOVE a.declared", "malformed", {A_B}),
    "a flag is a text": (CHUNK + "SET c.registered = 'yes'",
                         "malformed", {C_0291}),
    "a revision has no date": (
        "MATCH (r:Revision {tenant: 'ACME', doc: 'POL-17@1.4'}) REMOVE r.effective_at", "record-digest", {"POL-17@1.4"}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_and_the_repaired_store_is_sound(
    damage: str, sample: Database, cypher: Cypher, copies: dict[str, Copy]
) -> None:
    statement, invariant, ids = DAMAGES[damage]
    cypher(statement, edge=A_B, router=ROUTER, withheld=WITHHELD, disputed=DISPUTED, zeros=bytes(512), short=bytes(32))
    report = verify(sample)
    assert not report.ok
    assert ids <= found(report).get(invariant, set()), report.violations
    copies["sample"].put_back(cypher)
    assert verify(sample).violations == ()


@pytest.fixture
def whole_schema(database: Database) -> Iterator[None]:
    """The schema is whole again after the test."""
    yield
    for migration in migrations.shipped():
        for statement in migration.statements:
            database.schema(statement)


@pytest.mark.usefixtures("whole_schema")
def test_a_missing_constraint_and_the_duplicates_behind_it_are_found(
    sample: Database, cypher: Cypher, copies: dict[str, Copy]
) -> None:
    cypher("DROP CONSTRAINT assertion_key")
    cypher("DROP CONSTRAINT chunk_key")
    cypher("MATCH (a:Assertion {edge_id: $edge}) CREATE (b:Assertion) SET b = properties(a)", edge=A_B)
    cypher(CHUNK + "CREATE (d:Chunk) SET d = properties(c)")
    try:
        report = found(verify(sample))
    finally:
        copies["sample"].put_back(cypher)
    assert report["schema"] == {"assertion_key", "chunk_key"}
    assert report["duplicate-key"] == {A_B, C_0291}


@pytest.mark.usefixtures("whole_schema")
def test_a_missing_index_is_found(sample: Database, cypher: Cypher) -> None:
    cypher("DROP INDEX alias_lookup")
    assert found(verify(sample)) == {"schema": {"alias_lookup"}}


def test_an_untouched_part_is_never_blamed(sample: Database, cypher: Cypher) -> None:
    cypher("MATCH ()-[r {edge_id: $edge}]->() SET r.policies = ['public']", edge=A_B)
    assert found(verify(sample)) == {"relationship-differs": {A_B}}


def test_all_ids_are_given_however_many(sample: Database, cypher: Cypher) -> None:
    rows = cypher("MATCH (:Entity)-[r]->(:Entity) SET r.policies = ['public', 'x'] RETURN r.edge_id AS id")
    damaged = {row["id"] for row in rows}
    assert len(damaged) > 60
    assert found(verify(sample))["relationship-differs"] == damaged


def test_one_tenant_is_told_from_another(sample: Database, cypher: Cypher) -> None:
    cypher("MATCH (e:Entity) WHERE e.id = 'ledger' SET e.name = 'Z'")
    told = {v.message for v in verify(sample).violations if v.invariant == "identifier"}
    assert len(told) == len(cypher("MATCH (e:Entity {id: 'ledger'}) RETURN DISTINCT e.tenant"))


def test_a_run_under_way_is_said_and_its_changes_count(sample: Database) -> None:
    run = runs.begin(sample, runs.RunStart("ingest", "me", "jsonl", "1"), policies=POLICIES)
    try:
        report = verify(sample)
    finally:
        run.end("finished", {})
    assert report.violations == ()
    assert (report.checked["running"], report.checked["graph_hash"]) == (1, 1)


def test_a_change_of_the_order_of_policies_may_be_cut_off_and_completed(sample: Database) -> None:
    stricter = lattice({**POLICIES.parents, "hr": ("restricted",)})
    run = runs.begin(sample, runs.RunStart("policy-apply", "me", "policy", "1"), policies=stricter, new_order=True)
    try:
        reevaluate_edges(sample, run, Rules(stricter), View(seq=run.seq), [("ACME", "E:req:INC-2063->POL-61"), ("ACME", A_B)])
        during = verify(sample)
    finally:
        run.end("interrupted", {})
    assert during.violations == ()
    assert verify(sample).violations == ()
    apply_policies(sample, stricter, PolicyOptions())
    assert verify(sample).violations == ()


def records(edges: int) -> Iterator[dict[str, Any]]:
    for number in range(40):
        doc = f"D{number}@1"
        text = f"text {number}"
        yield {"kind": "revision", "doc": doc, "tenant": "T", "effective_at": "2026-01-01T00:00:00Z", "policy": "public"}
        yield {"kind": "chunk", "doc": doc, "chunk": "c", "tenant": "T", "section_path": [], "ordinal": 0, "text": text,
               "content_sha256": "sha256:" + hashlib.sha256(text.encode()).hexdigest(), "chunker_version": "1"}
    for number in range(edges):
        yield {"kind": "edge", "relation": "uses", "source": {"type": "System", "id": f"s{number}"},
               "target": {"type": "System", "id": "t"},
               "evidence": [{"doc": f"D{number % 40}@1", "chunk": "c"}], "access": {"tenant": "T", "policy": "internal"}}


def test_nothing_is_blamed_while_a_load_writes(fresh_database: Database, tmp_path: Path) -> None:
    file = tmp_path / "edges.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records(1500)), encoding="utf-8")
    loading = threading.Thread(target=ingest, args=(fresh_database, [file], IngestOptions(POLICIES, batch_size=10)))
    loading.start()
    during: list[Report] = []
    try:
        while loading.is_alive():
            during.append(verify(fresh_database))
    finally:
        loading.join()
    assert during
    assert [violation for report in during for violation in report.violations] == []
    assert any(report.checked["running"] for report in during)
    last = verify(fresh_database)
    assert last.ok
    assert (last.checked["edges"], last.checked["relationships"]) == (1500, 1500)
