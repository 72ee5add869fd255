"""What a run knows of the nodes it touches: a write-through cache over the keyed look-ups.

Owns: reading documents, revisions, chunks and entities by key in batches, and remembering them. Only the run that holds the
store writes, so what it remembers stays true. In a dry run nothing is written and the view keeps everything it was given:
it is the only place where the would-be state exists.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from graphrag_provenance.rules.heads import Candidate
from graphrag_provenance.store.database import Transaction

Kind = Literal["document", "revision", "chunk", "entity"]
Key = tuple[str, ...]
Node = dict[str, Any]

_QUERY: dict[Kind, str] = {
    "document": "source.documents", "revision": "source.revisions", "chunk": "source.chunks", "entity": "entity.entities",
}


class View:
    """Nodes by kind and key. Safe to share between the threads of one run."""

    def __init__(self, *, dry: bool = False, limit: int = 100_000) -> None:
        self.dry = dry
        self._limit = limit
        self._lock = threading.Lock()
        self._nodes: dict[Kind, OrderedDict[Key, Node]] = {kind: OrderedDict() for kind in _QUERY}
        self._candidates: dict[Key, dict[str, Candidate]] = {}
        self.planned: dict[Key, tuple[Node, list[Any]]] = {}

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
        return found

    def put(self, kind: Kind, nodes: Mapping[Key, Node]) -> None:
        """Remember nodes that are committed (or, in a dry run, would be)."""
        cached = self._nodes[kind]
        with self._lock:
            for key, node in nodes.items():
                if node.get("text") is not None:
                    node = {name: value for name, value in node.items() if name != "text"}
                cached[key] = node
            while not self.dry and len(cached) > self._limit:
                cached.popitem(last=False)

    def remember_candidates(self, document: Key, candidates: Mapping[str, Candidate]) -> None:
        """Dry run only: revisions of a document that the store does not have."""
        if self.dry:
            self._candidates.setdefault(document, {}).update(candidates)

    def candidates(self, document: Key) -> dict[str, Candidate]:
        """What `remember_candidates` was given."""
        return dict(self._candidates.get(document, {}))


class Pending:
    """A view with the changes of one transaction laid over it; nothing reaches the view before the commit."""

    def __init__(self, view: View) -> None:
        self._view = view
        self.old: dict[Kind, dict[Key, Node]] = {kind: {} for kind in _QUERY}
        self.new: dict[Kind, dict[Key, Node]] = {kind: {} for kind in _QUERY}

    @property
    def dry(self) -> bool:
        """Whether this is a dry run."""
        return self._view.dry

    def load(self, tx: Transaction, kind: Kind, keys: Iterable[Key]) -> None:
        """Read what exists of `keys`, so that `get` knows it."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self.new[kind] and key not in self.old[kind]]
        if wanted:
            self.old[kind] |= self._view.get(tx, kind, wanted)

    def get(self, kind: Kind, key: Key) -> Node | None:
        """The node as it will be after this transaction; `load` it first."""
        return self.new[kind].get(key) or self.old[kind].get(key)

    def set(self, kind: Kind, key: Key, node: Node) -> None:
        """Change or add a node."""
        self.new[kind][key] = node

    def created(self, kind: Kind) -> list[Node]:
        """Nodes that are new."""
        return [node for key, node in self.new[kind].items() if key not in self.old[kind]]

    def changed(self, kind: Kind) -> list[tuple[Key, Node, Node]]:
        """(key, old, new) of nodes that differ."""
        return [(key, self.old[kind][key], node) for key, node in self.new[kind].items()
                if key in self.old[kind] and node != self.old[kind][key]]

    def candidates(self, document: Key) -> dict[str, Candidate]:
        """Dry-run revisions of a document."""
        return self._view.candidates(document)

    def remember_edge(self, tenant: str, edge_id: str, node: Node | None, citations: list[Any]) -> None:
        """Dry run only: the state an edge would have."""
        if self.dry and node is not None:
            self._view.planned[(tenant, edge_id)] = (node, citations)

    def planned_edge(self, key: Key) -> tuple[Node, list[Any]] | None:
        """What `remember_edge` was given."""
        return self._view.planned.get(key)

    def commit(self) -> None:
        """After the commit: the view learns what was written."""
        for kind, nodes in self.new.items():
            if nodes:
                self._view.put(kind, nodes)


def changes(old: Node, new: Node) -> Node:
    """The properties to set (None removes) to make `old` into `new`."""
    differing = {name: value for name, value in new.items() if old.get(name) != value}
    return differing | {name: None for name in old if name not in new}
