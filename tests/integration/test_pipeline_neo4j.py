"""Graphs that neo4j-graphrag and Graphiti left in a Neo4j, written by their own packages, become edges (spec 5, pipelines)."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import neo4j
import pytest
from neo4j_graphrag.components.kg_writer import Neo4jWriter
from neo4j_graphrag.components.lexical_graph import LexicalGraphBuilder
from neo4j_graphrag.components.types import DocumentInfo, Neo4jGraph, Neo4jNode, Neo4jRelationship, TextChunk, TextChunks

from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest import IngestOptions
from graphrag_provenance.ingest.foreign import bound_to_neo4j
from graphrag_provenance.ingest.losses import LossReport
from graphrag_provenance.ingest.pipelines import find_pipeline
from graphrag_provenance.ingest.piping import run_pipeline
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.lookups import run_list

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
from graphiti_core.driver.neo4j_driver import Neo4jDriver
from graphiti_core.edges import EntityEdge, EpisodicEdge
from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode

Cypher = Callable[..., list[dict[str, Any]]]
POLICIES = parse_policies(etl_path("policies.toml").read_text(encoding="utf-8"))
ODD = "a<SEP>b,c|d@e#f' \"q\") ; λ"
INJECTED = "OWNS`]->() DETACH DELETE n //"


class PlainWriter(Neo4jWriter):
    """The writer of neo4j-graphrag; its statement for relationships needs APOC, which a plain Neo4j lacks."""

    def _upsert_relationships(self, rels: list[Neo4jRelationship]) -> None:
        self.driver.execute_query(
            "UNWIND $rows AS row MATCH (a:__KGBuilder__ {__tmp_internal_id: row.start_node_id}), "
            "(b:__KGBuilder__ {__tmp_internal_id: row.end_node_id}) MERGE (a)-[r:$(row.type)]->(b) SET r += row.properties",
            rows=self._relationships_to_rows(rels))


def graphrag_graph() -> Neo4jGraph:
    """Two texts under one path and a file; an edge with one passage, one with two, one with none; names that are none."""
    graph, builder = Neo4jGraph(), LexicalGraphBuilder()
    for document, path, texts in (("d1", ODD, ["Ann leads Bob.", "Bob helps Ann."]), ("d2", "document.txt", ["Ann left."]),
                                  ("d3", "document.txt", ["Ann came back."])):
        chunks = [TextChunk(text=text, index=index, uid=f"{document}-{index}", metadata={"embedding": [0.5] * 64})
                  for index, text in enumerate(texts)]
        found = asyncio.run(builder.run(text_chunks=TextChunks(chunks=chunks), document_info=DocumentInfo(path=path, document_id=document)))
        graph.nodes += found.graph.nodes
        graph.relationships += found.graph.relationships
    named = {"ann": ("Person", {"name": "Ann", "role": "lead"}), "bob": ("Person", {"name": ODD}), "plan": ("Document Plan", {"name": "P"})}
    graph.nodes += [Neo4jNode(id=id, label=label, properties=properties) for id, (label, properties) in named.items()]
    for entity, passages in {"ann": ["d1-0", "d1-1", "d2-0"], "bob": ["d1-0", "d1-1"], "plan": ["d2-0", "d3-0"]}.items():
        graph.relationships += [Neo4jRelationship(start_node_id=entity, end_node_id=one, type="FROM_CHUNK") for one in passages]
    for start, kind, end in (("ann", "LEADS", "bob"), ("ann", INJECTED, "plan"), ("bob", "KNOWS", "plan")):
        graph.relationships.append(Neo4jRelationship(start_node_id=start, end_node_id=end, type=kind, properties={"since": 2020}))
    return graph


async def graphiti_graph(driver: Neo4jDriver) -> None:
    """Two groups; facts of one episode, of two, of one that is gone; one that ended, and one that was taken back."""
    at = {day: datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 9)}
    try:
        for group, uuid in (("", "e1"), ("", "e2"), ("other", "e3")):
            await EpisodicNode(uuid=uuid, name=ODD, group_id=group, source=EpisodeType.text, source_description="mail", created_at=at[2],
                               content=f"content of {uuid} {ODD}", valid_at=at[1]).save(driver)
        for group, uuid, name, labels in (("", "n1", "Ann", ["Person"]), ("", "n2", ODD, []), ("other", "n3", "Secret", ["Person"])):
            await EntityNode(uuid=uuid, name=name, group_id=group, labels=labels, created_at=at[2], name_embedding=[0.5] * 64).save(driver)
        await EpisodicEdge(source_node_uuid="e1", target_node_uuid="n1", group_id="", created_at=at[2]).save(driver)
        for uuid, name, episodes, more in (
            ("f1", "WORKS_AT", ["e1", "e2"], {"valid_at": at[3], "invalid_at": at[5]}), ("f2", INJECTED, ["e1"], {}),
            ("f3", "LEFT", ["gone"], {}), ("f4", "KNEW", ["e2"], {"expired_at": at[8]}),
        ):
            await EntityEdge(uuid=uuid, source_node_uuid="n1", target_node_uuid="n2", name=name, fact=ODD, group_id="", episodes=episodes,
                             created_at=at[2], fact_embedding=[0.5] * 64, **more).save(driver)
        await EntityEdge(uuid="f9", source_node_uuid="n3", target_node_uuid="n3", name="IS", fact="", group_id="other", episodes=["e3"],
                         created_at=at[2], fact_embedding=[0.5] * 64).save(driver)
    finally:
        await driver.close()


@pytest.fixture
def loads(fresh_database: Database, cypher: Cypher, tenant: str, tmp_path: Path) -> Callable[..., Any]:
    """Reads what stands in the server by a pipeline, empties the server, and loads it; again with other options as often as asked."""
    @contextmanager
    def read(name: str) -> Iterator[Callable[..., tuple[LossReport, list[dict[str, Any]]]]]:
        with bound_to_neo4j(find_pipeline(name, tmp_path), fresh_database.connection) as bound:
            assert "embedding" not in Path(str(bound.files["nodes"])).read_text(encoding="utf-8")

            def load(**options: str) -> tuple[LossReport, list[dict[str, Any]]]:
                cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
                values = {one: options.get(one) for one in bound.pipeline.options}
                asked = IngestOptions(policies=POLICIES, tenant=tenant, rejects=tmp_path / "rejects.jsonl")
                summary, losses = run_pipeline(fresh_database, type(bound)(bound.pipeline, bound.files, values, bound.told), asked,
                                               memory_mb=256)
                assert summary.run["status"] == "finished"
                return losses, cypher(
                    "MATCH (a:Assertion {tenant: $tenant}) OPTIONAL MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk) WITH a, c "
                    "ORDER BY c.doc, c.chunk RETURN a.relation AS relation, a.source_id AS source, a.target_id AS target, "
                    "a.target_type AS kind, a.state AS state, a.attributes AS attributes, toString(a.valid_from) AS since, "
                    "toString(a.valid_to) AS until, "
                    "[one IN collect(c) | one.doc + '#' + one.chunk] AS evidence ORDER BY relation", tenant=tenant)

            yield load

    return read


def told(losses: LossReport, outcome: str) -> set[tuple[str, int]]:
    return {(row["subject"], row["count"]) for row in losses.as_json()[outcome] if row["count"]}


def test_neo4j_graphrag_cites_the_passage_that_both_ends_come_from(
    loads: Callable[..., Any], fresh_database: Database, server: Any, cypher: Cypher, tenant: str
) -> None:
    auth = server.connection.username, server.connection.password.get_secret_value()
    with neo4j.GraphDatabase.driver(server.connection.uri, auth=auth) as driver:
        written = asyncio.run(PlainWriter(driver, neo4j_database=server.connection.database).run(graphrag_graph()))
    cypher("DROP INDEX __entity__tmp_internal_id IF EXISTS")
    assert written.status == "SUCCESS"
    with loads("neo4j-graphrag") as load:
        losses, edges = load()
        (plan,) = edges
        assert (plan["state"], plan["relation"][:5], plan["kind"][:14]) == ("withheld", "OWNS_", "Document_Plan_")
        assert json.loads(plan["attributes"])["relation"] == INJECTED
        assert told(losses, "unknown") == {("policy", 3), ("evidence", 1)}
        assert losses.queries[-1]["rejected"] == 2, "no common passage, or several: refused"

        losses, edges = load(policy="internal", several="cite")
        assert [(one["source"], one["target"], one["state"]) for one in edges] == [("Ann", ODD, "published"), ("Ann", "P", "published")]
        leads, plan = edges
        assert [one.rpartition("@sha256-")[0] for one in leads["evidence"]] == [ODD, ODD]
        assert [one.rpartition("#")[2] for one in leads["evidence"]] == ["0", "1"]
        assert plan["evidence"][0].startswith("document.txt#"), "two texts under one path are told apart"
        assert json.loads(json.loads(leads["attributes"])["properties"]) == {"since": 2020}
        assert told(losses, "defaulted") == {("policy", 3), ("evidence", 1), ("revision", 3), ("document", 2), ("effective_at", 3)}
        documents = cypher("MATCH (d:Document {tenant: $tenant}) WHERE d.registered RETURN d.doc_id AS id, d.head IS NOT NULL AS dated",
                           tenant=tenant)
        assert len(documents) == 3
        assert all(one["dated"] for one in documents)
        entity = cypher("MATCH (e:Entity {tenant: $tenant, id: 'Ann'}) RETURN e.attributes AS attributes", tenant=tenant)
        assert "embedding" not in entity[0]["attributes"]
        run = run_list(fresh_database, limit=1)[0]
        assert run["inputs"][0]["name"] == f"{server.connection.uri}/nodes.jsonl", "the run names the database, not a temporary file"


def test_graphiti_facts_cite_their_episodes_and_groups_stay_apart(
    loads: Callable[..., Any], fresh_database: Database, server: Any, cypher: Cypher, tenant: str
) -> None:
    secret = server.connection.password.get_secret_value()
    # Made outside a loop, it does not add indexes of its own to the server.
    asyncio.run(graphiti_graph(Neo4jDriver(server.connection.uri, server.connection.username, secret)))
    with loads("graphiti") as load:
        losses, edges = load(policy="internal")
        knew, owns, works = edges
        assert (works["relation"], works["since"], works["until"]) == ("WORKS_AT", "2026-01-03T00:00:00Z", "2026-01-05T00:00:00Z")
        assert [one.partition("@")[0] for one in works["evidence"]] == ["e1", "e2"]
        assert (owns["relation"][:5], owns["source"], owns["target"], owns["until"]) == ("OWNS_", "n1", "n2", None)
        assert json.loads(owns["attributes"]) == {"relation": INJECTED, "fact": ODD, "graphiti_uuid": "f2"}
        assert (knew["since"], knew["until"]) == (None, "2026-01-08T00:00:00Z")
        assert {one["state"] for one in edges} == {"published"}
        assert losses.queries[-1]["rejected"] == 1
        assert told(losses, "unknown") == {("episode", 1)}
        assert told(losses, "dropped") == {("group", 1)}
        assert told(losses, "defaulted") == {("policy", 4), ("revision", 2), ("valid_to", 1)}
        names = cypher("MATCH (e:Entity {tenant: $tenant}) RETURN e.type AS type, e.name AS name ORDER BY name", tenant=tenant)
        assert names == [{"type": "Person", "name": "Ann"}, {"type": names[1]["type"], "name": ODD}], "no entity of another group"
        _, others = load(group_id="other")
        assert [(one["relation"], one["state"]) for one in others] == [("IS", "withheld")]


def test_an_empty_database_or_a_pipeline_of_files_is_one_sentence(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reads no Neo4j"), bound_to_neo4j(find_pipeline("csv", tmp_path), fresh_database.connection):
        pass
