"""Settings: flag > environment > workspace file > default (spec 6)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from graphrag_provenance.config import DEFAULT_NEO4J_VERSION, Settings, default_actor, load_settings
from graphrag_provenance.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("GRAPHRAG_PROVENANCE_", "NEO4J_")):
            monkeypatch.delenv(name)


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(toml: str = "", environment: dict[str, str] | None = None, **flags: Any) -> Settings:
        (tmp_path / "gprov.toml").write_text(toml, encoding="utf-8")
        for name, value in (environment or {}).items():
            monkeypatch.setenv(name, value)
        return load_settings(tmp_path, **flags)

    return run


SOURCES: list[tuple[str, str, str, Any, Any, Any, Any]] = [
    # setting, environment name, (workspace, environment, flag) and default
    ("batch_size", "GRAPHRAG_PROVENANCE_BATCH_SIZE", "batch_size = 1", 1, ("2", 2), 3, 1000),
    ("tenant", "GRAPHRAG_PROVENANCE_TENANT", "tenant = 'w'", "w", ("e", "e"), "f", None),
    ("neo4j_uri", "NEO4J_URI", "neo4j_uri = 'bolt://w'", "bolt://w", ("bolt://e", "bolt://e"), "bolt://f", None),
    ("neo4j_uri", "GRAPHRAG_PROVENANCE_NEO4J_URI", "neo4j_uri = 'w'", "w", ("e", "e"), "f", None),
    ("neo4j_username", "NEO4J_USERNAME", "neo4j_username = 'w'", "w", ("e", "e"), "f", "neo4j"),
    ("neo4j_version", "GRAPHRAG_PROVENANCE_NEO4J_VERSION", "neo4j_version = 'w'", "w", ("e", "e"), "f",
     DEFAULT_NEO4J_VERSION),
    ("openfga_url", "GRAPHRAG_PROVENANCE_OPENFGA_URL", "openfga_url = 'http://w'", "http://w", ("http://e", "http://e"), "http://f", None),
    ("openfga_tenants", "GRAPHRAG_PROVENANCE_OPENFGA_TENANTS", "openfga_tenants = ['w']", ("w",), ("e,f", ("e", "f")), (), None),
    ("clearance", "GRAPHRAG_PROVENANCE_CLEARANCE", "clearance = ['w']", ("w",), ("e", ("e",)), ("f",), ()),
    ("require_registered_sources", "GRAPHRAG_PROVENANCE_REQUIRE_REGISTERED_SOURCES", "require_registered_sources = true",
     True, ("false", False), True, False),
]


@pytest.mark.parametrize(("name", "variable", "toml", "workspace", "environment", "flag", "default"), SOURCES)
def test_a_flag_beats_the_environment_beats_the_workspace_beats_the_default(
    load: Any, name: str, variable: str, toml: str, workspace: Any, environment: tuple[str, Any], flag: Any, default: Any
) -> None:
    assert getattr(load(), name) == default
    assert getattr(load(toml), name) == workspace
    assert getattr(load(toml, {variable: environment[0]}), name) == environment[1]
    assert getattr(load(toml, {variable: environment[0]}, **{name: flag}), name) == flag
    assert getattr(load(toml, {variable: environment[0]}, **{name: None}), name) == environment[1]


def test_settings_know_which_of_them_were_given(load: Any) -> None:
    assert load().model_fields_set == set()
    given = load("batch_size = 1", {"NEO4J_URI": "bolt://e"}, tenant="f")
    assert given.model_fields_set == {"batch_size", "neo4j_uri", "tenant"}


@pytest.mark.parametrize(("written", "clearance"), [
    ("internal", ("internal",)), ("internal,hr", ("internal", "hr")), (" internal , hr ,", ("internal", "hr")),
    ("", ()), (",", ()),
])
def test_a_clearance_in_the_environment_is_a_comma_separated_list(
    load: Any, written: str, clearance: tuple[str, ...]
) -> None:
    assert load("", {"GRAPHRAG_PROVENANCE_CLEARANCE": written}).clearance == clearance


def test_an_empty_clearance_in_the_environment_does_not_leave_that_of_the_workspace_open(load: Any) -> None:
    assert load("clearance = ['restricted']", {"GRAPHRAG_PROVENANCE_CLEARANCE": ""}).clearance == ()


@pytest.mark.parametrize(("toml", "environment", "name"), [
    ("batch_size = 0", {}, "batch_size"),
    ("batch_size = 'many'", {}, "batch_size"),
    ("", {"GRAPHRAG_PROVENANCE_BATCH_SIZE": "many"}, "batch_size"),
    ("", {"GRAPHRAG_PROVENANCE_MAX_HOPS": "9"}, "max_hops"),
    ("", {"GRAPHRAG_PROVENANCE_REQUIRE_REGISTERED_SOURCES": "maybe"}, "require_registered_sources"),
    ("clearance = 3", {}, "clearance"),
    ("clearance = [3]", {}, "clearance.0"),
    ("neo4j_uri = 3", {}, "neo4j_uri"),
    ("home = 3", {}, "home"),
])
def test_a_bad_value_names_the_setting(load: Any, toml: str, environment: dict[str, str], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"Setting '{name}'"):
        load(toml, environment)


@pytest.mark.parametrize("key", ["bach_size", "NEO4J_URI", "GRAPHRAG_PROVENANCE_NEO4J_URI"])
def test_an_unknown_key_in_the_workspace_file_is_refused_with_the_file(load: Any, tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load(f"{key} = '1'")
    assert str(tmp_path / "gprov.toml") in str(raised.value)
    assert f"'{key}'" in str(raised.value)
    assert "batch_size" in str(raised.value)


def test_an_unknown_flag_is_refused(load: Any) -> None:
    with pytest.raises(ConfigurationError, match="nosuch"):
        load(nosuch=1)


@pytest.mark.parametrize("content", [b"batch_size = ", b"tenant = '\xff'"])
def test_a_broken_workspace_file_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "gprov.toml").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"gprov\.toml is not valid TOML"):
        load_settings(tmp_path)


def test_a_folder_without_a_workspace_file_is_fine(tmp_path: Path) -> None:
    assert load_settings(tmp_path).tenant is None


def test_paths_in_the_workspace_file_start_at_the_file(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    found = load("policies = 'etl/policies.toml'\nhome = '~/gprov'\ncache = '/var/gprov'")
    assert found.policies == (tmp_path / "etl" / "policies.toml").resolve()
    assert found.home == (tmp_path / "me" / "gprov").resolve()
    assert found.cache == Path("/var/gprov")


def test_secrets_are_shown_nowhere(load: Any) -> None:
    found = load("", {"NEO4J_PASSWORD": "open sesame"})
    assert found.neo4j_password.get_secret_value() == "open sesame"
    for text in (repr(found), str(found), found.model_dump_json(), repr(found.model_dump())):
        assert "sesame" not in text


def test_a_bad_secret_is_not_shown_in_the_error(load: Any) -> None:
    with pytest.raises(ConfigurationError, match="neo4j_password") as raised:
        load("neo4j_password = 73561234")
    assert "73561234" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_settings_are_frozen(load: Any) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load().tenant = "other"


def test_every_setting_is_documented() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_the_actor_is_the_setting_then_the_principal_then_the_user(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_entry() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr("getpass.getuser", lambda: "u")
    assert default_actor(load(actor="a", principal="p")) == "a"
    assert default_actor(load(principal="p")) == "p"
    assert default_actor(load()) == "u"
    monkeypatch.setattr("getpass.getuser", no_entry)
    assert default_actor(load()) == "unknown"
