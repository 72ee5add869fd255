"""Stores made of import files: the end of `gprov db import`, and `gprov ingest --bulk`.

Owns: which store is finished, and that a bulk load meets an empty one. Leaves to others: what the files hold (`ingest.bulk`,
`exports.import_files`), the import (`server.admin`), how it is finished (`store.importing`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import InputError
from graphrag_provenance.exports.import_files import ImportFolder, import_arguments, read_manifest
from graphrag_provenance.ingest import IngestOptions, Summary
from graphrag_provenance.ingest.bulk import bulk_load
from graphrag_provenance.ingest.shuffling import shuffle
from graphrag_provenance.integrations.spark import spark_stages
from graphrag_provenance.interfaces.cli.context import open_database, say
from graphrag_provenance.interfaces.cli.progress import shown
from graphrag_provenance.server.admin import import_files
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.store.importing import finish_import, require_empty


def finish_store(settings: Settings, graph_hash: str | None, *, local: bool) -> None:
    """Finish the local store, or the one that the settings name."""
    chosen = settings.model_copy(update={"neo4j_uri": None}) if local else settings
    with open_database(chosen) as database:
        finish_import(database, graph_hash)


def bulk_files(paths: Sequence[Path], options: IngestOptions, folder: Path, *, spark: bool = False) -> Summary:
    """The records as import files in an empty folder; no server is needed. `spark`: worked out by Spark."""
    with shown() as progress:
        return bulk_load(paths, options, ImportFolder(folder), folder / "unfinished", progress=progress,
                         means=spark_stages if spark else shuffle)


def bulk_into_local(settings: Settings, paths: Sequence[Path], options: IngestOptions) -> Summary:
    """The records in the local store, which must be empty. Raises InputError where another server is set."""
    if settings.neo4j_uri is not None:
        raise InputError("A bulk load goes into the local server, and NEO4J_URI names another.",
                         hint="Write the files with --bulk-files DIR, and import them there.")
    with open_database(settings) as database:
        require_empty(database)
    with tempfile.TemporaryDirectory(prefix="gprov-bulk-") as name:
        folder = Path(name)
        summary = bulk_files(paths, options, folder)
        say("Importing the files; the local Neo4j is stopped for it.")
        import_files(LocalServer(settings, notify=say), import_arguments(folder))
        finish_store(settings, read_manifest(folder)["graph_hash"], local=True)
    return summary
