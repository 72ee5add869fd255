"""What an export reads: everything, or all of one tenant, whatever its policies (spec 5, exports).

Owns: that only an operator reads it, and that all of it belongs to one state of the store. Leaves to others: the form (`exports`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graphrag_provenance.errors import StoreConflictError
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.orders import require_settled, stored_policies
from graphrag_provenance.store.readers import require_role
from graphrag_provenance.store.runs import store_state

Key = tuple[str, str]
_KEYS = 1_000
"""Keys a look-up."""


class Everything:
    """The content of the store, kind by kind, as it stands in the graph."""

    def __init__(self, database: Database, tenant: str, everything: bool, state: Row) -> None:
        self._database = database
        self._params: dict[str, Any] = {"tenant": tenant, "everything": everything}
        self.all_tenants = everything
        """Whether it is the content of every tenant."""
        self.order: PolicyLattice | None = stored_policies(state)
        """The order of policies that the store applies."""
        self.graph_hash: str | None = state.get("graph_hash")
        """Of the whole store."""

    def documents(self) -> Iterator[Row]:
        """`node`, `revisions` of each document that a record or a tombstone is about."""
        return self._database.stream("export.documents", **self._params)

    def revisions(self) -> Iterator[Row]:
        """`node` of each declared revision."""
        return self._database.stream("export.revisions", **self._params)

    def chunks(self) -> Iterator[Row]:
        """`node` of each declared chunk."""
        return self._database.stream("export.chunks", **self._params)

    def entities(self) -> Iterator[Row]:
        """`node`, `aliases` of each entity that is declared or has an alias."""
        return self._database.stream("export.entities", **self._params)

    def edges(self) -> Iterator[Row]:
        """`node`, `evidence` of each edge; evidence that counts, and that would count again."""
        return self._database.stream("export.edges", **self._params)

    def edge_history(self, edge_id: str | None = None) -> Iterator[Row]:
        """`node`, `evidence` of each edge, or of one of the reader's tenant; evidence that ended, too."""
        if edge_id is None:
            return self._database.stream("export.edge_history", **self._params)
        return self._database.stream("export.one_edge_history", tenant=self._params["tenant"], edge_id=edge_id)

    def revisions_of(self, keys: Sequence[Key]) -> Iterator[Row]:
        """`node` of the revisions with these keys (tenant, doc), as far as there are any."""
        return self._of("source.revisions", keys)

    def documents_of(self, keys: Sequence[Key]) -> Iterator[Row]:
        """`node` of the documents with these keys (tenant, doc_id), as far as there are any."""
        return self._of("source.documents", keys)

    def _of(self, name: str, keys: Sequence[Key]) -> Iterator[Row]:
        for start in range(0, len(keys), _KEYS):
            yield from self._database.read(name, keys=[list(key) for key in keys[start:start + _KEYS]])

    def nodes(self) -> Iterator[Row]:
        """`id`, `labels`, `properties` of every node of the product, all tenants; applied migrations are left out."""
        return self._database.stream("export.nodes")

    def relationships(self) -> Iterator[Row]:
        """`start`, `end`, `type`, `properties` of every relationship between two of them."""
        return self._database.stream("export.relationships")

    def runs(self) -> Iterator[Row]:
        """`node` of each run, in order; runs belong to no tenant."""
        return self._database.stream("verify.runs")


@contextmanager
def export_everything(database: Database, reader: Reader, *, all_tenants: bool = False) -> Iterator[Everything]:
    """The content of the reader's tenant, or of all. Raises AccessDeniedError without the role operator; StoreConflictError at the
    end if somebody wrote meanwhile: what was read is then no state that ever was."""
    require_role(reader, Role.OPERATOR, action="Exporting")
    before = _state(database)
    require_settled(before)
    yield Everything(database, reader.tenant, all_tenants, before)
    if _moved(before) != _moved(_state(database)):
        raise StoreConflictError("The store was written to during the export.", hint="Throw the export away and export again.")


def _state(database: Database) -> Row:
    return dict(store_state(database) or {})


def _moved(state: Row) -> tuple[Any, ...]:
    """What differs once a run has begun or ended; a run under way changes the content without it, so there must be none."""
    if state.get("writer"):
        raise StoreConflictError("A run is writing to the store.", hint="Export when it has ended: gprov run list.")
    return state.get("head_seq"), state.get("digest"), state.get("policies_hash")
