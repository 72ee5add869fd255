"""Seeded synthetic knowledge: entities, typed edges with two evidence items each, chunks in documents.

Owns: what is measured on. One corpus in two shapes: standard records (JSON lines, for the product) and plain rows (for the
hand-written Cypher of `floors`). The same seed gives the same bytes. Edges lean towards low entity numbers, so there are hubs.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RELATIONS = (
    "works_for", "located_in", "part_of", "owns", "founded", "supplies", "cites", "regulates", "acquired", "related_to",
)
ENTITY_TYPES = ("Person", "Company", "City", "Product", "Law")
POLICIES = ("public", "internal", "restricted", "secret")
POLICY_FILE = """schema = 1

[policies.public]
[policies.internal]
above = ["public"]
[policies.restricted]
above = ["internal"]
[policies.secret]
above = ["restricted"]
"""
TENANT = "bench"
_WORDS = (
    "graph", "edge", "node", "store", "audit", "claim", "source", "quote", "chunk", "policy", "tenant", "valid", "from", "until",
    "signed", "merge", "replay", "path", "query", "index", "batch", "commit", "fact", "proof",
)
_TEXT, _QUOTE = 400, 60

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The plain rows; `edges` carry their evidence under `evidence`."""

    entities: list[Row]
    documents: list[Row]
    chunks: list[Row]
    edges: list[Row]

    @property
    def evidence(self) -> list[Row]:
        """Every evidence item of every edge."""
        return [item for edge in self.edges for item in edge["evidence"]]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def corpus(edges: int = 50_000, seed: int = 7) -> Corpus:
    """A corpus of that many edges: 0.4 entities, 0.2 chunks and 0.02 documents an edge."""
    chance = random.Random(seed)
    entity_count, chunk_count, document_count = max(edges * 2 // 5, 10), max(edges // 5, 10), max(edges // 50, 2)
    entities = [
        {"id": f"e{n:06d}", "name": f"Entity {n}", "label": ENTITY_TYPES[n % len(ENTITY_TYPES)]} for n in range(entity_count)]
    documents = [
        {"id": f"d{n:05d}", "revision": f"d{n:05d}@{1 + n % 3}", "version": 1 + n % 3, "policy": POLICIES[n % len(POLICIES)]}
        for n in range(document_count)]
    chunks = [_chunk(chance, n, n // (chunk_count // document_count), documents) for n in range(chunk_count)]
    for place, chunk in enumerate(chunks):
        chunk["ordinal"] = place % (chunk_count // document_count)
    return Corpus(entities, documents, chunks, list(_edges(chance, edges, entities, chunks)))


def _chunk(chance: random.Random, number: int, document: int, documents: list[Row]) -> Row:
    owner = documents[min(document, len(documents) - 1)]
    text = " ".join(chance.choice(_WORDS) for _ in range(90))[:_TEXT]
    return {"id": f"c{number:06d}", "doc": owner["id"], "revision": owner["revision"], "policy": owner["policy"], "text": text}


def _edges(chance: random.Random, count: int, entities: list[Row], chunks: list[Row]) -> Iterator[Row]:
    def end() -> int:
        return chance.randrange(len(entities)) if chance.random() < 0.6 else int(len(entities) * chance.random() ** 3)

    seen: set[tuple[int, str, int]] = set()
    while len(seen) < count:
        key = (end(), chance.choice(RELATIONS), end())
        if key[0] == key[2] or key in seen:
            continue
        edge_id = f"r{len(seen):06d}"
        seen.add(key)
        source, target = entities[key[0]], entities[key[2]]
        yield {
            "id": edge_id, "type": key[1].upper(), "relation": key[1], "source": source["id"], "source_type": source["label"],
            "target": target["id"], "target_type": target["label"], "confidence": round(chance.uniform(0.3, 1), 3),
            "evidence": list(_evidence(chance, edge_id, chunks)),
        }


def _evidence(chance: random.Random, edge_id: str, chunks: list[Row]) -> Iterator[Row]:
    used: set[str] = set()
    while len(used) < 2:
        chunk = chunks[chance.randrange(len(chunks))]
        if chunk["doc"] in used:
            continue
        used.add(chunk["doc"])
        start = chance.randrange(_TEXT - _QUOTE - 40)
        yield {
            "id": _sha256(f"{edge_id}|{chunk['id']}|{start}")[:32], "edge": edge_id, "doc": chunk["doc"],
            "revision": chunk["revision"], "chunk": chunk["id"], "start": start, "end": start + _QUOTE,
            "quote": "sha256:" + _sha256(chunk["text"][start : start + _QUOTE]), "policy": chunk["policy"],
        }


def records(data: Corpus) -> Iterator[Row]:
    """The corpus as standard records: documents (with their policy), revisions, chunks, entities, edges."""
    for document in data.documents:
        yield {"kind": "document", "doc_id": document["id"], "title": f"Document {document['id']}", "source_type": "bench",
               "policy": document["policy"]}
        yield {"kind": "revision", "doc": document["revision"], "effective_at": "2026-01-01T00:00:00Z"}
    for chunk in data.chunks:
        yield {"kind": "chunk", "doc": chunk["revision"], "chunk": chunk["id"], "ordinal": chunk["ordinal"], "text": chunk["text"],
               "content_sha256": "sha256:" + _sha256(chunk["text"]), "chunker_version": "1"}
    for entity in data.entities:
        yield {"kind": "entity", "type": entity["label"], "id": entity["id"], "name": entity["name"]}
    for edge in data.edges:
        yield {
            "kind": "edge", "edge_id": edge["id"], "relation": edge["relation"],
            "source": {"type": edge["source_type"], "id": edge["source"]},
            "target": {"type": edge["target_type"], "id": edge["target"]}, "confidence": edge["confidence"],
            "evidence": [
                {"doc": item["revision"], "chunk": item["chunk"], "span": [item["start"], item["end"]],
                 "quote_hash": item["quote"], "policy": item["policy"]} for item in edge["evidence"]],
        }


def write_lines(rows: Iterable[Row], path: Path) -> Path:
    """Write JSON lines; returns the path."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


def pairs(data: Corpus, count: int = 200, hops: int = 3, seed: int = 11) -> list[tuple[Row, Row]]:
    """Entity pairs whose shortest distance, whatever the direction, is 1, 2 … `hops` in turn."""
    chance = random.Random(seed)
    beside: dict[str, list[str]] = {}
    for edge in data.edges:
        beside.setdefault(edge["source"], []).append(edge["target"])
        beside.setdefault(edge["target"], []).append(edge["source"])
    rows, known, found = {entity["id"]: entity for entity in data.entities}, sorted(beside), []
    while len(found) < count:
        start = chance.choice(known)
        distance, border = {start: 0}, [start]
        for hop in range(1, hops + 1):
            border = list(dict.fromkeys(near for here in border for near in beside[here] if near not in distance))
            distance.update(dict.fromkeys(border, hop))
        wanted = sorted(name for name, hop in distance.items() if hop == 1 + len(found) % hops)
        if wanted:
            found.append((rows[start], rows[chance.choice(wanted)]))
    return found
