"""Standard records for the ingest tests, and the one way to load them and to look at what is really in the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from graphrag_provenance.ingest import IngestOptions, Summary, ingest
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.policies import PolicyLattice, lattice
from graphrag_provenance.store import runs
from graphrag_provenance.store.database import Database

Record = dict[str, Any]
Cypher = Callable[..., list[dict[str, Any]]]

TENANT = "ACME"
POLICIES = lattice({
    "public": [], "internal": ["public"], "confidential": ["internal"], "secret": ["confidential"],
    "hr": ["internal"], "legal": ["internal"],
})  # fmt: skip
# Verbatim from the specification, the three dots of the hash included.
STANDARD = """
{"kind":"edge","edge_id":"E:dep:SYS_A->SYS_B","relation":"depends_on",
 "source":{"type":"System","id":"SYS_A"},"target":{"type":"System","id":"SYS_B"},
 "evidence":[{"doc":"POL-17@1.4","chunk":"c-0291","quote_hash":"sha256:…","span":[120,214],"policy":"internal"},
             {"doc":"RUNBOOK@2.1","chunk":"c-1044"}],
 "access":{"policy":"internal","tenant":"ACME"},
 "scope":{"environment":"production","region":"eu-west","valid_from":"2026-01-01T00:00:00Z","valid_to":null},
 "extracted_by":{"pipeline":"graph/etl","version":"2026.01"},"confidence":0.87}
