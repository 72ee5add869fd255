"""What a run knows of the nodes it touches: a write-through cache over the keyed look-ups.

Owns: reading documents, revisions, chunks and entities by key in batches, and remembering them. Only the run that holds the
store writes, so what it remembers stays true. In a dry run nothing is written and the view keeps everything it was given:
it is the only place where the would-be state exists.

Also owns what a run remembers for longer than a batch: which nodes were stated again in this run without a change (a node in
memory has this run as `stated` then, the store keeps the earlier one), so that input that contradicts itself comes to rest,
and which edges were counted as unchanged. Both are bounded: contradictions further apart than `limit` keys are settled anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.heads import Candidate
from graphrag_provenance.store.database import Transaction

Kind = Literal["document", "revision", "chunk", "entity"]
Key = tuple[str, ...]
Node = dict[str, Any]

_QUERY: dict[Kind, str] = {
    "document": "source.documents", "revision": "source.revisions", "chunk": "source.chunks", "entity": "entity.entities",
}

_MET = 1_000_000
_REMEMBERED = 25_000
"""Nodes of a kind, at 1 to 2 KB each: a load of any length stays below 500 MB (benchmarks, `memory`)."""


class View:
    """Nodes by kind and key. Safe to share between the threads of one run."""

    def __init__(self, *, seq: int = 0, completes: frozenset[int] = frozenset(), dry: bool = False, limit: int = _REMEMBERED,
                 virgin: bool = False, whole: bool = False) -> None:
        self.dry = dry
        self._whole = whole
        self._met: set[int] | None = set() if virgin else None
        self.seq = seq
        self.completes = completes
        self._limit = limit
        self.restated = _Recent(limit)
        self.unchanged = _Recent(limit)
        self.aliases: dict[str, Node] = {}
        self._declared: dict[str, set[str]] = {}
        self._lock = threading.Lock()
        self._nodes: dict[Kind, OrderedDict[Key, Node]] = {kind: OrderedDict() for kind in _QUERY}
        self._candidates: dict[Key, dict[str, Candidate]] = {}
        self.planned: dict[Key, tuple[Node, dict[Any, Any]]] = {}
        self.sum = MultisetHash()
        """Dry run only: the change of the graph hash."""

    def unmet(self, kind: str, key: Key) -> bool:
        """Whether the store surely has no record of that kind and key: the store was empty when the run began, and the run has not met
        the key. Meets it. Remembers a million hashes; from then on, and where two hashes are equal, it says no: look it up."""
        if self._met is None or len(self._met) >= _MET:
            self._met = None
            return False
        mark = hash((kind, key))
        if mark in self._met:
            return False
        self._met.add(mark)
        return True

    def get(self, tx: Transaction, kind: Kind, keys: Iterable[Key]) -> dict[Key, Node]:
        """The nodes that exist, by key: one round trip for all that are not remembered."""
        found: dict[Key, Node] = {}
        missing: list[Key] = []
        cached = self._nodes[kind]
        with self._lock:
            for key in dict.fromkeys(keys):
                node = cached.get(key)
                if node is None:
                    missing.append(key)
                else:
                    found[key] = node
        if missing:
            rows = tx.run(_QUERY[kind], keys=[list(key) for key in missing])
            read = {tuple(row["key"]): row["node"] for row in rows}
            self.put(kind, read)
            found |= read
        if not self.restated:
            return found
        return {key: self.together(kind, key, node) for key, node in found.items()}

    def together(self, kind: str, key: Key, node: Node) -> Node:
        """A stored node; what was stated again in this run (a resumed one repeats what it has) counts as stated in it."""
        return {**node, "stated": self.seq} if (kind, *key) in self.restated else node

    def put(self, kind: Kind, nodes: Mapping[Key, Node]) -> None:
        """Remember nodes that are committed (or, in a dry run, would be)."""
        cached = self._nodes[kind]
        with self._lock:
            for key, node in nodes.items():
                if node.get("text") is not None and not self._whole:
                    node = {name: value for name, value in node.items() if name != "text"}
                cached[key] = node
                if self.dry and kind == "document" and node["registered"]:
                    self.declare(key)
            while not self.dry and len(cached) > self._limit:
                cached.popitem(last=False)

    def nodes(self, kind: Kind) -> Mapping[Key, Node]:
        """What is remembered of one kind; in a dry run over an empty store all that the store would hold. (With `whole` texts, too.)"""
        return self._nodes[kind]

    def remember_candidates(self, document: Key, candidates: Mapping[str, Candidate]) -> None:
        """Dry run only: revisions of a document that the store does not have."""
        if self.dry:
            self._candidates.setdefault(document, {}).update(candidates)

    def leave_edges(self, edges: Mapping[Key, int | None]) -> int:
        """Edges (with the run that changed each last) stay as they are. Returns how many of them are to be counted: each once a
        run, and none that the run changed."""
        counted = [key for key, changed in edges.items() if self._changed(key, changed) != self.seq and key not in self.unchanged]
        self.unchanged.change(counted)
        return len(counted)

    def _changed(self, edge: Key, stored: int | None) -> int | None:
        """Which run changed an edge last; a dry run's own changes are not in the store."""
        planned = self.planned.get(edge)
        return stored if planned is None else planned[0]["changed"]

    def declare(self, document: Key) -> None:
        """Dry run only: this load declares the document."""
        self._declared.setdefault(document[1], set()).add(document[0])

    def declared_elsewhere(self, document: Key) -> bool:
        """Dry run only: whether this load declares the document in another tenant."""
        return bool(self.declaring(document[1]) - {document[0]})

    def declaring(self, doc_id: str) -> set[str]:
        """Dry run only: the tenants in which this load declares the document."""
        return self._declared.get(doc_id, set())

    def candidates(self, document: Key) -> dict[str, Candidate]:
        """What `remember_candidates` was given."""
        return dict(self._candidates.get(document, {}))


