"""The connection: sessions, retries, bookmarks, and the mapping of driver errors to ours.

Owns: how a stored query is sent. Read queries run in READ sessions with a database-side timeout; write queries run in
retrying transactions. No other module imports the driver's error classes.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, TypeVar
from urllib.parse import urlsplit

import neo4j
import neo4j.exceptions
import neo4j.time
from neo4j import GraphDatabase, NotificationMinimumSeverity
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConstraintError,
    DatabaseError,
    DriverError,
    GqlError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)
from pydantic import SecretStr

from graphrag_provenance.errors import (
    ConfigurationError,
    ProvenanceError,
    StoreConflictError,
    StoreError,
    StoreTimeoutError,
    StoreUnavailableError,
)
from graphrag_provenance.queries import Access, Query, query

T = TypeVar("T")
_SCHEMES = frozenset(f"{name}{tls}" for name in ("neo4j", "bolt") for tls in ("", "+s", "+ssc"))
Row = dict[str, Any]


@dataclass(frozen=True)
class Connection:
    """Where the store is."""

    uri: str
    username: str = "neo4j"
    password: SecretStr = field(default_factory=lambda: SecretStr(""))
    database: str | None = None


@dataclass(slots=True)
class Writes:
    """What the database counted (spec 5, `writes`)."""

    nodes: int = 0
    relationships: int = 0
    properties: int = 0

    def __add__(self, other: Writes) -> Writes:
        return Writes(self.nodes + other.nodes, self.relationships + other.relationships, self.properties + other.properties)

    @property
    def total(self) -> int:
        return self.nodes + self.relationships + self.properties


class _Rehearsed(Exception):
    """Takes a transaction back, and carries what it found."""

    def __init__(self, found: Any) -> None:
        super().__init__()
        self.found = found


class Transaction:
    """One open transaction; counts what it wrote."""

    def __init__(self, tx: neo4j.ManagedTransaction) -> None:
        self._tx = tx
        self.writes = Writes()

    def run(self, name: str | Query, /, *, counted: bool = True, **params: Any) -> list[Row]:
        """Send a stored query and return its rows. `counted`: whether its writes are part of `writes` (run records are not)."""
        result = self._tx.run(_text(name if isinstance(name, Query) else query(name)), _quiet(params))
        rows = [_native(record) for record in result]
        counters = result.consume().counters
        if not counted:
            return rows
        self.writes += Writes(
            counters.nodes_created + counters.nodes_deleted,
            counters.relationships_created + counters.relationships_deleted,
            counters.properties_set,
        )
        return rows


class Database:
    """A driver and the sessions on it. Close it, or use it in a `with` block. Safe to share between threads."""

    def __init__(
        self, connection: Connection, *, read_timeout: float = 10.0, write_timeout: float | None = None,
        retry_seconds: float = 30.0,
    ) -> None:
        self.connection = connection
        self._read_timeout = read_timeout
        self._write_timeout = write_timeout
        _check_address(connection.uri)
        with errors(connection.uri):
            self._driver = GraphDatabase.driver(
                connection.uri,
                auth=(connection.username, connection.password.get_secret_value()),
                notifications_min_severity=NotificationMinimumSeverity.OFF,
                user_agent="graphrag-provenance",
                connection_acquisition_timeout=30,
                max_transaction_retry_time=retry_seconds,
            )
            self._bookmarks = GraphDatabase.bookmark_manager()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; those of every `patient` one too."""
        with errors(self.connection.uri):
            self._driver.close()

    def patient(self, read_timeout: float) -> Database:
        """The same connections and bookmarks, with another time limit of a read."""
        other = copy(self)
        other._read_timeout = read_timeout
        return other

    def verify(self) -> None:
        """Raise StoreUnavailableError unless the server answers and accepts the credentials."""
        with errors(self.connection.uri):
            self._driver.verify_connectivity()

    def _session(self, access: Access) -> neo4j.Session:
        return self._driver.session(
            database=self.connection.database,
            default_access_mode=neo4j.READ_ACCESS if access is Access.READ else neo4j.WRITE_ACCESS,
            bookmark_manager=self._bookmarks,
            fetch_size=1000,
        )

    def read(self, name: str | Query, /, **params: Any) -> list[Row]:
        """All rows of a stored read query, in a READ session with the database-side timeout.

        First as an auto-commit transaction, which saves the round trip of a commit; after a passing fault in a retrying one."""
        stored = reading(name)
        with errors(self.connection.uri):
            try:
                with self._session(Access.READ) as session:
                    asked = neo4j.Query(_text(stored), timeout=self._read_timeout)
                    return [_native(record) for record in session.run(asked, _quiet(params))]
            except (Neo4jError, DriverError) as error:
                if not error.is_retryable():
                    raise
            work = neo4j.unit_of_work(timeout=self._read_timeout)(
                lambda tx: [_native(record) for record in tx.run(_text(stored), _quiet(params))])
            with self._session(Access.READ) as session:
                rows: list[Row] = session.execute_read(work)
                return rows

    def lookup(self, name: str, /, **params: Any) -> list[Row]:
        """As `read`, for a writer's own look-ups: without the time limit, and seeing what the writer just committed."""
        stored = reading(name)
        with errors(self.connection.uri), self._session(Access.WRITE) as session:
            rows: list[Row] = session.execute_read(
                lambda tx: [_native(record) for record in tx.run(_text(stored), _quiet(params))])
            return rows

    def stream(self, name: str, /, **params: Any) -> Iterator[Row]:
        """Rows of a stored read query as they arrive, without the timeout (whole-store checks and exports)."""
        stored = reading(name)
        with errors(self.connection.uri), self._session(Access.READ) as session:
            for record in session.run(_text(stored), _quiet(params)):
                yield _native(record)

    def write(self, work: Callable[[Transaction], T], *, metadata: Mapping[str, str] | None = None) -> tuple[T, Writes]:
        """Run `work` in one retrying transaction; returns its value and what the database counted.

        `work` may run several times (deadlocks, leader changes): it must not have effects outside the transaction.
        """
        def attempt(tx: neo4j.ManagedTransaction) -> tuple[T, Writes]:
            ours = Transaction(tx)
            return work(ours), ours.writes

        unit = neo4j.unit_of_work(timeout=self._write_timeout, metadata=dict(metadata or {}))(attempt)
        with errors(self.connection.uri), self._session(Access.WRITE) as session:
            result: tuple[T, Writes] = session.execute_write(unit)
            return result

    def rehearse(self, work: Callable[[Transaction], T], *, metadata: Mapping[str, str] | None = None) -> T:
        """What `work` returns, in a transaction of a writer that is always taken back: a dry run of what must be one transaction."""
        def attempt(tx: Transaction) -> None:
            raise _Rehearsed(work(tx))

        try:
            self.write(attempt, metadata=metadata)
        except _Rehearsed as done:
            found: T = done.found
            return found
        raise AssertionError("a rehearsal is never committed")

    def in_batches(self, name: str, /, **params: Any) -> None:
        """Run a stored write statement that commits batch by batch itself; it must be one that can be run again."""
        with errors(self.connection.uri), self._session(Access.WRITE) as session:
            session.run(_text(query(name)), params).consume()

    def schema(self, text: str) -> list[Row]:
        """Send one schema statement (auto-commit); only `store.migrations` calls it."""
        with errors(self.connection.uri), self._session(Access.SCHEMA) as session:
            return [dict(record) for record in session.run(_literal(text))]

    def explain(self, name: str, /, **params: Any) -> neo4j.ResultSummary:
        """The plan of a stored query, for the contract test and `gprov query show --plan`."""
        stored = query(name)
        with errors(self.connection.uri), self._driver.session(
            database=self.connection.database, default_access_mode=neo4j.WRITE_ACCESS,
            notifications_min_severity=NotificationMinimumSeverity.INFORMATION,
        ) as session:
            return session.run(_literal("EXPLAIN " + stored.text), params).consume()

    def server_version(self) -> str:
        """Version of the server, for example `2026.09.0`."""
        rows = self.read("store.server")
        return str(rows[0]["version"])


