"""A load that is staged, checked and published, as people and programs do it (spec 3, staged generations)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from test_cli_store import READER, SAMPLE, STANDARD, environment, gprov, parsed, write

__all__ = ["environment", "gprov"]

ENDS = ("System:SYS_A", "System:SYS_B", "--env", "production", *READER)
GOLDEN = """
schema = 1
[[question]]
id = "a-rests-on-b"
from = "System:SYS_A"
to = "System:SYS_B"
environment = "production"
tenant = "ACME"
clearance = ["internal"]
expect_state = "supported"
expect_edges = ["E:dep:SYS_A->SYS_B"]
"""


def test_a_load_is_staged_checked_and_published_or_discarded(gprov: Any, fresh_database: object, tmp_path: Path) -> None:
    told = ("--policies", str(SAMPLE / "policies.toml"))
    golden = tmp_path / "golden.toml"
    golden.write_text(GOLDEN, encoding="utf-8")
    assert gprov("ingest", write(tmp_path / "one.jsonl", STANDARD), *told).exit_code == 0
    newer = [{"kind": "revision", "doc": doc, "tenant": "ACME", "effective_at": "2026-03-01T00:00:00Z", "supersedes": old, "complete": True,
              "policy": "internal"}
             for doc, old in (("POL-17@1.5", "POL-17@1.4"), ("RUNBOOK@2.2", "RUNBOOK@2.1"))]
    two = write(tmp_path / "two.jsonl", *newer)
    diff = ("doc", "diff", "POL-17@1.4", "POL-17@1.5", *READER, "--format", "json")

    assert gprov("path", "check", str(golden), "--candidate").exit_code == 2, "nothing is staged"
    dry = parsed(gprov("ingest", two, "--stage", "--dry-run", "--format", "json"))
    assert (dry["run"]["status"], dry["edges"]["retracted"]) == ("dry-run", 1)
    staged = gprov("ingest", two, "--stage")
    assert (staged.exit_code, staged.stdout.splitlines()[0].split(":")[0]) == (0, "Run 2 staged")
    assert staged.stdout.splitlines()[-1].endswith("gprov run publish 2, or gprov run discard 2.")

    assert gprov("path", "check", str(golden)).exit_code == 0
    failed = gprov("path", "check", str(golden), "--candidate", "--format", "json")
    assert (failed.exit_code, parsed(failed)["failed"]) == (1, 1)
    assert (gprov("trace", *ENDS).exit_code, gprov("trace", *ENDS, "--candidate").exit_code) == (0, 1)
    assert gprov("trace", *ENDS, "--candidate", "--as-of", "1").exit_code == 2
    assert (gprov(*diff).exit_code, parsed(gprov(*diff, "--candidate"))["complete"]) == (1, True)
    (question,) = parsed(gprov(*diff, "--candidate", "--golden", str(golden)))["golden"]
    assert (question["id"], question["edge_ids"], question["ok"]) == ("a-rests-on-b", [STANDARD["edge_id"]], False)
    assert question["differences"][0]["what"] == "state"
    refused = gprov("ingest", two, "--format", "json")
    assert (refused.exit_code, json.loads(refused.stderr.splitlines()[-1])["error"]["code"]) == (3, "store-conflict")
    assert "Run 2 is staged" in refused.stderr
    assert gprov("verify").exit_code == 0

    dropped = gprov("run", "discard", "2", "--actor", "ann")
    assert (dropped.exit_code, dropped.stdout.startswith("Discarded run 2, as run 3.")) == (0, True)
    hashes = parsed(gprov("ingest", two, "--stage", "--format", "json"))
    done = parsed(gprov("run", "publish", "4", "--actor", "bob", "--format", "json"))
    assert (done["run"]["seq"], done["run"]["graph_hash"], done["run"]["actor"]) == (5, hashes["candidate_hash"], "bob")
    assert [run["status"] for run in parsed(gprov("run", "list", "--format", "json"))["runs"]] == [
        "finished", "published", "finished", "discarded", "finished"]
    assert parsed(gprov("run", "show", "4", "--format", "json"))["settled"] == 5
    assert gprov("path", "check", str(golden)).exit_code == 1
    assert "Golden paths over these edges: 1" in gprov(*diff[:-2], "--golden", str(golden)).stdout
    again = gprov("run", "publish", "4")
    assert (again.exit_code, again.stderr.splitlines()[-1]) == (
        2, "Error: Run 4 is not staged: it was published by run 5. No run is: gprov ingest PATH --stage.")
    assert gprov("audit", "verify", *READER, "--role", "auditor").exit_code == 0


def test_what_a_pipeline_makes_can_be_staged_too(gprov: Any, fresh_database: object) -> None:
    assert gprov("init", ".").exit_code == 0
    staged = parsed(gprov("pipeline", "run", "example", "--stage", "--format", "json"))
    assert (staged["run"]["status"], staged["edges"]["published"], staged["loss"]["queries"][-1]["accepted"]) == ("staged", 2, 3)
    body = parsed(gprov("run", "publish", "1", "--format", "json"))
    assert (body["run"]["pipeline"], body["run"]["graph_hash"]) == ("example", staged["candidate_hash"])
    assert body["edges"]["published"] == 2
