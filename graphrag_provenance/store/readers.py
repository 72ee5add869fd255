"""What a reader may see in this store, now (spec 2, reading).

Owns: turning a reader's clearances into the allowed policies, by the order that the store itself holds, and keeping that
order for as long as its hash stands. An unknown clearance is an error that lists the known ones; none allows nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from graphrag_provenance.errors import AccessDeniedError
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.policies import PolicyLattice, lattice
from graphrag_provenance.store.database import Database

_known: WeakKeyDictionary[Database, tuple[str, PolicyLattice]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Visibility:
    """What a reader may see: what every read query filters by."""

    tenant: str
    allowed: frozenset[str]
    """Every policy the clearances cover."""
    granted: frozenset[str]
    """Keys of the live access references granted now."""
    known: frozenset[str]
    """Every policy of the store's order."""
    policies_hash: str | None
    """The order by which `allowed` was made; None for a store that holds none."""

    def params(self) -> dict[str, object]:
        """The parameters `tenant`, `allowed`, `granted` of a stored query."""
        return {"tenant": self.tenant, "allowed": sorted(self.allowed), "granted": sorted(self.granted)}


def visibility(database: Database, reader: Reader, granted: Collection[str] = frozenset(), *, fresh: bool = False) -> Visibility:
    """The reader's view. The order is asked for once a database; `fresh` asks again (after its hash changed).

    Raises ConfigurationError for a clearance that the store does not know, naming the known ones.
    """
    if not isinstance(reader, Reader):
        raise AccessDeniedError("Every read names a reader.", hint="Pass a Reader with principal, tenant and clearances.")
    if fresh:
        _known.pop(database, None)
    known = _known.get(database)
    if known is None:
        rows = database.read("read.policies")
        if not rows or not rows[0]["policies"]:
            nothing: frozenset[str] = frozenset()
            return Visibility(reader.tenant, nothing, frozenset(granted), nothing, rows[0]["policies_hash"] if rows else None)
        known = rows[0]["policies_hash"], lattice(json.loads(rows[0]["policies"]), "the store's policy order")
        _known[database] = known
    allowed = known[1].covers(sorted(reader.clearances))
    return Visibility(reader.tenant, allowed, frozenset(granted), frozenset(known[1].names), known[0])


def require_role(reader: Reader, *roles: Role, action: str) -> None:
    """Raise AccessDeniedError unless the reader has one of the roles; what is stored plays no part in the answer."""
    if not reader.roles & set(roles):
        names = " or ".join(roles)
        raise AccessDeniedError(f"{action} needs the role {names}.", hint="Ask as a reader who has it.")
