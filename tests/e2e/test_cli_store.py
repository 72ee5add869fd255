"""The command line on a real Neo4j: load, trace, look up, verify; their JSON and their exit codes (spec 5)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.resources import etl_path

Run = Callable[..., Any]
SAMPLE = etl_path("samples", "payments")
READER = ("--tenant", "ACME", "--clearance", "internal")
CLAIM = ("System:checkout-api", "Policy:POL-31", "--env", "production", "--region", "eu-west")
STANDARD = {
    "kind": "edge", "edge_id": "E:dep:SYS_A->SYS_B", "relation": "depends_on",
    "source": {"type": "System", "id": "SYS_A"}, "target": {"type": "System", "id": "SYS_B"},
    "evidence": [{"doc": "POL-17@1.4", "chunk": "c-0291", "quote_hash": "sha256:00ff", "span": [120, 214], "policy": "internal"},
                 {"doc": "RUNBOOK@2.1", "chunk": "c-1044"}],
    "access": {"policy": "internal", "tenant": "ACME"},
    "scope": {"environment": "production", "region": "eu-west", "valid_from": "2026-01-01T00:00:00Z", "valid_to": None},
    "extracted_by": {"pipeline": "graph/etl", "version": "2026.01"}, "confidence": 0.87,
}  # fmt: skip


@pytest.fixture
def environment(server: Any, tmp_path: Path) -> dict[str, str]:
    """What a command needs to use the test server, and nothing of the person who runs the tests."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_"))}
    return kept | server.environment() | {"GRAPHRAG_PROVENANCE_HOME": str(tmp_path / "home")}


