"""The end of `gprov db import`: which store is finished.

Owns: that the local server is meant where the files were imported into it. Leaves to others: how it is finished (`store.importing`).
"""

from __future__ import annotations

from graphrag_provenance.config import Settings
from graphrag_provenance.interfaces.cli.context import open_database
from graphrag_provenance.store.importing import finish_import


def finish_store(settings: Settings, graph_hash: str | None, *, local: bool) -> None:
    """Finish the local store, or the one that the settings name."""
    chosen = settings.model_copy(update={"neo4j_uri": None}) if local else settings
    with open_database(chosen) as database:
        finish_import(database, graph_hash)
