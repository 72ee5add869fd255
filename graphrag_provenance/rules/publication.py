"""Whether an edge may be traversed, and under which policies (spec 1, graph; spec 2, writing).

Owns: the publication rule. An edge is *published* iff it has supporting evidence and every policy that speaks about its
evidence is known; *withheld* with reasons otherwise; *retracted* when no evidence is left. Pure and order-independent:
the verdict is a function of the set of evidence, and adding evidence to a published edge never opens access.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from graphrag_provenance.model.records import Polarity
from graphrag_provenance.rules.policies import PolicyLattice


class State(StrEnum):
    """State of an assertion."""

    PUBLISHED = "published"
    WITHHELD = "withheld"
    RETRACTED = "retracted"


class WithheldReason(StrEnum):
    """Why an edge is not published."""

    UNKNOWN_POLICY = "unknown-policy"
    """A statement names a policy that the policy file lacks (misspelt, blank and null included)."""
    UNDETERMINED_POLICY = "undetermined-policy"
    """Neither the evidence, its sources nor the edge say which policy applies."""
    NO_SUPPORT = "no-support"
    """All its evidence refutes it."""


class Testimony(NamedTuple):
    """What the rule needs to know of one active evidence item."""

    polarity: str
    """`supports` or `refutes`."""
    statements: tuple[str, ...]
    """Every policy statement about it: its own, its chunk's, its revision's, its document's."""
    acl: tuple[str, ...]
    """Keys of every live access reference about it."""
    confidence: float | None
    """Confidence of the extraction."""
    current: bool
    """Whether its revision is the head of its document."""
    registered: bool
    """Whether its chunk was declared by a record."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The derived state of an edge."""

    state: State
    reasons: tuple[str, ...]
    """Sorted `reason` or `reason: name` texts; empty unless withheld."""
    policies: tuple[str, ...]
    """Maximal policies, sorted; empty unless published."""
    acl: tuple[str, ...]
    """Every live reference that a reader must be granted, sorted."""
    confidence: float | None
    """Greatest confidence of the supporting evidence."""
    current: bool
    """Whether some supporting evidence cites a head revision."""
    disputed: bool
    """Whether it has both supporting and refuting evidence."""
    registered: bool
    """Whether every evidence item cites a declared chunk."""
    overruled: bool
    """Whether the declared policy was laxer than the evidence."""


RETRACTED = Verdict(State.RETRACTED, (), (), (), None, False, False, True, False)


def verdict(
    policies: PolicyLattice,
    evidence: Iterable[Testimony],
    declared: Iterable[str] = (),
    *,
    declared_stands_in: bool = True,
) -> Verdict:
    """The publication rule. `declared` are the edge's own policy statements; they stand in for an evidence item that
    nothing speaks about (unless `declared_stands_in` is off) and can otherwise only make the edge stricter."""
    own = frozenset(declared)
    statements: set[str] = set(own)
    by_evidence: set[str] = set()
    acl: set[str] = set()
    confidences: list[float] = []
    undetermined = current = supports = refutes = False
    registered, seen = True, False
    for item in evidence:
        seen = True
        by_evidence.update(item.statements)
        if not item.statements and not (own and declared_stands_in):
            undetermined = True
        acl.update(item.acl)
        registered = registered and item.registered
        if item.polarity == Polarity.SUPPORTS:
            supports = True
            current = current or item.current
            if item.confidence is not None:
                confidences.append(item.confidence)
        else:
            refutes = True
    if not seen:
        return RETRACTED
    statements |= by_evidence
    reasons = [f"{WithheldReason.UNKNOWN_POLICY}: {name}" for name in statements - policies.below.keys()]
    if undetermined:
        reasons.append(WithheldReason.UNDETERMINED_POLICY.value)
    if not supports:
        reasons.append(WithheldReason.NO_SUPPORT.value)
    confidence = max(confidences) if confidences else None
    if reasons:
        return Verdict(State.WITHHELD, tuple(sorted(reasons)), (), tuple(sorted(acl)), confidence, current,
                       supports and refutes, registered, False)
    effective = policies.join(statements)
    return Verdict(State.PUBLISHED, (), effective, tuple(sorted(acl)), confidence, current,
                   supports and refutes, registered, overruled(policies, own, effective))


def overruled(policies: PolicyLattice, declared: Iterable[str], effective: Iterable[str]) -> bool:
    """Whether a published edge is under stricter policies than it declares, so that its own statement has no effect."""
    return not set(policies.join(declared)) <= set(effective)