"""


def sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def document(doc_id: str, **more: Any) -> Record:
    return {"kind": "document", "doc_id": doc_id, "title": f"Title of {doc_id}", "source_type": "wiki", "tenant": TENANT} | more


def revision(doc: str, **more: Any) -> Record:
    return {"kind": "revision", "doc": doc, "tenant": TENANT, "effective_at": "2026-01-01T00:00:00Z"} | more


def chunk(doc: str, name: str, **more: Any) -> Record:
    text = f"Text of {doc} {name}."
    return {"kind": "chunk", "doc": doc, "chunk": name, "tenant": TENANT, "section_path": ["1 Purpose"], "ordinal": 0, "text": text,
            "content_sha256": sha256(text), "chunker_version": "1"} | more


def entity(address: str, **more: Any) -> Record:
    kind, _, name = address.partition(":")
    return {"kind": "entity", "type": kind, "id": name, "name": name, "tenant": TENANT} | more


def cites(citation: str, **more: Any) -> Record:
    """`d1@1#c3` as an evidence item."""
    doc, _, name = citation.rpartition("#")
    return {"doc": doc, "chunk": name} | more


def edge(source: str, relation: str, target: str, *evidence: str | Record, policy: str | None = None, **more: Any) -> Record:
    """`edge("System:A", "depends_on", "System:B", "d1@1#c1")`; `policy` is the declared one."""
    ends = {}
    for side, address in (("source", source), ("target", target)):
        kind, _, name = address.partition(":")
        ends[side] = {"type": kind, "id": name}
    access = {"tenant": TENANT} | ({} if policy is None else {"policy": policy})
    items = [cites(item) if isinstance(item, str) else item for item in evidence]
    return {"kind": "edge", "relation": relation, **ends, "evidence": items, "access": access} | more


def registered(citation: str, policy: str | None = None) -> list[Record]:
    """Document (which states the policy), revision and chunk of a citation."""
    doc, _, name = citation.rpartition("#")
    said = {} if policy is None else {"policy": policy}
    return [document(doc.rpartition("@")[0], **said), revision(doc), chunk(doc, name)]


def to_line(record: Record | str | bytes) -> bytes:
    if isinstance(record, bytes):
        return record
    text = record.strip().replace("\n", " ") if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
    return text.encode()


def write(path: Path, records: Iterable[Record | str | bytes]) -> Path:
    path.write_bytes(b"".join(to_line(record) + b"\n" for record in records))
    return path


@dataclass
class Store:
    """A store under test: loads records and says what is there, by plain Cypher."""

    database: Database
    cypher: Cypher
    folder: Path
    policies: PolicyLattice = POLICIES
    _numbers: Any = field(default_factory=lambda: count(1))

    def load(self, *records: Record | str | bytes, files: Iterable[Path] = (), **options: Any) -> Summary:
        """Load records as one file (or the given files) as one run."""
        paths = list(files) or [write(self.folder / f"input-{next(self._numbers)}.jsonl", records)]
        chosen = {"rejects": self.folder / f"rejects-{next(self._numbers)}.jsonl", "actor": "tester"} | options
        return ingest(self.database, paths, IngestOptions(policies=self.policies, **chosen))

    def rejects(self, summary: Summary) -> list[Record]:
        if summary.rejects_file is None:
            return []
        return [json.loads(line) for line in Path(summary.rejects_file).read_text(encoding="utf-8").splitlines()]

    def one(self, text: str, **params: Any) -> Any:
        """The single value of a query with one row and one column."""
        (row,) = self.cypher(text, **params)
        (value,) = row.values()
        return value

    def assertion(self, edge_id: str) -> Record:
        found: Record = self.one("MATCH (a:Assertion {edge_id: $edge_id}) RETURN properties(a) AS a", edge_id=edge_id)
        return found

    def state(self, edge_id: str) -> str:
        return str(self.assertion(edge_id)["state"])

    def relationships(self) -> list[Record]:
        """Every typed relationship: what plain Cypher could walk."""
        return [row["r"] | {"type": row["type"], "source": row["s"], "target": row["t"]} for row in self.cypher(
            "MATCH (s:Entity)-[r]->(t:Entity) RETURN s.id AS s, t.id AS t, type(r) AS type, properties(r) AS r ORDER BY r.edge_id")]

    def published(self) -> dict[str, tuple[str, ...]]:
        """Edge id → effective policies of what can be walked."""
        return {r["edge_id"]: tuple(r["policies"]) for r in self.relationships()}

    def hash(self) -> str:
        found: str = self.one("MATCH (s:Store) RETURN s.graph_hash AS hash")
        return found

    def everything(self) -> list[Any]:
        """The whole content, as one comparable value."""
        nodes = self.cypher(
            "MATCH (n) WHERE NOT n:Migration RETURN elementId(n) AS id, labels(n) AS l, n {.*, touched: null} AS p ORDER BY id")
        relationships = self.cypher("MATCH ()-[r]->() RETURN elementId(r) AS id, type(r) AS t, properties(r) AS p ORDER BY id")
        return [nodes, relationships]


def check_sound(store: Store) -> None:
    """What must hold after every load, however it ended (invariants 1, 3, 5 and 8), recomputed by plain Cypher."""
    assert store.cypher("MATCH (d:Delta) RETURN d") == []
    assert store.one("MATCH (s:Store) RETURN s.writer AS w") is None
    seqs = [row["seq"] for row in store.cypher("MATCH (r:Run) RETURN r.seq AS seq ORDER BY seq")]
    assert seqs == list(range(1, len(seqs) + 1))
    assert store.one("MATCH (s:Store) RETURN s.head_seq AS head") == len(seqs)
    total = MultisetHash()
    for row in store.cypher("MATCH (n) WHERE n.digest IS NOT NULL AND NOT n:Run AND NOT n:Store AND NOT n:Past RETURN n.digest AS digest"):
        total.add(bytes(row["digest"]))
    assert store.hash() == total.graph_hash(), "the running hash is not that of the content"
    assert store.cypher(
        "MATCH (a:Assertion) OPTIONAL MATCH (s:Entity {tenant: a.tenant, type: a.source_type, id: a.source_id})"
        "-[r {edge_id: a.edge_id}]->(t:Entity {tenant: a.tenant, type: a.target_type, id: a.target_id})"
        " WITH a, count(r) AS found WHERE found <> CASE a.state WHEN 'published' THEN 1 ELSE 0 END"
        " RETURN a.edge_id, a.state, found") == []
    assert store.cypher(
        "MATCH (a:Assertion) WHERE NOT EXISTS {"
        " (a)-[:EVIDENCED_BY]->(:Chunk)<-[:HAS_CHUNK]-(:Revision)<-[:HAS_REVISION]-(:Document) } RETURN a.edge_id") == []
    assert store.cypher("MATCH (c:Chunk) WHERE NOT (c)<-[:HAS_CHUNK]-() RETURN c.doc, c.chunk") == []


def run_records(database: Database) -> list[Record]:
    """Every run, oldest first."""
    state = runs.store_state(database) or {"head_seq": 0}
    return [runs.run_json(database.read("run.by_seq", seq=seq)[0]["run"]) for seq in range(1, state["head_seq"] + 1)]
