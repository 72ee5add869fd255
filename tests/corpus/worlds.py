"""Small graphs for the read tests: one line an edge, loaded by the real ingest into a tenant of their own."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.store.database import Database

SAMPLE = etl_path("samples", "payments")
POLICIES = parse_policies(SAMPLE.joinpath("policies.toml").read_text(encoding="utf-8"))
_number = itertools.count(1)


def sha(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def reader(tenant: str, *clearances: str, auditor: bool = False, operator: bool = False) -> Reader:
    roles = {Role.READER} | ({Role.AUDITOR} if auditor else set()) | ({Role.OPERATOR} if operator else set())
    return Reader("alice", tenant, frozenset(clearances), frozenset(roles))


def edge(
    source: str, target: str, *, relation: str = "calls", policy: str | None = "internal", stale: bool = False,
    refuted: bool = False, acl: dict[str, str] | None = None, edge_id: str | None = None, **scope: str,
) -> list[dict[str, Any]]:
    """An edge between two `Thing`s, with a document of its own for each citation."""
    citations = [("supports", policy)] + ([("refutes", policy)] if refuted else [])
    records: list[dict[str, Any]] = []
    evidence = []
    for polarity, statement in citations:
        doc = f"D{next(_number)}"
        records.append({"kind": "document", "doc_id": doc, "title": f"Title {doc}", "source_type": "wiki"})
        records.append({"kind": "revision", "doc": f"{doc}@1", "effective_at": "2026-01-01T00:00:00Z",
                        **({"acl_ref": acl} if acl else {})})
        if stale:
            newer = {"doc": f"{doc}@2", "effective_at": "2026-02-01T00:00:00Z", "supersedes": f"{doc}@1"}
            records.append({"kind": "revision", **newer})
        records.append({"kind": "chunk", "doc": f"{doc}@1", "chunk": "c", "section_path": ["1", "1.1"], "ordinal": 0,
                        "content_sha256": sha(doc), "chunker_version": "t"})
        evidence.append({"doc": f"{doc}@1", "chunk": "c", "polarity": polarity, "quote_hash": sha("q" + doc),
                         **({"policy": statement} if statement is not None else {})})
    records.append({
        "kind": "edge", "edge_id": edge_id or f"{source}->{target}", "relation": relation,
        "source": {"type": "Thing", "id": source}, "target": {"type": "Thing", "id": target},
        "evidence": evidence, "scope": scope, "extracted_by": {"pipeline": "p", "version": "1"}})
    return records


def thing(name: str, *aliases: tuple[str, str], **more: Any) -> list[dict[str, Any]]:
    """An entity with (alias, method) pairs."""
    linked = [{"alias": alias, "method": method, "linker": "t", "linker_version": "1"} for alias, method in aliases]
    return [{"kind": "entity", "type": "Thing", "id": name, "name": name, "aliases": linked, **more}]


Load = Callable[..., None]


def loader(database: Database, folder: Path) -> Load:
    """Loads lists of records, whatever their kind, as one run."""
    def load(tenant: str, *parts: Iterable[dict[str, Any]]) -> None:
        file = folder / f"{next(_number)}.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for part in parts for record in part), encoding="utf-8")
        summary = ingest(database, [file], IngestOptions(POLICIES, tenant=tenant, rejects=folder / "rejected.jsonl"))
        assert not summary.rejected, (folder / "rejected.jsonl").read_text(encoding="utf-8")
        assert not summary.policies_differ
    return load
