"""The server that is measured: the one of NEO4J_URI, or one of our own in a temporary home.

Owns: that a measurement never meets data of somebody else. A given server must be empty, or hold only what a benchmark left.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import floors
from neo4j import Driver, GraphDatabase
from pydantic import SecretStr

from graphrag_provenance.config import load_settings
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Connection, Database

PIPELINE = "benchmark"
"""Under which name the benchmarks load; tells their data from others'."""

_READ_SECONDS = 120.0  # long: on a busy machine a slow answer is a result, an abandoned one is none


@dataclass(frozen=True, slots=True)
class Bench:
    """An empty server with both schemas: the product's connection, and a bare driver for the floor."""

    connection: Connection
    database: Database
    driver: Driver
    version: str
    local: LocalServer | None = None
    """A server of our own."""

    def cpu(self) -> tuple[float, float] | None:
        """Processor seconds that this process and a server of our own have used; None where that cannot be known."""
        pid = None if self.local is None else self.local.status().pid
        try:
            return time.process_time(), processor_seconds(pid)
        except OSError:
            return None

    def weight(self) -> int:
        """Bytes of the database of a server of our own, without its transaction log; it is stopped for it, so that all is written, and
        from then on its files grow by what they hold, not ahead of it."""
        if self.local is None:
            raise SystemExit("What a store weighs can only be seen of a server that is started here: unset NEO4J_URI.")
        self.local.stop()
        store = self.local.layout.data / "databases" / "neo4j"
        found = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
        self.local.start("load", configuration={"db.store.files.preallocate": "false"})
        return found

    def empty(self) -> None:
        """Delete all data; the schemas stay."""
        floors.empty(self.driver)


def processor_seconds(pid: int | None) -> float:
    """What a process has used, on Linux. Raises OSError where that cannot be known."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def bench(version: str | None = None) -> Iterator[Bench]:
    """A server to measure on; a local one is stopped and deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="gprov-bench-", ignore_cleanup_errors=True) as folder:
        settings = load_settings(workspace=Path(folder), home=Path(folder) / "home")
        if settings.neo4j_uri is not None:
            password = settings.neo4j_password or SecretStr("")
            with _opened(Connection(settings.neo4j_uri, settings.neo4j_username, password, settings.neo4j_database)) as given:
                yield given
            return
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped then, too
        local = LocalServer(settings, version=version)
        try:
            local.start("load")
            uri, user, secret = local.credentials()
            with _opened(Connection(uri, user, SecretStr(secret)), local) as started:
                yield started
        finally:
            local.stop()


@contextmanager
def _opened(connection: Connection, local: LocalServer | None = None) -> Iterator[Bench]:
    auth = (connection.username, connection.password.get_secret_value())
    with Database(connection, read_timeout=_READ_SECONDS) as database, GraphDatabase.driver(
        connection.uri, auth=auth, database=connection.database, notifications_min_severity="OFF") as driver:
        _refuse_foreign(driver, connection.uri)
        migrations.apply(database)
        floors.schema(driver)
        found = Bench(connection, database, driver, database.server_version(), local)
        found.empty()
        yield found
        found.empty()


def _refuse_foreign(driver: Driver, uri: str) -> None:
    rows = driver.execute_query(
        "OPTIONAL MATCH (n) WHERE NOT n:Migration AND none(label IN labels(n) WHERE label STARTS WITH 'Raw') "
        "WITH n LIMIT 1 OPTIONAL MATCH (r:Run {kind: 'ingest'}) WHERE r.pipeline <> $pipeline "
        "RETURN n IS NOT NULL AS data, count(r) AS foreign, EXISTS { (:Run {pipeline: $pipeline}) } AS ours", pipeline=PIPELINE,
    ).records
    if rows and rows[0]["data"] and (rows[0]["foreign"] or not rows[0]["ours"]):
        raise SystemExit(f"{uri} holds data that no benchmark wrote, and a benchmark empties its server: use another one.")
