"""Runs as OpenLineage events: valid by the specification, and true of the runs (spec 5, exports)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from graphrag_provenance.errors import AccessDeniedError, InputError
from graphrag_provenance.exports.openlineage import run_events
from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.model.lineage import FACET, facet_schema
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.exporting import export_everything
from graphrag_provenance.store.lookups import run_list

Cypher = Callable[..., list[dict[str, Any]]]
ORDER = parse_policies(etl_path("samples", "payments", "policies.toml").read_text(encoding="utf-8"))
OPERATOR = Reader("op", "T", frozenset(), frozenset({Role.OPERATOR}))


def facets(of: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{of}"}}


def named(**more: Any) -> dict[str, Any]:
    text = {"type": "string"}
    return {"type": "object", "required": ["namespace", "name"], "properties": {"namespace": text, "name": text} | more}


URI = {"type": "string", "format": "uri"}
# What version 2-0-2 of the specification demands of a run event, written from its text; the client package ships no schema file.
SPECIFICATION: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {
        "facet": {"type": "object", "required": ["_producer", "_schemaURL"], "properties": {"_producer": URI, "_schemaURL": URI}},
        "run": {"type": "object", "required": ["runId"],
                "properties": {"runId": {"type": "string", "format": "uuid"}, "facets": facets("facet")}},
        "job": named(facets=facets("facet")),
        "input": named(facets=facets("facet"), inputFacets=facets("facet")),
        "output": named(facets=facets("facet"), outputFacets=facets("facet")),
    },
    "type": "object",
    "required": ["eventTime", "producer", "schemaURL", "run", "job"],
    "properties": {
        "eventType": {"enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]},
        "eventTime": {"type": "string", "format": "date-time", "pattern": "^[0-9-]{10}T[0-9:.]+(Z|[+-][0-9:]+)$"},
        "producer": URI, "schemaURL": URI | {"const": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"},
        "run": {"$ref": "#/$defs/run"}, "job": {"$ref": "#/$defs/job"},
        "inputs": {"type": "array", "items": {"$ref": "#/$defs/input"}},
        "outputs": {"type": "array", "items": {"$ref": "#/$defs/output"}},
    },
}


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    Draft202012Validator.check_schema(schema)
    return [error.message for error in Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(value)]


def events(database: Database, **more: Any) -> list[dict[str, Any]]:
    with export_everything(database, OPERATOR) as everything:
        return [json.loads(line) for line in run_events(everything, **more)]


@pytest.fixture
def loaded(fresh_database: Database, tmp_path: Path, cypher: Cypher) -> Database:
    """Three runs: one from a file under a strange name, one that failed, one that was cut off."""
    file = tmp_path / "a <SEP>, \"b\" λ.jsonl"
    file.write_text(json.dumps({"kind": "edge", "relation": "uses", "source": {"type": "T", "id": "a"}, "target": {"type": "T", "id": "b"},
                                "evidence": [{"doc": "d@1", "chunk": "1"}], "access": {"tenant": "T", "policy": "public"}}) + "\n")
    for pipeline in ("graph/etl", "other", "third"):
        ingest(fresh_database, [file], IngestOptions(policies=ORDER, actor="ann", pipeline=pipeline, version="7", rejects=tmp_path / "r"))
    for seq, status in ((2, "failed"), (3, "interrupted")):
        cypher("MATCH (r:Run {seq: $seq}) SET r.status = $status", seq=seq, status=status)
    return fresh_database


def test_each_run_begins_and_ends_once_in_events_of_the_specification(loaded: Database, tmp_path: Path) -> None:
    found = events(loaded)
    assert [faults(SPECIFICATION, one) for one in found] == [[]] * 6
    assert [faults(facet_schema(), one["run"]["facets"][FACET]) for one in found] == [[]] * 6
    assert [one["eventType"] for one in found] == ["START", "COMPLETE", "START", "FAIL", "START", "ABORT"]
    assert [one["job"] for one in found[::2]] == [
        {"namespace": "graphrag-provenance", "name": name, "facets": found[0]["job"]["facets"]} for name in ("graph/etl", "other", "third")]
    runs = {one["seq"]: one for one in run_list(loaded)}
    for start, end in zip(found[::2], found[1::2], strict=True):
        facet = end["run"]["facets"][FACET]
        run = runs[facet["seq"]]
        assert start["run"]["runId"] == end["run"]["runId"] == run["run_id"]
        assert (start["eventTime"], end["eventTime"]) == (run["started_at"], run["finished_at"])
        assert {name: facet[name] for name in ("trace_id", "digest", "policies_hash", "graph_hash", "counts", "actor", "status")} == {
            name: run[name] for name in ("trace_id", "digest", "policies_hash", "graph_hash", "counts", "actor", "status")}
        assert "digest" not in start["run"]["facets"][FACET]
        (used,) = end["inputs"]
        assert (used["namespace"], used["name"]) == ("file", str(tmp_path / "a <SEP>, \"b\" λ.jsonl"))
        assert used["facets"]["version"]["datasetVersion"] == run["inputs"][0]["sha256"]
        assert end["outputs"][0]["facets"]["version"]["datasetVersion"] == run["graph_hash"]
        assert start["inputs"] == end["inputs"]


def test_the_same_runs_are_the_same_events_and_a_range_is_part_of_them(loaded: Database) -> None:
    whole = events(loaded)
    assert events(loaded) == whole
    assert events(loaded, first=2, last=2) == whole[2:4]
    assert {one["job"]["namespace"] for one in events(loaded, namespace="ours")} == {"ours"}
    with pytest.raises(InputError, match="no runs from 3 to 2"):
        events(loaded, first=3, last=2)


def test_an_address_is_named_as_openlineage_names_datasets(loaded: Database, cypher: Cypher) -> None:
    told = [{"name": "s3://bucket/a/b.parquet", "bytes": None, "sha256": ""}, {"tenant": "T", "reason": "asked"}]
    cypher("MATCH (r:Run {seq: 1}) SET r.inputs = $inputs", inputs=json.dumps(told))
    _, end = events(loaded, last=1)
    assert [(one["namespace"], one["name"], one.get("facets")) for one in end["inputs"]] == [("s3://bucket", "a/b.parquet", {})]
    assert end["run"]["facets"][FACET]["parameters"] == told[1:]


@pytest.mark.parametrize("broken", [
    {"eventTime": "yesterday"}, {"producer": "not a uri"}, {"run": {"runId": "1"}}, {"job": {"name": "x"}}, {"eventType": "DONE"},
])
def test_the_schema_can_refuse(loaded: Database, broken: dict[str, Any]) -> None:
    assert faults(SPECIFICATION, events(loaded, last=1)[0] | broken)


def test_only_an_operator_has_them(database: Database) -> None:
    auditor = Reader("r", "T", frozenset({"restricted"}), frozenset({Role.AUDITOR}))
    with pytest.raises(AccessDeniedError), export_everything(database, auditor) as everything:
        list(run_events(everything))
