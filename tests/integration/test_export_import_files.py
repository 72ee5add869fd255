"""A store made of import files by neo4j-admin is the store they were made from (spec 5, exports; spec 6, bulk load)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from graphrag_provenance.config import load_settings
from graphrag_provenance.errors import AccessDeniedError, StoreConflictError
from graphrag_provenance.exports.import_files import export_import_files
from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.store.auditing import audit_verify
from graphrag_provenance.store.database import Connection, Database
from graphrag_provenance.store.exporting import export_everything
from graphrag_provenance.store.importing import finish_import
from graphrag_provenance.store.runs import store_state
from graphrag_provenance.store.verification import verify

Cypher = Callable[..., list[dict[str, Any]]]
SAMPLE = etl_path("samples", "payments")
ORDER = parse_policies((SAMPLE / "policies.toml").read_text(encoding="utf-8"))
OPERATOR = Reader("op", "ODD", frozenset(), frozenset({Role.OPERATOR}))
ODD = "a<SEP>b,c|d@e#f' \"q\") ;\n λ \u2028 \\"


def odd() -> Iterator[dict[str, Any]]:
    """What files of that kind are known to break: quotes, line ends, the delimiter in an element, empty texts and lists, big numbers."""
    tenant = {"tenant": "ODD"}
    yield {"kind": "document", "doc_id": ODD, "title": "", "source_type": "s", "policy": "public",
           "attributes": {"big": 2**62, "odd": ODD, "list": ["", "a\u001fb"]}, **tenant}
    for version in "12":
        yield {"kind": "revision", "doc": f"{ODD}@{version}", "effective_at": f"2026-01-0{version}T00:00:00.120003Z", "source_url": "",
               "complete": True, **tenant}
        yield {"kind": "chunk", "doc": f"{ODD}@{version}", "chunk": ODD, "ordinal": 0, "text": ' ""x\r\n,', "section_path": [""],
               "chunker_version": "1", "content_sha256": "sha256:" + "0" * 64, **tenant}
    yield {"kind": "chunk", "doc": f"{ODD}@1", "chunk": "c2", "ordinal": 1, "section_path": ["a\u001fb", "", ";"], "chunker_version": "1",
           "content_sha256": "sha256:" + "1" * 64, **tenant}
    for version in "12":
        yield {"kind": "edge", "relation": "uses", "source": {"type": "T", "id": ODD}, "target": {"type": "T", "id": version},
               "access": {"policy": "public"} | tenant, "confidence": 0.1 + 0.2,
               "evidence": [{"doc": f"{ODD}@{version}", "chunk": ODD, "span": [0, 2**40]}]}
    yield {"kind": "edge", "relation": "uses", "source": {"type": "T", "id": "x"}, "target": {"type": "T", "id": "y"},
           "access": {"policy": "pubilc"} | tenant, "evidence": [{"doc": "nowhere@1", "chunk": "1"}]}


def content(cypher: Cypher) -> list[str]:
    """Every node and relationship of the product as text, in order; but for when the store was locked last."""
    rows = cypher("MATCH (n) WHERE NOT n:Migration RETURN labels(n) AS kind, n {.*, touched: null} AS properties")
    rows += cypher("MATCH (s)-[r]->(t) RETURN [type(r), "
                   "s.digest, s.answer_id, t.digest, t.edge_id] AS kind, properties(r) AS properties")
    return sorted(repr((sorted(map(str, row["kind"])), sorted(row["properties"].items()))) for row in rows)


def load(database: Database, *paths: Path, **more: Any) -> None:
    ingest(database, paths, IngestOptions(policies=ORDER, actor="test", rejects=paths[0].parent / "rejects.jsonl", **more))


@pytest.fixture
def filled(fresh_database: Database, tmp_path: Path) -> Database:
    """The sample, and what is odd in three loads, so that there is history."""
    file = tmp_path / "odd.jsonl"
    lines = list(odd())
    copy = tmp_path / "sample"
    shutil.copytree(SAMPLE, copy, ignore=shutil.ignore_patterns("*.toml", "*.md"))
    load(fresh_database, copy)
    for part in (lines[:-2], lines):
        file.write_text("".join(json.dumps(line) + "\n" for line in part), encoding="utf-8")
        load(fresh_database, file)
    return fresh_database


def test_the_imported_store_is_the_exported_one(
    filled: Database, cypher: Cypher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, graph_hash = content(cypher), (store_state(filled) or {})["graph_hash"]
    folder = tmp_path / "files"
    folder.mkdir()
    with export_everything(filled, OPERATOR, all_tenants=True) as everything:
        files = export_import_files(everything, folder)
    assert files.delimiter != "\x1f", "an element of a list holds the first choice"
    with pytest.raises(StoreConflictError, match="not the one of the files"):
        finish_import(filled, "another")
    for name in [name for name in os.environ if name.startswith("NEO4J_")]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    server = LocalServer(load_settings(home=home, workspace=tmp_path))
    try:
        done = CliRunner().invoke(app, ["db", "import", str(folder), "--home", str(home), "--neo4j-version", server.version])
        assert done.exit_code == 0, done.stderr
        assert graph_hash in done.stderr
        uri, user, password = server.credentials()
        with Database(Connection(uri, user, SecretStr(password)), read_timeout=60) as imported:
            def other(text: str, /, **params: Any) -> list[Mapping[str, Any]]:
                with imported._link._driver.session() as session:
                    return [dict(record) for record in session.run(text, params)]  # type: ignore[arg-type]

            assert content(other) == before  # type: ignore[arg-type]
            assert verify(imported).violations == ()
            assert audit_verify(imported, OPERATOR).ok
            assert (store_state(imported) or {})["graph_hash"] == graph_hash
            finish_import(imported, graph_hash)
            assert content(other) == before, "finishing again changes nothing"  # type: ignore[arg-type]
            load(imported, tmp_path / "odd.jsonl")
            assert (store_state(imported) or {})["graph_hash"] == graph_hash, "it can be written to, and knows what it has"
    finally:
        server.stop()


def test_only_an_operator_has_the_files(database: Database, tmp_path: Path) -> None:
    auditor = Reader("r", "T", frozenset({"restricted"}), frozenset({Role.AUDITOR}))
    with pytest.raises(AccessDeniedError), export_everything(database, auditor, all_tenants=True) as everything:
        export_import_files(everything, tmp_path)
