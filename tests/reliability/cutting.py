"""One cut: a command is under way, and something dies.

`client`: the command is killed (SIGKILL). `server`: the database is. `both`: at once. `connection`: every connection between them is cut,
and new ones are let through. `clock`: the wall clock of the server jumps, by hours, forward or backward, while a second writer waits.
`disk`: the disk that holds the store is full for a while. What is cut is a real server, and commands as a person types them.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from typer.testing import CliRunner

from graphrag_provenance.config import load_settings
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.server.local import LocalServer

Kind = Literal["client", "server", "both", "connection", "clock", "disk"]
KINDS: tuple[Kind, ...] = ("client", "server", "both", "connection", "clock")
"""What can be cut anywhere; `clock` needs a C compiler, on Linux; `disk` a small disk of its own (`small_disk`)."""
_SECONDS = 240.0


@dataclass(frozen=True)
class Ended:
    """A command that ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What it printed. Raises RuntimeError with its error if it gave no answer."""
        if not self.out:
            raise RuntimeError(f"A question ended with {self.code} and no answer: {self.err}")
        return json.loads(self.out)


class Relay:
    """A port that passes every byte on to the server's, until its connections are cut."""

    def __init__(self) -> None:
        self.target: tuple[str, int] | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Drop every connection that stands; with a reset, so that neither side is told politely."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
                    end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self.target is None:
                    raise ConnectionRefusedError
                far = socket.create_connection(self.target, timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._pairs.append((near, far))
            threading.Thread(target=_pass_on, args=(near, far), daemon=True).start()


def _pass_on(near: socket.socket, far: socket.socket) -> None:
    with selectors.DefaultSelector() as ready, near, far:
        ready.register(near, selectors.EVENT_READ, far)
        ready.register(far, selectors.EVENT_READ, near)
        while True:
            for key, _ in ready.select():
                source: Any = key.fileobj
                try:
                    data = source.recv(65536)
                    key.data.sendall(data)
                except OSError:
                    return
                if not data:
                    return


class Clock:
    """The wall clock of processes that are started with `environment`: it can be moved while they run."""

    def __init__(self, folder: Path) -> None:
        self._file, library = folder / "clock.shift", folder / "clock.so"
        self._file.write_bytes(bytes(8))
        compiler = shutil.which("cc") or shutil.which("gcc")
        assert compiler is not None, "moving a clock needs a C compiler"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(Path(__file__).with_name("clock.c"))], check=True)
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(self._file)}
        self.shift = 0

    def jump(self, seconds: int) -> None:
        """Forward, or backward."""
        self.shift += seconds
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", self.shift))


class Bench:
    """A local server that may be killed, and commands that reach it through a relay."""

    def __init__(self, folder: Path, *, movable: bool = False) -> None:
        self.folder = folder
        self._server = LocalServer(load_settings(home=folder / "home", workspace=folder))
        self._relay = Relay()
        self._clock = Clock(folder) if movable else None
        self.restarts = 0

    @contextlib.contextmanager
    def running(self) -> Iterator[Bench]:
        """With the server up; it is stopped in the end."""
        try:
            self.up()
            yield self
        finally:
            self._relay.close()
            self._server.stop()

    def up(self) -> None:
        """Start the server unless it runs."""
        with changed_environment(self._clock.environment if self._clock else {}):
            self._server.start()
        address = urlsplit(self._server.credentials()[0])
        self._relay.target = (str(address.hostname), int(address.port or 0))

    def kill(self) -> None:
        """kill -9 of the server."""
        pid = self._server.status().pid
        assert pid is not None, "the server does not run"
        os.kill(pid, signal.SIGKILL)
        self._relay.target = None
        self.restarts += 1

    def jump(self, seconds: int) -> None:
        """The clock of the server jumps."""
        assert self._clock is not None, "the clock of this bench does not move"
        self._clock.jump(seconds)

    def cut_connections(self) -> None:
        """Every connection is reset; new ones are let through."""
        self._relay.cut()

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """The disk that holds the store has no byte left, until this ends; a server that gave up then is started again."""
        ballast = self.folder / "home" / "ballast"
        try:
            with contextlib.suppress(OSError), ballast.open("wb") as file:
                while True:
                    file.write(bytes(1 << 16))
                    file.flush()
            yield
        finally:
            ballast.unlink()
            if self._server.status().running:
                self.kill()
            self.up()

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `gprov` with these arguments."""
        return typed(self.folder, self._environment(), *arguments)

    def run(self, *arguments: str) -> Ended:
        """`gprov` with these arguments, to its end."""
        return ended(self.begin(*arguments))

    def ask(self, *arguments: str) -> Ended:
        """The same without a process of its own, which is quicker: for questions."""
        with changed_environment(self._environment()):
            return asked(*arguments, "--workspace", str(self.folder))

    def _environment(self) -> dict[str, str]:
        _, user, password = self._server.credentials()
        return {
            "NEO4J_URI": f"bolt://127.0.0.1:{self._relay.port}", "NEO4J_USERNAME": user, "NEO4J_PASSWORD": password,
            "GRAPHRAG_PROVENANCE_HOME": str(self.folder / "home"),
            "GRAPHRAG_PROVENANCE_QUERY_TIMEOUT_SECONDS": "120"}  # a server that was just killed plans anew, on a machine that may be busy


def typed(folder: Path, environment: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    """`gprov` with these arguments, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "graphrag_provenance.interfaces.cli", "--log-format", "json", *arguments, "--workspace", str(folder)],
        cwd=folder, env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def asked(*arguments: str) -> Ended:
    """`gprov` with these arguments, in this process."""
    done = CliRunner().invoke(app, list(arguments))
    return Ended(done.exit_code, done.stdout, done.stderr)


@contextlib.contextmanager
def changed_environment(changes: Mapping[str, str]) -> Iterator[None]:
    """The environment of this process with these changes."""
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def ended(child: subprocess.Popen[str], err: Sequence[str] = ()) -> Ended:
    """Wait for a command; `err`: lines of its stderr that were read before."""
    out, rest = child.communicate(timeout=_SECONDS)
    return Ended(child.returncode, out, "".join(err) + rest)


def until_begun(child: subprocess.Popen[str]) -> list[str]:
    """Read stderr until the run has begun, or the command ends. Returns the lines."""
    assert child.stderr is not None
    lines = []
    for line in child.stderr:
        lines.append(line)
        if '"run begun"' in line:
            break
    return lines


def cut(bench: Bench, kind: Kind, child: subprocess.Popen[str], after: float, jump: int = 0, seen: Sequence[str] = ()) -> Ended:
    """Cut what is under way, `after` so many seconds from the beginning of its run; bring the server up again; wait for the command.
    `jump`: by how many seconds a clock is moved. `seen`: the lines until the run had begun, if somebody waited for that already."""
    lines = seen or until_begun(child)
    time.sleep(after)
    if kind in ("client", "both"):
        child.kill()
    if kind in ("server", "both"):
        bench.kill()
        bench.up()
    if kind == "connection":
        bench.cut_connections()
    if kind == "clock":
        bench.jump(jump)
    if kind == "disk":
        with bench.full_disk():
            return ended(child, lines)
    return ended(child, lines)


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """A disk in memory at `folder`, so small that it can be filled. Needs root, on Linux."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
