"""The state after an earlier run, restored by a later one (spec 3, `run rollback`).

Owns: one transaction that puts back every record as it was after run `to`, so a rollback happens whole or not at all. Each record
is one of three: changed since (its version is put back), come since (nothing is left of it but its key; an alias goes), or
neither. Evidence intervals end and begin with the run that rolls back; nothing is deleted that history needs. That the
result is the earlier state is not believed but compared: the graph hash must be the one that run `to` recorded.

Cost: memory and time proportional to what changed since `to`, and one scan of the keys of what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from graphrag_provenance.errors import StoreError
from graphrag_provenance.model.identifiers import relationship_type
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.edges import Citation, Node, assertion_digest, relationship_properties, stored_citation
from graphrag_provenance.rules.history import Kept, as_it_was, blank, key_of
from graphrag_provenance.rules.publication import State
from graphrag_provenance.store.database import Transaction
from graphrag_provenance.store.history import keep
from graphrag_provenance.store.view import Key, changes

_BATCH = 5_000
_READ: dict[Kept, str] = {
    "document": "source.documents", "revision": "source.revisions", "chunk": "source.chunks", "entity": "entity.entities"}
_UPDATE: dict[Kept, str] = {
    "document": "source.update_documents", "revision": "source.update_revisions", "chunk": "source.update_chunks",
    "entity": "entity.update"}


@dataclass(slots=True)
class Restored:
    """What a rollback changed, or would change."""

    records: dict[str, int] = field(default_factory=dict)
    """Changed records by kind."""
    changed: list[tuple[Node, Node]] = field(default_factory=list)
    """Each edge as it was and as it is."""
    ended: int = 0
    """Evidence items that count no longer."""
    begun: int = 0
    """Evidence items that count again."""


def restore(tx: Transaction, seq: int, to: int, change: MultisetHash, *, dry: bool = False) -> Restored:
    """Put everything back as it was after run `to`, as run `seq`; `change` takes the change of the graph hash."""
    wanted = _wanted(tx, to)
    done = Restored()
    for kind in _READ:
        _restore_nodes(tx, seq, kind, wanted[kind], change, done, dry=dry)
    _restore_aliases(tx, seq, wanted["alias"], change, done, dry=dry)
    for keys in _batches(wanted["assertion"]):
        _restore_edges(tx, seq, to, {key: wanted["assertion"][key] for key in keys}, change, done, dry=dry)
    return done


def _wanted(tx: Transaction, to: int) -> dict[Kept, dict[Key, Node | None]]:
    """Kind → key → the node to put back; None: nothing was there."""
    wanted: dict[Kept, dict[Key, Node | None]] = {kind: {} for kind in (*_READ, "alias", "assertion")}
    for row in tx.run("history.ended_after", seq=to):
        kind: Kept = row["past"]["kind"]
        node = as_it_was(row["past"])
        wanted[kind][key_of(kind, node)] = node
    for row in tx.run("history.newer", seq=to):
        wanted[row["kind"]].setdefault(key_of(row["kind"], row["node"]), None)
    return wanted


def _exchange(change: MultisetHash, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> None:
    before, after = (old or {}).get("digest"), (new or {}).get("digest")
    if before is not None:
        change.remove(before)
    if after is not None:
        change.add(after)


def _restore_nodes(
    tx: Transaction, seq: int, kind: Kept, wanted: Mapping[Key, Node | None], change: MultisetHash, done: Restored, *, dry: bool
) -> None:
    for keys in _batches(wanted):
        pairs: list[tuple[Key, Node, Node]] = []
        for row in tx.run(_READ[kind], keys=[list(key) for key in keys]):
            key, old = tuple(row["key"]), row["node"]
            new = {**(wanted[key] or blank(kind, old)), "changed": seq}
            if _same(old, new):
                continue
            _exchange(change, old, new)
            pairs.append((key, old, new))
        done.records[kind] = done.records.get(kind, 0) + len(pairs)
        if pairs and not dry:
            keep(tx, seq, kind, (old for _, old, _ in pairs))
            tx.run(_UPDATE[kind], rows=[{"key": list(key), "changes": changes(old, new)} for key, old, new in pairs])


def _batches(keys: Iterable[Key]) -> Iterator[list[Key]]:
    rest = iter(keys)
    while batch := list(islice(rest, _BATCH)):
        yield batch


_NO_CONTENT = frozenset({"changed", "records"})


def _same(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return all(old.get(name) == new.get(name) for name in {*old, *new} - _NO_CONTENT)


def _restore_aliases(
    tx: Transaction, seq: int, wanted: Mapping[Key, Node | None], change: MultisetHash, done: Restored, *, dry: bool
) -> None:
    there = {row["node"]["alias_id"]: row["node"] for row in tx.run("history.aliases", ids=[key[0] for key in wanted])}
    gone = [there[alias_id] for (alias_id,), node in wanted.items() if node is None and alias_id in there]
    back = [{**node, "changed": seq} for (alias_id,), node in wanted.items() if node is not None and alias_id not in there]
    for node in gone:
        _exchange(change, node, None)
    for node in back:
        _exchange(change, None, node)
    done.records["alias"] = len(gone) + len(back)
    if dry:
        return
    keep(tx, seq, "alias", gone)
    if gone:
        tx.run("history.drop_aliases", ids=[node["alias_id"] for node in gone])
    if back:
        tx.run("entity.create_aliases", rows=[{"props": node} for node in back])


@dataclass(slots=True)
class _Intervals:
    """The intervals of one evidence item of an edge."""

    stated: bool = False
    """Whether it counted, or would have counted in force, after the run that is restored."""
    active: bool = False
    """Whether it was in force then."""
    open: dict[str, Any] | None = None
    """The interval that is active now."""
    dormant: dict[str, Any] | None = None
    """The interval that has ended, and is stated still."""


def _intervals(evidence: Sequence[dict[str, Any]], to: int) -> dict[Citation, _Intervals]:
    found: dict[Citation, _Intervals] = {}
    for item in evidence:
        one = found.setdefault(stored_citation(item), _Intervals())
        until, dropped = item.get("until"), item.get("dropped")
        one.stated = one.stated or (item["since"] <= to and (dropped is None or dropped > to))
        one.active = one.active or (item["since"] <= to and (until is None or until > to))
        if until is None:
            one.open = item
        elif dropped is None:
            one.dormant = item
    return found


def _restore_edges(
    tx: Transaction, seq: int, to: int, wanted: Mapping[Key, Node | None], change: MultisetHash, done: Restored, *, dry: bool
) -> None:
    old_nodes: list[Node] = []
    rows: dict[str, list[Any]] = {name: [] for name in (
        "edge.update", "edge.move_evidence", "edge.add_evidence", "edge.withdraw", "edge.publish")}
    marked: list[list[str]] = []
    cleared: list[list[str]] = []
    for row in tx.run("history.intervals", keys=[list(key) for key in wanted]):
        old = row["node"]
        key = key_of("assertion", old)
        new = {**(wanted[key] or blank("assertion", old)), "changed": seq}
        evidence = _intervals(row["evidence"], to)
        active = [item for item, one in evidence.items() if one.active]
        moved, begun = _move(seq, new, evidence)
        if _same(old, new) and not moved and not begun:
            continue
        if assertion_digest(new, active) != new.get("digest"):
            raise StoreError(f"History does not give edge {key[1]!r} as it was after run {to}.", hint="Check the store: gprov verify.")
        _exchange(change, old, new)
        done.changed.append((old, new))
        done.ended += sum(one.open is not None and not one.active for one in evidence.values())
        done.begun += sum(one.active and one.open is None for one in evidence.values())
        old_nodes.append(old)
        rows["edge.update"].append({"props": new})
        rows["edge.move_evidence"] += moved
        rows["edge.add_evidence"] += begun
        if old["state"] == State.PUBLISHED:
            rows["edge.withdraw"].append([*_ends(old), key[1]])
        if new["state"] == State.PUBLISHED:
            rows["edge.publish"].append([*_ends(new), relationship_type(new["relation"]), relationship_properties(new, active)])
        if old["state"] != new["state"]:
            if new["state"] == State.WITHHELD:
                marked.append(list(key))
            if old["state"] == State.WITHHELD:
                cleared.append(list(key))
    done.records["assertion"] = done.records.get("assertion", 0) + len(old_nodes)
    if not dry:
        _send(tx, seq, old_nodes, rows, marked, cleared)


def _ends(node: Node) -> list[Any]:
    return [node[name] for name in ("tenant", "source_type", "source_id", "target_type", "target_id")]


def _send(
    tx: Transaction, seq: int, old_nodes: Iterable[Node], rows: Mapping[str, list[Any]], marked: list[list[str]],
    cleared: list[list[str]],
) -> None:
    keep(tx, seq, "assertion", old_nodes)
    for name, parts in rows.items():
        if parts:
            tx.run(name, rows=parts)
    for name, keys in (("edge.mark_withheld", marked), ("edge.clear_withheld", cleared)):
        if keys:
            tx.run(name, keys=keys)


def _move(seq: int, node: Node, evidence: Mapping[Citation, _Intervals]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Intervals that end or are dropped, and those that begin anew."""
    moved: list[dict[str, Any]] = []
    begun: list[dict[str, Any]] = []
    for item, one in evidence.items():
        if one.open is not None and not one.active:
            moved.append({"id": one.open["id"], "since": one.open["since"], "until": seq, "dropped": None if one.stated else seq})
        if one.dormant is not None and (one.active or not one.stated):
            moved.append({"id": one.dormant["id"], "since": one.dormant["since"], "until": one.dormant["until"], "dropped": seq})
        if one.stated and one.open is None and (one.active or one.dormant is None):
            span = {"since": seq} if one.active else {"since": seq, "until": seq}
            begun.append({"tenant": node["tenant"], "edge_id": node["edge_id"], "doc": item.doc, "chunk": item.chunk,
                          "props": item.properties() | span})
    return moved, begun
