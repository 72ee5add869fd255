"""The command line as people and programs meet it: help, errors, exit codes. No store is needed here."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from graphrag_provenance.interfaces.cli import logs
from graphrag_provenance.interfaces.cli.app import _COMMANDS, _load, app
from graphrag_provenance.interfaces.cli.context import _read_reader_file
from graphrag_provenance.interfaces.cli.examples import EXAMPLES
from graphrag_provenance.model.records import RECORD_KINDS
from graphrag_provenance.model.reports import REPORT_KINDS
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.claims import Claim, GoldenQuestion
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.rules.policies import parse_policies

ROOT = Path(__file__).parents[2]
COMMANDS = [
    "demo", "init", "db", "schema", "ingest", "trace", "edge", "entity", "run", "verify", "policy", "query", "schema-json",
    "quote", "answer", "retrieval", "path", "gate", "eval", "doc", "audit", "pipeline", "export",
    "serve", "mcp", "key",
]  # fmt: skip
VERBS = [
    "db start", "db import", "schema apply", "schema status", "edge show", "edge list", "edge history", "entity find", "entity show",
    "run list", "run show", "policy check", "query list", "query show",
    "quote verify", "quote hash", "answer record", "answer show", "answer impact", "retrieval record", "retrieval explain",
    "doc show", "doc diff", "doc delete", "doc purge", "run rollback", "run publish", "run discard",
    "audit verify", "audit head", "audit export", "path check",
    "path record", "eval chains", "eval gate", "policy apply", "policy explain", "entity links", "entity merge",
    "pipeline list", "pipeline check", "pipeline run", "export jsonl", "export prov", "export openlineage", "export import-csv", "key new",
]  # fmt: skip


@pytest.fixture
def gprov(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs a command in an empty folder with nothing set."""
    for name in list(os.environ):
        if name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return lambda *args, **more: CliRunner().invoke(app, list(args), **more)


