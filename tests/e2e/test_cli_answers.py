"""Claims, golden paths, gate and evaluation on the command line, over the shipped sample (spec 4)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.rules.relations import parse_relations
from graphrag_provenance.store.database import Database

Run = Callable[..., Any]
SAMPLE = etl_path("samples", "payments")
GOLDEN = str(SAMPLE / "golden.toml")
READER = ("--tenant", "ACME", "--clearance", "internal")


@pytest.fixture(scope="module")
def loaded(wipe: Callable[[], None], database: Database, tmp_path_factory: pytest.TempPathFactory) -> Database:
    """The shipped sample and nothing else."""
    wipe()
    ingest(database, sorted(SAMPLE.glob("*.jsonl")), IngestOptions(
        parse_policies((SAMPLE / "policies.toml").read_text(encoding="utf-8")),
        relations=parse_relations(etl_path("relations.toml").read_text(encoding="utf-8")),
        rejects=tmp_path_factory.mktemp("cli") / "rejected.jsonl"))
    return database


@pytest.fixture
def gprov(loaded: Database, server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command against the test server, in an empty folder."""
    for name in list(os.environ):
        if name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_")):
            monkeypatch.delenv(name)
    for name, value in (server.environment() | {"GRAPHRAG_PROVENANCE_HOME": str(tmp_path / "home")}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return lambda *args, **more: CliRunner().invoke(app, list(args), **more)


def test_the_shipped_golden_paths_hold(gprov: Run) -> None:
    done = gprov("path", "check", GOLDEN)
    assert done.exit_code == 0, done.output
    assert done.stdout == "73 of 73 answers are as expected.\n"


def test_a_wrong_answer_is_told_to_people_programs_and_integration(gprov: Run, tmp_path: Path) -> None:
    text = Path(GOLDEN).read_text(encoding="utf-8").replace('"E:dep:payment-router->ledger",', '"E:other",', 1)
    file = tmp_path / "wrong.toml"
    file.write_text(text, encoding="utf-8")
    done = gprov("path", "check", str(file))
    assert done.exit_code == 1
    assert "main-supported: System:checkout-api to Policy:POL-31\n    path, first at hop 2: expected E:dep:checkout" in done.stdout
    assert done.stdout.endswith("72 of 73 answers are as expected.\n")

    done = gprov("path", "check", str(file), "--format", "json")
    body = json.loads(done.stdout)
    assert (done.exit_code, body["schema"], body["ok"], body["checked"], body["failed"]) == (1, 1, False, 73, 1)
    (wrong,) = [one for one in body["questions"] if not one["ok"]]
    (difference,) = wrong["differences"]
    assert (wrong["id"], difference["what"], difference["hop"]) == ("main-supported", "path", 2)
    assert difference["got"][1] == "E:dep:payment-router->ledger"

    done = gprov("path", "check", str(file), "--format", "junit")
    (suite,) = ElementTree.fromstring(done.stdout)
    assert (done.exit_code, suite.get("tests"), suite.get("failures")) == (1, "73", "1")
    (failed,) = [case for case in suite if len(case)]
    assert (failed.get("name"), failed[0].get("message")) == ("main-supported", "path")
    assert "first at hop 2" in (failed[0].text or "")


def test_what_is_recorded_today_holds_today_and_is_not_written_over(gprov: Run, tmp_path: Path) -> None:
    claims = tmp_path / "claims.jsonl"
    claims.write_text(
        '{"id": "one", "from": "System:checkout-api", "to": "Policy:POL-31", "environment": "production"}\n'
        '{"id": "two", "from": "System:card-vault", "to": "Policy:POL-08", "environment": "production"}\n', encoding="utf-8")
    file = tmp_path / "recorded.toml"
    done = gprov("path", "record", str(file), "--claims", str(claims), *READER)
    assert done.exit_code == 0, done.output
    text = file.read_text(encoding="utf-8")
    assert 'expect_reason = "stale-revision"' in text
    assert '"POL-31@' in text
    assert gprov("path", "check", str(file)).exit_code == 0
    again = gprov("path", "record", str(file))
    assert (again.exit_code, "--force" in again.stderr) == (2, True)
    assert gprov("path", "record", str(file), "--force").exit_code == 0
    assert file.read_text(encoding="utf-8") == text


def test_many_claims_are_traced_at_once_in_every_form(gprov: Run, tmp_path: Path) -> None:
    claims = tmp_path / "claims.jsonl"
    claims.write_text(
        '{"id": "one", "from": "System:checkout-api", "to": "Policy:POL-31", "environment": "production"}\n'
        '{"id": "two", "from": "Policy:POL-31", "to": "System:checkout-api"}\n', encoding="utf-8")
    done = gprov("trace", "--claims", str(claims), *READER, "--format", "json")
    assert done.exit_code == 1
    one, two = json.loads(done.stdout)["answers"]
    assert (one["id"], one["state"], len(one["paths"][0]["steps"])) == ("one", "supported", 3)
    assert (two["id"], two["reason"], "policies" in two) == ("two", "no-path", False)
    lines = gprov("trace", "--claims", str(claims), *READER, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["supported", "unresolved"]
    assert "no-path" in gprov("trace", "--claims", str(claims), *READER).stdout
    auditor = gprov("trace", "--claims", str(claims), *READER, "--role", "auditor", "--audience", "auditor", "--format", "json")
    assert all("rejected_chains" in answer for answer in json.loads(auditor.stdout)["answers"])
    for wrong, told in ((("trace", "System:a"), "two ends"), (("trace", "--claims", str(claims), "--env", "x", *READER), "says itself"),
                        (("trace", "--claims", str(claims), "--tenant", "ACME"), "clearance"),
                        (("path", "check", str(claims), *READER), "expect_state")):
        done = gprov(*wrong)
        assert (done.exit_code, told in done.stderr) == (2, True), done.output


LEDGER = """
id = "refund-replay"
entities = ["System:payment-router", "System:ledger"]
condition = { environment = "production", region = "eu-west" }
facets = ["prerequisite", "action"]
[[entries]]
sentence = "Corrections in the ledger follow POL-31."
facet = "prerequisite"
passages = [{ doc = "POL-31@2.1", chunk = "c-1" }]
[[entries]]
sentence = "The router books into the ledger."
facet = "action"
edges = ["E:dep:payment-router->ledger"]
"""


def test_the_gate_says_complete_or_everything_that_is_not(gprov: Run, tmp_path: Path) -> None:
    file = tmp_path / "ledger.toml"
    file.write_text(LEDGER, encoding="utf-8")
    done = gprov("gate", str(file), *READER, "--format", "json")
    body = json.loads(done.stdout)
    assert (done.exit_code, body["state"], body["id"]) == (0, "evidence-complete", "refund-replay")
    assert body["facets"] == ["action", "prerequisite"]

    file.write_text(LEDGER.replace('"action"]', '"action", "verification"]') + "[[entries]]\nsentence = 'And so on.'\n", encoding="utf-8")
    done = gprov("gate", str(file), *READER)
    assert done.exit_code == 1
    assert "verification" in done.stdout
    assert "unsupported-sentence" in done.stdout
    assert "not that the answer is true" in done.stdout

    assert gprov("gate", str(file), *READER, "--shadow").exit_code == 0
    assert gprov("gate", str(file), *READER, "--record", "gate-results.jsonl").exit_code == 1
    shadow, real = [json.loads(line) for line in (tmp_path / "gate-results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (shadow["state"], shadow["shadow"], real["shadow"]) == ("review", True, False)
    wrong = gprov("gate", str(file), *READER, "--audience", "auditor")
    assert (wrong.exit_code, "auditor" in wrong.stderr) == (2, True)
    file.write_text("entries = 3", encoding="utf-8")
    assert gprov("gate", str(file), *READER, "--shadow").exit_code == 2

    labelled = {"incident": "refund-replay", "result": real, "labels": {"facets": ["action", "verification"], "unsupported-sentence": [3]}}
    incidents = tmp_path / "incidents.jsonl"
    incidents.write_text(json.dumps(labelled) + "\n", encoding="utf-8")
    measures = json.loads(gprov("eval", "gate", str(incidents), "--format", "json").stdout)
    assert (measures["facet_recall"], measures["problems"]["unsupported-sentence"]["missed"]) == (0.5, 0)
    assert gprov("eval", "gate", str(incidents)).exit_code == 0


def test_a_shadow_gate_does_not_block_when_no_store_answers(gprov: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ledger.toml"
    file.write_text(LEDGER, encoding="utf-8")
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:9")
    assert gprov("gate", str(file), *READER).exit_code == 3
    done = gprov("gate", str(file), *READER, "--shadow")
    assert (done.exit_code, "could not judge" in done.stderr) == (0, True)
    (line,) = (tmp_path / "gate-results.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["state"] == "error"


def test_the_shipped_questions_are_measured_and_a_leaking_split_is_refused(gprov: Run, tmp_path: Path) -> None:
    done = gprov("eval", "chains", GOLDEN, "--format", "json")
    body = json.loads(done.stdout)
    assert (done.exit_code, body["questions"], set(body["measures"].values())) == (0, 73, {1.0})
    part = json.loads(gprov("eval", "chains", GOLDEN, "--split", "development", "--format", "json").stdout)
    assert 0 < part["questions"] < 73
    assert "answer accuracy" in gprov("eval", "chains", GOLDEN).stdout
    file = tmp_path / "leaks.toml"
    file.write_text(Path(GOLDEN).read_text(encoding="utf-8").replace('split = "test"', 'split = "development"', 1), encoding="utf-8")
    leaks = gprov("eval", "chains", str(file))
    assert (leaks.exit_code, "The split leaks" in leaks.stderr) == (2, True)
    file.write_text(Path(GOLDEN).read_text(encoding="utf-8").replace('expect_reason = "region-scope"', 'expect_reason = "no-path"', 1))
    wrong = gprov("eval", "chains", str(file))
    assert (wrong.exit_code, "wrong-reason" in wrong.stdout) == (1, True)
    assert gprov("eval", "chains", GOLDEN, "--split", "none").exit_code == 2
