"""Runs Neo4j's AdminTool on the data of a local server that is stopped; backs up and restores its database.

Owns: the rule that these commands meet no running server, and that a failed restore leaves the database as it was.
Leaves to others: starting and stopping (`local`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from graphrag_provenance.errors import InputError, ServerError
from graphrag_provenance.server.java import admin_command
from graphrag_provenance.server.local import LocalServer

DATABASE = "neo4j"
_STORE_FOLDERS = ("databases", "transactions")


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
    with server.held_stopped() as runtime:
        return _run(server, admin_command(runtime, arguments, heap), arguments, runtime.environment(server.layout),
                    stdin, stdout)


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
    with _paused(server), _set_aside(server), source.open("rb") as dump:
        admin(server, ["database", "load", DATABASE, "--from-stdin", "--overwrite-destination=true"], stdin=dump)


def import_files(server: LocalServer, options: Sequence[str]) -> None:
    """Replaces the database by what `database import full` makes of files. A running server is stopped for it.

    Raises ServerError with the tool's last words if it fails; the database is then as before."""
    with _paused(server), _set_aside(server), tempfile.TemporaryDirectory(prefix="gprov-import-") as report:
        admin(server, ["database", "import", "full", DATABASE, "--overwrite-destination=true", f"--report-file={report}/report", *options])


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
def _set_aside(server: LocalServer) -> Iterator[None]:
    """Keeps the present database next to the data while another takes its place; puts it back on failure."""
    server.layout.create()
    data, aside = server.layout.data, server.layout.root / "before-restore"
    if aside.exists():
        raise ServerError(
            f"An earlier restore was cut off and left the database in {aside}.",
            hint=f"Move its folders back into {data}, or delete it if you do not need it.",
        )
    moved: list[tuple[Path, Path]] = []
    try:
        for folder in _STORE_FOLDERS:
            if (data / folder / DATABASE).is_dir():
                (aside / folder).mkdir(parents=True)
                os.rename(data / folder / DATABASE, aside / folder / DATABASE)
                moved.append((data / folder / DATABASE, aside / folder / DATABASE))
        yield
    except BaseException:
        for folder in _STORE_FOLDERS:
            shutil.rmtree(data / folder / DATABASE, ignore_errors=True)
        for place, kept in moved:
            os.rename(kept, place)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _run(
    server: LocalServer, command: list[str], arguments: Sequence[str], environment: dict[str, str],
    stdin: Any, stdout: Any,
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=environment, cwd=server.layout.root,
        umask=0o077, check=False,
    )
    if done.returncode:
        words = ((done.stdout or b"") + done.stderr).decode("utf-8", "replace").strip().splitlines()
        said = "\n".join([line for line in words if not line.startswith("WARNING:")][-12:]) or "(nothing)"
        raise ServerError(f"neo4j-admin {' '.join(arguments[:2])} failed ({done.returncode}). It said:\n{said}")
    return done
