"""Conflicts of edges, as far as a reader may see (spec 4, release gate).

Owns: reading the edges that stand beside a given one, for one reader. Leaves to others: when two contradict each other
(`rules.conflicts`).
"""

from __future__ import annotations

from collections.abc import Iterable

from graphrag_provenance.errors import StoreConflictError
from graphrag_provenance.queries import query
from graphrag_provenance.rules.conflicts import Conflict, Place, Relations, ends_to_ask, in_conflict
from graphrag_provenance.store.database import Row
from graphrag_provenance.store.readers import Views, may_see
from graphrag_provenance.store.together import Ask, Search

_MOST_RELOADS = 3


def rivals_of(views: Views, places: Iterable[Place], relations: Relations) -> Search[list[tuple[Conflict, Place]]]:
    """What contradicts these edges, of what the reader may see, sorted. What is hidden is not read, and not believed if it were."""
    given = list(places)
    asked = {(place.type, end): None for place in given for end in ends_to_ask(place, relations)}
    ends = [{"relation": kind, "type": end[1], "id": end[2]} for kind, end in asked]
    view = views.now
    for _ in range(_MOST_RELOADS if ends else 0):
        rows = yield Ask(query("read.rivals"), "ends", ends, view)
        if all(row["policies_hash"] == view.policies_hash for row in rows):
            others = [_place(row) for row in rows if may_see(view, row["edge"])]
            found = {(Conflict(one.edge["edge_id"], other.edge["edge_id"], one.type), other.edge["edge_id"]): other
                     for one in given for other in others if in_conflict(one, other, relations)}
            return [(conflict, found[conflict, other]) for conflict, other in sorted(found)]
        view = views.after(view)
    if ends:
        raise StoreConflictError("The policy order changes while it is read.", hint="Ask again when the policy run has ended.")
    return []


def _place(row: Row) -> Place:
    source, target = row["source"], row["target"]
    return Place(row["edge"], row["type"], *((one["tenant"], one["type"], one["id"]) for one in (source, target)))
