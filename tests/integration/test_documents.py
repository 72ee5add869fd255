"""A document and the difference of two of its revisions, as each reader may see them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import neo4j
import pytest
from conftest import Cypher, Server
from corpus.records import Record, Store, chunk, cites, document, edge, registered, revision, sha256
from typer.testing import CliRunner

from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.records import AclRef
from graphrag_provenance.queries import query
from graphrag_provenance.store.documents import doc_diff, doc_show


@pytest.fixture(scope="module")
def store(emptied: Store, cypher: Cypher) -> Store:
    emptied.load(*OLD, *NEW, *OTHER)
    # What a complete load of d1@2 does: the evidence of d1@1 ends, and an edge without any is retracted.
    cypher("MATCH (a:Assertion)-[e:EVIDENCED_BY]->(c:Chunk {doc: 'd1@1'}) SET e.until = 2")
    cypher("MATCH (a:Assertion) WHERE NOT EXISTS { (a)-[e:EVIDENCED_BY]->() WHERE e.until IS NULL } "
           "SET a.state = 'retracted', a.policies = [], a.reasons = [] REMOVE a:Withheld "
           "WITH a MATCH ()-[r {edge_id: a.edge_id}]->() DELETE r")
    return emptied


def text(doc: str, name: str, body: str, **more: Any) -> Record:
    return chunk(doc, name, text=body, content_sha256=sha256(body), **more)


def quoting(citation: str, quote: str, span: tuple[int, int], policy: str | None = None) -> Record:
    return cites(citation, quote_hash=sha256(quote), span=list(span), **({} if policy is None else {"policy": policy}))


LEDGER, VAULT = "The ledger needs the vault.", "The vault needs a key."
OLD = [
    document("d1", policy="public"), revision("d1@1", effective_at="2026-01-01T00:00:00Z"),
    text("d1@1", "c1", LEDGER, ordinal=1), text("d1@1", "c2", VAULT, ordinal=2), text("d1@1", "c3", "Gone.", ordinal=3),
    text("d1@1", "c4", "Moved.", ordinal=4), text("d1@1", "c5", "Edited once.", ordinal=5),
    edge("S:ledger", "needs", "S:vault", quoting("d1@1#c1", "ledger needs", (4, 16)), edge_id="KEPT"),
    edge("S:vault", "needs", "S:key", quoting("d1@1#c2", "vault needs", (4, 15)), edge_id="LOST"),
    edge("S:a", "needs", "S:b", "d1@1#c3", edge_id="OTHERWISE"),
    edge("S:a", "needs", "S:c", cites("d1@1#c3", policy="secret"), edge_id="SECRET"),
    edge("S:a", "needs", "S:d", cites("d1@1#c5", policy="internal"), edge_id="POLICY"),
    edge("S:a", "needs", "S:w", cites("d1@1#c5", policy="pubilc"), edge_id="WITHHELD"),
]
NEW = [
    revision("d1@2", effective_at="2026-02-01T00:00:00Z", supersedes="d1@1"),
    text("d1@2", "c1", "Preface.", ordinal=1), text("d1@2", "c2", LEDGER, ordinal=2), text("d1@2", "c9", "Moved.", ordinal=4),
    text("d1@2", "c7", f"In short: {VAULT}", ordinal=5), text("d1@2", "c5", "Edited twice.", ordinal=6),
    edge("S:ledger", "needs", "S:vault", quoting("d1@2#c2", "ledger needs", (4, 16)), edge_id="KEPT"),
    edge("S:a", "needs", "S:n", "d1@2#c2", edge_id="GAINED"),
    edge("S:a", "needs", "S:d", cites("d1@2#c5", policy="confidential"), edge_id="POLICY"),
    edge("S:a", "needs", "S:x", cites("d1@2#c2", policy="secret"), edge_id="SECRET-GAINED"),
]
OTHER = [
    *registered("d2@1#c1", "public"), edge("S:a", "needs", "S:b", "d2@1#c1", edge_id="OTHERWISE"),
    document("s1", policy="secret"), revision("s1@1"), chunk("s1@1", "c1"), edge("S:a", "needs", "S:s", "s1@1#c1", edge_id="S1"),
    document("mute"), revision("mute@1"), chunk("mute@1", "c1"),
    document("part", policy="public"), revision("part@1"), revision("part@2", policy="secret", effective_at="2026-03-01T00:00:00Z"),
    chunk("part@1", "c1"), chunk("part@1", "c2", policy="secret"), chunk("part@2", "c1"),
    edge("S:a", "needs", "S:p", cites("loose@1#c1", policy="public"), edge_id="LOOSE"),
    document("far", policy="public"), revision("far@1", acl_ref={"system": "far", "space": "x", "restriction_id": "9"}),
    chunk("far@1", "c1"),
]


def reader(*clearances: str, auditor: bool = False, tenant: str = "ACME") -> Reader:
    return Reader("ann", tenant, frozenset(clearances), frozenset({Role.AUDITOR} if auditor else {Role.READER}))


def ids(found: Record, name: str) -> list[str]:
    return [one["edge_id"] for one in found[name]]


def test_the_diff_lists_what_the_newer_revision_keeps_gains_and_loses(store: Store) -> None:
    found = doc_diff(store.database, reader("confidential"), "d1@1", "d1@2")
    assert {name: ids(found, name) for name in ("kept", "gained", "lost", "policy_changed")} == {
        "kept": ["KEPT", "POLICY"], "gained": ["GAINED"], "lost": ["LOST", "OTHERWISE"], "policy_changed": ["POLICY"]}
    lost = {one["edge_id"]: one for one in found["lost"]}
    assert (lost["LOST"]["state"], lost["LOST"]["quote_found"]) == ("retracted", True)
    assert (lost["OTHERWISE"]["state"], lost["OTHERWISE"]["quote_found"]) == ("published", False)
    assert found["kept"][0]["evidence"] == {"before": 1, "after": 1, "active": 1}
    assert (found["head"], found["complete"]) == ("d1@2", False)
    assert "internal" not in json.dumps(found)


def test_a_quote_is_found_again_by_evidence_and_by_text(store: Store) -> None:
    found = doc_diff(store.database, reader("public"), "d1@1", "d1@2")
    assert found["re_anchored"] == [
        {"edge_id": "KEPT", "quote_hash": sha256("ledger needs"), "from": {"chunk": "c1", "span": [4, 16]},
         "to": {"chunk": "c2", "span": [4, 16]}, "by": "evidence", "moved": True},
        {"edge_id": "LOST", "quote_hash": sha256("vault needs"), "from": {"chunk": "c2", "span": [4, 15]},
         "to": {"chunk": "c7", "span": [14, 25]}, "by": "text", "moved": True}]


def test_the_diff_says_what_became_of_the_chunks(store: Store) -> None:
    assert doc_diff(store.database, reader("public"), "d1@1", "d1@2")["chunks"] == {
        "before": 5, "after": 5, "chunker_changed": None, "same": 0, "changed": ["c1", "c2", "c5"],
        "moved": [{"from": "c4", "to": "c9"}], "added": ["c7"], "deleted": [], "missing": ["c3"]}


def test_a_hidden_edge_is_no_part_of_a_diff(store: Store) -> None:
    everything = doc_diff(store.database, reader("secret"), "d1@1", "d1@2")
    assert ids(everything, "lost") == ["LOST", "OTHERWISE", "SECRET"]
    assert ids(everything, "gained") == ["GAINED", "SECRET-GAINED"]
    low = doc_diff(store.database, reader("public"), "d1@1", "d1@2")
    assert [ids(low, name) for name in ("kept", "gained", "lost", "policy_changed")] == [["KEPT"], ["GAINED"], ["LOST", "OTHERWISE"], []]
    auditor = doc_diff(store.database, reader("confidential", auditor=True), "d1@1", "d1@2")
    assert ids(auditor, "lost") == ["LOST", "OTHERWISE", "WITHHELD"]
    assert auditor["policy_changed"] == [{
        "edge_id": "POLICY", "before": {"policies": ["internal"], "acl": []}, "after": {"policies": ["confidential"], "acl": []}}]


def test_the_other_way_round_everything_is_the_other_way_round(store: Store) -> None:
    there, back = (doc_diff(store.database, reader("secret"), *pair) for pair in (("d1@1", "d1@2"), ("d1@2", "d1@1")))
    assert (ids(there, "lost"), ids(there, "kept")) == (ids(back, "gained"), ids(back, "kept"))
    same = doc_diff(store.database, reader("secret"), "d1@1", "d1@1")
    assert (same["lost"], same["gained"], same["chunks"]["same"]) == ([], [], 5)


def test_another_chunker_is_reported_as_that(store: Store) -> None:
    store.load(document("k", policy="public"), revision("k@1"), revision("k@2", effective_at="2026-02-01T00:00:00Z"),
               revision("k@3", effective_at="2026-03-01T00:00:00Z"),
               *(chunk("k@1", f"old-{n}") for n in range(9)), *(chunk("k@2", f"new-{n}", chunker_version="2") for n in range(4)),
               *(chunk("k@3", f"third-{n}", chunker_version="2") for n in range(4)))
    found = doc_diff(store.database, reader("public"), "k@1", "k@2")["chunks"]
    assert (found["chunker_changed"], found["missing"], found["added"]) == ({"before": ["1"], "after": ["2"]}, [], [])
    found = doc_diff(store.database, reader("public"), "k@2", "k@3")["chunks"]
    assert (found["chunker_changed"], len(found["missing"]), len(found["added"])) == (None, 4, 4)


def test_a_document_shows_its_revisions_and_the_edges_that_cite_it(store: Store) -> None:
    found = doc_show(store.database, reader("public"), "d1")
    assert (found["title"], found["head"], found["edges_total"]) == ("Title of d1", "d1@2", 4)
    told = [(one["doc"], one["state"], one["chunks"], one["chunker_versions"], one["superseded_by"], one["edges"])
            for one in found["revisions"]]
    assert told == [("d1@1", "superseded", 5, ["1"], ["d1@2"], 3), ("d1@2", "head", 5, ["1"], [], 2)]
    edges = {one["edge_id"]: (one["revisions"], one["evidence"]) for one in found["edges"]}
    assert edges["KEPT"] == (["d1@1", "d1@2"], {"active": 1, "ever": 2})
    assert edges["LOST"] == (["d1@1"], {"active": 0, "ever": 1})
    one = doc_show(store.database, reader("public"), "d1@2")
    assert ([r["doc"] for r in one["revisions"]], ids(one, "edges")) == (["d1@2"], ["GAINED", "KEPT"])
    page = doc_show(store.database, reader("public"), "d1", limit=1)
    assert (ids(page, "edges"), page["edges_total"], page["truncated"]) == (["GAINED"], 4, True)


def test_what_is_hidden_is_not_counted(store: Store) -> None:
    low, high = (doc_show(store.database, reader(name), "part") for name in ("public", "secret"))
    assert [(r["doc"], r["chunks"]) for r in low["revisions"]] == [("part@1", 1)]
    assert [(r["doc"], r["chunks"]) for r in high["revisions"]] == [("part@1", 2), ("part@2", 1)]
    assert (low["head"], high["head"]) == (None, "part@2")
    loose = doc_show(store.database, reader("public"), "loose")
    assert [(r["state"], r["chunks"], r["cited_only"], r["edges"]) for r in loose["revisions"]] == [("unregistered", 0, 1, 1)]


@pytest.mark.parametrize("hidden", ["s1", "s1@1", "mute", "part@2", "absent", "absent@1", "@", "far@1"])
def test_a_hidden_document_is_not_found_in_the_words_of_an_absent_one(store: Store, hidden: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        doc_show(store.database, reader("public"), hidden)
    document, at, _ = hidden.rpartition("@")
    hint = f"See: gprov doc show {document}." if document and at else "Check the id; what the reader may not see is not found either."
    assert str(caught.value) == f"There is no document or revision {hidden}. {hint}"


def test_hidden_revisions_and_other_tenants_are_not_found_by_a_diff(store: Store) -> None:
    for who, pair in ((reader("public"), ("part@1", "part@2")), (reader("public"), ("part@1", "part@9")),
                      (reader("secret", tenant="OTHER"), ("d1@1", "d1@2"))):
        with pytest.raises(NotFoundError):
            doc_diff(store.database, who, *pair)
    assert doc_show(store.database, reader("public", auditor=True), "mute")["revisions"][0]["chunks"] == 1


def test_a_revision_behind_a_live_reference_needs_the_grant(store: Store) -> None:
    key = AclRef(system="far", space="x", restriction_id="9").key()
    granted, without = (doc_show(store.database, reader("public"), "far", keys)["revisions"] for keys in ([key], []))
    assert ([(one["doc"], one["chunks"]) for one in granted], without) == ([("far@1", 1)], [])


@pytest.mark.parametrize("pair", [("d1@1", "d2@1"), ("d1", "d1@2"), ("d1@1", "")])
def test_a_diff_is_of_two_revisions_of_one_document(store: Store, pair: tuple[str, str]) -> None:
    with pytest.raises(InputError):
        doc_diff(store.database, reader("public"), *pair)


def test_a_diff_costs_what_the_document_has_not_what_the_store_has(store: Store, server: Server) -> None:
    names = ("read.document", "read.document_passages", "read.document_citations", "read.edge_statements")
    params = {"tenant": "ACME", "doc_id": "d1", "docs": ["d1@1", "d1@2"], "allowed": ["public"], "granted": [], "edge_ids": ["LOST"]}

    def hits(plan: dict[str, Any]) -> int:
        return int(plan["dbHits"]) + sum(map(hits, plan.get("children", ())))

    def cost() -> list[int]:
        auth = (server.connection.username, server.connection.password.get_secret_value())
        with neo4j.GraphDatabase.driver(server.connection.uri, auth=auth) as driver, driver.session() as session:
            plans = [session.run("PROFILE " + query(name).text, params).consume().profile for name in names]  # type: ignore[arg-type]
        return [hits(plan) for plan in plans if plan is not None]

    before = cost()
    store.cypher(
        "MATCH (s:Entity {tenant: 'ACME', type: 'S', id: 'a'}) UNWIND range(1, 3000) AS n "
        "CREATE (t:Entity:S {tenant: 'ACME', type: 'S', id: 'many' + n}) "
        "CREATE (s)-[:NEEDS {edge_id: 'M' + n, tenant: 'ACME', policies: ['public'], acl: []}]->(t) "
        "CREATE (:Assertion {tenant: 'ACME', edge_id: 'M' + n, state: 'published', source_type: 'S', source_id: 'a', target_type: 'S',"
        " target_id: 'many' + n, policies: ['public'], acl: []})"
        "-[:EVIDENCED_BY {since: 1}]->(:Chunk {tenant: 'ACME', doc: 'many@1', chunk: 'c' + n})")
    assert all(later <= 1.2 * first + 20 for first, later in zip(before, cost(), strict=True)), before


@pytest.fixture
def gprov(server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    who = ("--tenant", "ACME", "--clearance", "public", "--home", str(tmp_path))
    return lambda *args: CliRunner().invoke(app, ["doc", *args, *who])


def test_the_commands_print_tables_and_json(store: Store, gprov: Callable[..., Any]) -> None:
    shown = gprov("show", "d1")
    assert shown.exit_code == 0, shown.output
    assert "superseded" in shown.stdout
    told = gprov("diff", "d1@1", "d1@2")
    assert told.exit_code == 0, told.output
    assert "1 kept, 1 gained, 2 lost, 0 policy changed, 2 re anchored" in told.stdout
    assert "Possible connector failure" in told.stderr
    assert "not loaded as complete" in told.stderr
    body = json.loads(gprov("diff", "d1@1", "d1@2", "--format", "json").stdout)
    assert (body["schema"], ids(body, "lost")) == (1, ["LOST", "OTHERWISE"])
    lines = [json.loads(line) for line in gprov("diff", "d1@1", "d1@2", "--format", "jsonl").stdout.splitlines()]
    assert [line["change"] for line in lines] == ["kept", "gained", "lost", "lost", "re_anchored", "re_anchored"]
    assert json.loads(gprov("show", "d1@1", "--format", "json").stdout)["doc_id"] == "d1"
    assert gprov("show", "s1").exit_code == 1
    assert gprov("diff", "d1", "d1@2").exit_code == 2
