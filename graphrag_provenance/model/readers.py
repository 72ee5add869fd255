"""Who asks: the reader that every read names (spec 2, reading).

Owns: the reader value and its roles. There is no default reader, no wildcard tenant and no wildcard clearance. What a
reader may see (clearances closed downwards, live grants) is decided by `rules` and `access`.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from enum import StrEnum

from graphrag_provenance.errors import AccessDeniedError


class Role(StrEnum):
    """What a principal may do beyond reading what it is cleared for."""

    READER = "reader"
    AUDITOR = "auditor"
    """Sees policies, withheld edges and `access` as a reason, inside its tenant."""
    OPERATOR = "operator"
    """Loads, repairs and sees operational messages."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Principal, tenant, cleared policies (each covers every policy below it) and roles.

    Both sets are kept frozen. Raises AccessDeniedError for a blank principal or tenant. An empty clearance is legal and sees nothing.
    """

    principal: str
    tenant: str
    clearances: Set[str]
    roles: Set[Role] = frozenset({Role.READER})

    def __post_init__(self) -> None:
        if not isinstance(self.principal, str) or not self.principal.strip():
            raise AccessDeniedError("A read needs a principal.", hint="Name one with --principal.")
        if not isinstance(self.tenant, str) or not self.tenant.strip():
            raise AccessDeniedError("A read needs a tenant.", hint="Name one with --tenant.")
        if isinstance(self.clearances, str):
            raise AccessDeniedError("Clearances are a list of policy names, not one string.")
        object.__setattr__(self, "clearances", frozenset(self.clearances))
        object.__setattr__(self, "roles", frozenset(Role(role) for role in self.roles))

    @property
    def is_auditor(self) -> bool:
        """Whether the reader has the auditor's view."""
        return Role.AUDITOR in self.roles
