"""The store's statements: what is sent, under which limit, and what an error means.

Owns: how a stored query is sent. Read queries run in READ sessions with a database-side timeout; write queries run in retrying
transactions. Leaves to others: how a statement travels (`links`: blocking sockets; `loop`: an event loop), the errors (`faults`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC
from typing import Any, TypeVar

import neo4j
import neo4j.time

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.queries import Access, Query, query
from graphrag_provenance.store.faults import check_address, errors, passing
from graphrag_provenance.store.links import Blocking, Link, Send
from graphrag_provenance.store.links import Connection as Connection  # every user of the store says where it is

T = TypeVar("T")
Row = dict[str, Any]


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
        """Everything that was written."""
        return self.nodes + self.relationships + self.properties


class _Rehearsed(Exception):
    """Takes a transaction back, and carries what it found."""

    def __init__(self, found: Any) -> None:
        super().__init__()
        self.found = found


class Transaction:
    """One open transaction; counts what it wrote."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.writes = Writes()

    def run(self, name: str | Query, /, *, counted: bool = True, **params: Any) -> list[Row]:
        """Send a stored query and return its rows. `counted`: whether its writes are part of `writes` (run records are not)."""
        records, summary = self._send((name if isinstance(name, Query) else query(name)).text, _quiet(params))
        if counted:
            counters = summary.counters
            self.writes += Writes(
                counters.nodes_created + counters.nodes_deleted,
                counters.relationships_created + counters.relationships_deleted,
                counters.properties_set,
            )
        return [_native(record) for record in records]


class Database:
    """A driver and the sessions on it. Close it, or use it in a `with` block. Safe to share between threads."""

    def __init__(
        self, connection: Connection, *, read_timeout: float = 10.0, write_timeout: float | None = None,
        retry_seconds: float = 30.0, link: Callable[[Connection, float], Link] = Blocking,
    ) -> None:
        self.connection = connection
        self._read_timeout = read_timeout
        self._write_timeout = write_timeout
        check_address(connection.uri)
        with errors(connection.uri):
            self._link = link(connection, retry_seconds)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; those of every `patient` one too."""
        with errors(self.connection.uri):
            self._link.close()

    def patient(self, read_timeout: float) -> Database:
        """The same connections and bookmarks, with another time limit of a read."""
        other = copy(self)
        other._read_timeout = read_timeout
        return other

    def verify(self) -> None:
        """Raise StoreUnavailableError unless the server answers and accepts the credentials."""
        with errors(self.connection.uri):
            self._link.verify()

    def read(self, name: str | Query, /, **params: Any) -> list[Row]:
        """All rows of a stored read query, in a READ session with the database-side timeout.

        First as an auto-commit transaction, which saves the round trip of a commit; after a passing fault in a retrying one."""
        text, quiet = reading(name).text, _quiet(params)
        with errors(self.connection.uri):
            try:
                records, _ = self._link.ask(neo4j.Query(_literal(text), timeout=self._read_timeout), quiet)
            except Exception as error:
                if not passing(error):
                    raise
                records, _ = self._link.transact(lambda send: send(text, quiet), writes=False, timeout=self._read_timeout)
            return [_native(record) for record in records]

    def lookup(self, name: str, /, **params: Any) -> list[Row]:
        """As `read`, for a writer's own look-ups: without the time limit, and seeing what the writer just committed."""
        text = reading(name).text
        with errors(self.connection.uri):
            records, _ = self._link.transact(lambda send: send(text, _quiet(params)), writes=False, timeout=None)
            return [_native(record) for record in records]

    def stream(self, name: str, /, **params: Any) -> Iterator[Row]:
        """Rows of a stored read query as they arrive, without the timeout (whole-store checks and exports)."""
        stored = reading(name)
        with errors(self.connection.uri):
            for record in self._link.stream(stored.text, _quiet(params)):
                yield _native(record)

    def write(self, work: Callable[[Transaction], T], *, metadata: Mapping[str, str] | None = None) -> tuple[T, Writes]:
        """Run `work` in one retrying transaction; returns its value and what the database counted.

        `work` may run several times (deadlocks, leader changes): it must not have effects outside the transaction.
        """
        def attempt(send: Send) -> tuple[T, Writes]:
            ours = Transaction(send)
            return work(ours), ours.writes

        with errors(self.connection.uri):
            return self._link.transact(attempt, writes=True, timeout=self._write_timeout, metadata=metadata)

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
        with errors(self.connection.uri):
            self._link.ask(query(name).text, params, writes=True)

    def schema(self, text: str) -> list[Row]:
        """Send one schema statement (auto-commit); only `store.migrations` calls it."""
        with errors(self.connection.uri):
            records, _ = self._link.ask(text, {}, writes=True)
            return [dict(record) for record in records]

    def explain(self, name: str, /, **params: Any) -> neo4j.ResultSummary:
        """The plan of a stored query, for the contract test and `gprov query show --plan`."""
        with errors(self.connection.uri):
            _, summary = self._link.ask("EXPLAIN " + query(name).text, params, writes=True, noting=True)
            return summary

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
    row = dict(record)
    _settle(row, row.items())
    return row


_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
"""Types that stay as they are; most values, so they are passed over first."""


def as_record(row: Row) -> neo4j.Record:
    """A row as a record of the driver, for programs that take nothing else."""
    made: neo4j.Record = neo4j.Record(row)  # type: ignore[no-untyped-call]
    return made


def _settle(whole: Any, parts: Iterable[tuple[Any, Any]]) -> None:
    """Replace what is not as Python has it, in place: the driver made these maps and lists for this row alone."""
    for place, value in parts:
        kind = type(value)
        if kind in _PLAIN:
            continue
        if kind is dict:
            _settle(value, value.items())
        elif kind is list:
            _settle(value, enumerate(value))
        elif kind is neo4j.time.DateTime:
            whole[place] = value.to_native().astimezone(UTC)  # a named zone would go back as such, and Cypher orders equal instants by zone


class _Rows(list[Any]):
    """A list parameter that does not print its content: the driver formats every parameter of every statement for its own log,
    even when nobody listens, which costs more than sending them."""

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"


def _quiet(params: dict[str, Any]) -> dict[str, Any]:
    return {name: _Rows(value) if isinstance(value, list) else value for name, value in params.items()}


def _literal(text: str) -> Any:
    return text
