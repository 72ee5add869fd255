"""`gprov serve`, `gprov mcp` and `gprov key` before anything is served: what they refuse, and what a key looks like."""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphrag_provenance.errors import MissingExtraError
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.interfaces.http.identity import refused
from graphrag_provenance.interfaces.http.keys import KeyFile
from graphrag_provenance.model.readers import Reader, Role

NEW = ("key", "new", "--principal", "bot", "--tenant", "ACME", "--clearance", "internal")


@pytest.fixture
def gprov(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command in an empty folder, with a store that nothing answers at."""
    for name in list(os.environ):
        if name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:9")
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, list(args))


def test_a_new_key_is_shown_once_and_its_entry_is_ready_for_the_file(gprov: Any, tmp_path: Path) -> None:
    made = gprov(*NEW, "--clearance", "hr", "--role", "auditor")
    assert made.exit_code == 0, made.stderr
    key = made.stderr.rsplit(maxsplit=1)[-1]
    assert key.startswith("gprov_")
    assert key not in made.stdout
    path = tmp_path / "keys.toml"
    path.touch(mode=0o600)
    path.write_text(made.stdout + gprov(*NEW, "--days", "0").stdout, encoding="utf-8")
    file = KeyFile(path, refused)
    assert file.reader(key) == Reader("bot", "ACME", frozenset({"internal", "hr"}), frozenset({Role.AUDITOR}))
    assert [one.expires is None for one in file.check().values()] == [False, True]


def test_a_key_as_json(gprov: Any) -> None:
    body = json.loads(gprov(*NEW, "--format", "json").stdout)
    assert (body["schema"], body["principal"], body["clearances"], body["roles"]) == (1, "bot", ["internal"], ["reader"])


@pytest.mark.parametrize("command", [("serve",), ("mcp", "--http")])
def test_nothing_is_served_to_nobody_in_particular(gprov: Any, command: tuple[str, ...]) -> None:
    result = gprov(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "who asks" in result.stderr
    assert "gprov key new" in result.stderr


def test_a_key_file_that_others_may_read_is_refused_at_the_start(gprov: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys.toml"
    path.touch(mode=0o644)
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_SERVE_API_KEYS", str(path))
    result = gprov("serve")
    assert result.exit_code == 3
    assert "chmod 600" in result.stderr


def test_an_address_that_is_taken_is_one_sentence(gprov: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys.toml"
    path.touch(mode=0o600)
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_SERVE_API_KEYS", str(path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = gprov("serve", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "cannot listen on 127.0.0.1:" in result.stderr
    assert "Traceback" not in result.stderr


def test_over_http_no_option_names_a_reader(gprov: Any) -> None:
    result = gprov("mcp", "--http", "--tenant", "ACME")
    assert result.exit_code == 2
    assert "the token says who reads" in result.stderr


def test_over_stdio_a_reader_is_needed(gprov: Any) -> None:
    assert "needs a clearance" in gprov("mcp", "--tenant", "ACME").stderr
    assert gprov("mcp", "--clearance", "internal").exit_code == 2


@pytest.mark.parametrize(("package", "module", "extra"), [
    ("uvicorn", "graphrag_provenance.interfaces.http", "serve"), ("fastapi", "graphrag_provenance.interfaces.http", "serve"),
    ("mcp", "graphrag_provenance.interfaces.mcp", "mcp"), ("opentelemetry", "graphrag_provenance.interfaces.http.spans", "otel"),
])
def test_a_missing_package_is_one_sentence_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, package: str, module: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package or name == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs? the package '{package}.*pip install 'graphrag-provenance\[{extra}\]'"):
        importlib.import_module(module)
