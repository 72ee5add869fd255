"""Conflicts: two edges that cannot both hold, and edges that evidence speaks against (spec 4, release gate). Pure.

Owns: when two edges of a single-valued relation contradict each other. A relation that is not declared single-valued never makes a
conflict. Leaves to others: the declarations (`rules.relations`), which edges a reader may see (`store.traces`).

Rule: a single-valued relation has at most one target for a source within one scope; if it is symmetric too, at most one partner for
either end. Two current edges to different targets conflict if some environment, region and instant lies in the scope of both: a
field that is absent holds for every value, validity is half-open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from graphrag_provenance.rules.chains import Step
from graphrag_provenance.rules.relations import Relation

Relations = Mapping[str, Relation]
"""Relationship type → declaration."""
End = tuple[str, str, str]
"""(tenant, type, id)"""


@dataclass(frozen=True, slots=True, order=True)
class Conflict:
    """An edge and another that a declaration forbids beside it."""

    edge_id: str
    other: str
    relation: str

    def as_json(self) -> dict[str, str]:
        """The conflict as programs read it."""
        return {"edge_id": self.edge_id, "conflicts_with": self.other, "relation": self.relation}


@dataclass(frozen=True, slots=True)
class Place:
    """One edge as conflicts see it."""

    edge: Mapping[str, Any]
    """edge_id, environment, region, valid_from, valid_to, current."""
    type: str
    source: End
    target: End

    @classmethod
    def of(cls, step: Step) -> Place:
        """The place of a hop."""
        return cls(step.edge, step.type, step.source, step.target)


def ends_to_ask(place: Place, relations: Relations) -> tuple[End, ...]:
    """The entities that may have no other partner by this edge's relation; () where nothing is declared."""
    declared = relations.get(place.type)
    if declared is None or not declared.single_valued:
        return ()
    return (place.source, place.target) if declared.symmetric else (place.source,)


def in_conflict(one: Place, other: Place, relations: Relations) -> bool:
    """Whether the two contradict each other."""
    declared = relations.get(one.type)
    if declared is None or not declared.single_valued or one.type != other.type:
        return False
    if not (one.edge.get("current") and other.edge.get("current") and overlap(one.edge, other.edge)):
        return False
    if declared.symmetric:
        mine, theirs = {one.source, one.target}, {other.source, other.target}
        return mine != theirs and bool(mine & theirs)
    return one.source == other.source and one.target != other.target


def overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether some environment, region and instant lies in both scopes."""
    for name in ("environment", "region"):
        if None not in (one.get(name), other.get(name)) and one[name] != other[name]:
            return False
    starts = [value for value in (one.get("valid_from"), other.get("valid_from")) if value is not None]
    stops = [value for value in (one.get("valid_to"), other.get("valid_to")) if value is not None]
    return _before(max(starts, default=None), min(stops, default=None))


def _before(start: datetime | None, stop: datetime | None) -> bool:
    return start is None or stop is None or start < stop
