"""What lies where under `<home>/neo4j`: configuration, data, logs, password, recorded version and running state.

Owns: the files of one local server and their modes (the folder 0700, the password 0600), the Neo4j configuration that
is written there, and the rule that data is opened only by the Neo4j version that made it.
Leaves to others: processes and ports (`local`, `probe`).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from graphrag_provenance.errors import ServerError
from graphrag_provenance.server.aside import put_back
from graphrag_provenance.server.probe import LOOPBACK

USER = "neo4j"
_HASH_ROUNDS = 1024
_LOCK_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class State:
    """What `server.json` says about the process that was started last; never believed without `probe.is_ours`."""

    pid: int
    mark: str
    """When the process started, as the operating system writes it."""
    port: int
    version: str
    profile: str
    instance: str
    """Random; the process carries it in its command line."""
    started_at: str
    """UTC, ISO 8601."""

    @property
    def uri(self) -> str:
        """Bolt address of the server."""
        return f"bolt://{LOOPBACK}:{self.port}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The folder of one local server."""

    root: Path

    @property
    def conf(self) -> Path:
        """Folder of the server's settings."""
        return self.root / "conf"

    @property
    def data(self) -> Path:
        """Folder of the database."""
        return self.root / "data"

    @property
    def console_log(self) -> Path:
        """What the server prints."""
        return self.root / "logs" / "console.log"

    @property
    def password_file(self) -> Path:
        """The password, readable by its owner only."""
        return self.root / "password"

    @property
    def _version_file(self) -> Path:
        return self.root / "version"

    @property
    def _state_file(self) -> Path:
        return self.root / "server.json"

    def create(self) -> None:
        """Makes the folders. Raises ServerError if that is not possible."""
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.root.chmod(0o700)
            for name in ("conf", "data", "logs", "import", "run"):
                (self.root / name).mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise ServerError(
                f"The folder {self.root} cannot be used: {error.strerror}.",
                hint="Set GRAPHRAG_PROVENANCE_HOME (or --home) to a folder that you may write.",
            ) from error

    @contextmanager
    def locked(self, wait_seconds: float) -> Iterator[int]:
        """Only one process at a time starts, stops or administers this server. The lock dies with its holder and with the last child
        that it gave the descriptor to, which this yields. What a holder that was killed had set aside is back in its place."""
        self.create()
        with (self.root / "lock").open("a") as file:
            deadline = time.monotonic() + wait_seconds
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise ServerError(
                            f"Another command has held the local server in {self.root} for {wait_seconds:.0f} s.",
                            hint="Wait until it ends, then try again.",
                        ) from None
                    time.sleep(_LOCK_POLL_SECONDS)
            put_back(self.root)
            yield file.fileno()

    def recorded_version(self) -> str | None:
        """The Neo4j version that made the data here; None before the first start."""
        try:
            return self._version_file.read_text("utf-8").strip() or None
        except (FileNotFoundError, NotADirectoryError):
            return None

    def claim_version(self, version: str) -> None:
        """Records the version of a new home. Raises ServerError if another version made the data."""
        recorded = self.recorded_version()
        if recorded is None:
            if (self.data / "databases").exists():
                raise ServerError(
                    f"{self.root} holds a database but not the version of Neo4j that made it.",
                    hint=f"Write that version into {self._version_file}, or use another --home.",
                )
            self._write(self._version_file, version + "\n")
        elif recorded != version:
            raise ServerError(
                f"The data in {self.root} was made by Neo4j {recorded}, but Neo4j {version} was asked for.",
                hint=f"Use --neo4j-version {recorded}, or another --home and load the data there.",
            )

    def read_state(self) -> State | None:
        """The state noted last; None if there is none or it cannot be read (then nobody is ours)."""
        try:
            values = json.loads(self._state_file.read_text("utf-8"))
            state = State(**values)
            return state if isinstance(state.pid, int) and isinstance(state.port, int) and state.pid > 1 else None
        except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
            return None

    def write_state(self, state: State) -> None:
        """Write down which server runs."""
        self._write(self._state_file, json.dumps(asdict(state), indent=1) + "\n")

    def clear_state(self) -> None:
        """Forget which server ran."""
        self._state_file.unlink(missing_ok=True)

    def read_password(self) -> str:
        """The password of the user `neo4j`. Raises ServerError if there is none."""
        try:
            return self.password_file.read_text("ascii").strip()
        except FileNotFoundError:
            raise ServerError(
                f"There is no password in {self.root}: the local server was never started there.",
                hint="Run: gprov db start.",
            ) from None

    def ensure_password(self) -> None:
        """Gives a new server a random password. An existing database keeps the one it has."""
        if (self.data / "databases" / "system").exists():
            self.read_password()
            return
        if not self.password_file.exists():
            self._write(self.password_file, secrets.token_urlsafe(24) + "\n")
        # What `AdminTool dbms set-initial-password` writes, without its second of Java and without showing the
        # password in a command line. The server reads it once, when it makes its system database.
        salt = secrets.token_bytes(32)
        digest = hashlib.sha256(salt + self.read_password().encode()).digest()
        for _ in range(_HASH_ROUNDS - 1):
            digest = hashlib.sha256(digest).digest()
        (self.data / "dbms").mkdir(parents=True, exist_ok=True)
        line = f"{USER}:SHA-256,{digest.hex()},{salt.hex()},{_HASH_ROUNDS}:\n"
        self._write(self.data / "dbms" / "auth.ini", line)

    def last_port(self) -> int | None:
        """The Bolt port of the start before; None if there was none."""
        try:
            text = (self.conf / "neo4j.conf").read_text("utf-8")
        except FileNotFoundError:
            return None
        found = re.search(r"^server\.bolt\.listen_address=\S+:(\d{1,5})$", text, re.MULTILINE)
        return int(found[1]) if found and 1023 < int(found[1]) < 65536 else None

    def write_conf(self, version: str, port: int, pagecache: str, more: Mapping[str, str] = MappingProxyType({})) -> None:
        """Writes neo4j.conf: Bolt on loopback only, auth on, and what `more` adds. Folders are Neo4j's own names under `root`."""
        values = {
            "server.default_listen_address": LOOPBACK,
            "server.bolt.enabled": "true",
            "server.bolt.listen_address": f"{LOOPBACK}:{port}",
            "server.bolt.advertised_address": f"{LOOPBACK}:{port}",
            "server.http.enabled": "false",
            "server.https.enabled": "false",
            "server.directories.import": "import",
            "server.memory.pagecache.size": pagecache,
            "dbms.security.auth_enabled": "true",
            "dbms.usage_report.enabled": "false",
            "db.tx_log.preallocate": "false",
            "db.tx_log.rotation.size": "16m",
            "internal.server.bolt.thread_pool_shutdown_wait_time": "0s",
        }
        if not version.startswith("5."):
            # It broadcasts on the network and offers a web service: nothing that a local server should do.
            values |= {"server.fleet_discovery.enabled": "false", "dbms.fleet_manager.enabled": "false"}
        values |= more
        lines = ["# Written by graphrag-provenance at every start; changes are lost."]
        lines += [f"{name}={value}" for name, value in values.items()]
        self._write(self.conf / "neo4j.conf", "\n".join(lines) + "\n")

    def _write(self, path: Path, text: str) -> None:
        """Writes a private file in one step, so that no reader meets half of it."""
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
