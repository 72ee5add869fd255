"""How long a text is kept once it is out of force (spec 3, retention).

Owns: since when a passage is *replaced*: a newer revision stands in the place of its own, or a tombstone removed it. What is replaced,
taken up again and replaced anew counts from the last time; a text that came when its revision was replaced already counts from
its arrival. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from graphrag_provenance.rules.heads import Force


class Standing(NamedTuple):
    """What a document was from a run on."""

    since: int
    force: Force


def replaced_since(standings: Sequence[Standing], revision: str, chunk: str, *, declared: bool, arrived: int) -> int | None:
    """The run since which a passage is replaced, None if it is not. `standings`: oldest first, the last one is the present one;
    `arrived`: the run that brought its text."""
    since: int | None = None
    for one in reversed(standings):
        if not one.force.replaced(revision, chunk, declared=declared):
            break
        since = one.since
    return None if since is None else max(since, arrived)