def run(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from graphrag_provenance.interfaces.cli.app import main; main()", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)  # type: ignore[call-overload]


def test_help_lists_every_command_and_the_exit_codes(gprov) -> None:
    result = gprov("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", result.stdout, re.MULTILINE), name
    for line in ("0    fine", "1    findings", "2    usage", "3    the store is unavailable", "130  interrupted"):
        assert line in result.stdout


@pytest.mark.parametrize("command", COMMANDS + VERBS)
def test_every_command_explains_itself(gprov, command: str) -> None:
    result = gprov(*command.split(), "--help")
    assert result.exit_code == 0, result.stderr
    assert f"Usage: gprov {command}" in result.stdout.replace("root", "gprov")
    assert "install-completion" not in result.stdout


def _leaves(name: str, command: Any) -> dict[str, Any]:
    below = getattr(command, "commands", None)
    return {name: command} if below is None else {
        found: one for verb, part in below.items() for found, one in _leaves(f"{name} {verb}", part).items()}


LEAVES = {name: command for place in _COMMANDS for name, command in _leaves(place, _load(place)).items()}


def test_every_command_has_an_example() -> None:
    assert set(EXAMPLES) == set(LEAVES)


@pytest.mark.parametrize(("command", "line"), [(command, line) for command, lines in EXAMPLES.items() for line in lines])
def test_a_command_takes_its_examples(gprov, command: str, line: str) -> None:
    for name in re.findall(r"[\w-]+\.(?:jsonl?|toml|dump|csv)\b", line):
        Path(name).touch()
    for name in ("pipelines/example", "corpus", "import-files"):
        Path(name).mkdir(parents=True)
    said, *args = shlex.split(line.partition(" > ")[0])
    words = command.split()
    assert (said, args[:len(words)]) == ("gprov", words)
    parsed = LEAVES[command].make_context(command, args[len(words):])  # parsed, not invoked
    assert parsed.args == []
    assert f"  {line}\n" in gprov(*words, "--help").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
def test_help_is_quick() -> None:
    """Under 0.4 s on an idle machine; measured as processor time, since the machine may be busy."""
    import resource  # noqa: PLC0415 - not on every system

    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    assert min(seconds) < 0.6, "the heavy libraries must not be loaded for it"


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from graphrag_provenance.interfaces.cli.app import app\n"
        "CliRunner().invoke(app, ['--help'])\n"
        "print([m for m in ('neo4j', 'pydantic', 'structlog', 'httpx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version(gprov) -> None:
    assert re.fullmatch(r"graphrag-provenance \S+\n", gprov("--version").stdout)


def test_without_a_command_it_prints_help_and_counts_as_usage(gprov) -> None:
    result = gprov()
    assert result.exit_code == 2
    assert "Usage: gprov" in result.stderr


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["trce"], "Did you mean 'trace'?"),
        (["trace", "System:a"], "A claim has two ends"),
        (["trace", "--nope"], "--nope"),
        (["schema-json", "edgy"], "'edge'"),
        (["--log-level", "loud", "query", "list"], "debug, info, warning, error"),
        (["key", "new", "--principal", " ", "--tenant", "T", "--clearance", "internal"], "A key needs a principal"),
        (["key", "new", "--principal", "p", "--tenant", "T", "--clearance", ""], "A key needs a clearance"),
        (["query", "show", "path.none"], "gprov query list"),
        (["policy", "check", "missing.toml"], "missing.toml"),
        (["ingest", "missing.jsonl"], "There is no file missing.jsonl"),
        (["query", "list", "--format", "xml"], "'json'"),
        (["schema", "status", "--workspace", "nowhere"], "gprov init"),
        (["trace", "nonsense", "System:b", "--tenant", "T", "--clearance", "internal"], "Type:id"),
        (["trace", "System:a", "System:b", "--tenant", "T"], "--clearance"),
        (["trace", "System:a", "System:b", "--clearance", "internal"], "--tenant"),
        (["trace", "System:a", "System:b", "--reader", "none.toml"], "none.toml"),
        (["trace", "System:a", "System:b", "--tenant", "T", "--clearance", "internal", "--at", "2026-01-01"], "time of day"),
    ],
)
def test_a_wrong_command_is_one_sentence_and_exit_code_2(gprov, args: list[str], told: str) -> None:
    result = gprov(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert told in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["query", "show", "path.none", "--format", "json"], "configuration"),
        (["query", "show", "--format=json"], "usage"),
        (["ingest", "missing.jsonl", "--format", "json"], "input"),
        (["trce", "--format", "json"], "usage"),
    ],
)
def test_errors_are_json_when_json_was_asked_for(gprov, args: list[str], code: str) -> None:
    result = gprov(*args)
    assert result.exit_code == 2
    body = json.loads(result.stderr)
    assert body["schema"] == 1
    assert body["error"]["code"] == code
    assert set(body["error"]) == {"code", "message", "hint"}
    assert body["error"]["message"].endswith((".", "?"))


def test_no_output_has_a_character_that_a_terminal_obeys(gprov) -> None:
    hostile = "a\x1b[31m\x07\x7f\x9b31m"
    control = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
    reader = ("--tenant", "T", "--clearance", "internal")
    for form in ("table", "json", "jsonl"):
        for args in (("key", "new", "--principal", hostile, *reader), ("trace", "System:a", "System:b", "--workspace", hostile, *reader),
                     ("--log-format", "json", "trace", "System:a", "System:b", "--workspace", hostile, *reader)):
            result = gprov(*args, "--format", form)
            assert "31m" in result.stdout + result.stderr
            assert not control.search(result.stdout + result.stderr), (args, form)