class _Recent:
    """The keys added last. Safe to share between threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._keys: OrderedDict[Key, None] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def change(self, added: Iterable[Key], removed: Iterable[Key] = ()) -> None:
        with self._lock:
            for key in removed:
                self._keys.pop(key, None)
            for key in added:
                self._keys[key] = None
            while len(self._keys) > self._limit:
                self._keys.popitem(last=False)


class Pending:
    """A view with the changes of one transaction laid over it; nothing reaches the view before the commit."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.old: dict[Kind, dict[Key, Node]] = {kind: {} for kind in _QUERY}
        self.new: dict[Kind, dict[Key, Node]] = {kind: {} for kind in _QUERY}
        self._asked: dict[Kind, set[Key]] = {kind: set() for kind in _QUERY}
        self._restated: set[Key] = set()
        self._unchanged: set[Key] = set()
        self._changed: set[Key] = set()

    @property
    def view(self) -> View:
        """What the run knows."""
        return self._view

    @property
    def dry(self) -> bool:
        """Whether this is a dry run."""
        return self._view.dry

    def load(self, tx: Transaction, kind: Kind, keys: Iterable[Key]) -> None:
        """Read what exists of `keys`, so that `get` knows it."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self._asked[kind]]
        if wanted:
            self._asked[kind].update(wanted)
            self.old[kind] |= self._view.get(tx, kind, wanted)

    def get(self, kind: Kind, key: Key) -> Node | None:
        """The node as it will be after this transaction. `load` it first: what nobody asked for is not taken for absent, since a
        source that is overlooked is a policy that is overlooked."""
        if key not in self._asked[kind]:
            raise LookupError(f"{kind} {key} was not loaded")
        return self.new[kind].get(key) or self.old[kind].get(key)

    def set(self, kind: Kind, key: Key, node: Node) -> None:
        """Change or add a node."""
        self.new[kind][key] = node

    def created(self, kind: Kind) -> list[Node]:
        """Nodes that are new."""
        return [node for key, node in self.new[kind].items() if key not in self.old[kind]]

    def changed(self, kind: Kind) -> list[tuple[Key, Node, Node]]:
        """(key, old, new) of nodes that differ in more than the run that stated them last."""
        return [(key, self.old[kind][key], node) for key, node in self.new[kind].items()
                if key in self.old[kind] and differ(self.old[kind][key], node)]

    def candidates(self, document: Key) -> dict[str, Candidate]:
        """Dry-run revisions of a document."""
        return self._view.candidates(document)

    def restate(self, kind: Kind, key: Key) -> None:
        """This run states fields of a node anew, though without a change that would be stored."""
        node = self.new[kind][key]
        if node.get("stated") != self._view.seq:
            self.new[kind][key] = {**node, "stated": self._view.seq}
            self._restated.add((kind, *key))

    def restate_edge(self, key: Key) -> None:
        """As `restate`, of an assertion."""
        self._restated.add(("edge", *key))

    def leave_edge(self, key: Key, node: Node) -> bool:
        """An edge stays as it is. Returns whether that is to be counted: once a run, and not if the run changed it."""
        first = node["changed"] != self._view.seq and key not in self._view.unchanged
        if first:
            self._unchanged.add(key)
        return first

    def change_edge(self, key: Key) -> bool:
        """An edge changes. Returns whether this run counted it as unchanged before."""
        self._changed.add(key)
        return key in self._view.unchanged

    def remember_edge(self, tenant: str, edge_id: str, node: Node | None, evidence: dict[Any, Any]) -> None:
        """Dry run only: the state an edge would have."""
        if self.dry and node is not None:
            self._view.planned[(tenant, edge_id)] = (node, evidence)

    def planned_edge(self, key: Key) -> tuple[Node, dict[Any, Any]] | None:
        """What `remember_edge` was given."""
        return self._view.planned.get(key)

    def commit(self) -> None:
        """After the commit: the view learns what was written."""
        for kind, nodes in self.new.items():
            if nodes:
                self._view.put(kind, nodes)
        self._view.restated.change(self._restated)
        self._view.unchanged.change(self._unchanged, self._changed)


def differ(old: Node, new: Node) -> bool:
    """Whether two states of a node differ in more than the run that stated them last."""
    return old != new and any(old.get(name) != new.get(name) for name in {*old, *new} - {"stated"})


def changes(old: Node, new: Node) -> Node:
    """The properties to set (None removes) to make `old` into `new`."""
    differing = {name: value for name, value in new.items() if name == "stated" or old.get(name) != value}
    return differing | {name: None for name in old if name not in new}
