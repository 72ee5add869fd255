"""Lists that import files cannot say: empty ones, and those of one empty text.

Owns: that they are made before anything else is done with an imported store, and once. Leaves to others: the files
(`exports.import_files`), when a store counts as imported (`migrations`: data without any schema).
"""

from __future__ import annotations

from graphrag_provenance.store.database import Database

MARKER = "import_lists"
"""Property that names the lists of an imported node or relationship that are empty (`name`), or hold one empty text (`name=`)."""


def make_lists(database: Database) -> None:
    """Make the lists, and remove what names them. Cut off, it is completed by a second call; a third one changes nothing."""
    database.in_batches("import.node_lists", marker=MARKER)
    database.in_batches("import.relationship_lists", marker=MARKER)
