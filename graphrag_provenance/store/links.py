"""How a statement travels to the server and its rows come back.

Owns: sessions, their settings, bookmarks, and what the driver does by itself (retries of a transaction). There are two ways with the
same meaning: sockets that block the thread (`Blocking`, here), and an event loop (`loop`). What is asked, under which limit, and what
an error means is decided once, for both, by `database`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import neo4j
from neo4j import GraphDatabase, NotificationMinimumSeverity
from pydantic import SecretStr

from graphrag_provenance.store.shield import uninterrupted

T = TypeVar("T")
Asked = Any
"""A statement, or one with its time limit: `str | neo4j.Query` (the driver's type admits literals only)."""
Answer = tuple[list[neo4j.Record], neo4j.ResultSummary]
Send = Callable[[Asked, Mapping[str, Any]], Answer]
"""Sends a statement in an open transaction."""
_PAGE = 1000
"""Rows that the server sends at a time."""


@dataclass(frozen=True)
class Connection:
    """Where the store is."""

    uri: str
    username: str = "neo4j"
    password: SecretStr = field(default_factory=lambda: SecretStr(""))
    database: str | None = None


class Link(Protocol):
    """One way to a server. Raises the driver's errors."""

    def verify(self) -> None:
        """Whether the server answers and accepts the credentials: it raises unless."""

    def close(self) -> None:
        """Close every connection."""

    def ask(self, asked: Asked, params: Mapping[str, Any], *, writes: bool = False, noting: bool = False) -> Answer:
        """All rows of a statement that is a transaction of its own. `noting`: with the server's notes about the statement."""
        ...

    def stream(self, asked: Asked, params: Mapping[str, Any]) -> Iterator[neo4j.Record]:
        """As `ask`, rows as they arrive."""
        ...

    def transact(
        self, work: Callable[[Send], T], *, writes: bool, timeout: float | None, metadata: Mapping[str, str] | None = None,
    ) -> T:
        """What `work` returns in one transaction, which is tried again after a passing fault."""
        ...


def driver_options(connection: Connection, retry_seconds: float) -> dict[str, Any]:
    """How every driver is made."""
    return {
        "uri": connection.uri, "auth": (connection.username, connection.password.get_secret_value()),
        "notifications_min_severity": NotificationMinimumSeverity.OFF, "user_agent": "graphrag-provenance",
        "connection_acquisition_timeout": 30, "max_transaction_retry_time": retry_seconds,
    }


def session_options(connection: Connection, *, writes: bool, noting: bool = False) -> dict[str, Any]:
    """How every session is opened."""
    return {
        "database": connection.database, "default_access_mode": neo4j.WRITE_ACCESS if writes else neo4j.READ_ACCESS, "fetch_size": _PAGE,
        **({"notifications_min_severity": NotificationMinimumSeverity.INFORMATION} if noting else {}),
    }


class Blocking:
    """Sockets that block the thread which asks. Safe to share between threads. Ctrl-C waits for what is asked, but for a stream."""

    def __init__(self, connection: Connection, retry_seconds: float) -> None:
        self._connection = connection
        self._driver = GraphDatabase.driver(**driver_options(connection, retry_seconds))
        self._bookmarks = GraphDatabase.bookmark_manager()

    def verify(self) -> None:
        """As `Link`."""
        uninterrupted(self._driver.verify_connectivity)

    def close(self) -> None:
        """As `Link`."""
        self._driver.close()

    def _session(self, *, writes: bool, noting: bool = False) -> neo4j.Session:
        return self._driver.session(bookmark_manager=self._bookmarks, **session_options(self._connection, writes=writes, noting=noting))

    def ask(self, asked: Asked, params: Mapping[str, Any], *, writes: bool = False, noting: bool = False) -> Answer:
        """As `Link`."""
        def answered() -> Answer:
            with self._session(writes=writes, noting=noting) as session:
                return _all(session.run(asked, dict(params)))

        return uninterrupted(answered)

    def stream(self, asked: Asked, params: Mapping[str, Any]) -> Iterator[neo4j.Record]:
        """As `Link`."""
        with self._session(writes=False) as session:
            yield from session.run(asked, dict(params))

    def transact(
        self, work: Callable[[Send], T], *, writes: bool, timeout: float | None, metadata: Mapping[str, str] | None = None,
    ) -> T:
        """As `Link`."""
        def attempt(tx: neo4j.ManagedTransaction) -> T:
            return work(lambda asked, params: _all(tx.run(asked, dict(params))))

        unit = neo4j.unit_of_work(timeout=timeout, metadata=dict(metadata or {}))(attempt)

        def transacted() -> T:
            with self._session(writes=writes) as session:
                result: T = (session.execute_write if writes else session.execute_read)(unit)
                return result

        return uninterrupted(transacted)


def _all(result: neo4j.Result) -> Answer:
    return list(result), result.consume()
