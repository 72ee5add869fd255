"""What became of an edge between two generations (spec 3, runs; spec 5, auditor's page: the diff between two runs).

Owns: the kinds of change, and which parts of an edge differ. Leaves to others: who may see the edge then and now (`store.run_diff`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from graphrag_provenance.rules.publication import State

Edge = Mapping[str, Any]
_COMPARED = ("policies", "acl", "reasons", "confidence", "current", "disputed", "attributes", "declared")


class Change(StrEnum):
    """What became of an edge."""

    PUBLISHED = "published"
    """It can be walked now, and could not before."""
    WITHHELD = "withheld"
    """It is withheld now, and was not before."""
    RETRACTED = "retracted"
    """It has no evidence left."""
    CHANGED = "changed"
    """Same state, other content."""


def change_of(before: Edge | None, after: Edge | None) -> Change | None:
    """The change from one version of an edge to a later one; None: the same. An edge that was not there yet is None."""
    if after is None or (before is not None and before.get("digest") == after.get("digest") and before["state"] == after["state"]):
        return None
    if before is not None and before["state"] == after["state"]:
        return None if after["state"] == State.RETRACTED else Change.CHANGED
    if before is None and after["state"] == State.RETRACTED:
        return None  # came and went within one run: neither generation has it
    return Change(str(after["state"]))


def differing(before: Edge | None, after: Edge | None) -> list[str]:
    """What differs by name of two published (or two withheld) versions, evidence left out: that is counted by who reads it."""
    if before is None or after is None or before["state"] != after["state"]:
        return []
    return [name for name in _COMPARED if (before.get(name) or None) != (after.get(name) or None)]
