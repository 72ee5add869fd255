"""Which revision of a document is the head, and which evidence of a document is in force (spec 3, revisions).

Owns: the head rule and the rule of succession. Head is the end of the `supersedes` chain; where no revision of the document
declares one, the greatest (effective_at, arrival). Arrival is the number of the run that first brought the revision, so a late
arrival of an old revision does not become head. Ties, which only a self-contradicting source can make, fall to the greatest id.

What is in force is a function of what is declared, so the order of loading decides nothing: a *complete* revision holds all that
was extracted from it, hence whatever cites a revision that it replaces is retired; a *tombstone* retires what cites the
revision in which the document (or chunk) is gone, and any before it. What cites a revision that no record declares, and no other
revision replaces, keeps its force (nothing is known about its place), unless the document itself is gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from graphrag_provenance.model.identifiers import canonical_text


class Candidate(NamedTuple):
    """A declared revision of one document."""

    doc: str
    effective_at: datetime
    supersedes: str | None
    arrival: int
    complete: bool = False


class Succession(NamedTuple):
    """The revisions of one document."""

    line: tuple[str, ...]
    """From the head back: along `supersedes` where it is declared, else by date. The last one may be undeclared."""
    whole: str | None
    """The latest complete revision of the line."""


NOTHING = Succession((), None)


def succession(revisions: Iterable[Candidate]) -> Succession:
    """The line of a document's declared revisions."""
    known = {r.doc: r for r in revisions}
    if not known:
        return NOTHING
    superseded = {r.supersedes for r in known.values() if r.supersedes is not None}
    if not superseded:
        line = sorted(known, key=lambda doc: _rank(known[doc]), reverse=True)
    else:
        linked = [r for r in known.values() if r.supersedes is not None]
        ends = [r for r in linked if r.doc not in superseded] or linked
        line = [max(ends, key=_rank).doc]
        while (before := known[line[-1]].supersedes if line[-1] in known else None) is not None and before not in line:
            line.append(before)
    return Succession(tuple(line), next((doc for doc in line if doc in known and known[doc].complete), None))


def document_succession(found: Succession) -> dict[str, Any]:
    """The succession as a document keeps it; None: absent. A line of the head alone is not written."""
    line = list(found.line)
    return {"head": line[0] if line else None, "line": line if len(line) > 1 else None, "whole": found.whole}


def _rank(revision: Candidate) -> tuple[datetime, int, str]:
    return revision.effective_at, revision.arrival, revision.doc


def is_current(revision: str, head_revision: str | None) -> bool:
    """Whether a cited revision is in force; of a document without a declared revision nothing newer is known."""
    return head_revision is None or revision == head_revision


def tombstone(chunk: str | None, revision: str) -> str:
    """A tombstone as a document keeps it: the chunk (None: the whole document) and the revision in which it is gone."""
    return canonical_text([chunk, revision])


class Force:
    """What of one document is in force, by its stored node (absent: nothing is known of it, and nothing is retired)."""

    __slots__ = ("_gone", "_line", "_removed", "_trivial", "_whole")

    def __init__(self, document: Mapping[str, Any] | None) -> None:
        node = document or {}
        head: str | None = node.get("head")
        self._line: Sequence[str] = node.get("line") or ([] if head is None else [head])
        self._whole: str | None = node.get("whole")
        self._gone: list[str] = []
        self._removed: dict[str, list[str]] = {}
        for text in node.get("tombstones") or ():
            chunk, revision = json.loads(text)
            self._gone.append(revision) if chunk is None else self._removed.setdefault(chunk, []).append(revision)
        self._trivial = not self._gone and not self._removed and (self._whole is None or len(self._line) < 2)

    def holds(self, revision: str, chunk: str, *, declared: bool) -> bool:
        """Whether evidence that cites this chunk of this revision is in force. `declared`: whether a record declares the revision."""
        if self._trivial and (self._whole is None or revision == self._whole or not declared):
            return True
        if self.removed(revision, chunk):
            return False
        if self._whole is None or revision in self._line[:self._line.index(self._whole) + 1]:
            return True
        return not declared and revision not in self._line

    def removed(self, revision: str, chunk: str) -> bool:
        """Whether a tombstone removed this chunk of this revision."""
        return any(gone not in self._line or revision not in self._line[:self._line.index(gone)]  # without a place in the line,
                   for gone in (*self._gone, *self._removed.get(chunk, ())))  # nothing can be said to come after it

    def replaced(self, revision: str, chunk: str, *, declared: bool) -> bool:
        """Whether a newer revision is the head instead of this one, or a tombstone removed the chunk. Of a revision that no record
        declares, and that none replaces, nothing is known."""
        behind = bool(self._line) and revision != self._line[0] and (declared or revision in self._line)
        return behind or self.removed(revision, chunk)
