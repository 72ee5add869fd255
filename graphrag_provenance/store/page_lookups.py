"""Look-ups of many things at once, for pages that show them beside others (spec 5, auditor's page).

Owns: nothing that is not owned elsewhere: who may see an edge or read a passage is `store.seeing`'s, in the statement and again here.
What the reader may not see is absent from the answer, like what does not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.chains import Address
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.readers import Visibility, may_see
from graphrag_provenance.store.seeing import confirmed_read, may_read

Place = tuple[str, str]
"""(doc@version, chunk)."""


class Tally(NamedTuple):
    """The active evidence of an edge, counted, and what the edge stands under."""

    supports: int
    refutes: int
    policies: tuple[str, ...]
    """Empty for a reader who is no auditor."""


def passage_texts(
    database: Database, reader: Reader, places: Iterable[Place], granted: Collection[str] = frozenset(), *,
    access: AccessSource | None = None,
) -> dict[Place, str]:
    """The texts of passages that the reader may read by themselves; one without a stored text is absent."""
    wanted = list(dict.fromkeys(places))

    def read(view: Visibility) -> tuple[dict[Place, str], set[str]]:
        rows = database.read("quote.texts", keys=[[view.tenant, *place] for place in wanted]) if wanted else []
        open_ = [row for row in rows if row["text"] is not None and may_read(view, row)]
        return ({(row["key"][1], row["key"][2]): row["text"] for row in open_},
                {key for row in open_ for key in row["references"]})

    return confirmed_read(database, access, reader, granted, read)


def evidence_tallies(
    database: Database, reader: Reader, edge_ids: Iterable[str], granted: Collection[str] = frozenset(), *,
    access: AccessSource | None = None,
) -> dict[str, Tally]:
    """Edge id → its active evidence, counted; of published edges that the reader sees. Policies are empty for who is no auditor."""
    wanted = list(dict.fromkeys(edge_ids))

    def read(view: Visibility) -> tuple[dict[str, Tally], set[str]]:
        rows = database.read("read.edge_tallies", **view.params(), edge_ids=wanted) if wanted else []
        seen = [row for row in rows if may_see(view, row["assertion"])]
        return ({row["assertion"]["edge_id"]: Tally(
                    row["supports"], row["refutes"], tuple(row["assertion"]["policies"]) if reader.is_auditor else ()) for row in seen},
                {key for row in seen for key in row["assertion"]["acl"]})

    return confirmed_read(database, access, reader, granted, read)


def entity_aliases(
    database: Database, reader: Reader, entities: Iterable[Address], granted: Collection[str] = frozenset(), *,
    access: AccessSource | None = None,
) -> dict[Address, list[str]]:
    """(type, id) → the aliases of entities that the reader sees, sorted."""
    wanted = [list(one) for one in dict.fromkeys(entities)]

    def read(view: Visibility) -> tuple[dict[Address, list[str]], None]:
        rows = database.read("read.entity_aliases", **view.params(), entities=wanted) if wanted else []
        return {(row["type"], row["id"]): sorted(set(row["aliases"])) for row in rows}, None

    return confirmed_read(database, access, reader, granted, read)