@pytest.mark.usefixtures("logs_as_found")
def test_a_log_line_for_people_has_none_either(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("warning", "console")
    structlog.get_logger().warning("unreachable", source="file:\x1b[31mred\x9b0m", error=ValueError("\x1b[1m"), places=["\x1b"])
    told = capsys.readouterr().err
    assert "red" in told
    assert "\x1b" not in told
    assert "\x9b" not in told


def test_debug_may_stand_anywhere_and_shows_where_an_error_came_from(gprov) -> None:
    for args in (["--debug", "query", "show", "path.none"], ["query", "show", "path.none", "--debug"]):
        result = gprov(*args)
        assert result.exit_code == 2
        assert "Traceback" in result.stderr
        assert result.stderr.rstrip().splitlines()[-1].startswith("Error: ")


def test_an_unexpected_exception_is_one_sentence_too(gprov, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("the sky\nfell")

    monkeypatch.setattr("graphrag_provenance.interfaces.cli.statements.all_queries", broken)
    result = gprov("query", "list")
    assert result.exit_code == 2
    assert result.stderr == "Error: Unexpected RuntimeError: the sky fell. Run it again with --debug to see where.\n"


def test_ctrl_c_ends_with_130(gprov, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("graphrag_provenance.interfaces.cli.statements.all_queries", interrupted)
    result = gprov("query", "list")
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


def test_no_store_at_all_is_exit_code_3_and_says_what_to_do(gprov) -> None:
    result = gprov("schema", "status")
    assert result.exit_code == 3
    assert "gprov db start" in result.stderr
    assert "NEO4J_URI" in result.stderr


def test_a_store_that_does_not_answer_is_exit_code_3(gprov, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:9")
    result = gprov("schema", "status", "--format", "json")
    assert result.exit_code == 3
    assert json.loads(result.stderr)["error"]["code"] == "store-unavailable"
    result = gprov("schema", "status", "--debug")
    assert "Traceback" in result.stderr


@pytest.mark.parametrize("kind", sorted(RECORD_KINDS))
def test_schema_json_prints_the_schema_of_each_kind(gprov, kind: str) -> None:
    schema = json.loads(gprov("schema-json", kind).stdout)
    assert schema["properties"]["kind"]["const"] == kind
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("kind", sorted(REPORT_KINDS))
def test_schema_json_prints_the_schema_of_each_report(gprov, kind: str) -> None:
    schema = json.loads(gprov("schema-json", kind).stdout)
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(schema["properties"])
    assert all(one.get("description") for one in schema["properties"].values()), "every field is documented"


@pytest.mark.parametrize(("kind", "model"), [("gate", Ledger), ("claim", Claim), ("golden", GoldenQuestion)])
def test_schema_json_prints_the_schema_of_each_file_that_asks(gprov, kind: str, model: Any) -> None:
    schema = json.loads(gprov("schema-json", kind).stdout)
    assert set(schema["properties"]) == {field.alias or name for name, field in model.model_fields.items()}
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["additionalProperties"] is False


def test_policy_check_prints_the_order(gprov) -> None:
    result = gprov("policy", "check", "--format", "json")
    body = json.loads(result.stdout)
    assert body["schema"] == 1
    assert [row["policy"] for row in body["policies"]][:2] == ["public", "internal"]
    assert "restricted" in gprov("policy", "check").stdout


def test_policy_check_names_the_place_of_an_error(gprov) -> None:
    Path("p.toml").write_text('schema = 1\n[policies.a]\nabove = ["b"]\n[policies.b]\nabove = ["a"]\n')
    result = gprov("policy", "check", "p.toml")
    assert result.exit_code == 2
    assert "p.toml" in result.stderr
    assert "cycle" in result.stderr


def test_query_list_and_show_print_what_is_stored(gprov) -> None:
    rows = json.loads(gprov("query", "list", "--format", "json").stdout)["queries"]
    assert {"name", "access", "description", "params", "returns", "scans"} == set(rows[0])
    text = gprov("query", "show", "store.server").stdout
    assert text == (ROOT / "cypher/store/server.cypher").read_text()


def test_init_writes_a_workspace_once_and_overwrites_nothing(gprov) -> None:
    result = gprov("init", "work")
    assert result.exit_code == 0
    example = {path.name for path in etl_path("pipelines", "csv").iterdir()}
    assert {Path(line).name for line in result.stdout.splitlines()} == {
        "gprov.toml", "policies.toml", "relations.toml", "auditor.toml", "example.jsonl", *example,
    }  # fmt: skip
    assert gprov("policy", "check", "--workspace", "work").exit_code == 0
    again = gprov("init", "work")
    assert again.exit_code == 2
    more = len(result.stdout.splitlines()) - 3
    assert f"work holds gprov.toml, policies.toml, relations.toml and {more} more already." in again.stderr


def test_the_reader_file_of_a_workspace_is_one_and_a_wrong_one_is_told_its_form(gprov) -> None:
    assert gprov("init").exit_code == 0
    who = _read_reader_file(Path("readers/auditor.toml"))
    order = parse_policies(Path("policies.toml").read_text(), "policies.toml")
    assert (who.principal, who.tenant, who.roles) == ("auditor", "ACME", ["auditor"])
    assert set().union(*(order.below[name] for name in who.clearances or ())) == set(order.names)
    for text in ('clearances = "internal"', "clearance = ['internal']", "tenant"):
        Path("wrong.toml").write_text(text)
        told = gprov("edge", "list", "--reader", "wrong.toml")
        assert told.exit_code == 2
        assert 'Its form: principal = "NAME", tenant = "NAME", clearances = ["POLICY"], roles = ["auditor"]' in told.stderr


def test_output_to_a_pipe_has_no_colour_and_is_never_cut(gprov) -> None:
    result = run("query", "list", env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "40"})
    assert "\x1b" not in result.stdout
    assert "…" not in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("1", False)])
def test_colour_only_on_a_terminal_and_without_no_color(no_color: str | None, coloured: bool) -> None:
    import pty  # noqa: PLC0415 - not on every system

    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")} | {"TERM": "xterm-256color"}
    if no_color:
        environment["NO_COLOR"] = no_color
    ours, theirs = pty.openpty()
    code = "from graphrag_provenance.interfaces.cli.app import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "policy", "check"], stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert process.wait(30) == 0
    assert b"internal" in seen
    assert (re.search(rb"\x1b\[[0-9;]*3[0-9]m", seen) is not None or b"\x1b[1m" in seen) is coloured


def test_a_closed_pipe_is_silent() -> None:
    code = "from graphrag_provenance.interfaces.cli.app import main; main()"
    done = subprocess.run(
        ["bash", "-c", f'for i in 1 2 3; do "{sys.executable}" -c "{code}" query list --format json | head -c 1 >/dev/null; done'],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""


def test_shell_completion_offers_commands_and_options() -> None:
    environment = os.environ | {"_GPROV_COMPLETE": "complete_bash", "COMP_WORDS": "gprov sch", "COMP_CWORD": "1"}
    done = subprocess.run([Path(sys.executable).with_name("gprov")], capture_output=True, text=True, env=environment, check=False)
    assert set(done.stdout.split()) == {"schema", "schema-json"}
    environment |= {"COMP_WORDS": "gprov edge ", "COMP_CWORD": "2"}
    done = subprocess.run([Path(sys.executable).with_name("gprov")], capture_output=True, text=True, env=environment, check=False)
    assert {"show", "list", "history"} <= set(done.stdout.split())


def test_readme_commands_are_the_commands_and_ci_runs_the_readmes_test_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    fences = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
    assert fences[0].strip() == "python3 -m venv .venv && .venv/bin/pip install -q -e '.[local]' && .venv/bin/gprov demo"
    assert fences[1].strip() == ".venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest"
    assert "README.md" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    extracted = [line for line in readme.splitlines() if re.fullmatch(r"\.venv/bin/pip install .* && \.venv/bin/pytest", line)]
    assert extracted == [fences[1].strip()]
    for name in COMMANDS:
        assert re.search(rf"^\| `gprov {name}[ `]", readme, re.MULTILINE), name
