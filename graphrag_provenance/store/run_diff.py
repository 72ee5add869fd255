"""The edges that differ between two generations (spec 5, auditor's page: the diff between two runs).

Owns: which of them an auditor may see. Past versions and the present one are compared by their content. An edge is told of if the
auditor may see every published one of its three versions: before, after, and now; unpublished ones are for auditors as in every look-up.
What is hidden is not counted. Evidence is counted that only one of the two generations has: who sees the edge there may see that.
Leaves to others: what a difference is (`rules.run_diff`).

Cost: one walk over the keys of the tenant's edges, and two seeks for each that changed since.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.model.identifiers import canonical_text
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.answers import Json
from graphrag_provenance.rules.publication import State
from graphrag_provenance.rules.run_diff import change_of, differing
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.lookups import edge_json
from graphrag_provenance.store.readers import Visibility, may_see, require_role
from graphrag_provenance.store.seeing import confirmed_read

MOST_CHANGES = 1_000
_PAGE = 500


def run_diff(
    database: Database, reader: Reader, before: int, after: int, granted: Collection[str] = frozenset(), *, start: str = "",
    limit: int = MOST_CHANGES, access: AccessSource | None = None,
) -> Json:
    """Edges of the reader's tenant that differ between the generations `before` and `after`, by edge id, those behind `start`.

    Generation 0 is the empty store. `next`: where to go on if there are more than `limit`, else None. Raises AccessDeniedError
    without the role auditor, InputError for generations in the wrong order, NotFoundError for a run that is not there or has not ended.
    """
    require_role(reader, Role.AUDITOR, action="Comparing runs")
    if not 0 <= before < after:
        raise InputError("The first run comes before the second one.", hint="Name the earlier run first.")
    for seq in (before, after):
        rows = database.read("run.by_seq", seq=seq) if seq else [{"run": {"status": "finished"}}]
        if not rows or rows[0]["run"]["status"] == "running":
            raise NotFoundError(f"There is no run {seq} that has ended.", hint="See: gprov run list.")

    def read(view: Visibility) -> tuple[Json, set[str]]:
        found: list[Json] = []
        references: set[str] = set()
        at, more = start, True
        while more and len(found) < limit:
            ids = [row["edge_id"] for row in database.read(
                "history.changed_edges", tenant=view.tenant, seq=before, after=at, limit=_PAGE)]
            more = len(ids) == _PAGE
            asked = [{"tenant": view.tenant, "edge_id": one, "key": canonical_text([view.tenant, one])} for one in ids]
            rows = database.read("history.edges_between", edges=asked, before=before, after=after) if asked else []
            by_id = {row["assertion"]["edge_id"]: row for row in rows}
            for at in ids:
                row = by_id[at]
                versions = [one for one in (row["before"], row["after"], row["assertion"]) if one is not None]
                change = change_of(row["before"], row["after"])
                if change is not None and all(_open(view, one) for one in versions):
                    references.update(key for one in versions if one["state"] == State.PUBLISHED for key in one["acl"])
                    found.append({"change": change.value, "differs": differing(row["before"], row["after"]),
                                  "evidence": {"came": row["came"], "went": row["went"]},
                                  "before": _told(row["before"], reader), "after": edge_json(row["after"], reader)})
                    if len(found) == limit:
                        more = more or at != ids[-1]
                        break
        return {"schema": 1, "before": before, "after": after, "edges": found, "next": at if more else None}, references

    return confirmed_read(database, access, reader, granted, read)


def _open(view: Visibility, edge: Json) -> bool:
    return edge["tenant"] == view.tenant and (edge["state"] != State.PUBLISHED or may_see(view, edge))


def _told(edge: dict[str, Any] | None, reader: Reader) -> Json | None:
    return None if edge is None else edge_json(edge, reader)
