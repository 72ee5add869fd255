"""Re-DocRED (MIT; its text is from Wikipedia, CC BY-SA) as standard records: a public corpus with known numbers.

    python benchmarks/redocred.py --data PATH/dev_revised.json.gz [--check | --pipeline] [--neo4j-version V]

Owns: the turning of annotated documents into records, and what must come out. An entity is its main mention (the most frequent
name, then the longest, then the greatest; NFKC, spaces collapsed, casefolded) under its majority type (the greatest on a tie).
An edge is (head, relation, tail) with one evidence item a sentence; a label without sentences is sent as it is, and refused.
Each document carries its policy, by the hash of its title. `--check` loads it again and again: in other orders, in other batch
sizes, and with the loader killed on the way and resumed. The graph must be the same each time. The data stay where they are.
`--pipeline` makes the records by the shipped pipeline (SQL only) instead; the numbers must be the same.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from data import Row, write_lines
from pydantic import SecretStr
from servers import PIPELINE, Bench, bench

from graphrag_provenance.config import load_settings
from graphrag_provenance.ingest import IngestOptions, Summary, ingest
from graphrag_provenance.ingest.pipelines import bind, find_pipeline
from graphrag_provenance.ingest.piping import run_pipeline
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.store.database import Connection, Database
from graphrag_provenance.store.runs import store_state

TENANT = "redocred"
POLICIES = ("public", "internal", "confidential")
POLICY_FILE = """schema = 1

