"""The floor: what hand-written Cypher over the bare driver costs, on the same server and the same data.

Owns: the statements somebody would write who needs no validation, no policies and no history. Every label starts with `Raw`, so
that the product's constraints and indexes cost the floor nothing and both graphs can stand in one database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from data import RELATIONS, Corpus, Row
from neo4j import Driver, ManagedTransaction

BATCH = 5_000
_ENTITIES = "UNWIND $rows AS row MERGE (n:RawEntity {id: row.id}) SET n.name = row.name, n.label = row.label"
_ENDS = "UNWIND $rows AS row MATCH (a:RawEntity {id: row.source}) MATCH (b:RawEntity {id: row.target}) "
_DOCUMENTS = "UNWIND $rows AS row MERGE (d:RawDocument {id: row.id}) SET d.version = row.version, d.policy = row.policy"
_CHUNKS = """UNWIND $rows AS row MATCH (d:RawDocument {id: row.doc}) MERGE (c:RawChunk {id: row.id})
SET c.text = row.text, c.ordinal = row.ordinal MERGE (c)-[:RAW_PART_OF]->(d)"""
_EVIDENCE = """UNWIND $rows AS row MATCH (c:RawChunk {id: row.chunk}) MERGE (v:RawEvidence {id: row.id})
ON CREATE SET v.edge = row.edge, v.doc = row.doc, v.revision = row.revision, v.start = row.start, v.end = row.end,
  v.quote = row.quote, v.policy = row.policy
MERGE (v)-[:RAW_FROM]->(c)"""
_PATH = """MATCH p = shortestPath((a:RawEntity {id: %s})-[*..3]-(b:RawEntity {id: %s}))
UNWIND relationships(p) AS r
RETURN startNode(r).id AS source, type(r) AS type, endNode(r).id AS target, r.evidence AS evidence"""
_ONE_PATH = _PATH % ("$source", "$target")
_ALL_PATHS = f"UNWIND $pairs AS pair CALL (pair) {{ {_PATH % ('pair[0]', 'pair[1]')} }} RETURN pair, source, type, target, evidence"
_SCANS = ("MATCH (n) RETURN labels(n) AS labels, properties(n) AS properties",
          "MATCH ()-[r]->() RETURN type(r) AS type, properties(r) AS properties")
_SCHEMA = (
    *(f"CREATE CONSTRAINT IF NOT EXISTS FOR (n:{label}) REQUIRE n.id IS UNIQUE"
      for label in ("RawEntity", "RawDocument", "RawChunk", "RawEvidence")),
    "CREATE INDEX IF NOT EXISTS FOR (n:RawEvidence) ON (n.edge)",
    "CREATE INDEX IF NOT EXISTS FOR (n:RawEvidence) ON (n.doc)",
    "CALL db.awaitIndexes(60)",
)


def schema(driver: Driver) -> None:
    """The floor's keys and indexes."""
    for statement in _SCHEMA:
        driver.execute_query(statement)


def empty(driver: Driver) -> None:
    """Delete all data in batches; the schema and the record of migrations stay."""
    with driver.session() as session:
        session.run("MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF 20000 ROWS").consume()
        session.run("MATCH (n) WHERE NOT n:Migration CALL (n) { DELETE n } IN TRANSACTIONS OF 20000 ROWS").consume()


def bare(driver: Driver, data: Corpus) -> None:
    """Entities and edges by MERGE, nothing on the edge."""
    _send(driver, _ENTITIES, data.entities)
    _send_typed(driver, _ENDS + "MERGE (a)-[r:%s]->(b)", [_flat(edge) for edge in data.edges])


def evidence_nodes(driver: Driver, data: Corpus) -> None:
    """Entities and edges by MERGE, documents and chunks, and one node an evidence item, linked to its chunk."""
    _send(driver, _ENTITIES, data.entities)
    _send(driver, _DOCUMENTS, data.documents)
    _send(driver, _CHUNKS, data.chunks)
    _send_typed(driver, _ENDS + "MERGE (a)-[r:%s]->(b) SET r.id = row.id", [_flat(edge) for edge in data.edges])
    _send(driver, _EVIDENCE, data.evidence)


def evidence_lists(driver: Driver, data: Corpus) -> None:
    """Entities and edges with a list of citations on the edge; what the floor's reading is measured on."""
    _send(driver, _ENTITIES, data.entities)
    rows = [_flat(edge) | {"evidence": [_written(item) for item in edge["evidence"]]} for edge in data.edges]
    _send_typed(driver, _ENDS + "CREATE (a)-[r:%s {id: row.id, evidence: row.evidence}]->(b)", rows)


def path(driver: Driver, source: str, target: str) -> int:
    """One shortest path with its citations; returns how many edges it has."""
    def work(tx: ManagedTransaction) -> list[dict[str, Any]]:
        return tx.run(_ONE_PATH, source=source, target=target).data()

    with driver.session(default_access_mode="READ") as session:
        return len(session.execute_read(work))


def paths(driver: Driver, pairs: Sequence[tuple[str, str]]) -> int:
    """All pairs in one statement; returns how many edges came back."""
    return len(driver.execute_query(_ALL_PATHS, pairs=[list(pair) for pair in pairs], routing_="r").records)


def scan(driver: Driver) -> int:
    """Read everything that is stored once, and throw it away; returns how many nodes and relationships there were."""
    count = 0
    with driver.session(default_access_mode="READ", fetch_size=1000) as session:
        for text in _SCANS:
            for _ in session.run(text):
                count += 1
    return count


def _flat(edge: Row) -> Row:
    return {name: edge[name] for name in ("id", "type", "source", "target")}


def _written(item: Row) -> str:
    return f"{item['revision']}|{item['chunk']}|{item['start']}-{item['end']}|{item['quote']}|{item['policy']}"


def _batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    return (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))


def _send(driver: Driver, text: str, rows: Sequence[Row]) -> None:
    with driver.session() as session:
        for batch in _batches(rows):
            session.execute_write(_consume, [(text, batch)])


def _send_typed(driver: Driver, text: str, rows: Sequence[Row]) -> None:
    """One transaction a batch, one statement a relationship type in it."""
    with driver.session() as session:
        for batch in _batches(rows):
            session.execute_write(_consume, [(text % kind, part) for kind, part in _by_type(batch)])


def _by_type(rows: Sequence[Row]) -> Iterable[tuple[str, list[Row]]]:
    for relation in RELATIONS:
        part = [row for row in rows if row["type"] == relation.upper()]
        if part:
            yield relation.upper(), part


def _consume(tx: ManagedTransaction, statements: Sequence[tuple[str, Sequence[Row]]]) -> None:
    for text, rows in statements:
        tx.run(text, rows=rows).consume()
