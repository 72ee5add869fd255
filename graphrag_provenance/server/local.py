"""The local Neo4j that the product starts itself, without Docker (spec 6).

Owns: the life of one server per home: install, start, stop, status, credentials. Two commands at once start one
server; the server outlives the command that started it; a recorded pid or port never leads to somebody else's server.
Leaves to others: fetching jars (`fetch`), files (`layout`), the process (`process`), dumps (`admin`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import ConfigurationError, ServerError
from graphrag_provenance.server import probe, process
from graphrag_provenance.server.fetch import Progress, fetch, looks_fetched, maven_cache, read_lock
from graphrag_provenance.server.java import Runtime
from graphrag_provenance.server.layout import USER, Layout, State

Profile = Literal["quick", "load"]
Notify = Callable[[str], None]

_START_SECONDS = 120.0
_LOCK_SECONDS = 300.0
_START_ATTEMPTS = 3
_TAIL_LINES = 12
_FOLLOW_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known about the local server of a home."""

    installed: bool
    """The jars of `version` are in the cache."""
    running: bool
    """Our process lives, holds the port and answers Bolt."""
    pid: int | None
    uri: str | None
    version: str
    home: Path
    started_at: str | None
    """UTC, ISO 8601."""
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class _Memory:
    heap: str
    pagecache: str


_MEMORY: dict[Profile, _Memory] = {"quick": _Memory("512m", "128m"), "load": _Memory("2g", "1g")}


