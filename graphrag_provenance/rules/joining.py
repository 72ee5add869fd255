"""The join of policy statements, told step by step (spec 2, writing; `policy explain`).

Owns: how a join is told. The join itself is `rules.policies`; whether an edge is published is `rules.publication`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.rules.policies import PolicyLattice


@dataclass(frozen=True, slots=True)
class JoinStep:
    """One statement taken into the join."""

    policy: str
    known: bool
    replaces: tuple[str, ...]
    """What was maximal before and lies below it."""
    covered_by: tuple[str, ...]
    """What is maximal already and lies above it."""
    so_far: tuple[str, ...]
    """The maximal policies after this step."""

    def as_json(self) -> dict[str, Any]:
        """The step and, in words, what it did."""
        return {"policy": self.policy, "effect": self.told(), "so_far": list(self.so_far)}

    def told(self) -> str:
        """What the statement did to the join."""
        if not self.known:
            return "unknown: the edge is withheld"
        if self.covered_by:
            return f"below {', '.join(self.covered_by)}: adds nothing"
        if self.replaces:
            return f"above {', '.join(self.replaces)}: takes its place"
        return "stands beside the others: a reader needs each" if len(self.so_far) > 1 else "the first"


def join_steps(order: PolicyLattice, statements: Iterable[str]) -> tuple[JoinStep, ...]:
    """The distinct statements one after another; the last `so_far` is the join of the known ones."""
    steps: list[JoinStep] = []
    so_far: tuple[str, ...] = ()
    for policy in dict.fromkeys(statements):
        if not order.knows(policy):
            steps.append(JoinStep(policy, False, (), (), so_far))
            continue
        joined = order.join((*so_far, policy))
        covered_by = tuple(one for one in so_far if policy in order.below[one])
        steps.append(JoinStep(policy, True, tuple(one for one in so_far if one not in joined), covered_by, joined))
        so_far = joined
    return tuple(steps)
