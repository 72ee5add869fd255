"""Two entities become one (spec 3, runs: entity merge).

Owns: what the edges of the merged entity say afterwards, which of them are united and under which id, and where records go from
then on that name the merged entity, or an edge that another one took in. Pure.

An edge that names the merged entity names the other one instead. Its id stays. Edges that said different things before and say
the same now collide: they are one from then on, under the id of the edge that said so already, else the least. An edge whose id
is derived from what it says answers, from then on, also to the id that is derived from what it says now (`derived_id`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from graphrag_provenance.errors import StoreError
from graphrag_provenance.model.identifiers import normalise_entity_id
from graphrag_provenance.rules.edges import Edge, Identity, derived_edge_id

LINKER, LINKER_VERSION = "gprov/entity-merge", "1"
"""What declares the id and the names of a merged entity to be aliases of the other one."""


class Standing(NamedTuple):
    """An edge at one of the two entities, as it stands."""

    edge_id: str
    identity: Identity
    derived_id: str | None
    """The id, other than its own, that a record without one derives for it."""


@dataclass(frozen=True, slots=True)
class Union:
    """What becomes of an edge that moves, or that others join."""

    survivor: str
    """Its id: unchanged."""
    identity: Identity
    """What it says afterwards."""
    derived_id: str | None
    """The id, other than its own, that it answers to afterwards."""
    joined: tuple[str, ...] = ()
    """The edges that it takes in."""


def renamed(identity: Identity, kind: str, source: str, target: str) -> Identity:
    """What an edge says when the entity `source` of that type is `target`."""
    def end(of: str, name: str) -> str:
        return target if (of, name) == (kind, source) else name

    return identity._replace(source_id=end(identity.source_type, identity.source_id),
                             target_id=end(identity.target_type, identity.target_id))


def unions(tenant: str, kind: str, source: str, target: str, edges: Iterable[Standing]) -> list[Union]:
    """What becomes of the edges at two entities when `source` is merged into `target`. Edges that stay as they are are left out."""
    groups: dict[tuple[Any, ...], list[Standing]] = {}
    for edge in edges:
        groups.setdefault(_said(renamed(edge.identity, kind, source, target)), []).append(edge)
    found: list[Union] = []
    for group in groups.values():
        moving = [one for one in group if renamed(one.identity, kind, source, target) != one.identity]
        if not moving:
            continue
        if len({_said(one.identity) for one in group}) == 1:  # nothing collides
            found += [_union(tenant, kind, source, target, one, ()) for one in moving]
            continue
        staying = [one for one in group if one not in moving]
        survivor = min(staying or moving, key=lambda one: (not _answers(tenant, one), one.edge_id))
        found.append(_union(tenant, kind, source, target, survivor, [one for one in moving if one is not survivor]))
    return sorted(found, key=lambda one: one.survivor)


def _said(identity: Identity) -> tuple[Any, ...]:
    """What two edges have in common that say the same."""
    return (identity.relation.upper(), *identity[1:])


def _answers(tenant: str, edge: Standing) -> bool:
    """Whether records that state no id are about the edge."""
    return edge.derived_id is not None or edge.edge_id == derived_edge_id(tenant, edge.identity)


def _union(tenant: str, kind: str, source: str, target: str, survivor: Standing, joined: Iterable[Standing]) -> Union:
    group = [survivor, *joined]
    identity = renamed(survivor.identity, kind, source, target)._replace(relation=min(one.identity.relation for one in group))
    derived = derived_edge_id(tenant, identity) if any(_answers(tenant, one) for one in group) else None
    return Union(survivor.edge_id, identity, None if derived == survivor.edge_id else derived,
                 tuple(sorted(one.edge_id for one in group[1:])))


@dataclass(frozen=True, slots=True)
class Merges:
    """Where records go that name an entity that was merged, or an edge that another one took in."""

    entities: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    """(tenant, type, id) → id of the entity that it was merged into."""
    edges: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(tenant, edge id) → id of the edge that took it in, or that answers to this derived id."""

    def entity(self, tenant: str, kind: str, entity_id: str) -> str:
        """The id of the entity that stands for this one, itself if it was not merged. Raises StoreError for a circle."""
        for _ in range(len(self.entities) + 1):
            into = self.entities.get((tenant, kind, entity_id))
            if into is None:
                return entity_id
            entity_id = into
        raise _circle(f"{kind}:{entity_id}")

    def edge_id(self, tenant: str, edge_id: str) -> str:
        """The id of the edge that stands for this one. Raises StoreError for a circle."""
        for _ in range(len(self.edges) + 1):
            into = self.edges.get((tenant, edge_id))
            if into is None:
                return edge_id
            edge_id = into
        raise _circle(edge_id)

    def concern(self, tenant: str, value: Mapping[str, Any]) -> bool:
        """Whether an edge record, as parsed and perhaps invalid, names a merged entity."""
        return bool(self.entities) and any(self._merged(tenant, value.get(side)) for side in ("source", "target"))

    def _merged(self, tenant: str, end: object) -> bool:
        if not isinstance(end, dict):
            return False
        kind, name = end.get("type"), end.get("id")
        return isinstance(kind, str) and isinstance(name, str) and (tenant, kind, normalise_entity_id(name)) in self.entities

    def edge(self, edge: Edge) -> Edge:
        """The edge that a record is about: its ends and its id are those that stand for the ones that it names."""
        if not (self.entities or self.edges):
            return edge
        said, tenant = edge.identity, edge.tenant
        now = said._replace(source_id=self.entity(tenant, said.source_type, said.source_id),
                            target_id=self.entity(tenant, said.target_type, said.target_id))
        edge_id = edge.edge_id
        if now != said and edge_id == derived_edge_id(tenant, said):
            edge_id = derived_edge_id(tenant, now)
        originals = tuple((kind, self.entity(tenant, kind, name), written) for kind, name, written in edge.originals)
        return replace(edge, edge_id=self.edge_id(tenant, edge_id), identity=now, originals=originals)


def _circle(name: str) -> StoreError:
    return StoreError(f"What was merged leads back to {name!r} in a circle.", hint="Check the store: gprov verify.")
