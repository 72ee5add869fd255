"""Two entities become one, with the evidence of both, and can become two again (spec 3, runs; field report 4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher, Server
from corpus.records import TENANT, Record, Store, check_sound, cites, edge, entity, registered, run_records
from typer.testing import CliRunner

from graphrag_provenance.errors import InputError, NotFoundError, StoreConflictError
from graphrag_provenance.ingest.merging import MergeOptions, merge_entities
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.edges import Identity, derived_edge_id
from graphrag_provenance.store import lookups
from graphrag_provenance.store.as_of import traces_as_of
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.traces import traces
from graphrag_provenance.store.verification import verify

EVERYTHING = Reader("ann", TENANT, frozenset({"secret", "hr", "legal"}))
PUBLIC = Reader("bob", TENANT, frozenset({"public"}))


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Iterator[Store]:
    made = Store(fresh_database, cypher, tmp_path)
    yield made
    check_sound(made)
    assert verify(made.database).violations == ()


def item(citation: str, policy: str, **more: Any) -> Record:
    return cites(citation, policy=policy, **more)


def merge(store: Store, source: str, target: str, **more: Any) -> dict[str, Any]:
    ends = [tuple(address.split(":", 1)) for address in (source, target)]
    return merge_entities(store.database, MergeOptions(**{"tenant": TENANT, "source": ends[0], "target": ends[1]} | more)).as_json()


def ask(store: Store, source: str, target: str, who: Reader = EVERYTHING, as_of: int | None = None) -> Trace:
    ends = [tuple(address.split(":", 1)) for address in (source, target)]
    question = [Question(ends[0], ends[1])]  # type: ignore[arg-type]
    (answer,) = traces(store.database, question, who) if as_of is None else traces_as_of(store.database, question, who, as_of)
    return answer


REPORT = [*registered("d1@1#c"), *registered("d2@1#c"), entity("Company:A1", name="Acme Ltd"), entity("Company:A2", name="Acme"),
          edge("Company:A1", "owns", "Company:C", item("d1@1#c", "internal", confidence=0.5)),
          edge("Company:A2", "owns", "Company:C", item("d2@1#c", "public", confidence=0.9))]


def test_report_4_the_edges_of_both_are_one_with_two_evidence_items_and_it_can_be_undone(store: Store) -> None:
    before = store.load(*REPORT).run["graph_hash"]
    (kept,) = [r["edge_id"] for r in store.relationships() if r["source"] == "A2"]
    done = merge(store, "Company:A1", "Company:A2", actor="ann", reason="one company")

    (relationship,) = store.relationships()
    assert (relationship["edge_id"], relationship["source"], relationship["target"]) == (kept, "A2", "C")
    assert (relationship["evidence"], relationship["policies"]) == (["d1@1#c", "d2@1#c"], ["internal"])
    assert relationship["confidence"] == 0.9
    assert done["edges"] == {"moved": 0, "united": 1, "self_loops": 0}
    assert (done["counts"], done["evidence"]) == ({"opened": 0, "closed": 1, "changed": 1}, {"moved": 1, "shared": 0})
    assert (done["closed"][0]["edge_id"], done["closed"][0]["before"]["policies"], done["closed"][0]["after"]["policies"]) == (
        kept, ["public"], ["internal"])

    logged = run_records(store.database)[-1]
    assert (logged["seq"], logged["kind"], logged["actor"], logged["status"]) == (2, "entity-merge", "ann", "finished")
    assert logged["inputs"] == [{"tenant": TENANT, "from": "Company:A1", "into": "Company:A2", "reason": "one company"}]
    assert logged["graph_hash"] == done["run"]["graph_hash"] == store.hash() != before

    undone = rollback(store.database, RollbackOptions(1)).as_json()
    assert undone["run"]["graph_hash"] == before
    assert {(r["source"], tuple(r["evidence"]), tuple(r["policies"])) for r in store.relationships()} == {
        ("A1", ("d1@1#c",), ("internal",)), ("A2", ("d2@1#c",), ("public",))}
    assert [run["kind"] for run in run_records(store.database)] == ["ingest", "entity-merge", "rollback"]


def test_the_merged_name_reaches_the_other_entity_and_a_past_run_still_knows_both(store: Store) -> None:
    store.load(*REPORT)
    merge(store, "Company:A1", "Company:A2")
    for name in ("A1", "Acme Ltd", "A2"):
        answer = ask(store, f"Company:{name}", "Company:C").as_json()
        assert (answer["state"], len(answer["paths"][0]["steps"][0]["evidence"])) == ("supported", 2), name
    then = ask(store, "Company:A1", "Company:C", as_of=1).as_json()
    assert [one["doc"] for one in then["paths"][0]["steps"][0]["evidence"]] == ["d1@1"]
    assert then["paths"][0]["steps"][0]["source"]["id"] == "A1"
    shown = lookups.entity_show(store.database, EVERYTHING, ("Company", "A1"))
    assert (shown["id"], shown["names"]) == ("A2", ["Acme"])
    assert {(a["alias"], a["method"], a["linker"]) for a in shown["aliases"]} == {
        ("A1", "declared", "gprov/entity-merge"), ("Acme Ltd", "declared", "gprov/entity-merge")}
    assert ask(store, "Company:A1", "Company:C", PUBLIC).as_json()["state"] == "unresolved"


WHOLE = [
    *REPORT,
    entity("Company: A1", name="Acme Ltd", attributes={"n": 1, "only": "A1"}, policy="internal",
           aliases=[{"alias": "guess", "method": "guess", "linker": "l", "linker_version": "1"}]),
    entity("Company:A2", attributes={"n": 2}),
    edge("Company:A1", "sues", "Company:A2", item("d1@1#c", "public"), attributes={"k": 1}),
    edge("Company:A2", "sues", "Company:A1", item("d2@1#c", "secret"), attributes={"k": 2}),
    edge("Company: A1", "sues", "Company:A1", item("d2@1#c", "secret"), edge_id="loop"),
    edge("Company:A1", "Owns", "Company:D", item("d1@1#c", "public"), edge_id="E1", attributes={"k": 1}),
    edge("Company:A2", "owns", "Company:D", item("d1@1#c", "public"), item("d2@1#c", "hr"), edge_id="E2", attributes={"k": 5}),
    edge("Company:A1", "owns", "Company:D", item("d1@1#x", "public"), attributes={"k": 3}),
    edge("Company:F", "buys", "Company:A1", item("d1@1#c", "pubilc"), edge_id="withheld"),
    edge("Company:F", "owns", "Company:A1", item("d1@1#c", "public"), scope={"region": "eu"}),
    edge("Company:F", "owns", "Company:A2", item("d1@1#c", "public"), scope={"region": "us"}),
    edge("Company:A1", "calls", "Company:A3", item("gone@1#c", "public"), edge_id="dormant"),
    {"kind": "tombstone", "doc_id": "gone", "tenant": TENANT, "deleted_in_revision": "gone@2"},
]


@pytest.mark.parametrize("batch_size", [1, 100])
def test_the_same_input_again_writes_nothing_and_leaves_one_hash(store: Store, batch_size: int) -> None:
    assert store.load(*WHOLE).rejected == {}
    merge(store, "Company:A1", "Company:A2")
    merged = store.hash()
    again = store.load(*WHOLE, batch_size=batch_size, workers=3)
    assert (again.rejected, again.outcome.writes.total, store.hash()) == ({}, 0, merged)
    assert again.outcome.edges["unchanged"] == len({r["a"]["edge_id"] for r in store.cypher(
        "MATCH (a:Assertion) WHERE a.merged_into IS NULL RETURN properties(a) AS a")})
    store.cypher("MATCH (n) WHERE n.records IS NOT NULL REMOVE n.records")  # what is known no longer is merged in full
    store.load(*WHOLE, batch_size=batch_size)
    assert store.hash() == merged
    rollback(store.database, RollbackOptions(1))
    assert store.hash() == run_records(store.database)[0]["graph_hash"]
    assert store.load(*WHOLE).run["graph_hash"] == store.hash() == run_records(store.database)[0]["graph_hash"]


def test_what_becomes_of_each_edge(store: Store) -> None:
    store.load(*WHOLE)
    planned = merge(store, "Company:A1", "Company:A2", dry_run=True)
    assert (store.one("MATCH (r:Run) RETURN count(r)"), store.one("MATCH (p:Past) RETURN count(p)")) == (1, 0)
    done = merge(store, "Company:A1", "Company:A2")
    told = ("counts", "opened", "closed", "changed", "truncated", "edges", "self_loops", "evidence", "aliases")
    assert {name: planned[name] for name in told} == {name: done[name] for name in told}

    now = {r["edge_id"]: r for r in store.relationships()}
    assert {(r["source"], r["type"], r["target"]) for r in now.values()} == {
        ("A2", "OWNS", "C"), ("A2", "SUES", "A2"), ("A2", "OWNS", "D"), ("F", "OWNS", "A2")}
    assert [r["region"] for r in now.values() if r["source"] == "F"] in (["eu", "us"], ["us", "eu"])
    (loop,) = done["self_loops"]
    assert (now[loop]["policies"], now[loop]["evidence"]) == (["secret"], ["d1@1#c", "d2@1#c"])
    assert (now["E2"]["policies"], now["E2"]["evidence"]) == (["hr"], ["d1@1#c", "d1@1#x", "d2@1#c"])
    assert store.assertion("E2")["attributes"] == '{"k":5}'
    assert store.assertion("E1")["merged_into"] == "E2"
    assert (store.state("withheld"), store.assertion("withheld")["target_id"]) == ("withheld", "A2")
    assert (store.state("dormant"), store.assertion("dormant")["source_id"]) == ("retracted", "A2")
    merged = store.one("MATCH (n:Entity {id: 'A1'}) RETURN properties(n)")
    assert (merged["merged_into"], merged["declared"], merged["names"], merged["policies"]) == ("A2", False, [], [])
    assert store.one("MATCH (n:Entity {id: 'A1'}) RETURN COUNT { (n)--() }") == 0
    target = store.one("MATCH (n:Entity {id: 'A2'}) RETURN properties(n)")
    assert (target["policies"], json.loads(target["attributes"])) == (["internal"], {"n": 2, "only": "A1"})
    methods = {(row["a"], row["m"]) for row in store.cypher("MATCH (n:Alias)-[:NAMES]->({id: 'A2'}) RETURN n.alias AS a, n.method AS m")}
    assert methods == {("A1", "declared"), ("Acme Ltd", "declared"), (" A1", "exact"), ("guess", "guess")}


def test_what_either_edge_declared_counts_for_the_one_that_stays(store: Store) -> None:
    store.load(edge("T:a", "owns", "T:x", item("d1@1#c", "public"), policy="hr", edge_id="E1", attributes={"k": 1}),
               edge("T:b", "owns", "T:x", item("d2@1#c", "public"), policy="legal", edge_id="E2"))
    merge(store, "T:a", "T:b")
    assert store.published() == {"E2": ("hr", "legal")}
    assert store.assertion("E2")["attributes"] == '{"k":1}'
    rollback(store.database, RollbackOptions(1))
    assert store.published() == {"E1": ("hr",), "E2": ("legal",)}


def test_an_entity_that_only_an_edge_names_is_declared_once_a_declared_one_is_merged_into_it(store: Store) -> None:
    records = [entity("T:a", name="Ay"), edge("T:b", "owns", "T:x", item("d1@1#c", "public"))]
    store.load(*records)
    merge(store, "T:a", "T:b")
    node = store.one("MATCH (e:Entity {id: 'b'}) RETURN properties(e)")
    assert (node["declared"], node["digest"] is not None) == (True, True)
    assert store.load(*records).outcome.writes.total == 0


def test_evidence_comes_into_force_at_the_entity_that_stands_for_the_merged_one(store: Store) -> None:
    store.load(*WHOLE)
    merge(store, "Company:A1", "Company:A2")
    store.load({"kind": "revision", "doc": "gone@1", "tenant": TENANT, "effective_at": "2026-01-01T00:00:00Z", "supersedes": "gone@2"},
               {"kind": "revision", "doc": "gone@2", "tenant": TENANT, "effective_at": "2025-01-01T00:00:00Z"})
    assert [(r["source"], r["target"]) for r in store.relationships() if r["edge_id"] == "dormant"] == [("A2", "A3")]


def test_later_records_of_the_merged_entity_are_about_the_other_one(store: Store) -> None:
    store.load(*REPORT)
    merge(store, "Company:A1", "Company:A2")
    loaded = store.load(
        entity("Company:A1", name="Acme plc", aliases=[{"alias": "ACM", "method": "declared", "linker": "l", "linker_version": "1"}]),
        edge("Company:A1", "owns", "Company:C", item("d3@1#c", "hr")), edge("Company:E", "owns", "Company: A1", item("d3@1#c", "hr")),
        edge("Company:A1", "owns", "Company:G", item("d3@1#c", "hr")), edge("Company:A2", "owns", "Company:G", item("d4@1#c", "public")))
    assert loaded.rejected == {}
    assert {(r["source"], r["target"], tuple(r["evidence"])) for r in store.relationships()} == {
        ("A2", "C", ("d1@1#c", "d2@1#c", "d3@1#c")), ("E", "A2", ("d3@1#c",)), ("A2", "G", ("d3@1#c", "d4@1#c"))}
    shown = lookups.entity_show(store.database, EVERYTHING, ("Company", "ACM"))
    assert (shown["id"], shown["names"]) == ("A2", ["Acme"])
    assert {a["alias"] for a in shown["aliases"]} == {"A1", " A1", "Acme Ltd", "Acme plc", "ACM"}


def test_a_derived_id_reaches_the_edge_that_moved_and_a_given_one_the_edge_that_took_it_in(store: Store) -> None:
    store.load(edge("T:a", "owns", "T:x", item("d1@1#c", "public")), edge("T:b", "is", "T:b", item("d1@1#c", "public")),
               edge("T:a", "owns", "T:y", item("d1@1#c", "public")), edge("T:b", "owns", "T:y", item("d2@1#c", "public"), edge_id="Y"))
    moved = next(r["edge_id"] for r in store.relationships() if r["target"] == "x")
    old = next(r["edge_id"] for r in store.relationships() if r["target"] == "y" and r["edge_id"] != "Y")
    merge(store, "T:a", "T:b")
    store.load(edge("T:b", "owns", "T:x", item("d2@1#c", "public")), edge("T:b", "owns", "T:y", item("d3@1#c", "public")),
               edge("T:a", "owns", "T:y", item("d4@1#c", "public"), edge_id=old),
               edge("T:b", "owns", "T:y", item("d5@1#c", "public"), edge_id=old))
    assert {r["edge_id"]: r["evidence"] for r in store.relationships() if r["type"] == "OWNS"} == {
        moved: ["d1@1#c", "d2@1#c"], "Y": ["d1@1#c", "d2@1#c", "d3@1#c", "d4@1#c", "d5@1#c"]}
    wrong = store.load(edge("T:a", "owns", "T:z", item("d1@1#c", "public"), edge_id=old))
    assert wrong.rejected == {"edge-id-conflict": 1}


def test_a_record_that_states_the_derived_id_of_a_merged_name_is_about_the_edge_that_says_so_now(store: Store) -> None:
    """The store has never seen that id; the edge that it leads to is there already."""
    store.load(edge("T:a", "is", "T:a", item("d1@1#c", "public")), edge("T:b", "owns", "T:x", item("d1@1#c", "public")))
    merge(store, "T:a", "T:b")
    stated = derived_edge_id(TENANT, Identity("owns", "T", "a", "T", "x", None, None, None, None))
    assert store.load(edge("T:a", "owns", "T:x", item("d2@1#c", "public"), edge_id=stated)).rejected == {}
    assert [(r["source"], r["evidence"]) for r in store.relationships() if r["type"] == "OWNS"] == [("b", ["d1@1#c", "d2@1#c"])]


def test_a_merge_may_follow_another_and_each_can_be_undone(store: Store) -> None:
    records = [edge(f"T:{name}", "owns", "T:x", item(f"{name}@1#c", "public")) for name in ("a", "b", "c")]
    store.load(*records)
    merge(store, "T:a", "T:b")
    merge(store, "T:b", "T:c")
    (one,) = store.relationships()
    assert (one["source"], one["evidence"]) == ("c", ["a@1#c", "b@1#c", "c@1#c"])
    assert [step["source"]["id"] for step in ask(store, "T:a", "T:x").as_json()["paths"][0]["steps"]] == ["c"]
    assert store.load(*records).outcome.writes.total == 0
    hashes = [run["graph_hash"] for run in run_records(store.database)]
    for to in (2, 1, 3):
        assert rollback(store.database, RollbackOptions(to)).as_json()["run"]["graph_hash"] == hashes[to - 1]
        assert verify(store.database).violations == ()
    assert store.load(*records).run["graph_hash"] == hashes[2]


def test_what_cannot_be_merged_is_said_and_changes_nothing(store: Store) -> None:
    store.load(*REPORT, edge("Team:T", "owns", "Company:C", item("d1@1#c", "public")),
               entity("Company:A9", tenant="OTHER"), edge("Company:B", "owns", "Company:C", item("d1@1#c", "public")))
    merge(store, "Company:A1", "Company:A2")
    before = store.everything()
    for source, target, error, words in (
        ("Company:A2", "Company:A2", InputError, "into itself"), ("Team:T", "Company:A2", InputError, "two types"),
        ("Company:A9", "Company:A2", NotFoundError, "no entity Company:A9"), ("Company:A2", "Company:A9", NotFoundError, "A9"),
        ("Company:A1", "Company:B", InputError, "merged into Company:A2 before"),
        ("Company:B", "Company:A1", InputError, "merged into Company:A2 before"),
        ("Company:A2", "Company:A1", InputError, "before"),
    ):  # fmt: skip
        for dry_run in (True, False):
            with pytest.raises(error, match=words):
                merge(store, source, target, dry_run=dry_run)
    assert store.everything() == before


def test_of_two_values_the_one_of_the_later_run_stands(store: Store) -> None:
    for n, name in ((3, "a"), (2, "b"), (1, "a")):
        store.load(entity(f"T:{name}", attributes={"n": n, name: n}))
    merge(store, "T:b", "T:a")
    assert json.loads(store.one("MATCH (e:Entity {id: 'a'}) RETURN e.attributes")) == {"n": 1, "a": 1, "b": 2}
    store.load(entity("T:c", attributes={"n": 0}))
    merge(store, "T:c", "T:a")
    assert json.loads(store.one("MATCH (e:Entity {id: 'a'}) RETURN e.attributes")) == {"n": 0, "a": 1, "b": 2}


def test_two_tenants_never_mix(store: Store) -> None:
    store.load(*REPORT)
    store.load(*(json.loads(json.dumps(record).replace(f'"{TENANT}"', '"BETA"')) for record in REPORT if record["kind"] != "document"),
               *({**r, "doc_id": "b" + r["doc_id"], "tenant": "BETA"} for r in REPORT if r["kind"] == "document"))
    other = store.cypher("MATCH (n) WHERE n.tenant = 'BETA' RETURN properties(n) AS p, COUNT { (n)--() } AS c ORDER BY elementId(n)")
    merge(store, "Company:A1", "Company:A2")
    assert store.cypher(
        "MATCH (n) WHERE n.tenant = 'BETA' RETURN properties(n) AS p, COUNT { (n)--() } AS c ORDER BY elementId(n)") == other
    loaded = store.load(edge("Company:A1", "owns", "Company:Q", item("x@1#c", "public")) | {"access": {"tenant": "BETA"}})
    assert loaded.rejected == {}
    assert store.cypher("MATCH (s {tenant: 'BETA'})-[:OWNS]->({id: 'Q'}) RETURN s.id AS id") == [{"id": "A1"}]


def test_a_merge_that_is_cut_off_has_done_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.load(*WHOLE)
    before = store.hash(), store.relationships()

    def fail(*_: Any, **__: Any) -> Any:
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr("graphrag_provenance.store.runs.Run.account", fail)
        with pytest.raises(ConnectionError):
            merge(store, "Company:A1", "Company:A2")
    assert (store.hash(), store.relationships()) == before
    assert run_records(store.database)[-1]["status"] == "failed"
    store.cypher("MATCH (s:Store) SET s.policies_next = '[{\"public\": []}]'")
    for dry_run in (True, False):
        with pytest.raises(StoreConflictError, match="cut off"):
            merge(store, "Company:A1", "Company:A2", dry_run=dry_run)
    store.cypher("MATCH (s:Store) REMOVE s.policies_next")


def test_the_command_prints_a_receipt(store: Store, server: Server, tmp_path: Path) -> None:
    store.load(*WHOLE)

    def gprov(*arguments: str) -> Any:
        return CliRunner().invoke(app, [*arguments, "--workspace", str(tmp_path)], env=server.environment())

    command = ("entity", "merge", "Company:A1", "Company:A2", "--tenant", TENANT, "--reason", "one", "--actor", "ann")
    dry = gprov(*command, "--dry-run")
    assert (dry.exit_code, dry.stdout.splitlines()[0]) == (0, "Would merge Company:A1 into Company:A2."), dry.output
    assert "Leads from Company:A2 to itself now: " in dry.stdout
    assert "E1, part of E2: Company:A2 owns Company:D, published public → published hr" in dry.stdout.replace("Owns", "owns")
    done = gprov(*command, "--format", "json")
    body = json.loads(done.stdout)
    assert (done.exit_code, body["schema"], body["from"], body["into"], body["reason"]) == (0, 1, "Company:A1", "Company:A2", "one")
    assert body["run"]["graph_hash"] == store.hash()
    again = gprov(*command)
    assert (again.exit_code, again.stdout) == (2, "")
    assert "was merged into Company:A2 before" in again.stderr
    assert gprov("entity", "merge", "Company:A2", "Company:nobody", "--tenant", TENANT).exit_code == 1
    assert "needs a tenant" in gprov("entity", "merge", "Company:A1", "Company:A2").stderr


DAMAGES = {
    "an edge ends at a merged entity": ("MATCH (a:Assertion {edge_id: 'withheld'}) SET a.target_id = 'A1'", "merged", {"withheld"}),
    "a merged entity has a name": ("MATCH (e:Entity {id: 'A1'}) SET e.names = ['x'], e.name = 'x'", "merged", {"Company:A1"}),
    "a merged entity is named": (
        "MATCH (e:Entity {id: 'A1'}), (n:Alias {alias: 'A1'})-[r:NAMES]->() CREATE (n)-[:NAMES]->(e) DELETE r", "merged", {"Company:A1"}),
    "a merged entity leads nowhere": ("MATCH (e:Entity {id: 'A1'}) SET e.merged_into = 'gone'", "merged", {"Company:A1"}),
    "entities are merged in a circle": (
        "MATCH (e:Entity {id: 'A2'}) SET e.merged_into = 'A1'", "merged", {"Company:A1", "Company:A2"}),
    "a merge is undone by hand": ("MATCH (e:Entity {id: 'A1'}) REMOVE e.merged_into", "record-digest", {"Company:A1"}),
    "an edge was taken in by another one": ("MATCH (a:Assertion {edge_id: 'E1'}) SET a.merged_into = 'loop'", "record-digest", {"E1"}),
    "an edge was taken in by none": ("MATCH (a:Assertion {edge_id: 'E1'}) SET a.merged_into = 'gone'", "merged", {"E1"}),
    "edges took each other in": ("MATCH (a:Assertion {edge_id: 'E2'}) SET a.merged_into = 'E1'", "merged", {"E1", "E2"}),
    "an edge that was taken in has evidence": (
        "MATCH (:Assertion {edge_id: 'E1'})-[v:EVIDENCED_BY]->() REMOVE v.dropped", "merged", {"E1"}),
    "an edge answers to another id": ("MATCH (a:Assertion {edge_id: 'E2'}) SET a.derived_id = 'x'", "identifier", {"E2"}),
    "two edges answer to one id": (
        "MATCH (a:Assertion {edge_id: 'E2'}), (b:Assertion {edge_id: 'loop'}) SET b.derived_id = a.derived_id", "merged", {"E2", "loop"}),
    "an edge answers to the id of another": (
        "MATCH (a:Assertion {edge_id: 'E2'}) SET a.derived_id = 'loop'", "merged", {"E2"}),
}


def test_damage_to_what_was_merged_is_found(store: Store) -> None:
    store.load(*WHOLE)
    merge(store, "Company:A1", "Company:A2")
    kept = store.cypher("MATCH (n) WHERE n:Entity OR n:Assertion RETURN elementId(n) AS id, properties(n) AS p")
    for name, (statement, invariant, ids) in DAMAGES.items():
        store.cypher(statement)
        found = verify(store.database).violations
        assert ids <= {one for v in found if v.invariant == invariant for one in v.ids}, (name, found)
        store.cypher("UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row.id SET n = row.p", rows=kept)
        store.cypher("MATCH (:Assertion {edge_id: 'E1'})-[v:EVIDENCED_BY]->() SET v.dropped = 2")
        store.cypher("MATCH (n:Alias)-[r:NAMES]->(:Entity {id: 'A1'}) MATCH (e:Entity {id: 'A2'}) DELETE r CREATE (n)-[:NAMES]->(e)")
        assert verify(store.database).violations == (), name
