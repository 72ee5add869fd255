"""Whether what was merged is sound: a sign to what stands for it, and nothing else (spec 3, entity merge; spec 5, `verify`).

Owns: which records break that. A merge that can be followed in a circle, or to nothing, would lose the records that name it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphrag_provenance.errors import StoreError
from graphrag_provenance.rules.edges import Identity, Node, derived_edge_id
from graphrag_provenance.rules.invariants import Invariant
from graphrag_provenance.rules.merging import Merges
from graphrag_provenance.rules.soundness import Say
from graphrag_provenance.store.database import Row

_TOLD = {
    "entity": "a merged entity has a name, a statement, an edge or an alias of its own, or leads to no entity",
    "edge": "an edge that another one took in is not retracted, has evidence, or leads to no edge",
    "derived": "two edges answer to one derived id",
}


def check_merged(rows: Iterable[Row], merges: Merges, say: Callable[[object, object], Say]) -> None:
    """Check what was merged; `rows` are those of `verify.merged`."""
    for row in rows:
        say(row["tenant"], row["record"])(Invariant.MERGED, _TOLD[row["what"]])
    for tenant, kind, name in merges.entities:
        try:
            merges.entity(tenant, kind, name)
        except StoreError:
            say(tenant, f"{kind}:{name}")(Invariant.MERGED, "an entity was merged in a circle")
    for tenant, edge_id in merges.edges:
        try:
            merges.edge_id(tenant, edge_id)
        except StoreError:
            say(tenant, edge_id)(Invariant.MERGED, "an edge was taken in in a circle")


def check_stands(say: Say, node: Node, merges: Merges) -> None:
    """An edge that counts ends at no merged entity, and answers to no id but its own and the derived one."""
    if node.get("merged_into") is not None:
        return
    ends = ((node["source_type"], node["source_id"]), (node["target_type"], node["target_id"]))
    if merges.entities and any((node["tenant"], *end) in merges.entities for end in ends):
        say(Invariant.MERGED, "an edge ends at an entity that was merged")
    if node.get("derived_id") is not None:
        identity = Identity(*(node.get(name) for name in Identity._fields))  # type: ignore[arg-type]
        if node["derived_id"] != derived_edge_id(node["tenant"], identity):
            say(Invariant.IDENTIFIER, "derived_id of an edge is not its derivation")
