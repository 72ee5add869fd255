"""Every error this package raises, under one root.

Owns: the error classes, their stable codes and the rule that each message says what to do.
Leaves to others: findings (withheld edges, rejected records, unresolved claims) are values, not errors.
"""

from __future__ import annotations

from typing import ClassVar


class ProvenanceError(Exception):
    """Root of all errors. `code` is stable for programs, `message` is one sentence, `hint` says what to do."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message

    def as_json(self) -> dict[str, object]:
        """The error as programs read it (spec 5): `{schema, error: {code, message, hint}}`."""
        return {"schema": 1, "error": {"code": self.code, "message": self.message, "hint": self.hint}}


class ConfigurationError(ProvenanceError):
    """A setting, policy file, relation file or stored query is wrong."""

    code = "configuration"


class MissingExtraError(ConfigurationError):
    """An optional dependency is not installed; the message names the extra."""

    code = "missing-extra"


class UnknownClearanceError(ConfigurationError):
    """A reader is cleared for a policy that the store's order does not name."""

    code = "unknown-clearance"


class InputError(ProvenanceError):
    """Input as a whole cannot be used (a missing file, an unknown clearance, a malformed address)."""

    code = "input"


class NotFoundError(ProvenanceError):
    """The named thing does not exist, or the reader may not know that it does."""

    code = "not-found"
    exit_status = 1


class AccessDeniedError(ProvenanceError):
    """No reader, no tenant, no clearance, or a role that the action needs is missing."""

    code = "access-denied"


class UnauthenticatedError(ProvenanceError):
    """A request to the service carries no token that proves who asks. It never says what is wrong with the one it carries."""

    code = "unauthenticated"


class IdentityUnavailableError(ProvenanceError):
    """The place that proves tokens (keys of the issuer, key file) cannot be read: nobody is let in."""

    code = "identity-unavailable"
    exit_status = 3


class StoreError(ProvenanceError):
    """The graph store could not do what was asked."""

    code = "store"
    exit_status = 3


class StoreUnavailableError(StoreError):
    """No server answers, it refuses the credentials, or it stopped in the middle."""

    code = "store-unavailable"


class StoreConflictError(StoreError):
    """Another writer holds the store, or the run no longer does."""

    code = "store-conflict"


class StoreTimeoutError(StoreError):
    """A query passed its database-side time limit; nothing is known about the answer."""

    code = "store-timeout"


class SchemaVersionError(StoreError):
    """The schema in the store is missing, older, newer or was changed after it was applied."""

    code = "schema-version"


class ServerError(ProvenanceError):
    """The local Neo4j could not be fetched, started or stopped."""

    code = "local-server"
    exit_status = 3
