"""The live access references that a tenant's published edges stand under.

Owns: listing them, a bounded page of edges at a time. For an access source whose own list may have ended early: it checks
these one by one, so that nothing that is open is missing. They are keys, not grants; nobody is shown them.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphrag_provenance.model.readers import Reader
from graphrag_provenance.store.database import Database

_PAGE = 5_000


def stored_references(database: Database, reader: Reader) -> Iterator[str]:
    """Every reference of a published edge of the reader's tenant, once. One round trip per 5,000 edges that have any."""
    after, seen = "", set[str]()
    while rows := database.read("read.references", tenant=reader.tenant, after=after, limit=_PAGE):
        after = rows[0]["last"]
        new = [key for key in rows[0]["references"] if key not in seen]
        seen.update(new)
        yield from new
