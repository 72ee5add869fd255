"""What a reader may see in this store, now (spec 2, reading).

Owns: turning a reader's clearances into the allowed policies, by the order that the store itself holds, keeping that
order for as long as its hash stands, and whether a stored edge is the reader's to see. An unknown clearance is an error that
lists the known ones; none allows nothing. While the order is being changed, a reader is allowed what all the orders involved
cover (`store.orders` says why).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from graphrag_provenance.errors import AccessDeniedError, ProvenanceError, StoreConflictError
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.orders import covered, next_policies, stored_policies

T = TypeVar("T")
_known: WeakKeyDictionary[Database, tuple[str, tuple[PolicyLattice, ...]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Visibility:
    """What a reader may see: what every read query filters by."""

    tenant: str
    allowed: frozenset[str]
    """Every policy the clearances cover."""
    granted: frozenset[str]
    """Keys of the live access references granted now."""
    known: frozenset[str]
    """Every policy of the store's order (while it changes: of each of the orders)."""
    policies_hash: str | None
    """What names the order, or orders, by which `allowed` was made; None for a store that holds none."""

    def params(self) -> dict[str, object]:
        """The parameters `tenant`, `allowed`, `granted` of a stored query."""
        return {"tenant": self.tenant, "allowed": sorted(self.allowed), "granted": sorted(self.granted)}


def visibility(database: Database, reader: Reader, granted: Collection[str] = frozenset(), *, fresh: bool = False) -> Visibility:
    """The reader's view. The order is asked for once a database; `fresh` asks again (after its hash changed).

    Raises UnknownClearanceError for a clearance that the store does not know, naming the known ones.
    """
    require_reader(reader)
    known = None if fresh else _known.get(database)
    if known is None or not all(any(order.knows(name) for order in known[1]) for name in reader.clearances):
        rows = database.read("read.policies")
        order = stored_policies(rows[0]) if rows else None
        if order is None:
            _known.pop(database, None)
            nothing: frozenset[str] = frozenset()
            return Visibility(reader.tenant, nothing, frozenset(granted), nothing, rows[0]["policies_hash"] if rows else None)
        known = rows[0]["policies_hash"], (order, *next_policies(rows[0]))
        _known[database] = known
    hash_, orders = known
    names = frozenset(name for order in orders for name in order.names)
    return Visibility(reader.tenant, covered(orders, reader.clearances), frozenset(granted), names, hash_)


def may_see(view: Visibility, edge: Mapping[str, Any]) -> bool:
    """The second check of a stored edge: some policy, all of them allowed, every reference granted, the tenant the reader's."""
    policies, references = edge.get("policies"), edge.get("acl")
    if not policies or references is None or edge.get("tenant") != view.tenant:
        return False
    return view.allowed.issuperset(policies) and view.granted.issuperset(references)


class Views:
    """The reader's view, shared by the searches of one call; when the order of policies changed, the first to notice renews it."""

    def __init__(self, database: Database, reader: Reader, granted: frozenset[str]) -> None:
        self._database, self._reader, self._granted = database, reader, granted
        self.now: Visibility = visibility(database, reader, granted)

    def after(self, old: Visibility) -> Visibility:
        """The view that takes the place of an outdated one."""
        if self.now is old:
            self.now = visibility(self._database, self._reader, self._granted, fresh=True)
        return self.now


def under_one_order(database: Database, reader: Reader, granted: Collection[str], read: Callable[[Visibility], T]) -> T:
    """What `read` makes of the reader's view, while the order that the view is made by stands: if it is another one afterwards,
    edges may have been decided by that meanwhile, and what was read is thrown away and read again, errors included."""
    for fresh in (False, True, True):
        view = visibility(database, reader, granted, fresh=fresh)
        result: T | None = None
        failed: ProvenanceError | None = None
        try:
            result = read(view)
        except ProvenanceError as error:
            failed = error
        rows = database.read("read.policies")
        if (rows[0]["policies_hash"] if rows else None) == view.policies_hash:
            if failed is not None:
                raise failed
            return cast(T, result)
    raise StoreConflictError("The policy order changes while it is read.", hint="Ask again when the policy run has ended.")


def require_reader(reader: object) -> None:
    """Raise AccessDeniedError for anything but a reader: there is no default one."""
    if not isinstance(reader, Reader):
        raise AccessDeniedError("Every read names a reader.", hint="Pass a Reader with principal, tenant and clearances.")


def require_role(reader: Reader, *roles: Role, action: str) -> None:
    """Raise AccessDeniedError unless the reader has one of the roles; what is stored plays no part in the answer."""
    if not reader.roles & set(roles):
        names = " or ".join(roles)
        raise AccessDeniedError(f"{action} needs the role {names}.",
                                hint=f"Add --role {roles[0]}, or the role to the reader file, key or token.")
