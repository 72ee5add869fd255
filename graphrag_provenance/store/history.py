"""Past versions in the store (spec 3, as-of): kept in the transaction that changes a record, never changed again.

Owns: keeping them, copied from what is stored. Nothing is kept when a run changes what it wrote itself. Call before the change.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphrag_provenance.model.identifiers import canonical_text
from graphrag_provenance.rules.history import Kept, Node, key_of
from graphrag_provenance.store.database import Transaction
from graphrag_provenance.store.view import Key, Kind, Pending


def keep(tx: Transaction, seq: int, kind: Kept, nodes: Iterable[Node]) -> None:
    """Keep what nodes are, which run `seq` is about to change."""
    keys = [key_of(kind, node) for node in nodes]
    if keys:
        tx.run(f"history.keep_{kind}", rows=[{"key": list(key), "text": canonical_text(key)} for key in keys], seq=seq)


def keep_changed(tx: Transaction, seq: int, kind: Kind, pending: Pending) -> list[tuple[Key, Node, Node]]:
    """Keep what the changed nodes of a transaction were, and note the run on what they become: (key, old, new) of each."""
    for key, _, new in pending.changed(kind):
        pending.set(kind, key, {**new, "changed": seq})
    changed = pending.changed(kind)
    keep(tx, seq, kind, (old for _, old, _ in changed))
    return changed
