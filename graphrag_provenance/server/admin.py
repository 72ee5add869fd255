"""Runs Neo4j's AdminTool on the data of a local server that is stopped; backs up and restores its database.

Owns: the rule that these commands meet no running server, and that a failed restore leaves the database as it was.
Leaves to others: starting and stopping (`local`), how a database is set aside (`aside`).
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from graphrag_provenance.errors import InputError, ServerError
from graphrag_provenance.server.aside import DATABASE, set_aside
from graphrag_provenance.server.java import Runtime, admin_command
from graphrag_provenance.server.local import LocalServer


def admin(
    server: LocalServer,
    arguments: Sequence[str],
    *,
    heap: str = "1g",
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[bytes] | int = subprocess.PIPE,
) -> subprocess.CompletedProcess[bytes]:
    """Runs `neo4j-admin <arguments>` on the stopped server's data; `database dump|load|check|import …`.

    Raises ServerError if the server runs, if its data was made by another version, or with the tool's last words if
    it fails.
    """
    with server.held_stopped() as held:
        return _run(server, held, arguments, heap, stdin, stdout)


def backup(server: LocalServer, target: Path) -> Path:
    """Writes the database to the file `target` (which must not exist). A running server is stopped for it.

    Raises InputError if `target` cannot be written or exists, ServerError if there is nothing to back up.
    """
    target = target.expanduser().absolute()
    if target.exists():
        raise InputError(f"{target} exists already.", hint="Name a new file for the backup.")
    if not (server.layout.data / "databases" / DATABASE).is_dir():
        raise ServerError(f"There is no database in {server.layout.root} to back up.", hint="Run: gprov db start.")
    with _paused(server):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror}.", hint="Name another file.") from error
        try:
            with os.fdopen(handle, "wb") as out:
                admin(server, ["database", "dump", DATABASE, "--to-stdout"], stdout=out)
                os.fsync(out.fileno())
            os.replace(temporary, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
    return target


def restore(server: LocalServer, source: Path) -> None:
    """Replaces the database by the one in the file `source`. A running server is stopped for it.

    Raises InputError if `source` is not a file, ServerError if it is not a backup; the database is then as before.
    """
    source = source.expanduser().absolute()
    if not source.is_file():
        raise InputError(f"There is no file {source}.", hint="Name a file that `gprov db backup` wrote.")
    with _paused(server), _replacing(server) as held, source.open("rb") as dump:
        _run(server, held, ["database", "load", DATABASE, "--from-stdin", "--overwrite-destination=true"], stdin=dump)


def import_files(server: LocalServer, options: Sequence[str]) -> None:
    """Replaces the database by what `database import full` makes of files. A running server is stopped for it.

    Raises ServerError with the tool's last words if it fails; the database is then as before."""
    with _paused(server), _replacing(server) as held, tempfile.TemporaryDirectory(prefix="gprov-import-") as report:
        _run(server, held,
             ["database", "import", "full", DATABASE, "--overwrite-destination=true", f"--report-file={report}/report", *options])


@contextmanager
def _paused(server: LocalServer) -> Iterator[None]:
    before = server.status()
    if before.running:
        server.stop()
    try:
        yield
    finally:
        if before.running:
            server.start("load" if before.profile == "load" else "quick")


@contextmanager
def _replacing(server: LocalServer) -> Iterator[tuple[Runtime, int]]:
    with server.held_stopped() as held, set_aside(server.layout.root):
        yield held


def _run(
    server: LocalServer, held: tuple[Runtime, int], arguments: Sequence[str], heap: str = "1g",
    stdin: IO[bytes] | int = subprocess.DEVNULL, stdout: IO[bytes] | int = subprocess.PIPE,
) -> subprocess.CompletedProcess[bytes]:
    runtime, lock = held
    done = subprocess.run(
        admin_command(runtime, arguments, heap), stdin=stdin, stdout=stdout, stderr=subprocess.PIPE,
        env=runtime.environment(server.layout), cwd=server.layout.root, umask=0o077, check=False,
        pass_fds=[lock],  # if we are killed, nobody touches the data before the tool has ended
    )
    if done.returncode:
        words = ((done.stdout or b"") + done.stderr).decode("utf-8", "replace").strip().splitlines()
        said = "\n".join([line for line in words if not line.startswith("WARNING:")][-12:]) or "(nothing)"
        raise ServerError(f"neo4j-admin {' '.join(arguments[:2])} failed ({done.returncode}). It said:\n{said}")
    return done
