"""The orders of policies that the store keeps: the one it applies, and those that an unfinished change of it brought.

Owns: how the record of the store holds them, and what a reader is allowed while there are several.

Why the intersection is safe. During a change every edge stands as one of the orders O left it: its policies are the maximal
ones, by O, of the set S of all that is said about its evidence (nothing else writes meanwhile: `require_settled`). A reader with
clearances C is allowed A, the intersection of what C covers under each order, so A is within what C covers under O. Let the
reader see the edge: all its policies are in A, hence each is covered by C under O. Each statement in S lies, by O, below one
of the maximal ones, and what C covers under O is closed downwards; so C covers all of S under O: O permits the edge. Whatever
is shown, some order of the change permits, and nothing is shown that none of them does. A clearance that one of the orders does
not name covers nothing there, so it adds nothing to A. Steps of a chain are checked once more against all of S and A
(`rules.chains`), hence are permitted by every order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphrag_provenance.errors import StoreConflictError, UnknownClearanceError
from graphrag_provenance.rules.policies import PolicyLattice, lattice


def stored_policies(store: Mapping[str, Any] | None) -> PolicyLattice | None:
    """The order of policies that the store applies, or None before the first run."""
    if not store or not store.get("policies"):
        return None
    return lattice(json.loads(store["policies"]), "the store's policies")


def next_policies(store: Mapping[str, Any] | None) -> tuple[PolicyLattice, ...]:
    """The orders that unfinished changes of the order brought, the latest last; () when none is unfinished."""
    text = (store or {}).get("policies_next")
    return tuple(lattice(order, "the store's next policies") for order in json.loads(text)) if text else ()


def with_next(store: Mapping[str, Any], order: PolicyLattice) -> str:
    """`policies_next` with one more order: until one of these changes finishes, an edge may stand under any of them."""
    orders = [one.as_json() for one in next_policies(store) if one.hash != order.hash]
    return json.dumps([*orders, order.as_json()], sort_keys=True)


def order_text(order: PolicyLattice) -> str:
    """An order as the store keeps it."""
    return json.dumps(order.as_json(), sort_keys=True)


def require_settled(store: Mapping[str, Any] | None) -> None:
    """Raise StoreConflictError if a change of the order of policies was begun and not finished."""
    if next_policies(store):
        raise StoreConflictError("A change of the policy order was cut off: the store stands between two orders.",
                                 hint="Complete it first: gprov policy apply FILE.")


def covered(orders: Sequence[PolicyLattice], clearances: Iterable[str]) -> frozenset[str]:
    """What clearances cover under every one of the orders. A clearance that some order does not name covers nothing there.

    Raises UnknownClearanceError, naming the known policies, for a clearance that none of them names.
    """
    wanted = sorted(set(clearances))
    known = sorted({name for order in orders for name in order.names})
    for name in wanted:
        if name not in known:
            raise UnknownClearanceError(f"Clearance {name!r} is unknown.", hint=f"Known policies: {', '.join(known)}.")
    each = [order.covers(name for name in wanted if order.knows(name)) for order in orders]
    return frozenset.intersection(*each) if each else frozenset()
