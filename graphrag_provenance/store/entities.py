"""Loading entities and their aliases (spec 1, entity).

Owns: one transaction over a batch of entity records, and the entities that edges name without a record. Names and aliases
accumulate; an id that the normaliser changed stays reachable as an `exact` alias.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.model.identifiers import ID_RULE, derive_id, normalise_entity_id
from graphrag_provenance.model.records import AliasMethod, EntityRecord
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.fingerprints import noted
from graphrag_provenance.rules.merging import LINKER, LINKER_VERSION
from graphrag_provenance.rules.statements import Node, merge_entity, node_digest
from graphrag_provenance.store.counting import Outcome
from graphrag_provenance.store.database import Transaction
from graphrag_provenance.store.history import keep_changed
from graphrag_provenance.store.view import Key, Pending, View, changes

_LINKER, _, _LINKER_VERSION = ID_RULE.partition("/")


@dataclass(frozen=True, slots=True)
class EntityItem:
    """A validated entity record with its tenant."""

    record: EntityRecord
    tenant: str
    fingerprint: bytes
    into: str | None = None
    """The id of the entity that stands for the one of the record, if that was merged."""

    @property
    def key(self) -> Key:
        """The key of the entity that the record is about."""
        return self.tenant, self.record.type, self.into or normalise_entity_id(self.record.id)


def apply_entities(tx: Transaction, seq: int, view: View, items: Sequence[EntityItem]) -> tuple[Outcome, MultisetHash, Pending]:
    """Merge a batch of entity records into the store."""
    pending, outcome, change = Pending(view), Outcome(), MultisetHash()
    keys = [item.key for item in items]
    pending.load(tx, "entity", keys)
    aliases: dict[str, Node] = {}
    for item, key in zip(items, keys, strict=True):
        known = pending.get("entity", key)
        pending.set("entity", key, noted(
            known, merge_entity(known, item.tenant, item.record, seq, into=item.into), item.fingerprint))
        if item.record.attributes:
            pending.restate("entity", key)
        canonical = normalise_entity_id(item.record.id)
        if item.record.id != canonical:
            _add(aliases, original_alias(key, item.record.id, seq))
        if item.into is not None:
            for alias in merged_names(key, canonical, [item.record.name], seq):
                _add(aliases, alias)
        for stated in item.record.aliases:
            _add(aliases, _alias(key, stated.alias, stated.method.value, stated.linker, stated.linker_version, seq))
    for key in dict.fromkeys(keys):
        node, old = pending.new["entity"][key], pending.old["entity"].get(key)
        digest = node_digest("entity", node)
        if old is not None and old.get("digest") == digest:
            outcome.entities["unchanged"] += 1
            continue
        if old is not None and old.get("digest") is not None:
            change.remove(old["digest"])
        change.add(digest)
        pending.set("entity", key, {**node, "digest": digest, "changed": seq})
        outcome.entities["created" if old is None or not old.get("declared") else "updated"] += 1
    if not pending.dry:
        created = pending.created("entity")
        if created:
            tx.run("entity.create", rows=[{"props": node} for node in created])
        changed = keep_changed(tx, seq, "entity", pending)
        if changed:
            tx.run("entity.update", rows=[{"key": list(key), "changes": changes(old, new)} for key, old, new in changed])
    add_aliases(tx, pending, aliases, outcome, change)
    return outcome, change, pending


def ensure_entities(tx: Transaction, seq: int, pending: Pending, keys: Iterable[Key], outcome: Outcome) -> None:
    """Create the ends of new edges that no record declared (in key order, so that two writers lock in one order)."""
    wanted = set(keys)
    pending.load(tx, "entity", wanted)
    missing = sorted(key for key in wanted if pending.get("entity", key) is None)
    if not missing:
        return
    if pending.dry:
        outcome.entities["from_edges"] += len(missing)
    else:
        outcome.entities["from_edges"] += tx.run("entity.ensure", rows=[list(key) for key in missing], since=seq)[0]["created"]
    for key in missing:
        pending.set("entity", key, {
            "tenant": key[0], "type": key[1], "id": key[2], "name": key[2], "names": [], "policies": [], "declared": False, "since": seq})


def original_alias(key: Key, written: str, seq: int) -> Node:
    """The alias that keeps an id as it was written before the normaliser."""
    return _alias(key, written, AliasMethod.EXACT.value, _LINKER, _LINKER_VERSION, seq)


def merged_names(key: Key, merged: str, names: Iterable[str], seq: int) -> list[Node]:
    """The aliases that the id and the names of a merged entity become."""
    return [_alias(key, name, AliasMethod.DECLARED.value, LINKER, LINKER_VERSION, seq) for name in {merged, *names}]


def moved_alias(key: Key, alias: Node, seq: int) -> Node:
    """An alias of a merged entity as one of the entity that stands for it."""
    return _alias(key, alias["alias"], alias["method"], alias["linker"], alias["linker_version"], seq)


def _alias(key: Key, alias: str, method: str, linker: str, version: str, seq: int) -> Node:
    node: dict[str, Any] = {
        "tenant": key[0], "type": key[1], "id": key[2], "lookup": normalise_entity_id(alias), "alias": alias, "method": method,
        "linker": linker, "linker_version": version, "since": seq}
    node["alias_id"] = derive_id("alias", [key, alias, method, linker, version])
    node["digest"] = node_digest("alias", node)
    return node


def _add(aliases: dict[str, Node], node: Node) -> None:
    aliases.setdefault(node["alias_id"], node)


def add_aliases(tx: Transaction, pending: Pending, aliases: Mapping[str, Node], outcome: Outcome, change: MultisetHash) -> None:
    """Store the aliases that are new (another worker may store one of them at the same time: who creates it counts it)."""
    if not aliases:
        return
    known = {row["alias_id"] for row in tx.run("entity.aliases", ids=sorted(aliases))}
    created = [alias_id for alias_id in sorted(aliases) if alias_id not in known]
    if pending.dry:
        created = [alias_id for alias_id in created if alias_id not in pending.view.aliases]
        pending.view.aliases |= {alias_id: aliases[alias_id] for alias_id in created}
    elif created:
        rows = tx.run("entity.create_aliases", rows=[{"props": aliases[alias_id]} for alias_id in created])
        created = [row["alias_id"] for row in rows]
    outcome.entities["aliases"] += len(created)
    for alias_id in created:
        change.add(aliases[alias_id]["digest"])