def reading(name: str | Query) -> Query:
    """The stored read query of that name. Raises ConfigurationError for one that writes."""
    stored = name if isinstance(name, Query) else query(name)
    if stored.access is not Access.READ:
        raise ConfigurationError(f"'{stored.name}' is not a read query.")
    return stored


def _native(record: neo4j.Record) -> Row:
    """A record with the driver's date-times as Python's, at any depth."""
    return {name: value if type(value) in _PLAIN else _value(value) for name, value in dict(record).items()}


_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
"""Types that stay as they are; most values, so they are passed over first."""


def as_record(row: Row) -> neo4j.Record:
    """A row as a record of the driver, for programs that take nothing else."""
    made: neo4j.Record = neo4j.Record(row)  # type: ignore[no-untyped-call]
    return made


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: item if type(item) in _PLAIN else _value(item) for name, item in value.items()}
    if isinstance(value, list):
        return [item if type(item) in _PLAIN else _value(item) for item in value]
    if isinstance(value, neo4j.time.DateTime):
        return value.to_native().astimezone(UTC)  # a named zone would go back as such, and Cypher orders equal instants by zone
    return value


class _Rows(list[Any]):
    """A list parameter that does not print its content: the driver formats every parameter of every statement for its own log,
    even when nobody listens, which costs more than sending them."""

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"


