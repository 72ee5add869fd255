"""Which revision of a document is the head, and what is stale (spec 3, revisions).

Owns: the head rule. Head is the end of the `supersedes` chain; where no revision of the document declares one, the
greatest (effective_at, arrival). Arrival is the number of the run that first brought the revision, so a late arrival of
an old revision does not become head. Ties, which only a self-contradicting source can make, fall to the greatest id.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple


class Candidate(NamedTuple):
    """A declared revision of one document."""

    doc: str
    effective_at: datetime
    supersedes: str | None
    arrival: int


def head(revisions: Iterable[Candidate]) -> str | None:
    """The head's `doc@ver`, or None when no revision is declared."""
    known = list(revisions)
    superseded = {r.supersedes for r in known if r.supersedes is not None}
    if superseded:
        linked = [r for r in known if r.supersedes is not None or r.doc in superseded]
        known = [r for r in linked if r.doc not in superseded] or linked
    return max(known, key=lambda r: (r.effective_at, r.arrival, r.doc)).doc if known else None


def is_current(revision: str, head_revision: str | None) -> bool:
    """Whether a cited revision is in force; of a document without a declared revision nothing newer is known."""
    return head_revision is None or revision == head_revision
