"""What the removal of a document does to the edges that rest on it (spec 3, `doc delete`).

Owns: the kinds of change that a receipt tells apart, and the choice between them. Each edge is told once, under the first that fits:
what opens stands first, since it is the dangerous direction. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from graphrag_provenance.rules.opening import opens
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.publication import State


class Fate(StrEnum):
    """What became of an edge."""

    PUBLISHED = "published"
    """It was withheld because of evidence that is gone now."""
    RELAXED = "relaxed"
    """It stays published; readers see it who did not, or a live reference is needed no longer."""
    TIGHTENED = "tightened"
    """It stays published; readers lost it, or another live reference is needed."""
    WITHHELD = "withheld"
    """It was published; what is left does not suffice."""
    RETRACTED = "retracted"
    """No evidence is left."""
    KEPT = "kept"
    """It stays as it was, for the same readers, with less evidence."""


def fate(order: PolicyLattice, before: Mapping[str, Any], after: Mapping[str, Any]) -> Fate:
    """What became of an edge whose evidence was retired, by its assertion before and after."""
    if after["state"] == State.RETRACTED:
        return Fate.RETRACTED
    if before["state"] != after["state"]:
        return Fate.PUBLISHED if after["state"] == State.PUBLISHED else Fate.WITHHELD
    if after["state"] == State.PUBLISHED:
        (old, new), (had, has) = (before["policies"], after["policies"]), (set(before["acl"]), set(after["acl"]))
        if opens(order, old, order, new) or had - has:
            return Fate.RELAXED
        if opens(order, new, order, old) or has - had:
            return Fate.TIGHTENED
    return Fate.KEPT
