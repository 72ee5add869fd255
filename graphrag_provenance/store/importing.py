"""The end of an import from files: what the files could not say, and the proof that the store is the one they were made from.

Owns: that an imported store has the graph hash that the files name. Leaves to others: the files (`exports.import_files`), the import
itself (`server.admin`), lists and schema (`store.migrations`).
"""

from __future__ import annotations

from graphrag_provenance.errors import StoreConflictError
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.runs import store_state


def require_empty(database: Database) -> None:
    """Raises StoreConflictError for a database that holds anything, whoever wrote it: a bulk load would replace it."""
    if not database.read("store.empty")[0]["empty"]:
        raise StoreConflictError("The database is not empty, and a bulk load makes a new one.", hint="Leave out --bulk to add to it.")


def finish_import(database: Database, graph_hash: str | None) -> None:
    """Apply the schema (which first makes the lists that import files cannot say), and compare the graph hash with that of the files.

    A second call changes nothing. Raises StoreConflictError for a store that was not made from these files."""
    migrations.apply(database)
    found = (store_state(database) or {}).get("graph_hash")
    if found != graph_hash:
        raise StoreConflictError(f"The store is not the one of the files: its graph hash is {found}, theirs is {graph_hash}.",
                                 hint="Import the files first: neo4j-admin database import full, with the options in import.args.")
