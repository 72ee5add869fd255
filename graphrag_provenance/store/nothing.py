"""A store that holds nothing and takes nothing (spec 6, bulk load).

Owns: that what is worked out for a store that does not exist yet is asked of none. The rules of a load are the same, in a dry run over
this store: every look-up finds nothing, and a statement that would write is a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from graphrag_provenance.queries import Query, query
from graphrag_provenance.queries.catalogue import Access
from graphrag_provenance.store.database import Connection, Database, Row, Transaction, Writes

T = TypeVar("T")


class _Nothing(Transaction):
    def __init__(self) -> None:
        self.writes = Writes()

    def run(self, name: str | Query, /, *, counted: bool = True, **params: Any) -> list[Row]:
        if (name if isinstance(name, Query) else query(name)).access is not Access.READ:
            raise AssertionError(f"{name} would write to a store that is not there")
        return []


class EmptyDatabase(Database):
    """Answers every look-up with nothing."""

    def __init__(self) -> None:
        self.connection = Connection("nowhere")

    def close(self) -> None:
        """There is nothing to close."""

    def read(self, name: object, /, **params: Any) -> list[Row]:
        """Nothing."""
        return []

    def lookup(self, name: str, /, **params: Any) -> list[Row]:
        """Nothing."""
        return []

    def write(self, work: Callable[[Transaction], T], *, metadata: Mapping[str, str] | None = None) -> tuple[T, Writes]:
        """What the work returns, when it finds nothing and writes nothing."""
        return work(_Nothing()), Writes()
