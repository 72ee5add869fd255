"""Whether a changed order of policies opens or closes an edge (spec 2, `policy apply`).

Owns: the comparison of who could see an edge with who can. It is about readers, not about names: an edge that stays under `hr`
opens when `hr` moves below `internal`. Pure.

Method: a reader sees an edge iff its clearances hit, for each of the edge's policies, the set of policies that cover it. So
somebody gains iff for some old policy p no new policy q has all that cover q among those that cover p: who is cleared for
everything that does not cover p could not see the edge, and now can. Clearances that both orders name are compared: one that is
new was nobody's, and one that is gone is an error, not a view. An edge that becomes published always opens.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from graphrag_provenance.rules.policies import PolicyLattice


class Effect(StrEnum):
    """What a change means for who may see an edge."""

    OPENED = "opened"
    """Some reader sees it who did not (others may have lost it)."""
    CLOSED = "closed"
    """Some reader lost it and nobody gained it."""
    CHANGED = "changed"
    """It is stored differently, but the same readers see it."""
    UNCHANGED = "unchanged"


def opens(old: PolicyLattice, before: Collection[str], new: PolicyLattice, after: Collection[str]) -> bool:
    """Whether it becomes published (before it has no policies), or some set of clearances that both orders name sees it under
    `after` by the new order and did not under `before` by the old one."""
    if not before or not after:
        return bool(after) and not before
    then, now = ([_covering(order, name, old, new) for name in names] for order, names in ((old, before), (new, after)))
    return any(not any(one <= needed for one in now) for needed in then)


def _covering(order: PolicyLattice, policy: str, *orders: PolicyLattice) -> frozenset[str]:
    """The clearances that cover a policy and that all orders name; none covers an unknown one."""
    return frozenset(name for name, covered in order.below.items() if policy in covered and all(one.knows(name) for one in orders))


def effect(old: PolicyLattice, before: Collection[str], new: PolicyLattice, after: Collection[str], *, rewritten: bool) -> Effect:
    """What the change means for one edge; an edge that is not published has no policies."""
    if opens(old, before, new, after):
        return Effect.OPENED
    if opens(new, after, old, before):
        return Effect.CLOSED
    return Effect.CHANGED if rewritten else Effect.UNCHANGED
