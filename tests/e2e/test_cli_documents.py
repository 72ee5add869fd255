"""Documents removed on the command line: the receipt for people and for programs, and its exit codes (spec 3 and 5)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from corpus.records import Store, edge, registered
from typer.testing import CliRunner

from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.store.database import Database

Run = Callable[..., Any]


@pytest.fixture
def gprov(server: Any, fresh_database: Database, cypher: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command against the test server, which holds d1 and d2 in tenant ACME."""
    Store(fresh_database, cypher, tmp_path).load(
        *registered("d1@1#c", "internal"), *registered("d2@1#c", "public"), edge("A:a", "owns", "A:b", "d1@1#c", edge_id="GONE"),
        edge("A:a", "owns", "A:c", "d1@1#c", "d2@1#c", edge_id="OPEN"))
    for name in list(os.environ):
        if name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_")):
            monkeypatch.delenv(name)
    for name, value in (server.environment() | {"GRAPHRAG_PROVENANCE_HOME": str(tmp_path / "home")}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return lambda *args, **more: CliRunner().invoke(app, list(args), **more)


def test_a_document_is_deleted_with_a_receipt(gprov: Run) -> None:
    planned = gprov("doc", "delete", "d1", "--tenant", "ACME", "--dry-run", "--format", "json")
    assert planned.exit_code == 0, planned.output
    body = json.loads(planned.stdout)
    assert (body["schema"], body["dry_run"], body["run"]["status"], body["deleted_in_revision"]) == (1, True, "dry-run", "d1@1")
    assert [line["edge_id"] for line in body["retracted"]] == ["GONE"]

    done = gprov("doc", "delete", "d1", "--tenant", "ACME", "--reason", "contract ended", "--actor", "boss")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Run 2 finished: d1 is gone in d1@1.\n")
    assert "0 published, 1 relaxed, 0 tightened, 0 withheld, 1 retracted, 0 kept. Evidence retired: 2." in done.stdout
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "OPEN A:a owns A:c published (internal) published (public) 2 → 1" in rows
    assert "GONE A:a owns A:b published (internal) retracted 1 → 0" in rows
    assert "gprov answer impact" in done.stderr
    run = json.loads(gprov("run", "show", "2", "--format", "json").stdout)
    assert (run["kind"], run["actor"], run["inputs"][0]["reason"]) == ("doc-delete", "boss", "contract ended")
    again = gprov("doc", "delete", "d1", "--tenant", "ACME")
    assert "d1 is gone in d1@1, which was deleted there before." in again.stdout


def test_what_is_past_the_window_is_purged(gprov: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("doc", "purge", "--tenant", "ACME")
    refused = gprov(*asked)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "No retention window is set, so nothing is purged." in refused.stderr
    assert "Nothing to purge" in gprov(*asked, "--keep-days", "0").stdout
    gprov("doc", "delete", "d1", "--tenant", "ACME")
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_RETENTION_DAYS", "30")
    assert "Nothing to purge" in gprov(*asked).stdout
    planned = json.loads(gprov(*asked, "--keep-days", "0", "--dry-run", "--format", "json").stdout)
    assert (planned["schema"], planned["dry_run"], planned["counts"]["texts"], planned["run"]["status"]) == (1, True, 1, "dry-run")
    done = gprov("doc", "purge", "d1", "--tenant", "ACME", "--keep-days", "0", "--actor", "boss")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Run 3 finished: 1 texts of 1 passages in 1 revisions that were replaced before ")
    assert "d1@1 tombstoned" in " ".join(done.stdout.split())
    back = gprov("run", "rollback", "--to", "1")
    assert (back.exit_code, "1 texts were purged since" in back.stderr) == (0, True)
    for args, told in (
        (("--keep-days", "1", "--before", "2026-01-01T00:00:00Z"), "Name one."), (("--before", "2026-01-01"), "no time of day"),
        (("--before", "2999-01-01T00:00:00Z"), "lies in the future"), (("nobody", "--keep-days", "1"), "no document nobody"),
    ):
        wrong = gprov(*asked, *args)
        assert (wrong.exit_code, wrong.stdout) == (1 if "nobody" in args else 2, "")
        assert told in wrong.stderr


@pytest.mark.parametrize(("args", "code", "told"), [
    (("nobody", "--tenant", "ACME"), 1, "There is no document nobody in tenant ACME."),
    (("d1",), 2, "--tenant"),
    (("d1", "--tenant", "ACME", "--in", "d2@1"), 2, "revision of another document"),
])
def test_what_cannot_be_deleted_is_said_in_one_sentence(gprov: Run, args: tuple[str, ...], code: int, told: str) -> None:
    done = gprov("doc", "delete", *args)
    assert (done.exit_code, done.stdout) == (code, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