[policies.public]
[policies.internal]
above = ["public"]
[policies.confidential]
above = ["internal"]
"""
EXPECTED = {
    "documents": 500, "chunks": 4_110, "labels accepted": 7_473, "labels refused (no-evidence)": 9_811,
    "labels refused for another reason": 0, "edges": 7_338, "edges published": 7_338, "evidence items": 12_484,
    "edges with evidence from two documents or more": 104, "effective policy public": 2_007, "effective policy internal": 2_594,
    "effective policy confidential": 2_737, "edges with mixed policies": 66,
}
BATCH_SIZES = (64, 700, 5_000)
_LEASE_SECONDS = 10.0


def records(documents: Sequence[Row]) -> Iterator[Row]:
    """Documents, revisions (`title@1`), chunks (sentences), entities and one edge record a label."""
    for document in documents:
        title, revision = document["title"], f"{document['title']}@1"
        yield {"kind": "document", "doc_id": title, "title": title, "source_type": "wikipedia", "policy": policy_of(title)}
        yield {"kind": "revision", "doc": revision, "effective_at": "2022-01-01T00:00:00Z", "complete": True}
        for number, words in enumerate(document["sents"]):
            text = " ".join(words)
            yield {"kind": "chunk", "doc": revision, "chunk": str(number), "ordinal": number, "text": text,
                   "content_sha256": "sha256:" + hashlib.sha256(text.encode()).hexdigest(), "chunker_version": "re-docred"}
        ends = [_entity(mentions) for mentions in document["vertexSet"]]
        for kind, name in ends:
            yield {"kind": "entity", "type": kind, "id": name, "name": name}
        for label in document["labels"]:
            (source_type, source), (target_type, target) = ends[label["h"]], ends[label["t"]]
            yield {"kind": "edge", "relation": label["r"], "source": {"type": source_type, "id": source},
                   "target": {"type": target_type, "id": target},
                   "evidence": [{"doc": revision, "chunk": str(sentence)} for sentence in label["evidence"]]}


def policy_of(title: str) -> str:
    """The policy of a document, spread evenly by its title."""
    return POLICIES[int(hashlib.sha256(title.encode()).hexdigest(), 16) % len(POLICIES)]


def _entity(mentions: Sequence[Row]) -> tuple[str, str]:
    names = Counter(mention["name"] for mention in mentions)
    kinds = Counter(mention["type"] for mention in mentions)
    main = max(names, key=lambda name: (names[name], len(name), name))
    return max(kinds, key=lambda kind: (kinds[kind], kind)), " ".join(unicodedata.normalize("NFKC", main).split()).casefold()


def load(database: Database, file: Path, *, batch_size: int = 5_000, resume: int | None = None) -> Summary:
    """One load of the records."""
    return ingest(database, [file], _options(file, batch_size, resume))


def load_by_pipeline(database: Database, data: Path, folder: Path) -> Summary:
    """One load of the source itself, by the shipped pipeline."""
    bound = bind(find_pipeline("redocred", folder), given={"annotated": str(data)}, options={"policy_names": ",".join(POLICIES)})
    return run_pipeline(database, bound, _options(folder / "pipeline", 5_000, None))[0]


def _options(file: Path, batch_size: int, resume: int | None) -> IngestOptions:
    return IngestOptions(
        policies=parse_policies(POLICY_FILE, "the benchmark's policies"), tenant=TENANT, actor=PIPELINE, pipeline=PIPELINE,
        batch_size=batch_size, resume=resume, rejects=file.with_suffix(".rejected"), lease_seconds=_LEASE_SECONDS)


def counted(server: Bench, summary: Summary, labels: int) -> dict[str, int]:
    """What the first load of so many labels left in the store, under the names of EXPECTED."""
    def count(text: str) -> int:
        return int(server.driver.execute_query(text, tenant=TENANT, database_=server.connection.database).records[0][0])

    edge = "MATCH (a:Assertion {tenant: $tenant}) "
    statements = edge + "MATCH (a)-[:EVIDENCED_BY]->(:Chunk)<-[:HAS_CHUNK]-(:Revision)<-[:HAS_REVISION]-(d:Document) "
    relationships = "MATCH (:Entity {tenant: $tenant})-[r]->(:Entity) WHERE r.policies = ['%s'] RETURN count(r)"
    refused, without = sum(summary.rejected.values()), summary.rejected.get("no-evidence", 0)
    return {
        "documents": count("MATCH (d:Document {tenant: $tenant}) RETURN count(d)"),
        "chunks": count("MATCH (c:Chunk {tenant: $tenant}) RETURN count(c)"),
        "labels accepted": labels - refused,
        "labels refused (no-evidence)": without,
        "labels refused for another reason": refused - without,
        "edges": count(edge + "RETURN count(a)"),
        "edges published": count("MATCH (:Entity {tenant: $tenant})-[r]->(:Entity) RETURN count(r)"),
        "evidence items": count(edge + "MATCH (a)-[e:EVIDENCED_BY]->() WHERE e.until IS NULL RETURN count(e)"),
        "edges with evidence from two documents or more": count(
            statements + "WITH a, count(DISTINCT d) AS documents WHERE documents > 1 RETURN count(a)"),
        **{f"effective policy {name}": count(relationships % name) for name in POLICIES},
        "edges with mixed policies": count(
            statements + "WITH a, count(DISTINCT d.policies) AS policies WHERE policies > 1 RETURN count(a)"),
    }


def compare(found: dict[str, int]) -> bool:
    """Print found beside expected; whether they are equal."""
    for name, expected in EXPECTED.items():
        print(f"  {'ok' if found[name] == expected else 'NO'}  {name}: {found[name]:,}" + (
            "" if found[name] == expected else f" (expected {expected:,})"))
    return found == EXPECTED


def graph_hash(server: Bench) -> str:
    """The hash of the whole graph as the store has it."""
    return str((store_state(server.database) or {})["graph_hash"])


def check(server: Bench, lines: list[Row], folder: Path, expected: str) -> bool:
    """Load in other ways; whether the graph is the same each time."""
    same = []
    for number, size in enumerate(BATCH_SIZES, start=1):
        server.empty()
        load(server.database, _shuffled(lines, folder, number), batch_size=size)
        same.append(_told(f"shuffled ({number}), batches of {size}", graph_hash(server), expected))
    for fraction in (0.2, 0.6):
        server.empty()
        file = _shuffled(lines, folder, 9)
        left, seq = _killed(server, file, int(fraction * EXPECTED["edges"]))
        load(server.database, file, batch_size=64, resume=seq)
        same.append(_told(f"killed with {left:,} edges committed, then resumed", graph_hash(server), expected))
    return all(same)


def _told(how: str, found: str, expected: str) -> bool:
    print(f"  {'ok' if found == expected else 'NO'}  {found}  {how}", flush=True)
    return found == expected


def _shuffled(lines: list[Row], folder: Path, seed: int) -> Path:
    mixed = list(lines)
    random.Random(seed).shuffle(mixed)
    return write_lines(mixed, folder / f"shuffled-{seed}.jsonl")


def _killed(server: Bench, file: Path, edges: int) -> tuple[int, int]:
    """Load in another process and kill it (-9) once so many edges are committed; how many there were, and its run."""
    connection = server.connection
    environment = os.environ | {
        "NEO4J_URI": connection.uri, "NEO4J_USERNAME": connection.username,
        "NEO4J_PASSWORD": connection.password.get_secret_value(),
        **({"NEO4J_DATABASE": connection.database} if connection.database else {})}
    loader = subprocess.Popen([sys.executable, __file__, "--only-load", str(file)], env=environment)
    while _committed(server) < edges:
        if loader.poll() is not None:
            raise SystemExit("The loader ended before it could be killed.")
        time.sleep(0.02)
    loader.send_signal(signal.SIGKILL)
    loader.wait()
    left = _committed(server)
    if not edges <= left < EXPECTED["edges"]:
        raise SystemExit(f"The loader was killed too late: {left} edges.")
    return left, int((store_state(server.database) or {})["writer_seq"])


def _committed(server: Bench) -> int:
    result = server.driver.execute_query("MATCH (a:Assertion) RETURN count(a)", database_=server.connection.database)
    return int(result.records[0][0])


def _only_load(file: Path) -> None:
    settings = load_settings(workspace=file.parent)
    assert settings.neo4j_uri is not None
    with Database(Connection(
        settings.neo4j_uri, settings.neo4j_username, settings.neo4j_password or SecretStr(""), settings.neo4j_database,
    )) as database:
        load(database, file, batch_size=64)


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert, load, compare; 1 if a number or a hash differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="PATH", help="dev_revised.json or .json.gz of Re-DocRED")
    parser.add_argument("--check", action="store_true", help="also load in other orders, batches and with a kill in the middle")
    parser.add_argument("--pipeline", action="store_true", help="make the records by the shipped pipeline")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the records to FILE and stop")
    parser.add_argument("--neo4j-version", help="of the server that is started here")
    parser.add_argument("--only-load", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.only_load:
        _only_load(asked.only_load)
        return 0
    if asked.data is None:
        parser.error("--data is needed: the file dev_revised.json of Re-DocRED")
    documents = json.loads((gzip.decompress if asked.data.suffix == ".gz" else bytes)(asked.data.read_bytes()))
    lines = list(records(documents))
    if asked.write:
        write_lines(lines, asked.write)
        return 0
    with bench(asked.neo4j_version) as server, tempfile.TemporaryDirectory(prefix="gprov-redocred-") as name:
        folder = Path(name)
        file = write_lines(lines, folder / "records.jsonl")
        print(f"Re-DocRED, {len(documents)} documents, Neo4j {server.version}")
        def once() -> Summary:
            return load_by_pipeline(server.database, asked.data, folder) if asked.pipeline else load(server.database, file)

        first = once()
        good = compare(counted(server, first, sum(len(document["labels"]) for document in documents)))
        expected = graph_hash(server)
        print(f"  --  {expected}  as written, batches of 5000, {first.seconds:.1f} s", flush=True)
        writes = once().outcome.writes.total
        good &= _told(f"loaded again, {writes} writes", graph_hash(server), expected) and writes == 0
        if asked.check and not asked.pipeline:
            good &= check(server, lines, folder, expected)
    print("As expected." if good else "NOT as expected.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
