"""One real Neo4j a session: the one of NEO4J_URI, else a container, else the local server that the product starts.

Data is isolated by tenant (`tenant`); a test that needs an empty store asks for `fresh_database`. The version of a
server that the session starts itself comes from GRAPHRAG_PROVENANCE_NEO4J_VERSION.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import neo4j
import pytest
import structlog
from pydantic import SecretStr

from graphrag_provenance.config import load_settings
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Connection, Database
from tests import openfga

# In a job in the background an interrupt is ignored, and every process started from here would ignore it, too.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is not a fault of the rule under test.
hypothesis.settings.register_profile("gprov", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("gprov")

if TYPE_CHECKING:
    from corpus.records import Store

Cypher = Callable[..., list[dict[str, Any]]]

# Each test fills and empties the store, which by default makes the server plan every statement anew, again and again.
_PLAN_ONCE = {"dbms.cypher.min_replan_interval": "1h", "dbms.cypher.statistics_divergence_threshold": "1.0"}
MAY_WIPE = "GPROV_TEST_MAY_WIPE"
OUR_LABELS = [
    "Alias", "Assertion", "Chunk", "Delta", "Document", "Entity", "Migration", "Past", "RecordedAnswer", "RecordedRetrieval",
    "RecordedStep", "Revision", "Run", "Staged", "Store", "Withheld",
]


def pytest_xdist_auto_num_workers() -> int:
    """Two workers, each with a server of its own; one where the server is given, since tests delete what they find there."""
    return 0 if os.environ.get("NEO4J_URI") else 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs OpenFGA comes last: where it was never built, that takes minutes, and is done beside the other tests."""
    items.sort(key=_needs_openfga)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to build OpenFGA if a test needs it."""
    first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
    if first and not session.config.option.collectonly and any(map(_needs_openfga, session.items)):
        threading.Thread(target=openfga.build, daemon=True).start()


def _needs_openfga(item: pytest.Item) -> bool:
    return item.get_closest_marker("openfga") is not None


@dataclass(frozen=True)
class Server:
    """The server of the session, and whether its whole content is ours to delete."""

    connection: Connection
    disposable: bool

    def environment(self) -> dict[str, str]:
        """What a command needs in its environment to use this server."""
        database = {"NEO4J_DATABASE": self.connection.database} if self.connection.database else {}
        return {
            "NEO4J_URI": self.connection.uri,
            "NEO4J_USERNAME": self.connection.username,
            "NEO4J_PASSWORD": self.connection.password.get_secret_value(),
            **database,
        }


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Neo4j that answers, without any promise about its schema."""
    settings = load_settings(workspace=tmp_path_factory.mktemp("no-workspace"))
    if settings.neo4j_uri is not None:
        password = settings.neo4j_password or SecretStr("")
        given = Connection(settings.neo4j_uri, settings.neo4j_username, password, settings.neo4j_database)
        yield Server(given, _may_wipe(given))
    elif _docker_answers():
        yield from _container(settings.neo4j_version)
    else:
        yield from _local(tmp_path_factory.mktemp("neo4j-home"))


def _docker_answers() -> bool:
    import docker  # noqa: PLC0415 - slow, and only needed here

    try:
        client = docker.from_env(timeout=5)
    except docker.errors.DockerException:
        return False
    try:
        return bool(client.ping())
    except Exception:  # noqa: BLE001 - whatever goes wrong, there is no engine to use
        return False
    finally:
        client.close()


def _container(version: str) -> Iterator[Server]:
    from testcontainers.neo4j import Neo4jContainer  # noqa: PLC0415 - slow, and only needed here

    password = secrets.token_urlsafe(12)
    with Neo4jContainer(f"neo4j:{version}", password=password) as container:
        yield Server(Connection(container.get_connection_url(), "neo4j", SecretStr(password)), disposable=True)


def _local(home: Path) -> Iterator[Server]:
    local = LocalServer(load_settings(home=home, workspace=home))
    local.start(configuration=_PLAN_ONCE)
    try:
        uri, user, password = local.credentials()
        yield Server(Connection(uri, user, SecretStr(password)), disposable=True)
    finally:
        local.stop()


def _may_wipe(connection: Connection) -> bool:
    """Whether a given server is empty (then it is ours). Ends the session if it holds data of somebody else."""
    with _driver(connection) as driver, driver.session(database=connection.database) as session:
        foreign = session.run(
            "MATCH (n) WHERE NOT any(label IN labels(n) WHERE label IN $ours) RETURN labels(n) AS labels LIMIT 1",
            ours=OUR_LABELS,
        ).single()
        if foreign is not None:
            pytest.exit(f"{connection.uri} holds {foreign['labels']}, which are not ours: use an empty server.", 4)
        empty = session.run("RETURN NOT EXISTS { (n) WHERE NOT n:Migration } AS empty").single(strict=True)["empty"]
    return bool(empty) or os.environ.get(MAY_WIPE) == "1"


def _driver(connection: Connection) -> neo4j.Driver:
    auth = (connection.username, connection.password.get_secret_value())
    return neo4j.GraphDatabase.driver(connection.uri, auth=auth, notifications_min_severity="OFF")


def _wipe(cypher: Cypher) -> None:
    """Delete every node but the record of applied migrations: the schema stays."""
    cypher("MATCH (n) WHERE NOT n:Migration CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS")
    cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")


@pytest.fixture(scope="session")
def cypher(server: Server) -> Iterator[Cypher]:
    """Plain Cypher past the product, for inflicting damage and for looking at what is really there."""
    with _driver(server.connection) as driver:

        def run(text: str, /, **params: Any) -> list[dict[str, Any]]:
            with driver.session(database=server.connection.database) as session:
                return [dict(record) for record in session.run(text, params)]

        yield run


@pytest.fixture(scope="session")
def database(server: Server, cypher: Cypher) -> Iterator[Database]:
    """The store, migrated. Shared by all tests: keep to a tenant of your own."""
    with Database(server.connection, read_timeout=120) as opened:  # the machine may be busy with other tests
        migrations.apply(opened)
        if server.disposable:
            _wipe(cypher)
        yield opened
        if server.disposable:
            _wipe(cypher)


@pytest.fixture(scope="session")
def wipe(server: Server, database: Database, cypher: Cypher) -> Callable[[], None]:
    """Deletes all data, whoever wrote it; the schema stays. Skips the test where that is not ours to do."""
    def run() -> None:
        if not server.disposable:
            pytest.skip(f"{server.connection.uri} was not empty; set {MAY_WIPE}=1 if everything in it may be deleted")
        _wipe(cypher)

    return run


@pytest.fixture
def fresh_database(database: Database, wipe: Callable[[], None]) -> Database:
    """The store with the schema and no data at all."""
    wipe()
    return database


@pytest.fixture(scope="module")
def emptied(database: Database, cypher: Cypher, wipe: Callable[[], None], tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The store without any data, for a module that fills it once."""
    wipe()
    from corpus.records import Store  # noqa: PLC0415 - the campaigns import this file without the folder on their path

    return Store(database, cypher, tmp_path_factory.mktemp("records"))


@pytest.fixture
def tenant() -> str:
    """A tenant that no other test uses."""
    return f"T-{uuid.uuid4().hex[:12]}"


@pytest.fixture(autouse=True)
def logs_as_found() -> Iterator[None]:
    """A command configures logging for its process; the next test finds it as a program finds it that imports the package."""
    yield
    structlog.reset_defaults()
