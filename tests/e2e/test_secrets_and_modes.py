"""What a command knows and must not tell, and what it writes and is not for others."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from graphrag_provenance.config import Settings, load_settings
from graphrag_provenance.exports.import_files import write_import_files
from graphrag_provenance.ingest.rejecting import RejectFile
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.interfaces.cli.folders import new_folder
from graphrag_provenance.rules.rejects import RejectCode
from graphrag_provenance.server.layout import Layout
from graphrag_provenance.store.counting import Reject

MARK = "marked-as-secret"
SECRETS = {name: f"{MARK}-{name}" for name in (
    "NEO4J_PASSWORD", "GRAPHRAG_PROVENANCE_OPENFGA_TOKEN", "GRAPHRAG_PROVENANCE_SOURCE_PASSWORD")}
READER = ("--tenant", "ACME", "--clearance", "internal")
COMMANDS = [
    ("edge", "list", *READER), ("ingest", "in.jsonl"), ("gate", "in.jsonl", *READER), ("verify",), ("pipeline", "run", "csv"),
    ("pipeline", "run", "neo4j-graphrag", "--from-neo4j", "bolt://127.0.0.1:1"), ("serve",), ("db", "status"),
]


@pytest.fixture
def gprov(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a command in a folder of its own; no store answers."""
    for name in [name for name in os.environ if name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_"))]:
        monkeypatch.delenv(name)
    for name, value in {**SECRETS, "NEO4J_URI": "bolt://127.0.0.1:1", "GRAPHRAG_PROVENANCE_HOME": str(tmp_path / "home")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text('{"kind":"edge"}\n', encoding="utf-8")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_no_secret_stands_in_what_a_command_says(gprov: Callable[..., Any], tmp_path: Path, command: tuple[str, ...]) -> None:
    done = gprov("--log-level", "debug", *command, "--debug")
    assert done.exit_code != 0
    assert MARK not in done.output
    assert not any(MARK in file.read_text("utf-8", "replace") for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize("text", [
    'neo4j_password = ["marked-as-secret"]', 'openfga_token = {a = "marked-as-secret"}', 'x = "marked-as-secret'])
def test_no_secret_stands_in_what_is_said_about_settings(
    gprov: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str,
) -> None:
    for name in SECRETS:
        monkeypatch.delenv(name)
    (tmp_path / "gprov.toml").write_text(text, encoding="utf-8")
    done = gprov("edge", "list", *READER, "--debug")
    assert done.exit_code == 2
    assert MARK not in done.output.partition("Error: ")[2]


def test_no_secret_stands_in_settings_as_they_print(gprov: Callable[..., Any]) -> None:
    found = load_settings()
    assert isinstance(found.neo4j_password, SecretStr)
    assert MARK not in f"{found!r}{found!s}{found.model_dump()}{found.model_dump_json()}"
    named = [name for name in Settings.model_fields if any(word in name for word in ("password", "token", "secret"))]
    assert all(isinstance(getattr(found, name), SecretStr | None) for name in named), named


@pytest.fixture
def anything_goes() -> Iterator[None]:
    """A umask that takes nothing away."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_commands_write_is_for_its_owner_only_whatever_the_umask(
    gprov: Callable[..., Any], tmp_path: Path, anything_goes: None,
) -> None:
    with RejectFile(tmp_path / "refused.jsonl") as rejects:
        rejects.write(Reject("in.jsonl", 1, RejectCode.NOT_JSON, "it is none", b"confidential"))
    layout = Layout(tmp_path / "server")
    layout.create()
    layout.ensure_password()
    layout.write_conf("2026.09.0", 7687, "128m")
    with new_folder(tmp_path / "files") as made:
        write_import_files(made, lambda: [{"id": "0", "labels": ["Entity"], "properties": {"id": "a"}}], {"graph_hash": "x"})
    (tmp_path / "ledger.json").write_text(json.dumps({
        "id": "x", "entities": ["System:a"], "facets": ["action"], "entries": [{"sentence": "confidential", "facet": "action"}]}), "utf-8")
    assert gprov("gate", "ledger.json", *READER, "--shadow").exit_code == 0
    assert {name: oct(mode(tmp_path / name)) for name in ("refused.jsonl", "gate-results.jsonl")} == {
        "refused.jsonl": "0o600", "gate-results.jsonl": "0o600"}
    assert mode(tmp_path / "files") == 0o700
    assert {one.relative_to(layout.root).as_posix(): oct(mode(one)) for one in (
        layout.root, layout.conf, layout.data, layout.password_file, layout.conf / "neo4j.conf")} == {
        ".": "0o700", "conf": "0o700", "data": "0o700", "password": "0o600", "conf/neo4j.conf": "0o600"}
