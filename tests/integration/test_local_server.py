"""The local server: one a home, ours or nobody's, and nothing committed is lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import neo4j
import pytest
from typer.testing import CliRunner

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import ConfigurationError, InputError, ProvenanceError, ServerError
from graphrag_provenance.interfaces.cli import db
from graphrag_provenance.server import probe
from graphrag_provenance.server.admin import admin, backup, restore
from graphrag_provenance.server.layout import State
from graphrag_provenance.server.local import LocalServer

OTHER_VERSION = "5.26.28"


def server_of(home: Path, version: str | None = None) -> LocalServer:
    return LocalServer(Settings(home=home), version=version)


def ask(server: LocalServer, query: str) -> list[object]:
    uri, user, password = server.credentials()
    with neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
        return [record[0] for record in driver.execute_query(query).records]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def cli(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from graphrag_provenance.interfaces.cli.db import app; app()", *arguments]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalServer, list[str]]]:
    """A server that two commands started at once, both of which have ended; and what they printed."""
    home = tmp_path_factory.mktemp("one") / "a home with ü"
    server = server_of(home)
    server.install()
    commands = [
        subprocess.Popen(cli("start", "--home", str(home)), stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    outputs = [command.communicate(timeout=120)[0] for command in commands]
    assert [command.returncode for command in commands] == [0, 0]
    yield server, outputs
    server.stop()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody else."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    if (tmp_path / "neo4j").exists():
        server_of(tmp_path).stop()


class TestOneServer:
    def test_two_commands_at_once_start_one_that_outlives_them(self, running: tuple[LocalServer, list[str]]) -> None:
        server, outputs = running
        status = server.status()
        assert status.running
        assert status.installed
        assert outputs == [f"{status.uri}\n"] * 2

    def test_it_answers_bolt_on_loopback_with_the_password_only(self, running: tuple[LocalServer, list[str]]) -> None:
        server, _ = running
        uri, user, password = server.credentials()
        assert uri.startswith("bolt://127.0.0.1:")
        assert ask(server, "RETURN 1") == [1]
        for auth in (None, (user, "neo4j"), (user, password + "x")):
            with neo4j.GraphDatabase.driver(uri, auth=auth) as driver, pytest.raises(neo4j.exceptions.Neo4jError):
                driver.verify_connectivity()

    def test_a_second_start_changes_nothing(self, running: tuple[LocalServer, list[str]]) -> None:
        server, _ = running
        before = server.status()
        assert server.start() == before
        assert server.ensure_running() == server.credentials()

    def test_its_files_are_private(self, running: tuple[LocalServer, list[str]]) -> None:
        root = running[0].layout.root
        assert mode(root) == 0o700
        assert mode(root / "password") == 0o600
        assert mode(root / "server.json") == 0o600

    def test_nothing_but_bolt_listens(self, running: tuple[LocalServer, list[str]]) -> None:
        status = running[0].status()
        assert status.pid is not None
        assert status.uri is not None
        inodes = {os.readlink(f"/proc/{status.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{status.pid}/fd")}
        rows = [
            row.split()
            for table in ("tcp", "tcp6", "udp", "udp6")
            for row in Path(f"/proc/{status.pid}/net/{table}").read_text().splitlines()[1:]
        ]
        held = {row[1].rpartition(":")[2] for row in rows if f"socket:[{row[9]}]" in inodes and row[3] in ("0A", "07")}
        assert held == {f"{int(status.uri.rpartition(':')[2]):04X}"}

    def test_admin_commands_refuse_a_running_server(self, running: tuple[LocalServer, list[str]]) -> None:
        with pytest.raises(ServerError, match=r"runs.*gprov db stop"):
            admin(running[0], ["database", "check", "neo4j"])

    def test_the_commands_tell_it_to_people_and_programs(self, running: tuple[LocalServer, list[str]]) -> None:
        server, _ = running
        table = CliRunner().invoke(db.app, ["status", "--home", str(server.home)])
        assert table.exit_code == 0
        assert str(server.status().uri) in table.stdout
        values = json.loads(CliRunner().invoke(db.app, ["status", "--home", str(server.home), "--format=json"]).stdout)
        assert values["running"] is True
        assert values["uri"] == server.status().uri
        logs = CliRunner().invoke(db.app, ["logs", "--home", str(server.home), "-n", "500"])
        assert "Started." in logs.stdout

    def test_two_homes_run_side_by_side_each_with_its_version_and_data(
        self, running: tuple[LocalServer, list[str]], home: Path, sleeper: subprocess.Popen[bytes], tmp_path: Path
    ) -> None:
        first, _ = running
        second = server_of(home, OTHER_VERSION)
        other = first.layout.read_state()
        assert other is not None
        second.layout.create()
        # The pid of somebody's process, the port of somebody's server.
        second.layout.write_state(replace(other, pid=sleeper.pid, mark=probe.start_mark(sleeper.pid) or ""))
        second.start()
        assert sleeper.poll() is None
        assert first.status().uri != second.status().uri
        assert first.credentials()[2] != second.credentials()[2]
        ask(second, "CREATE (:OnlyInSecond {n: 42})")
        assert ask(first, "MATCH (n:OnlyInSecond) RETURN count(n)") == [0]

        assert server_of(home).version == OTHER_VERSION, "without a wish, a home keeps its version"
        for refused in (server_of(home, "2026.09.0").start, server_of(home, "2026.09.0").ensure_running):
            with pytest.raises(ServerError, match=rf"made by Neo4j {OTHER_VERSION}.*--neo4j-version {OTHER_VERSION}"):
                refused()

        begun = time.monotonic()
        assert second.stop()
        assert time.monotonic() - begun < 5
        assert not second.status().running
        assert not second.stop()
        assert first.status().running
        assert "Stopped." in list(second.logs(5))[-1]

        file = backup(second, tmp_path / "backups" / "one.dump")
        assert mode(file) == 0o600
        with pytest.raises(InputError, match="exists already"):
            backup(second, file)
        broken = tmp_path / "broken.dump"
        broken.write_bytes(file.read_bytes()[:-2000])
        with pytest.raises(ServerError, match="database load failed"):
            restore(second, broken)
        assert (second.layout.data / "databases" / "neo4j" / "neostore").is_file(), "a failed restore puts it back"
        restore(second, file)
        address = second.layout.last_port()
        assert second.start().uri == f"bolt://127.0.0.1:{address}", "a restart keeps its address"
        assert ask(second, "MATCH (n:OnlyInSecond) RETURN n.n") == [42]


def bound(port: int) -> socket.socket:
    """The port, as soon as the killed process before has let it go."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def test_kill_9_loses_nothing_committed_and_a_port_taken_late_is_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    server = LocalServer(Settings(home=home), notify=said.append)
    server.start()
    ask(server, "CREATE (:Kept {n: 42})")
    before = server.status()
    assert before.pid is not None
    os.kill(before.pid, signal.SIGKILL)
    assert not server.status().running
    with pytest.raises(ServerError, match="gprov db start"):
        server.credentials()

    port = int(str(before.uri).rpartition(":")[2])
    with bound(port):
        free = probe.free_port(port)
        assert free != port
        looks = iter([port, free])  # it was free when we looked, but not when Neo4j did
        monkeypatch.setattr(probe, "free_port", lambda _=None: next(looks))
        server.ensure_running()
        after = server.status()
    assert after.uri == f"bolt://127.0.0.1:{free}"
    assert after.pid != before.pid
    assert any("Starting" in sentence for sentence in said)
    assert ask(server, "MATCH (k:Kept) RETURN k.n") == [42]

    monkeypatch.undo()
    os.kill(after.pid or 0, signal.SIGSTOP)  # it lives and does not answer, and then it dies, while a start waits for it
    death = threading.Timer(1.0, os.kill, (after.pid, signal.SIGKILL))
    death.start()
    assert server.start().running
    death.join()
    assert server.status().pid not in (None, after.pid)
    assert ask(server, "MATCH (k:Kept) RETURN k.n") == [42]


