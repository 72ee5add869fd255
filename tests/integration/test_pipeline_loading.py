"""Pipelines on a real store: a source becomes edges by TOML and SQL alone, and the loss report accounts for every row (spec 5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest import IngestOptions, Summary
from graphrag_provenance.ingest.losses import LossReport
from graphrag_provenance.ingest.pipelines import bind, find_pipeline, read_pipeline
from graphrag_provenance.ingest.piping import run_pipeline
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.lookups import run_list

Cypher = Callable[..., list[dict[str, Any]]]
TOOLS = Path(__file__).parents[1] / "corpus" / "tools"
POLICIES = parse_policies(etl_path("policies.toml").read_text(encoding="utf-8"))


@pytest.fixture
def loaded(fresh_database: Database, tenant: str, tmp_path: Path) -> Callable[..., tuple[Summary, LossReport]]:
    """Runs a pipeline into a tenant of its own."""
    def run(pipeline: str | Path, changed: Mapping[str, Any] | None = None, **more: Any) -> tuple[Summary, LossReport]:
        found = read_pipeline(pipeline) if isinstance(pipeline, Path) else find_pipeline(pipeline, tmp_path)
        options = IngestOptions(policies=POLICIES, tenant=tenant, batch_size=50, rejects=tmp_path / "rejects.jsonl")
        return run_pipeline(fresh_database, bind(found, **more), replace(options, **(changed or {})), memory_mb=256)

    return run


@pytest.fixture
def edges(cypher: Cypher, tenant: str) -> Callable[[], list[dict[str, Any]]]:
    """Every edge of the tenant, with its evidence."""
    def found() -> list[dict[str, Any]]:
        return cypher(
            "MATCH (a:Assertion {tenant: $tenant}) OPTIONAL MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk) WHERE e.until IS NULL "
            "WITH a, c ORDER BY c.doc, c.chunk RETURN a.relation AS relation, a.source_type AS source_type, a.source_id AS source, "
            "a.target_id AS target, a.state AS state, a.policies AS policies, a.confidence AS confidence, a.environment AS environment, "
            "a.attributes AS attributes, collect([c.doc, c.chunk]) AS evidence ORDER BY source, target, relation", tenant=tenant)

    return found


def rejects(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text(encoding="utf-8").splitlines()]


SOURCE_TOML = """
schema = 1
name = "inventory"
version = "3"
[inputs.uses]
format = "csv"
file = "uses.csv"
delimiter = ";"
columns = ["from", "to", "page", "class"]
"""
SOURCE_SQL = """SELECT 'uses' AS relation, {type: 'System', id: "from"} AS source, {type: 'System', id: "to"} AS target,
    [{doc: 'INV@2026', chunk: page, policy: class}] AS evidence FROM uses"""
SOURCE_CSV = (
    'from;to;page;class\n001;1;7;public\n"a<SEP>b,c|d@e#f\'g"")";"Ż λ";p;internal\n001;1;8;\nlonely;;9;public\nbroken\nx;y;10;pubilc\n')


def test_a_new_csv_source_needs_only_toml_and_sql(
    loaded: Callable[..., tuple[Summary, LossReport]], edges: Callable[[], list[dict[str, Any]]], tmp_path: Path, database: Database
) -> None:
    source = tmp_path / "inventory"
    source.mkdir()
    for name, text in (("pipeline.toml", SOURCE_TOML), ("edges.sql", SOURCE_SQL), ("uses.csv", SOURCE_CSV)):
        (source / name).write_text(text, encoding="utf-8")
    summary, losses = loaded(source)
    assert [(edge["source"], edge["target"], edge["state"], edge["evidence"]) for edge in edges()] == [
        ("001", "1", "withheld", [["INV@2026", "7"], ["INV@2026", "8"]]),  # the empty class is null: an unknown policy
        ("a<SEP>b,c|d@e#f'g\")", "Ż λ", "published", [["INV@2026", "p"]]),
        ("x", "y", "withheld", [["INV@2026", "10"]]),
    ]
    assert [(one["file"], one["line"], one["code"]) for one in rejects(tmp_path)] == [
        (str(source / "uses.csv"), 6, "source-row"), ("inventory/edges.sql", 4, "invalid-field")]
    assert summary.as_json()["records"] == {"read": 6, "accepted": 4, "rejected": 2}
    body = losses.as_json()
    assert body["queries"] == [{"query": "edges.sql", "kind": "edge", "rows": 5, "accepted": 4, "rejected": 1}]
    assert {"kind": "evidence", "field": "policy", "missing": 1, "of": 5} in body["unknown_fields"]
    assert {"kind": "evidence", "field": "quote_hash", "missing": 5, "of": 5} in body["unknown_fields"]
    assert body["refused"] == [{"file": str(source / "uses.csv"), "reason": "source-row", "count": 1},
                               {"file": "inventory/edges.sql", "reason": "invalid-field", "count": 1}]
    assert sum(body["withheld"].values()) == 2
    assert body["entities_from_edges"] == 6
    assert body["edges_unregistered"] == 3
    run = next(run for run in run_list(database, limit=5) if run["seq"] == summary.run["seq"])
    assert (run["pipeline"], run["version"]) == ("inventory", "3")
    assert loaded(source)[0].outcome.writes.total == 0


def test_a_cut_off_run_is_completed_only_with_the_same_source_queries_and_options(
    loaded: Callable[..., tuple[Summary, LossReport]], cypher: Cypher, tmp_path: Path, tenant: str
) -> None:
    source = tmp_path / "made"
    source.mkdir()
    (source / "pipeline.toml").write_text(SOURCE_TOML + '[options.extra]\nhelp = "x"\n', encoding="utf-8")
    (source / "edges.sql").write_text(SOURCE_SQL, encoding="utf-8")
    (source / "uses.csv").write_text("from;to;page;class\na;b;1;public\n", encoding="utf-8")
    summary, _ = loaded(source)
    (row,) = cypher("MATCH (r:Run {seq: $seq}) SET r.status = 'interrupted' RETURN r.inputs AS inputs", seq=summary.run["seq"])
    assert [one["name"] for one in json.loads(row["inputs"])] == [
        str(source / "uses.csv"), "inventory/pipeline.toml", "inventory/edges.sql", "inventory/options"]
    resumed = {"resume": summary.run["seq"]}
    with pytest.raises(InputError, match="not that of run"):
        loaded(source, resumed, options={"extra": "other"})
    (source / "edges.sql").write_text(SOURCE_SQL + " -- changed", encoding="utf-8")
    with pytest.raises(InputError, match="not that of run"):
        loaded(source, resumed)
    (source / "edges.sql").write_text(SOURCE_SQL, encoding="utf-8")
    assert loaded(source, resumed)[0].run["status"] == "finished"
    cypher("MATCH (r:Run {seq: $seq}) SET r.status = 'finished'", seq=summary.run["seq"])


def test_a_dry_run_says_the_same_and_writes_nothing(
    loaded: Callable[..., tuple[Summary, LossReport]], edges: Callable[[], list[dict[str, Any]]]
) -> None:
    dry, told = loaded("csv", {"dry_run": True})
    assert edges() == []
    wet, losses = loaded("csv")
    assert told.as_json() == losses.as_json()
    assert (dry.outcome.edges, dry.read) == (wet.outcome.edges, wet.read)


def test_plain_csv_a_row_a_piece_of_evidence(
    loaded: Callable[..., tuple[Summary, LossReport]], edges: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    rows = tmp_path / "edges.csv"
    rows.write_text(
        "target,relation,source_type,source,target_type,doc,chunk,policy,confidence\n"
        'b,"OWNS`]->() DETACH DELETE n //",Document,a,Thing,d@x@1,1,public,0.5\n'
        "b,owns,Thing,a,Thing,d1@1,c3,public,1.2\nb,owns,Thing,a,Thing,d1@1,c3,public,high\n"
        "b,owns,Thing,a,Thing,d1@1,c3,public,001\nb,owns,Thing,a,Thing,d2@1,c1,confidential,\n", encoding="utf-8")
    _, losses = loaded("csv", paths=[rows])
    first, second = edges()
    assert (first["state"], first["relation"][:5], first["source_type"][:9]) == ("published", "OWNS_", "Document_")
    assert json.loads(first["attributes"]) == {"relation": "OWNS`]->() DETACH DELETE n //"}
    assert (second["state"], second["policies"], second["confidence"]) == ("published", ["confidential"], 1.0)
    assert second["evidence"] == [["d1@1", "c3"], ["d2@1", "c1"]]
    assert [(one["line"], one["code"]) for one in rejects(tmp_path)] == [(2, "invalid-field"), (3, "invalid-field")]
    assert [row["count"] for row in losses.as_json()["defaulted"]] == [1]


def document(title: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "sents": [["Ann", "founded", "Acme", "."], ["Acme", "is", "in", "Oslo", "."]], **more}


def mention(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "sent_id": 0, "pos": [0, 1]}


CORPUS = [
    document("one", vertexSet=[[mention("Ann", "PER")], [mention("ACME ", "ORG"), mention("Acme Inc", "ORG"), mention("ACME ", "MISC")],
                               [mention("Oslo", "LOC")]],
             labels=[{"r": "P112", "h": 1, "t": 0, "evidence": [0]}, {"r": "P159", "h": 1, "t": 2, "evidence": [0, 1]},
                     {"r": "P17", "h": 2, "t": 2, "evidence": []}]),
    document("two", vertexSet=[[mention("ann", "PER")], [mention("acme", "ORG")]],
             labels=[{"r": "P112", "h": 1, "t": 0, "evidence": [0]}, {"r": "P112", "h": 7, "t": 0, "evidence": [0]}]),
]


def test_documents_in_the_format_of_docred(
    loaded: Callable[..., tuple[Summary, LossReport]], edges: Callable[[], list[dict[str, Any]]], cypher: Cypher, tenant: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "documents.json").write_text(json.dumps(CORPUS), encoding="utf-8")
    summary, losses = loaded("redocred", paths=[tmp_path], options={"policy_names": "public,internal,confidential"})
    # int(sha256(title), 16) % 3: 0 for "one", 1 for "two".
    policies = cypher("MATCH (d:Document {tenant: $tenant}) RETURN d.doc_id AS id, d.policies AS policies ORDER BY id", tenant=tenant)
    assert policies == [{"id": "one", "policies": ["public"]}, {"id": "two", "policies": ["internal"]}]
    assert [(edge["relation"], edge["source"], edge["target"], edge["policies"], edge["evidence"]) for edge in edges()] == [
        ("P112", "acme", "ann", ["internal"], [["one@1", "0"], ["two@1", "0"]]),
        ("P159", "acme", "oslo", ["public"], [["one@1", "0"], ["one@1", "1"]]),
    ]
    assert summary.rejected == {"no-evidence": 1, "invalid-field": 1}
    assert [(one["query"], one["rows"], one["rejected"]) for one in losses.queries] == [
        ("documents.sql", 2, 0), ("revisions.sql", 2, 0), ("chunks.sql", 4, 0), ("entities.sql", 3, 0), ("edges.sql", 5, 2)]
    assert losses.as_json()["defaulted"][0]["count"] == 2


@pytest.fixture
def graphrag(tmp_path: Path) -> Path:
    """An output folder of Microsoft GraphRAG, small, with the faults that are found in the field."""
    folder = tmp_path / "output"
    folder.mkdir()
    with duckdb.connect() as writer:
        for name, query in {
            "documents": """SELECT 'd,1' AS id, 'a.txt' AS title, 'Ann leads. Bob helps.' AS text,
                '2025-03-04 09:39:37 -0800' AS creation_date, NULL AS metadata""",
            "text_units": """SELECT * FROM (VALUES ('u1', 0, 'Ann leads.', 'd,1'), ('u<SEP>2', 1, 'Bob helps.', 'd,1'))
                AS t (id, human_readable_id, text, document_id)""",
            "entities": """SELECT * FROM (VALUES ('e1', 'ANN', 'PERSON', 'leads'), ('e2', 'BOB', 'PERSON', 'helps'),
                ('e3', 'PLAN "X"', 'Document', 'a plan')) AS t (id, title, type, description)""",
            "relationships": """SELECT * FROM (VALUES ('r1', 'ANN', 'BOB', 'leads', 7.0::DOUBLE, ['u1', 'u<SEP>2']),
                ('r2', 'BOB', 'PLAN "X"', 'made', 1.0::DOUBLE, ['u<SEP>2']), ('r3', 'GHOST', 'BOB', 'haunts', 1.0::DOUBLE, ['u1']),
                ('r4', 'BOB', 'ANN', 'helps', 1.0::DOUBLE, ['u1,u<SEP>2']), ('r5', 'BOB', 'BOB', 'is', 1.0::DOUBLE, []))
                AS t (id, source, target, description, weight, text_unit_ids)""",
            "covariates": "SELECT 'c1' AS id",
        }.items():
            writer.execute(f"COPY ({query}) TO '{folder / name}.parquet' (FORMAT parquet)")
    return folder


def test_microsoft_graphrag_accounts_for_every_relationship(
    loaded: Callable[..., tuple[Summary, LossReport]], edges: Callable[[], list[dict[str, Any]]], graphrag: Path, tmp_path: Path
) -> None:
    """It knows no policy: nothing is published until the operator says which applies."""
    summary, losses = loaded("msgraphrag", paths=[graphrag])
    doc = "d,1@sha256-3e0a4a6d5e1a3d4f"
    told = {(edge["source"], edge["target"]): edge for edge in edges()}
    assert {ends: (edge["state"], [chunk for _, chunk in edge["evidence"]]) for ends, edge in told.items()} == {
        ("ANN", "BOB"): ("withheld", ["u1", "u<SEP>2"]), ("BOB", 'PLAN "X"'): ("withheld", ["u<SEP>2"])}
    assert all(cited.startswith("d,1@sha256-") and len(cited) == len(doc) for edge in told.values() for cited, _ in edge["evidence"])
    assert summary.outcome.edges["published"] == summary.outcome.edges["unregistered"] == 0
    assert {one["line"]: one["code"] for one in rejects(tmp_path)} == {3: "invalid-field", 4: "invalid-field", 5: "no-evidence"}
    assert "source.type" in rejects(tmp_path)[0]["message"]
    assert "evidence.0.doc" in rejects(tmp_path)[1]["message"]
    body = losses.as_json()
    assert body["queries"][-1] == {"query": "edges.sql", "kind": "edge", "rows": 5, "accepted": 2, "rejected": 3}
    assert {(row["subject"], row["count"]) for row in body["unknown"]} == {
        ("relation", 5), ("policy", 5), ("end of a relationship", 1), ("passage", 1)}
    assert {(row["subject"], row["count"]) for row in body["defaulted"]} == {("revision", 1), ("effective_at", 1)}
    assert [(row["subject"], row["count"]) for row in body["dropped"]] == [("claim", 1)]

    summary, losses = loaded("msgraphrag", paths=[graphrag], options={"policy": "internal", "unknown_type": "Thing"})
    assert {(edge["source"], edge["state"]) for edge in edges()} == {("ANN", "published"), ("BOB", "published"), ("GHOST", "published")}
    assert losses.queries[-1]["rejected"] == 2
    assert {(row["subject"], row["count"]) for row in losses.as_json()["defaulted"]} >= {("policy", 5)}


def test_langchain_graph_documents_as_the_package_writes_them(
    loaded: Callable[..., tuple[Summary, LossReport]], edges: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    """Written with langchain-community 0.4.2: GraphDocument.model_dump_json()."""
    options = {"policy": "internal", "effective_at": "2026-01-01T00:00:00Z"}
    _, losses = loaded("langchain", paths=[TOOLS / "langchain" / "graph_documents.jsonl"], options=options)
    works, knows = edges()
    assert (knows["relation"], knows["target"], knows["state"]) == ("KNOWS", 'B<SEP>"c", | @ #', "published")
    assert sorted((doc.rpartition("@")[0], chunk[:6]) for doc, chunk in knows["evidence"]) == [("other", "sha256"), ("s,1.txt", "p@2")]
    assert (works["relation"].rpartition("_")[0], works["target"], works["source_type"]) == ("works_for", "7", "Person")
    assert json.loads(works["attributes"]) == {"relation": "works for", "properties": '{"since":"2020"}'}
    assert {(one["file"], one["line"], one["code"]) for one in rejects(tmp_path)} == {
        ("langchain/chunks.sql", 4, "invalid-field"), ("langchain/edges.sql", 4, "invalid-field")}
    told = {(row["subject"], row["count"]) for key in ("unknown", "defaulted", "dropped") for row in losses.as_json()[key]}
    assert told == {("document", 1), ("policy", 4), ("revision", 2), ("effective_at", 2), ("title", 2), ("metadata", 1)}


def test_lightrag_as_the_package_writes_it(
    loaded: Callable[..., tuple[Summary, LossReport]], edges: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    """Written with lightrag-hku 1.5.7: ainsert_custom_kg() into its file storages, with two chunks joined afterwards as it joins them."""
    for name in ("graph_chunk_entity_relation.graphml", "kv_store_text_chunks.json"):
        (tmp_path / name).write_bytes((TOOLS / "lightrag" / name).read_bytes())
    _, losses = loaded("lightrag", paths=[tmp_path], options={"effective_at": "2026-01-01T00:00:00Z"})
    assert [(edge["source"], edge["target"], edge["state"], [chunk[:8] for _, chunk in edge["evidence"]]) for edge in edges()] == [
        ("Ann", 'B & "C" team', "withheld", ["chunk-d3"]), ('B & "C" team', "Łódź", "withheld", ["chunk-d2"])]
    assert [(one["file"], one["line"], one["code"]) for one in rejects(tmp_path)] == [("lightrag/edges.sql", 2, "invalid-field")]
    assert {(row["subject"], row["count"]) for row in losses.as_json()["unknown"]} == {
        ("relation", 3), ("direction", 3), ("policy", 3), ("passage", 1)}

    graph, chunk = tmp_path / "graph_chunk_entity_relation.graphml", "chunk-d320d6786c5d69ea67ac3279c323ff24"
    joined = f'<data key="d9">{chunk}&lt;SEP&gt;chunk-d2959587ffafc9bc4c70c54d112d90e1'
    graph.write_text(graph.read_text(encoding="utf-8").replace('<data key="d9">UNKNOWN', joined), encoding="utf-8")
    _, losses = loaded("lightrag", paths=[tmp_path], options={"policy": "public", "effective_at": "2026-01-01T00:00:00Z"})
    assert [(edge["source"], edge["target"], edge["state"], len(edge["evidence"])) for edge in edges()] == [
        ("Ann", 'B & "C" team', "published", 1), ("Ann", "Łódź", "published", 2), ('B & "C" team', "Łódź", "published", 1)]
    assert losses.as_json()["refused"] == []
