"""What a live access source is (spec 2, reading: `acl_ref` is resolved now, never copied).

Owns: the interface, and its two answers. A reference is named by its key (`AclRef.key()`). A source says what a reader may
read now; it never raises to say no, and what it cannot decide it denies.

The rule of every source: a reference opens only if the system, the space and the restriction exist there now, the source's
present incarnation of the restriction is exactly the one that the reference names, and the reader is among its readers. A
reference that names no incarnation opens only what has none and was never created again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from pydantic import ValidationError

from graphrag_provenance.model.instants import now
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.records import AclRef


class Refusal(StrEnum):
    """Why a reference does not open; for auditors and operators."""

    NOT_A_REFERENCE = "not-a-reference"
    """The text is no key of a reference."""
    UNKNOWN_SYSTEM = "unknown-system"
    """No source answers for that system."""
    OTHER_TENANT = "other-tenant"
    """The system serves readers of other tenants only."""
    UNKNOWN_SPACE = "unknown-space"
    UNKNOWN_RESTRICTION = "unknown-restriction"
    DELETED = "deleted"
    """The space or the restriction was deleted."""
    OTHER_INCARNATION = "other-incarnation"
    """The restriction was created again since, or is not known under that incarnation."""
    NO_INCARNATION = "no-incarnation"
    """The reference does not say which incarnation it means, and the source tells them apart."""
    NOT_A_READER = "not-a-reader"
    """Everything fits, and the reader is not among its readers (or the source does not tell this from the above)."""
    NOT_EXPRESSIBLE = "not-expressible"
    """The source has no way to name the reference or the principal (too long)."""
    UNREACHABLE = "unreachable"
    """The source did not answer."""


@dataclass(frozen=True, slots=True)
class Grants:
    """What a reader may read now. May be a subset (then an answer may lack something); never more."""

    source: str
    """Which source answered."""
    keys: frozenset[str] = frozenset()
    """Keys of the references that are open."""
    token: str | None = None
    """The state of the source that this was read from, as the source names it."""
    resolved_at: datetime = field(default_factory=now)
    stale_at_most: float = 0.0
    """How many seconds old it may be by design of a cache."""
    trouble: str | None = None
    """For operators: why the source, or a part of it, did not answer. What it did not answer is not among the keys."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a source says about certain references; every one asked about is allowed or denied."""

    source: str
    allowed: frozenset[str] = frozenset()
    denied: Mapping[str, str] = field(default_factory=dict)
    """Reference → a Refusal. Read only."""
    token: str | None = None
    resolved_at: datetime = field(default_factory=now)
    stale_at_most: float = 0.0
    trouble: str | None = None
    """For operators, as in Grants."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "denied", MappingProxyType(dict(self.denied)))


@runtime_checkable
class AccessSource(Protocol):
    """A live source of permissions."""

    @property
    def name(self) -> str:
        """How answers and messages call it."""

    def granted(self, reader: Reader) -> Grants:
        """Every reference that the reader may read now; asked before an answer is assembled."""

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        """Whether the reader may read these now; asked again before an answer is displayed."""


def reference(key: str) -> AclRef | None:
    """The reference of a key; None for text that is not exactly what `AclRef.key()` writes."""
    try:
        system, space, restriction_id, incarnation = json.loads(key)
        found = AclRef(system=system, space=space, restriction_id=restriction_id, incarnation=incarnation)
        return found if found.key() == key else None
    except (ValueError, TypeError, RecursionError, ValidationError):
        return None


def unreachable(source: str, refs: Iterable[str], trouble: str) -> Decision:
    """The decision of a source that does not answer: everything denied."""
    return Decision(source, denied=dict.fromkeys(refs, Refusal.UNREACHABLE), trouble=trouble)


def told(error: BaseException) -> str:
    """An error in one line for operators."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