def _quiet(params: dict[str, Any]) -> dict[str, Any]:
    return {name: _Rows(value) if isinstance(value, list) else value for name, value in params.items()}


def _literal(text: str) -> Any:
    return text


def _text(stored: Query) -> Any:
    return stored.text


@contextmanager
def errors(uri: str) -> Iterator[None]:
    """Every driver error leaves as one of ours, with what to do."""
    try:
        yield
    except ProvenanceError:
        raise
    except AuthError:
        raise StoreUnavailableError(
            f"The server at {uri} refuses the credentials.", hint="Check NEO4J_USERNAME and NEO4J_PASSWORD."
        ) from None
    except (ServiceUnavailable, SessionExpired) as error:
        if (why := _tls_failure(error)) is not None:
            raise StoreUnavailableError(
                f"No TLS connection to {uri}: {why}.",
                hint="The server's certificate must be of an authority that this machine trusts (+ssc in the address: of any), and the "
                     "server must speak TLS.") from error
        hint = "Start it (gprov db start), or set NEO4J_URI."
        if "+s" in uri.partition("://")[0]:  # of a routed address the driver does not say why
            hint += " It ends like this, too, if the server speaks no TLS, or this machine does not trust its certificate."
        raise StoreUnavailableError(f"No Neo4j answers at {uri}.", hint=hint) from error
    except TransientError as error:
        raise StoreUnavailableError(f"The server is overloaded or changing: {_first(error)}", hint="Try again.") from error
    except ConstraintError as error:
        raise StoreConflictError(f"The store refused a duplicate: {_first(error)}") from error
    except ClientError as error:
        if "TransactionTimedOut" in (error.code or "") or "Terminated" in (error.code or ""):
            raise StoreTimeoutError("The query passed its time limit.", hint="Ask with fewer hops, a relation or a scope.") from error
        if "DatabaseNotFound" in (error.code or ""):
            raise StoreUnavailableError(f"{_first(error)}", hint="Check NEO4J_DATABASE.") from error
        raise StoreError(f"The server refused the query: {_first(error)}") from error
    except DatabaseError as error:
        raise StoreUnavailableError(f"The server failed: {_first(error)}", hint="See: gprov db logs.") from error
    except neo4j.exceptions.ConfigurationError as error:
        raise ConfigurationError(f"The server at {uri} cannot be used like this: {_first(error)}", hint="Check NEO4J_URI.") from error
    except GqlError as error:
        if isinstance(error, DriverError) and "closed" in str(error):
            raise StoreError("The store is closed.", hint="Open it again.") from error
        raise StoreError(f"The store failed: {_first(error)}") from error


def _tls_failure(error: BaseException | None) -> str | None:
    """Why the encryption failed, if it is that which failed."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return getattr(error, "verify_message", None) or (error.reason or type(error).__name__).lower().replace("_", " ")
        error = error.__cause__ or error.__context__
    return None


def _first(error: Exception) -> str:
    """Its words, in one line. Only an error of the server has them as its message; that of the driver's own is a general sentence."""
    text = (error.message if isinstance(error, Neo4jError) else None) or str(error)
    return next(iter(text.splitlines()), "") or type(error).__name__


def _check_address(uri: str) -> None:
    """Raise ConfigurationError for what is no address of a server; the driver would tell only when it connects, and in its own way."""
    try:
        parts = urlsplit(uri)
        host, _ = (parts.hostname or "").encode("idna"), parts.port
    except ValueError:
        host, parts = b"", urlsplit("")
    if parts.username is not None or parts.password is not None:  # not repeated: it would stand in messages and logs
        raise ConfigurationError("The address of the Neo4j server holds a user name or a password.",
                                 hint="Set NEO4J_USERNAME and NEO4J_PASSWORD instead.")
    if uri.partition("://")[0] not in _SCHEMES or not host:
        raise ConfigurationError(f"'{uri}' is no address of a Neo4j server.",
                                 hint="Write it as neo4j://HOST:7687 or bolt://HOST:7687; with TLS as neo4j+s:// or bolt+s://.")
