"""Export and load again: the same graph hash (spec 5, exports; field reports 7, 8, 11 and 12)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from graphrag_provenance.errors import AccessDeniedError, StoreConflictError
from graphrag_provenance.exports.jsonl import Exported, export_jsonl, policy_file
from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import PolicyLattice, parse_policies
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.exporting import export_everything
from graphrag_provenance.store.runs import store_state
from graphrag_provenance.store.verification import verify

Cypher = Callable[..., list[dict[str, Any]]]
SAMPLE = etl_path("samples", "payments")
ORDER = parse_policies((SAMPLE / "policies.toml").read_text(encoding="utf-8"))
OPERATOR = Reader("op", "ACME", frozenset(), frozenset({Role.OPERATOR}))
ODD = "a<SEP>b,c|d@e#f' \"q\") ; λ \u2028"


def load(database: Database, path: Path, order: PolicyLattice = ORDER) -> None:
    ingest(database, [path], IngestOptions(policies=order, actor="test", batch_size=200, rejects=path.parent / "rejects.jsonl"))


def write(path: Path, lines: Iterable[Mapping[str, Any] | str]) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines), encoding="utf-8")
    return path


def exported(database: Database, **more: Any) -> tuple[list[str], Exported]:
    found = Exported()
    with export_everything(database, OPERATOR, **{"all_tenants": True, **more}) as everything:
        return list(export_jsonl(everything, found)), found


def graph_hash(database: Database) -> str:
    return str((store_state(database) or {})["graph_hash"])


def edge(source: str, target: str, *evidence: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "edge", "relation": "uses", "source": {"type": "T", "id": source}, "target": {"type": "T", "id": target},
            "evidence": list(evidence), "access": {"tenant": "ODD"}} | more


def stated_twice() -> list[dict[str, Any]]:
    """What several records say about one thing, in all their fields."""
    acl = {"system": "conf", "space": "S", "restriction_id": "7", "incarnation": "1"}
    tenant = {"tenant": "ODD"}
    document = {"kind": "document", "doc_id": ODD, "title": "t", "source_type": "s", "attributes": {"a": [1, 2], "b": 0.5, "c": "001"},
                **tenant}
    revision = {"kind": "revision", "doc": f"{ODD}@1", "effective_at": "2026-01-01T00:00:00.5Z", **tenant}
    chunk = {"kind": "chunk", "doc": f"{ODD}@1", "chunk": ODD, "ordinal": 0, "text": "x", "section_path": ["", "A"], "chunker_version": "1",
             "content_sha256": "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", **tenant}
    entity = {"kind": "entity", "type": "T", "id": "a", "name": "B", **tenant}
    cited = {"doc": f"{ODD}@1", "chunk": ODD}
    nowhere = {"doc": "nowhere@1", "chunk": "1", "policy": "public"}
    by = {"pipeline": "p", "version": "1"}
    return [
        document, document | {"policy": "internal"}, document | {"policy": "public"},
        revision | {"acl_ref": acl}, revision | {"acl_ref": {"system": "conf", "space": "T"}, "policy": "internal"},
        chunk, chunk | {"policy": "hr"}, chunk | {"policy": "legal", "acl_ref": acl},
        entity | {"policy": "public", "aliases": [{"alias": "x", "method": "guess", "linker": "l", "linker_version": "1"}]},
        entity | {"name": "A", "policy": None, "attributes": {"k": True}}, entity | {"id": " a "},
        edge("a", "b", cited | {"policy": "internal", "span": [0, 1], "quote_hash": "sha256:00", "confidence": 0.25, "extracted_by": by},
             cited | {"polarity": "refutes", "acl_ref": acl}, attributes={"n": -3}),
        edge("  spelled   so ", "b", nowhere, access={"tenant": "ODD", "policy": "internal"}),
        edge("spelled so", "b", nowhere, access={"tenant": "ODD", "policy": "pubilc"}),
        edge("b", "c", {"doc": "nowhere@1", "chunk": "2", "policy": None}, edge_id="named",
             scope={"environment": "e", "valid_from": "2020-01-01T00:00:00Z"}),
        {"kind": "tombstone", "doc_id": "gone", "chunk": "1", "deleted_in_revision": "gone@2", **tenant},
        edge("b", "d", {"doc": "gone@1", "chunk": "1", "policy": "public"}),
        {"kind": "revision", "doc": "gone@1", "effective_at": "2026-01-01T00:00:00Z", **tenant},
        {"kind": "revision", "doc": "gone@2", "effective_at": "2026-01-02T00:00:00Z", "supersedes": "gone@1", "complete": True, **tenant},
    ]


@pytest.mark.parametrize("content", ["sample", "stated twice"])
def test_an_export_loaded_into_an_empty_store_gives_the_same_graph_hash(
    fresh_database: Database, cypher: Cypher, tmp_path: Path, content: str
) -> None:
    load(fresh_database, SAMPLE if content == "sample" else write(tmp_path / "in.jsonl", stated_twice()))
    before = graph_hash(fresh_database)
    lines, found = exported(fresh_database)
    assert not found.findings
    assert sum(found.records.values()) == len(lines)
    with export_everything(fresh_database, OPERATOR) as everything:
        assert everything.order is not None
        order = parse_policies(policy_file(everything.order))
    assert order.hash == ORDER.hash

    cypher("MATCH (n) WHERE NOT n:Migration CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS")
    load(fresh_database, write(tmp_path / "out.jsonl", reversed(lines)), order)
    assert graph_hash(fresh_database) == before
    assert sorted(exported(fresh_database)[0]) == sorted(lines)
    assert verify(fresh_database).violations == ()


def test_what_no_longer_counts_comes_along_if_it_would_count_again(fresh_database: Database, tmp_path: Path) -> None:
    load(fresh_database, write(tmp_path / "in.jsonl", stated_twice()))
    edges = [json.loads(line) for line in exported(fresh_database)[0] if '"kind":"edge"' in line]
    assert [one["target"]["id"] for one in edges if one["evidence"][0]["doc"] == "gone@1"] == ["d"]


def test_an_export_is_of_one_tenant_unless_all_are_asked_for(fresh_database: Database, tmp_path: Path) -> None:
    foreign = edge("a", "b", {"doc": "d@1", "chunk": "1"}, access={"tenant": "ACME"})
    load(fresh_database, write(tmp_path / "in.jsonl", [*stated_twice(), foreign]))
    lines = [json.loads(line) for line in exported(fresh_database, all_tenants=False)[0]]
    assert [line["access"]["tenant"] for line in lines] == ["ACME"]


def test_what_records_cannot_say_is_told(fresh_database: Database, tmp_path: Path) -> None:
    """Two revisions of one date: which came first decided, and one load does not repeat that."""
    for version in ("2", "1"):
        load(fresh_database, write(tmp_path / f"{version}.jsonl", [
            {"kind": "revision", "doc": f"d@{version}", "effective_at": "2026-01-01T00:00:00Z", "tenant": "ACME"},
            {"kind": "document", "doc_id": "d", "title": "t", "source_type": "s", "tenant": "ACME"}]))
    _, found = exported(fresh_database)
    assert found.by_arrival == ["d"]
    assert found.findings


@pytest.mark.parametrize("roles", [{Role.READER}, {Role.AUDITOR}, {Role.READER, Role.AUDITOR}])
def test_only_an_operator_exports(database: Database, roles: set[Role]) -> None:
    reader = Reader("r", "ACME", frozenset({"restricted"}), frozenset(roles))
    with pytest.raises(AccessDeniedError), export_everything(database, reader):
        pass


def test_an_export_while_somebody_writes_is_no_export(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> None:
    load(fresh_database, write(tmp_path / "in.jsonl", stated_twice()))
    with pytest.raises(StoreConflictError, match="written to"), export_everything(fresh_database, OPERATOR):
        load(fresh_database, write(tmp_path / "more.jsonl", [edge("a", "z", {"doc": "d@1", "chunk": "1"})]))
    cypher("MATCH (s:Store) SET s.writer = 'x'")
    try:
        with pytest.raises(StoreConflictError, match="is writing"), export_everything(fresh_database, OPERATOR):
            pass
    finally:
        cypher("MATCH (s:Store) REMOVE s.writer")
