"""Every line that a load writes on stderr is an event that carries its run and its trace, when programs read it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from corpus.records import Store, edge, registered, write
from typer.testing import CliRunner

from graphrag_provenance.errors import InputError, StoreConflictError
from graphrag_provenance.interfaces.cli import progress
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.store import runs
from graphrag_provenance.store.database import Database

Run = Callable[..., Any]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GOOD = [*registered("d1@1#c", "public"), edge("A:a", "owns", "A:b", "d1@1#c", edge_id="E")]
POLICIES = "schema = 1\n[policies.public]\n[policies.internal]\nabove = [\"public\"]\n"


@pytest.fixture
def gprov(server: Any, fresh_database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TRACEPARENT", raising=False)
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    write(tmp_path / "good.jsonl", GOOD)
    write(tmp_path / "mixed.jsonl", [*GOOD, '{"kind": "edge"}'])
    (tmp_path / "p.toml").write_text(POLICIES)
    return lambda *args: CliRunner().invoke(app, ["--log-format", "json", *args])


def events(result: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stderr.splitlines()]


def test_every_line_of_a_load_is_an_event_with_its_run_and_its_trace(gprov: Run) -> None:
    gprov("ingest", "good.jsonl")
    result = gprov("ingest", "mixed.jsonl", "--policies", "p.toml", "--format", "json")
    run = json.loads(result.stdout)["run"]
    told = events(result)
    assert {(line["run_id"], line["trace_id"]) for line in told} == {(run["run_id"], run["trace_id"])}
    assert all({"level", "timestamp", "event"} <= set(line) for line in told)
    begun, *between, ended, differ = told
    assert (begun["event"], begun["seq"], begun["kind"], begun["inputs"]) == ("run begun", 2, "ingest", 1)
    assert {line["event"] for line in between} == {"loading"}
    assert (ended["event"], ended["status"], ended["digest"]) == ("run ended", "finished", run["digest"])
    assert ended["counts"]["records"] == {"read": 5, "rejected": 1}
    assert "another order of policies" in differ["event"]


def test_a_load_that_fails_says_so_in_its_last_lines(gprov: Run) -> None:
    result = gprov("ingest", "mixed.jsonl", "--rejects", "no/such/folder/r.jsonl")
    assert result.exit_code == 2
    *_, ended, failed = events(result)
    assert (ended["event"], ended["status"], ended["level"]) == ("run ended", "failed", "warning")
    assert (failed["level"], failed["run_id"], failed["trace_id"]) == ("error", ended["run_id"], ended["trace_id"])
    assert (failed["schema"], failed["error"]["code"]) == (1, "input")


def test_an_error_before_any_run_is_an_event_too(gprov: Run) -> None:
    (line,) = events(gprov("ingest", "absent.jsonl"))
    assert (line["level"], line["error"]["code"]) == ("error", "input")
    (line,) = events(gprov("ingest", "good.jsonl", "--no-such-option"))
    assert line["error"]["code"] == "usage"


def test_a_change_of_the_order_of_policies_is_a_run_with_events_too(gprov: Run) -> None:
    gprov("ingest", "good.jsonl")
    told = events(gprov("policy", "apply", "p.toml", "--trace-id", TRACE))
    assert [line["event"] for line in told if "run " in line["event"]] == ["run begun", "run ended"]
    assert {line["trace_id"] for line in told} == {TRACE}


@pytest.mark.parametrize("given", [TRACE, f"00-{TRACE}-00f067aa0ba902b7-01"])
@pytest.mark.parametrize("how", ["flag", "environment"])
def test_the_callers_trace_is_that_of_the_run(gprov: Run, monkeypatch: pytest.MonkeyPatch, how: str, given: str) -> None:
    if how == "environment":
        monkeypatch.setenv("TRACEPARENT", given)
    result = gprov("ingest", "good.jsonl", "--format", "json", *(["--trace-id", given] if how == "flag" else []))
    assert json.loads(result.stdout)["run"]["trace_id"] == TRACE
    assert {line["trace_id"] for line in events(result)} == {TRACE}
    reader = ("--tenant", "ACME", "--clearance", "public", "--format", "json")
    if how == "environment":
        assert json.loads(gprov("trace", "A:a", "A:b", *reader).stdout)["trace_id"] == TRACE


@pytest.mark.parametrize("how", ["flag", "environment"])
def test_a_malformed_trace_is_refused_and_nothing_is_written(
    gprov: Run, fresh_database: Database, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "environment":
        monkeypatch.setenv("TRACEPARENT", f"00-{TRACE}")
    result = gprov("ingest", "good.jsonl", *(["--trace-id", TRACE.upper()] if how == "flag" else []))
    assert result.exit_code == 2
    (line,) = events(result)
    assert ("--trace-id" if how == "flag" else "TRACEPARENT") in line["event"]
    assert runs.store_state(fresh_database) is None


def test_for_a_person_a_load_stays_quiet(gprov: Run) -> None:
    result = CliRunner().invoke(app, ["ingest", "good.jsonl"])
    assert "run begun" not in result.stderr
    with_info = CliRunner().invoke(app, ["--log-level", "info", "ingest", "good.jsonl"])
    assert "run begun" in with_info.stderr
    assert "run_id=" in with_info.stderr


def test_a_writer_that_was_taken_over_is_warned_of(
    fresh_database: Database, cypher: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A program that did not configure structlog hears of it from the standard logger, and stdout stays its own."""
    store = Store(fresh_database, cypher, tmp_path)
    start = runs.RunStart("ingest", "ann", "p", "1")
    with pytest.raises(InputError, match="neither a trace id"):
        runs.begin(fresh_database, runs.RunStart("ingest", "ann", "p", "1", trace_id="x"), policies=store.policies)
    with caplog.at_level(logging.INFO, "graphrag_provenance"):
        first = runs.begin(fresh_database, start, policies=store.policies)
        first.stop_heartbeat()
        cypher("MATCH (s:Store) SET s.lease_until = datetime('2020-01-01T00:00:00Z')")
        second = runs.begin(fresh_database, start, policies=store.policies)
        with pytest.raises(StoreConflictError):
            first.end("finished", {})
        second.end("finished", {})
    told = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "graphrag_provenance"]
    words = [(level, text.split(" run_id=")[0].split(" inputs=")[0].split(" status=")[0]) for level, text in told]
    assert words == [("INFO", "run begun"), ("WARNING", "abandoned run sealed as interrupted"), ("INFO", "run begun"),
                     ("WARNING", "run lost the store"), ("INFO", "run ended")]
    assert f"run_id={first.run_id}" in told[3][1]
