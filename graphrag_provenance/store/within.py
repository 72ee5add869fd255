"""The store as one open transaction sees it (spec 3, staged generations).

Owns: that whatever is asked of a Database, or written through one, is asked and written inside the transaction: it sees what the
transaction wrote, and nobody else sees that before the commit. Nothing here commits; there is no time limit for one statement, since
a statement that runs into it takes the whole transaction with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from graphrag_provenance.queries import Query
from graphrag_provenance.store.database import Database, Row, Transaction, Writes, reading

T = TypeVar("T")


class Within(Database):
    """A Database over an open transaction of another one. Safe to share between threads: they take turns."""

    def __init__(self, outer: Database, tx: Transaction) -> None:
        self.connection = outer.connection
        self._open = tx
        self._turn = threading.RLock()

    def close(self) -> None:
        """Nothing: the transaction is somebody else's."""

    def verify(self) -> None:
        """Nothing: whoever opened the transaction knows that the server answers."""

    def read(self, name: str | Query, /, **params: Any) -> list[Row]:
        """All rows of a stored read query."""
        with self._turn:
            return self._open.run(reading(name), counted=False, **params)

    def lookup(self, name: str, /, **params: Any) -> list[Row]:
        """As `read`."""
        return self.read(name, **params)

    def stream(self, name: str, /, **params: Any) -> Iterator[Row]:
        """As `read`; the rows are all there when the first one is."""
        yield from self.read(name, **params)

    def write(self, work: Callable[[Transaction], T], *, metadata: Mapping[str, str] | None = None) -> tuple[T, Writes]:
        """Run `work` once, as a part of the transaction; returns its value and what the database counted for this part."""
        with self._turn:
            before = self._open.writes
            self._open.writes = Writes()
            try:
                return work(self._open), self._open.writes
            finally:
                self._open.writes = before + self._open.writes
