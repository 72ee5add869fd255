"""One entity merged into another (spec 3, runs: entity merge).

Owns: one transaction that moves the edges, aliases and statements of an entity to another one of its type and tenant, so a merge
happens whole or not at all. Nothing is deleted that history needs: what each record was is kept, and evidence that is stated of
another edge ends where it was and begins there with this run. Leaves to `rules.merging` what becomes of each edge, and to
`rules.publication` under which policies. Also owns the look-up of what was merged, for those who read records.

Cost: memory and time proportional to the edges of the merged entity and those of the other one, and one pass over the keys of the
tenant's edges, since no index knows the ends of an edge that is not published.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.edges import IDENTITY, Identity, Node
from graphrag_provenance.rules.fingerprints import joined
from graphrag_provenance.rules.history import blank
from graphrag_provenance.rules.merging import Merges, Standing, Union, unions
from graphrag_provenance.rules.statements import entity_counts, merge_attributes, node_digest, union
from graphrag_provenance.store.assertions import Rules, _load_sources, _read, _settle, _Work
from graphrag_provenance.store.counting import Outcome
from graphrag_provenance.store.database import Database, Transaction
from graphrag_provenance.store.entities import add_aliases, merged_names, moved_alias
from graphrag_provenance.store.history import keep
from graphrag_provenance.store.view import Key, Pending, changes

_BATCH = 1_000


def load_merges(database: Database) -> Merges:
    """Everything that was merged. Memory grows with that, not with the store."""
    return Merges({(row["tenant"], row["type"], row["id"]): row["into"] for row in database.lookup("entity.merged")},
                  {(row["tenant"], row["edge_id"]): row["into"] for row in database.lookup("edge.merged")})


@dataclass(frozen=True, slots=True)
class Asked:
    """Which entity is merged into which."""

    tenant: str
    type: str
    source: str
    """Id of the entity that is merged."""
    target: str
    """Id of the one that stands for both."""

    @property
    def keys(self) -> tuple[Key, Key]:
        """The keys of the two."""
        return (self.tenant, self.type, self.source), (self.tenant, self.type, self.target)


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of one edge."""

    before: Node
    after: Node
    """The edge itself, or the one that took it in."""


@dataclass(slots=True)
class Merged:
    """What a merge changed, or would change."""

    edges: list[Moved] = field(default_factory=list)
    """Every edge that moved, was taken in, or took others in."""
    evidence: int = 0
    """Evidence items that are stated of another edge from now on."""
    shared: int = 0
    """Of these, how many that edge had already."""
    aliases: list[Node] = field(default_factory=list)
    """The aliases of the other entity that came from the merged one."""


def check_merge(asked: Asked, source: Mapping[str, Any] | None, target: Mapping[str, Any] | None) -> tuple[Node, Node]:
    """The two entities. Raises NotFoundError if one does not exist, InputError if one was merged before."""
    for name, node in ((asked.source, source), (asked.target, target)):
        if node is None:
            raise NotFoundError(f"There is no entity {asked.type}:{name} in tenant {asked.tenant!r}.",
                                hint="Search for it: gprov entity find TEXT.")
        if node.get("merged_into") is not None:
            raise InputError(f"{asked.type}:{name} was merged into {asked.type}:{node['merged_into']} before.",
                             hint="Name the entity that stands for it, or undo that merge: gprov run rollback.")
    assert source is not None
    assert target is not None
    return dict(source), dict(target)


def merge(tx: Transaction, seq: int, rules: Rules, pending: Pending, asked: Asked, outcome: Outcome, change: MultisetHash) -> Merged:
    """Merge an entity into another one, as run `seq`; `change` takes the change of the graph hash. Raises as `check_merge`."""
    pending.load(tx, "entity", asked.keys)
    source, target = check_merge(asked, *(pending.get("entity", key) for key in asked.keys))
    rows = tx.run("edge.at_entities", tenant=asked.tenant, type=asked.type, ids=[asked.source, asked.target])
    standing = [Standing(row["edge"]["edge_id"], Identity(*(row["edge"][name] for name in Identity._fields)), row["edge"]["derived_id"])
                for row in rows]
    done = Merged()
    for batch in _batches(unions(asked.tenant, asked.type, asked.source, asked.target, standing)):
        _move_edges(tx, seq, rules, pending, asked.tenant, batch, outcome, change, done)
    _merge_nodes(tx, seq, asked, source, target, change, dry=pending.dry)
    _move_aliases(tx, seq, pending, asked, source, outcome, change, done)
    return done