def test_a_restart_keeps_its_port_when_it_is_free() -> None:
    port = probe.free_port()
    assert probe.free_port(port) == port


def test_a_start_that_fails_says_the_last_words(home: Path) -> None:
    with pytest.raises(ServerError, match=r"(?s)ended while starting.*Too small maximum heap"):
        server_of(home).start(heap="1m")
    assert not server_of(home).status().running


@pytest.mark.parametrize(("option", "value"), [("heap", "much"), ("pagecache", "1g\nx=y"), ("profile", "fast")])
def test_a_wrong_option_is_refused(option: str, value: str, home: Path) -> None:
    with pytest.raises(ConfigurationError):
        server_of(home).start(**{option: value})  # type: ignore[arg-type]


def test_a_state_of_another_process_is_neither_believed_nor_ended(
    home: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    server = server_of(home)
    server.layout.create()
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        port = somebody.getsockname()[1]
        mark = probe.start_mark(sleeper.pid) or ""
        state = State(sleeper.pid, mark, port, server.version, "quick", "0" * 16, "2026-01-01T00:00:00+00:00")
        server.layout.write_state(state)
        assert not server.status().running
        assert not server.stop()
    assert sleeper.poll() is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": 1}', "null"])
def test_an_unreadable_state_counts_as_none(text: str, home: Path) -> None:
    server = server_of(home)
    server.layout.create()
    (server.layout.root / "server.json").write_text(text)
    assert not server.status().running
    assert not server.stop()


def test_looking_at_a_home_changes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "none"
    server = server_of(home)
    assert not server.status().running
    assert not server.stop()
    assert not home.exists()
    result = CliRunner().invoke(db.app, ["status", "--home", str(home)])
    assert result.exit_code == 1
    for act in (server.credentials, lambda: list(server.logs())):
        with pytest.raises(ServerError, match="gprov db start"):
            act()


def test_following_the_log_goes_on_with_the_next_start(home: Path) -> None:
    server = server_of(home)
    server.layout.create()
    log = server.layout.console_log
    log.write_text("one\ntwo\n")
    lines = server.logs(1, follow=True)
    assert next(lines) == "two"
    log.rename(log.with_suffix(".log.1"))
    log.write_text("three\n")
    assert next(lines) == "three"


def test_what_is_not_installed_is_said_and_not_fetched_unasked(tmp_path: Path) -> None:
    server = LocalServer(Settings(home=tmp_path, cache=tmp_path / "cache"))
    with pytest.raises(ServerError, match=r"not installed.*gprov db start.*NEO4J_URI"):
        server.ensure_running()
    assert not (tmp_path / "cache").exists()


def test_data_of_an_unknown_version_or_without_password_is_refused(home: Path) -> None:
    server = server_of(home)
    server.layout.create()
    (server.layout.data / "databases" / "system").mkdir(parents=True)
    with pytest.raises(ServerError, match="not the version"):
        server.start()
    (server.layout.root / "version").write_text(server.version)
    with pytest.raises(ServerError, match="password"):
        server.start()


def test_a_home_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProvenanceError, match="cannot be used"):
        server_of(tmp_path / "file").start()


def test_the_state_says_all_that_the_status_needs() -> None:
    state = State(2, "m", 7687, "2026.09.0", "quick", "i", "t")
    assert State(**asdict(state)) == state
    assert state.uri == "bolt://127.0.0.1:7687"


@pytest.mark.parametrize(
    "answer", [b"", b"\0\0", b"\0\0\0\0", b"HTTP", b"\0\0\0\x07"], ids=["closed", "short", "none", "http", "unknown"]
)
def test_a_port_that_speaks_something_else_is_not_bolt(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def serve() -> None:
            wire, _ = listener.accept()
            with wire:
                wire.recv(20)
                wire.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert not probe.answers_bolt(port)
        thread.join()
    assert not probe.answers_bolt(port)