class LocalServer:
    """The local Neo4j of one home.

    `version` defaults to the setting if it was given, then to the version that made the data in the home, then to the
    product's default. `notify` hears sentences about what takes time; `progress` hears bytes while jars are fetched.
    """

    def __init__(
        self,
        settings: Settings,
        home: Path | None = None,
        version: str | None = None,
        *,
        notify: Notify | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._settings = settings
        self._notify: Notify = notify or (lambda _: None)
        self._progress = progress
        self.home = (home or settings.home).expanduser().absolute()
        self.layout = Layout(self.home / "neo4j")
        chosen = version or (settings.neo4j_version if "neo4j_version" in settings.model_fields_set else None)
        self.version = chosen or self.layout.recorded_version() or settings.neo4j_version
        self._artifacts = read_lock(self.version)

    def install(self) -> Runtime:
        """Fetches and verifies what is needed to run this version; quick when it is there already."""
        runtime = Runtime.find(self.version)
        return runtime.with_jars(fetch(self._artifacts, self._settings, self._progress))

    def start(
        self, profile: Profile = "quick", *, heap: str | None = None, pagecache: str | None = None,
        configuration: Mapping[str, str] | None = None,
    ) -> ServerStatus:
        """Starts the server unless it runs, and returns when it answers. `heap` and `pagecache` as in "512m", "2g";
        `configuration`: further settings of Neo4j by name, for this start.

        Raises ServerError with the last log lines if it does not come up.
        """
        if profile not in _MEMORY:
            raise ConfigurationError(f"There is no profile '{profile}'.", hint=f"Use {' or '.join(_MEMORY)}.")
        memory = _Memory(heap or _MEMORY[profile].heap, pagecache or _MEMORY[profile].pagecache)
        for amount in (memory.heap, memory.pagecache):
            if not re.fullmatch(r"[1-9][0-9]*[mg]", amount):
                raise ConfigurationError(f"'{amount}' is not an amount of memory.", hint="Write it as 512m or 2g.")
        with self.layout.locked(_LOCK_SECONDS):
            self.layout.claim_version(self.version)
            state = self._live_state()
            if state is None or not self._comes_up(state):  # it may have been dying when we looked
                state = self._launch(self.install(), profile, memory, configuration or {})
        return self._status(state)

    def stop(self) -> bool:
        """Stops the server and returns when it is gone; False if none ran."""
        if not self.layout.root.is_dir():
            return False
        with self.layout.locked(_LOCK_SECONDS):
            noted, state = self.layout.read_state(), self._live_state()
            if state is not None:
                process.end(self.layout, state, self._notify)
            elif noted is not None:
                process.await_dead(noted)
            self.layout.clear_state()
        return state is not None

    def status(self) -> ServerStatus:
        """What runs now; changes nothing."""
        state = self._live_state()
        return self._status(state if state is not None and process.answers(state) else None)

    def credentials(self) -> tuple[str, str, str]:
        """Address, user and password of the running server. Raises ServerError if it does not run."""
        state = self._live_state()
        if state is None or not process.answers(state):
            raise ServerError(f"The local server in {self.layout.root} does not run.", hint="Run: gprov db start.")
        return state.uri, USER, self.layout.read_password()

    def ensure_running(self, *, install: bool = False) -> tuple[str, str, str]:
        """Credentials of the running server, which is started (saying so) if it is down.

        Raises ServerError if Neo4j is not installed, unless `install` allows to fetch it.
        """
        state = self._live_state()
        if state is None or not process.answers(state) or state.version != self.version:
            if not install and not self.installed():
                raise ServerError(
                    f"Neo4j {self.version} is not installed and NEO4J_URI is not set.",
                    hint="Run: gprov db start (it fetches Neo4j once, about 160 MB), or set NEO4J_URI.",
                )
            self._notify(f"Starting the local Neo4j {self.version} in {self.layout.root}.")
            self.start()
        return self.credentials()

    def installed(self) -> bool:
        """Whether the jars are in the cache (sizes only; `start` verifies the content)."""
        return looks_fetched(self._artifacts, maven_cache(self._settings))

    def logs(self, lines: int = 50, follow: bool = False) -> Iterator[str]:
        """The last lines of the server's log of this start; with `follow`, then new ones until interrupted."""
        path = self.layout.console_log
        if not path.is_file():
            raise ServerError(f"There is no log in {self.layout.root}.", hint="Run: gprov db start.")
        file = path.open("r", encoding="utf-8", errors="replace")
        try:
            kept = file.read().splitlines()
            yield from kept[-lines:] if lines > 0 else ()
            while follow:
                line = file.readline()
                if line:
                    yield line.rstrip("\n")
                elif path.is_file() and not os.path.samestat(path.stat(), os.fstat(file.fileno())):
                    file.close()  # the server was started anew, with a new log
                    file = path.open("r", encoding="utf-8", errors="replace")
                else:
                    time.sleep(_FOLLOW_SECONDS)
        finally:
            file.close()

    @contextmanager
    def held_stopped(self) -> Iterator[tuple[Runtime, int]]:
        """Holds the server stopped, and its data of our version, while an admin command works on them. Yields the descriptor of the
        lock too: a command that has it goes on holding the server if we are killed."""
        with self.layout.locked(_LOCK_SECONDS) as lock:
            if self._live_state() is not None:
                raise ServerError(f"The local server in {self.layout.root} runs.", hint="Run: gprov db stop.")
            self.layout.claim_version(self.version)
            runtime = self.install()
            self.layout.ensure_password()
            if not (self.layout.conf / "neo4j.conf").exists():
                self.layout.write_conf(self.version, probe.free_port(), _MEMORY["quick"].pagecache)
            yield runtime, lock

    def _launch(self, runtime: Runtime, profile: Profile, memory: _Memory, configuration: Mapping[str, str]) -> State:
        previous = self.layout.read_state()
        port = self.layout.last_port()  # people and tools may have noted the address
        if previous is not None:
            process.await_dead(previous)
        self.layout.clear_state()
        self.layout.ensure_password()
        for attempt in range(_START_ATTEMPTS):
            port = probe.free_port(port)
            self.layout.write_conf(self.version, port, memory.pagecache, configuration)
            state = process.begin(
                runtime, self.layout, port=port, version=self.version, profile=profile, heap=memory.heap
            )
            try:
                self._await_answer(state)
                return state
            except ServerError:
                # Somebody may have taken the port between our look and Neo4j's bind: then another may do.
                if attempt + 1 == _START_ATTEMPTS or "already in use" not in self._tail(1000):
                    raise
                port = None
        raise AssertionError("unreachable")

    def _await_answer(self, state: State) -> None:
        if not self._comes_up(state):
            raise ServerError(f"Neo4j {state.version} ended while starting. Its last words:\n{self._tail()}")

    def _comes_up(self, state: State) -> bool:
        """Wait until a server answers; False if it ended instead. Raises ServerError, and ends it, if it does neither."""
        deadline = time.monotonic() + _START_SECONDS
        while not process.answers(state):
            if not process.lives(self.layout, state):
                process.await_dead(state)
                self.layout.clear_state()
                return False
            if time.monotonic() > deadline:
                process.end(self.layout, state, self._notify)
                self.layout.clear_state()
                raise ServerError(
                    f"Neo4j {state.version} gave no answer in {_START_SECONDS:.0f} s. Its last words:\n{self._tail()}"
                )
            time.sleep(process.POLL_SECONDS)
        return True

    def _live_state(self) -> State | None:
        state = self.layout.read_state()
        return state if state is not None and process.lives(self.layout, state) else None

    def _tail(self, lines: int = _TAIL_LINES) -> str:
        """The log's last lines that tell a person something: no stack frames, no notes of Java to developers."""
        telling = [line for line in self.logs(1000) if not line.startswith(("\tat ", "\t... ", "WARNING: "))]
        return "\n".join(telling[-lines:]) or "(nothing)"

    def _status(self, state: State | None) -> ServerStatus:
        return ServerStatus(
            installed=self.installed(),
            running=state is not None,
            pid=state.pid if state else None,
            uri=state.uri if state else None,
            version=state.version if state else self.version,
            home=self.home,
            started_at=state.started_at if state else None,
            profile=state.profile if state else None,
        )