@pytest.fixture
def gprov(environment: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command against the test server, in an empty folder."""
    for name in list(os.environ):
        if name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_")):
            monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return lambda *args, **more: CliRunner().invoke(app, list(args), **more)


@pytest.fixture
def sample(gprov: Run, database: object, request: pytest.FixtureRequest) -> Run:
    """The same, with the shipped sample loaded and nothing else; loaded anew only when another test emptied the store."""
    runs = parsed(gprov("run", "list", "--format", "json"))["runs"]
    if [run["pipeline"] for run in runs] != ["cli-sample"]:
        request.getfixturevalue("fresh_database")
        files = ("--policies", str(SAMPLE / "policies.toml"), "--relations", str(etl_path("relations.toml")))
        result = gprov("ingest", str(SAMPLE), *files, "--pipeline-name", "cli-sample")
        assert result.exit_code == 1, result.output  # three edges are withheld
    return gprov


def parsed(result: Any) -> dict[str, Any]:
    assert result.stdout, result.output
    return cast(dict[str, Any], json.loads(result.stdout))


def write(path: Path, *records: Mapping[str, Any]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def test_the_demo_shows_both_claims_suggests_what_works_and_a_second_one_writes_nothing(
    gprov: Run, fresh_database: object, environment: Mapping[str, str]
) -> None:
    first = gprov("demo")
    assert first.exit_code == 0, first.output
    for told in (
        "state   supported", "path, 3 hops", "RUNBOOK@2.1 (current)", "RUNBOOK@2.0 (stale, now RUNBOOK@2.1)",
        "chunk c-1010", "sha256:cefbf633167200c9", "state   unresolved (no-path)", "Try next",
    ):  # fmt: skip
        assert told in first.stdout
    assert "72 published, 3 withheld" in first.stderr

    out = first.stdout
    suggested = [line.strip() for line in out[out.index("Try next") :].splitlines() if line.strip().startswith("gprov ")]
    path = str(Path(sys.executable).parent) + os.pathsep + environment["PATH"]
    codes = []
    for line in suggested:
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env={**environment, "PATH": path}, check=False)
        assert "Error" not in done.stderr, done.stderr
        codes.append(done.returncode)
    assert codes == [1, 1, 0, 0, 0]

    second = gprov("demo")
    assert second.exit_code == 0
    assert "Nothing to write" in second.stderr


def test_the_demo_does_not_mix_with_data_of_somebody_else(sample: Run) -> None:
    refused = sample("demo")
    assert refused.exit_code == 2
    assert "holds other data" in refused.stderr
    assert "gprov demo --home" in refused.stderr


def test_the_standard_record_loads_and_traces(gprov: Run, fresh_database: object, tmp_path: Path) -> None:
    file = write(tmp_path / "one.jsonl", STANDARD)
    result = gprov("ingest", file, "--pipeline-name", "graph/etl", "--pipeline-version", "2026.01", "--format", "json")
    assert result.exit_code == 0, result.output
    body = parsed(result)
    assert body["schema"] == 1
    assert {"seq", "run_id", "trace_id", "pipeline", "version", "actor", "status", "digest"} <= set(body["run"])
    assert body["records"] == {"read": 1, "accepted": 1, "rejected": 0}
    assert {"published", "withheld", "unchanged", "retracted"} <= set(body["edges"])
    assert {"added", "unchanged", "retired"} <= set(body["evidence"])
    assert (body["edges"]["published"], body["evidence"]["added"]) == (1, 2)
    assert {"entities", "writes", "withheld_reasons", "rejected_reasons", "rejects_file", "seconds"} <= set(body)
    again = parsed(gprov("ingest", file, "--format", "json"))
    assert set(again["writes"].values()) == {0}
    found = gprov("trace", "System:SYS_A", "System:SYS_B", *READER, "--env", "production", "--format", "json")
    assert found.exit_code == 0, found.output
    assert parsed(found)["paths"][0]["steps"][0]["edge_id"] == STANDARD["edge_id"]


def test_trace_json_has_the_documented_shape(sample: Run) -> None:
    result = sample("trace", *CLAIM, *READER, "--format", "json")
    assert result.exit_code == 0, result.output
    body = parsed(result)
    assert {"schema", "trace_id", "state", "reason", "means", "claim", "generation", "truncated", "paths", "citations"} == set(body)
    (path,) = body["paths"]
    step = path["steps"][0]
    assert {"edge_id", "relation", "source", "target", "forward", "scope", "confidence", "current", "extracted_by",
            "evidence"} == set(step)  # fmt: skip
    item = step["evidence"][0]
    told = {"doc", "chunk", "section_path", "span", "quote_hash", "polarity", "url", "head_revision", "is_stale", "run"}
    assert told <= set(item)
    assert {"seq", "pipeline", "version", "at"} == set(item["run"])
    assert {"n", "doc_title", "doc", "section", "url"} == set(body["citations"][0])


def test_a_reader_never_sees_a_policy_name_and_an_auditor_does(sample: Run) -> None:
    for form in ("table", "json"):
        shown = sample("trace", *CLAIM, "--tenant", "ACME", "--clearance", "restricted", "--format", form).stdout
        assert "internal" not in shown
    auditor = sample("trace", *CLAIM, *READER, "--role", "auditor", "--audience", "auditor", "--format", "json")
    assert parsed(auditor)["policies"] == ["internal"]
    refused = sample("trace", *CLAIM, *READER, "--audience", "auditor")
    assert refused.exit_code == 2
    assert "auditor" in refused.stderr


def test_an_unresolved_claim_is_exit_code_1_and_says_what_the_reason_means(sample: Run) -> None:
    result = sample("trace", "System:refund-worker", "Policy:POL-22", *READER, "--env", "production")
    assert result.exit_code == 1
    assert "unresolved (no-path)" in result.stdout
    assert "never filled in" in result.stdout
    assert result.stderr == ""


def test_an_unknown_clearance_lists_the_known_ones(sample: Run) -> None:
    result = sample("trace", *CLAIM, "--tenant", "ACME", "--clearance", "intrenal")
    assert result.exit_code == 2
    for name in ("public", "internal", "confidential", "restricted", "hr", "legal"):
        assert name in result.stderr


def test_a_reader_may_come_from_a_file_or_the_environment(sample: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "me.toml"
    file.write_text('principal = "ann"\ntenant = "ACME"\nclearances = ["internal"]\nroles = ["reader"]\n')
    assert sample("trace", *CLAIM, "--reader", str(file)).exit_code == 0
    assert sample("trace", *CLAIM, "--reader", str(file), "--tenant", "GLOBEX").exit_code == 1
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_TENANT", "ACME")
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_CLEARANCE", "internal,hr")
    assert sample("trace", *CLAIM).exit_code == 0


def test_rejects_are_counted_kept_and_exit_code_1(gprov: Run, fresh_database: object, tmp_path: Path) -> None:
    file = write(tmp_path / "two.jsonl", STANDARD, {**STANDARD, "edge_id": "E:2", "evidence": "u1,u2"})
    result = gprov("ingest", file, "--rejects", "bad.jsonl", "--format", "json")
    assert result.exit_code == 1
    body = parsed(result)
    assert body["rejected_reasons"] == {"evidence-not-a-list": 1}
    (kept,) = [json.loads(line) for line in Path("bad.jsonl").read_text().splitlines()]
    assert kept["line"] == 2
    shown = gprov("ingest", file, "--rejects", "bad2.jsonl")
    assert "Rejected, evidence-not-a-list: 1" in shown.stdout


def test_a_policy_file_that_is_not_the_stores_order_is_said_to_differ(gprov: Run, fresh_database: object, tmp_path: Path) -> None:
    file = write(tmp_path / "one.jsonl", STANDARD)
    assert "another order" not in gprov("ingest", file).output
    Path("mine.toml").write_text("schema = 1\n[policies.internal]\n[policies.crew]\nabove = ['internal']\n", encoding="utf-8")
    told = gprov("ingest", write(tmp_path / "two.jsonl", {**STANDARD, "evidence": [{"doc": "D@1", "chunk": "c", "policy": "crew"}]}),
                 "--policies", "mine.toml")
    assert told.exit_code == 1
    assert told.stdout.endswith("See: gprov edge list --withheld --role operator.\n")
    assert "your file adds crew; removes " in told.stderr
    assert "See: gprov policy apply mine.toml --dry-run." in told.stderr


def test_a_dry_run_writes_nothing_and_says_so(gprov: Run, fresh_database: object, tmp_path: Path) -> None:
    file = write(tmp_path / "one.jsonl", STANDARD)
    result = gprov("ingest", file, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "nothing was written" in result.stdout
    assert gprov("trace", "System:SYS_A", "System:SYS_B", *READER).exit_code != 0
    assert parsed(gprov("run", "list", "--format", "json"))["runs"] == []


def test_standard_input_is_a_path(gprov: Run, fresh_database: object) -> None:
    command = [sys.executable, "-m", "graphrag_provenance.interfaces.cli", "ingest", "-", "--format", "json"]
    done = subprocess.run(command, input=json.dumps(STANDARD), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["edges"]["published"] == 1


def test_edges_entities_and_runs_can_be_looked_up(sample: Run) -> None:
    shown = parsed(sample("edge", "show", "E:dep:payment-router->ledger", *READER, "--format", "json"))
    assert shown["schema"] == 1
    assert len(shown["evidence"]) == 2
    assert "RUNBOOK" in sample("edge", "show", "E:dep:checkout-api->payment-router", *READER).stdout
    found = sample("entity", "find", "Payment", *READER, "--format", "json")
    assert found.exit_code == 0
    assert "payment-router" in found.stdout
    assert "ledger" in sample("entity", "show", "System:ledger", *READER).stdout
    runs = parsed(sample("run", "list", "--format", "json"))["runs"]
    assert [run["seq"] for run in runs] == [1]
    assert "graph_hash" in sample("run", "show", "1", "--format", "json").stdout


def test_withheld_edges_are_listed_with_their_reasons_for_an_auditor_only(sample: Run) -> None:
    auditor = ("--tenant", "ACME", "--clearance", "restricted", "--role", "auditor")
    result = sample("edge", "list", "--withheld", *auditor, "--format", "json")
    assert result.exit_code == 0, result.output
    assert len(parsed(result)["edges"]) == 3
    refused = sample("edge", "list", "--withheld", *READER)
    assert refused.exit_code == 2
    assert "auditor" in refused.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("edge", "show", "E:nope", *READER),
        ("entity", "show", "System:nope", *READER),
        ("entity", "show", "System:ledger", "--tenant", "ACME", "--clearance", "public"),
        ("run", "show", "99"),
    ],
)
def test_what_does_not_exist_for_the_reader_is_exit_code_1(sample: Run, args: tuple[str, ...]) -> None:
    result = sample(*args)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")


def test_verify_finds_nothing_on_a_healthy_store_and_names_the_edge_of_a_damaged_one(sample: Run, cypher: Any) -> None:
    healthy = sample("verify", "--format", "json")
    assert healthy.exit_code == 0, healthy.output
    assert {"schema", "ok", "checked", "violations"} <= set(parsed(healthy))
    damage = "MATCH ()-[r:GOVERNED_BY {edge_id: 'E:gov:ledger->POL-31'}]->() SET r.policies = $policies"
    cypher(damage, policies=["public"])
    damaged = sample("verify")
    cypher(damage, policies=["internal"])
    assert damaged.exit_code == 1
    assert "E:gov:ledger->POL-31" in damaged.stdout


def test_schema_status_and_the_plan_of_a_stored_query(gprov: Run, database: object) -> None:
    assert parsed(gprov("schema", "status", "--format", "json"))["current"] is True
    assert "Nothing to apply" in gprov("schema", "apply").stderr
    plan = gprov("query", "show", "store.server", "--plan")
    assert plan.exit_code == 0
    assert "ProduceResults" in plan.stdout


def test_wrong_credentials_are_exit_code_3(gprov: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "wrong-password")
    result = gprov("verify")
    assert result.exit_code == 3
    assert "refuses the credentials" in result.stderr
    assert "wrong-password" not in result.stderr


def test_ctrl_c_leaves_a_run_that_is_resumed(
    gprov: Run, fresh_database: object, environment: Mapping[str, str], tmp_path: Path
) -> None:
    records = (
        {**STANDARD, "edge_id": f"E:{n}", "source": {"type": "System", "id": f"S{n}"}, "target": {"type": "System", "id": f"T{n}"}}
        for n in range(4_000)
    )
    file = write(tmp_path / "many.jsonl", *records)
    command = [sys.executable, "-m", "graphrag_provenance.interfaces.cli", "ingest", file, "--batch-size", "20"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and not parsed(gprov("run", "list", "--format", "json"))["runs"]:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "--resume 1" in told
    assert "Traceback" not in told
    resumed = gprov("ingest", file, "--resume", "1", "--format", "json")
    assert resumed.exit_code == 0, resumed.output
    assert parsed(gprov("verify", "--format", "json"))["ok"] is True


def test_quotes_of_the_sample_and_of_a_file_are_verified(sample: Run, tmp_path: Path) -> None:
    result = sample("quote", "verify", *READER, "--format", "json")
    report = parsed(result)
    assert (result.exit_code, report["ok"], report["counts"]["absent"]) == (0, True, 0), report
    assert report["counts"]["exact"] > 5
    shown = sample("quote", "verify", "--edge", "E:dep:checkout-api->payment-router", *READER)
    assert shown.exit_code == 0, shown.output
    assert "exact" in shown.stdout
    told = write(tmp_path / "q.jsonl", {"doc": "POL-17@1.4", "chunk": "c-0292", "quote": "needs three custodians"},
                 {"doc": "POL-17@1.4", "chunk": "c-0292", "quote": "needs two custodians"})
    result = sample("quote", "verify", told, *READER, "--format", "jsonl")
    assert result.exit_code == 1
    assert [json.loads(line)["grade"] for line in result.stdout.splitlines()] == ["absent", "exact"]
    assert sample("quote", "verify", told, "--edge", "x", *READER).exit_code == 2
    assert "sha256:" in sample("quote", "hash", "a quote").stdout


def test_ingest_refuses_unproved_quotes_when_asked_to(gprov: Run, fresh_database: object, tmp_path: Path) -> None:
    result = gprov("ingest", write(tmp_path / "e.jsonl", STANDARD), "--verify-quotes", "strict", "--format", "json")
    assert result.exit_code == 1
    body = parsed(result)
    assert (body["rejected_reasons"], body["quotes"]) == ({"quote-unverifiable": 1}, {"no-quote": 1, "no-text": 1})
    warned = gprov("ingest", write(tmp_path / "e.jsonl", STANDARD), "--verify-quotes", "warn")
    assert warned.exit_code == 0
    assert "Quotes: 1 no-text, 1 no-quote." in warned.stdout or "Quotes: 1 no-quote, 1 no-text." in warned.stdout


def test_an_answer_is_recorded_shown_and_its_impact_told(sample: Run, tmp_path: Path) -> None:
    traced = parsed(sample("trace", *CLAIM, *READER, "--format", "json"))
    path = [step["edge_id"] for step in traced["paths"][0]["steps"]]
    told = write(tmp_path / "answer.json", {"answer_id": "cli-1", "trace_id": traced["trace_id"], "generation": traced["generation"],
                                            "claims": [{"text": "Checkout falls under POL-31.", "path": path}]})
    recorded = parsed(sample("answer", "record", told, *READER, "--format", "json"))
    assert recorded["answers"][0] | {"run": 0, "digest": ""} == {
        "answer_id": "cli-1", "recorded": recorded["run"] is not None, "claims": 1, "run": 0, "digest": ""}
    assert "cli-1" in sample("answer", "record", told, *READER).stdout
    shown = sample("answer", "show", "cli-1", *READER)
    assert shown.exit_code == 0, shown.output
    for word in ("Checkout falls under POL-31.", "supported", "then", "now", "POL-31@2.1#c-1", "depends_on"):
        assert word in shown.stdout
    hidden = sample("answer", "show", "cli-1", "--tenant", "ACME", "--clearance", "public", "--format", "json")
    assert (hidden.exit_code, parsed(hidden)["claims"][0]["state"]) == (1, "unsupported")
    assert "POL-31" not in hidden.stdout
    told_why = sample("answer", "show", "cli-1", "--tenant", "ACME", "--clearance", "public", "--role", "auditor")
    assert "(access)" in told_why.stdout
    assert sample("answer", "impact", *READER).exit_code == 2
    calm = sample("answer", "impact", "--since", "1", *READER, "--role", "operator", "--format", "json")
    assert (calm.exit_code, parsed(calm)["claims"]) == (0, [])
    assert "nothing that they rest on" in sample("answer", "impact", *READER, "--role", "operator").stderr
    assert sample("answer", "show", "cli-9", *READER).exit_code == 1
    assert sample("answer", "record", write(tmp_path / "bad.json", {"answer_id": "x"}), *READER).exit_code == 2


def test_a_retrieval_is_recorded_and_explained(sample: Run, tmp_path: Path) -> None:
    trace = "d" * 32
    told = write(tmp_path / "retrieval.jsonl", {"trace_id": trace, "k": 3, "passages": [
        {"id": "POL-17@1.4#c-0291", "score": 0.9}, {"id": "RUNBOOK@2.0#c-1010", "score": 0.8}, {"id": "none@1#c"}]})
    assert sample("retrieval", "record", told, *READER).exit_code == 0
    explained = sample("retrieval", "explain", trace, *READER)
    assert explained.exit_code == 1
    for word in ("Service dependencies and key custody", "RUNBOOK@2.1", "unresolved", "4 Recorded dependencies › 4.2 Acquiring"):
        assert word in explained.stdout
    rows = [json.loads(line) for line in sample("retrieval", "explain", trace, *READER, "--format", "jsonl").stdout.splitlines()]
    assert [(row["user_may_read"], row["is_stale"]) for row in rows] == [(True, False), (True, True), (False, None)]
    assert sample("retrieval", "explain", "e" * 32, *READER).exit_code == 1


def test_what_a_linker_made_is_for_operators(sample: Run) -> None:
    linked = sample("entity", "links", "--linker", "fuzzy-names", *READER, "--role", "operator")
    assert linked.exit_code == 0, linked.output
    for word in ("System:payment-router", "pay-rtr", "guess", "E:dep:checkout-api->payment-router"):
        assert word in linked.stdout
    found = parsed(sample("entity", "links", "--linker", "fuzzy-names", "--linker-version", "9", *READER, "--role", "auditor",
                          "--format", "json"))
    assert found["entities"] == []
    assert sample("entity", "links", "--linker", "fuzzy-names", *READER).exit_code == 2


def test_a_replaced_revision_is_seen_as_of_its_run_and_rolled_back_to(gprov: Run, fresh_database: object, tmp_path: Path) -> None:
    told = ("--policies", str(SAMPLE / "policies.toml"))
    ends = ("System:SYS_A", "System:SYS_B", "--env", "production", *READER)
    assert gprov("ingest", write(tmp_path / "one.jsonl", STANDARD), *told).exit_code == 0
    newer = [{"kind": "revision", "doc": doc, "tenant": "ACME", "effective_at": "2026-03-01T00:00:00Z", "supersedes": old, "complete": True}
             for doc, old in (("POL-17@1.5", "POL-17@1.4"), ("RUNBOOK@2.2", "RUNBOOK@2.1"))]
    second = parsed(gprov("ingest", write(tmp_path / "two.jsonl", *newer), *told, "--format", "json"))
    assert (second["edges"]["retracted"], second["evidence"]["retired"]) == (1, 2)
    assert gprov("trace", *ends).exit_code == 1
    then = gprov("trace", *ends, "--as-of", "1", "--format", "json")
    assert (then.exit_code, parsed(then)["state"], parsed(then)["generation"]) == (0, "supported", 1)
    assert parsed(gprov("edge", "show", STANDARD["edge_id"], "--as-of", "1", *READER, "--format", "json"))["state"] == "published"
    assert gprov("trace", *ends, "--as-of", "9").exit_code == 1

    planned = gprov("run", "rollback", "--to", "1", "--dry-run")
    assert (planned.exit_code, planned.stdout.splitlines()[0]) == (0, "Would restore the state after run 1.")
    assert f"Opens: 1\n  ACME {STANDARD['edge_id']}: retracted → published" in planned.stdout
    assert gprov("trace", *ends).exit_code == 1
    done = parsed(gprov("run", "rollback", "--to", "1", "--format", "json", "--trace-id", f"00-{'7' * 32}-{'1' * 16}-01"))
    assert parsed(gprov("run", "show", "3", "--format", "json"))["trace_id"] == "7" * 32
    assert (done["run"]["seq"], done["run"]["graph_hash"]) == (3, parsed(gprov("run", "show", "1", "--format", "json"))["graph_hash"])
    assert gprov("trace", *ends).exit_code == 0
    assert gprov("verify").exit_code == 0
    assert gprov("run", "rollback", "--to", "8").exit_code == 2


def test_a_workspace_has_a_pipeline_that_is_checked_and_run_and_says_what_was_lost(
    gprov: Run, fresh_database: object, tmp_path: Path
) -> None:
    assert gprov("init", ".").exit_code == 0
    listed = {row["name"]: row["from"] for row in parsed(gprov("pipeline", "list", "--format", "json"))["pipelines"]}
    assert listed == {"example": "workspace", **dict.fromkeys(
        ("csv", "graphiti", "langchain", "lightrag", "msgraphrag", "neo4j-graphrag", "redocred"), "shipped")}
    assert parsed(gprov("pipeline", "check", "example", "--format", "json"))["ok"] is True
    dry = gprov("pipeline", "run", "example", "--dry-run", "--format", "json")
    assert (dry.exit_code, parsed(dry)["run"]["seq"]) == (0, None)
    body = parsed(gprov("pipeline", "run", "./pipelines/example/", "--format", "json"))
    assert (body["run"]["pipeline"], body["edges"]["published"], body["loss"]["queries"][-1]["accepted"]) == ("example", 2, 3)
    again = gprov("pipeline", "run", "example")
    assert again.exit_code == 0
    assert "Nothing to write" in again.stdout
    assert "Loss report of example 1" in again.stdout
    assert "evidence.quote_hash" in again.stdout

    (tmp_path / "edges.csv").write_text("relation,source_type,source,target_type,target,doc,chunk\nowns,T,a,T,b,d@1,1\n", encoding="utf-8")
    withheld = gprov("ingest", "edges.csv", "--pipeline", "example", "--format", "json")
    assert (withheld.exit_code, parsed(withheld)["edges"]["withheld"]) == (1, 1)
    (tmp_path / "pipelines" / "example" / "edges.sql").write_text("SELECT nothing FROM edges", encoding="utf-8")
    for wrong, told in ((("check", "example"), "edges.sql"), (("check", "none"), "no pipeline 'none'"),
                        (("run", "csv", "--input", "edges"), "NAME=VALUE"),
                        (("run", "csv", "--input", "edges=https://x.example/e.csv"), "--allow-network")):
        result = gprov("pipeline", *wrong)
        assert result.exit_code == (1 if "none" in wrong else 2), result.stderr
        assert told in result.stderr


def test_an_export_is_written_whole_by_an_operator_and_loads_again(sample: Run, tmp_path: Path) -> None:
    refused = sample("export", "jsonl", *READER)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "role operator" in refused.stderr
    done = sample("export", "jsonl", *READER, "--role", "operator", "--all-tenants", "-o", "all.jsonl", "--policies-output", "order.toml")
    assert (done.exit_code, done.stdout) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["all.jsonl", "order.toml"]
    assert sample("policy", "check", "order.toml").exit_code == 0
    again = parsed(sample("ingest", "all.jsonl", "--dry-run", "--policies", "order.toml", "--format", "json"))
    assert again["records"]["rejected"] == 0
    assert sum(again["edges"][state] for state in ("published", "retracted")) == 0
    lines = sample("export", "jsonl", *READER, "--role", "operator").stdout.splitlines()
    assert {json.loads(line).get("tenant", "ACME") for line in lines} == {"ACME"}
    assert sample("export", "jsonl", *READER, "--role", "operator", "-o", "nowhere/x.jsonl").exit_code == 2