def _batches(found: Sequence[Union]) -> Iterator[list[Union]]:
    batch: list[Union] = []
    size = 0
    for one in found:
        batch.append(one)
        size += 1 + len(one.joined)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _move_edges(
    tx: Transaction, seq: int, rules: Rules, pending: Pending, tenant: str, batch: Sequence[Union], outcome: Outcome,
    change: MultisetHash, done: Merged,
) -> None:
    works = _read(tx, pending, {(tenant, edge_id): None for one in batch for edge_id in (one.survivor, *one.joined)})
    _load_sources(tx, pending, ((tenant, item) for work in works.values() for item in work.stored))
    for one in batch:
        _unite(works[(tenant, one.survivor)], [works[(tenant, edge_id)] for edge_id in one.joined], one, done)
    _settle(tx, seq, rules, pending, works, outcome, change)
    for one in batch:
        after = works[(tenant, one.survivor)].node or {}
        for edge_id in (one.survivor, *one.joined):
            before = works[(tenant, edge_id)].old or {}
            done.edges.append(Moved(before, after))


def _unite(survivor: _Work, others: Sequence[_Work], what: Union, done: Merged) -> None:
    """What an edge says when it has moved and taken others in; these keep what identifies them."""
    node = {name: value for name, value in (survivor.node or {}).items() if name != "derived_id"}
    node |= {"relation": what.identity.relation, "source_id": what.identity.source_id, "target_id": what.identity.target_id}
    if what.derived_id is not None:
        node["derived_id"] = what.derived_id
    for other in others:
        taken = other.node or {}
        node["declared"] = union([*node["declared"], *taken["declared"]])
        node |= _attributes(node, taken)
        if taken.get("records"):
            node["records"] = joined(node.get("records"), taken["records"])
        fresh = [item for item in other.stored if item not in survivor.stored and item not in survivor.added]
        survivor.added |= dict.fromkeys(fresh)
        done.evidence += len(other.stored)
        done.shared += len(other.stored) - len(fresh)
        other.node = {**{name: taken[name] for name in IDENTITY if name in taken}, "declared": [], "merged_into": what.survivor}
        other.gives_up = other.restated = True
    survivor.node = node
    survivor.restated = survivor.rewritten = True


def _attributes(node: Node, taken: Node) -> Node:
    """The attributes of both: of two values the one stated by the later run, in one run the greater, as for records."""
    if not taken.get("attributes"):
        return {}
    stated, theirs = node.get("stated", 0), taken.get("stated", 0)
    old, new = (node, taken) if theirs >= stated else (taken, node)
    text = merge_attributes(old.get("attributes"), json.loads(new.get("attributes") or "{}"), later=stated != theirs)
    return {"attributes": text, "stated": max(stated, theirs)}


def _merge_nodes(
    tx: Transaction, seq: int, asked: Asked, source: Node, target: Node, change: MultisetHash, *, dry: bool
) -> None:
    """The merged entity is nothing but a sign to the other one, which takes over what was said of it."""
    sign = {**blank("entity", source), "merged_into": asked.target, "changed": seq}
    taken = {**target, "changed": seq, "policies": union([*target["policies"], *source["policies"]]),
             "declared": target["declared"] or source["declared"]}
    taken |= _attributes(target, source)
    if source.get("records"):
        taken["records"] = joined(target.get("records"), source["records"])
    pairs = []
    for key, old, new in zip(asked.keys, (source, target), (sign, taken), strict=True):
        if entity_counts(new):
            new["digest"] = node_digest("entity", new)
            change.add(new["digest"])
        if old.get("digest") is not None:
            change.remove(old["digest"])
        pairs.append((key, old, new))
    if not dry:
        keep(tx, seq, "entity", (source, target))
        tx.run("entity.update", rows=[{"key": list(key), "changes": changes(old, new)} for key, old, new in pairs])


def _move_aliases(
    tx: Transaction, seq: int, pending: Pending, asked: Asked, source: Node, outcome: Outcome, change: MultisetHash, done: Merged
) -> None:
    old = [row["node"] for row in tx.run("entity.aliases_of", tenant=asked.tenant, type=asked.type, id=asked.source)]
    for node in old:
        change.remove(node["digest"])
    if old and not pending.dry:
        keep(tx, seq, "alias", old)
        tx.run("history.drop_aliases", ids=[node["alias_id"] for node in old])
    key = asked.keys[1]
    new = [*(moved_alias(key, node, seq) for node in old), *merged_names(key, asked.source, source["names"], seq)]
    add_aliases(tx, pending, {node["alias_id"]: node for node in new}, outcome, change)
    done.aliases = sorted(new, key=lambda node: (node["alias"], node["method"], node["linker"], node["linker_version"]))
