"""The length of a chain in a stored query (style: stored Cypher).

Owns: the two marks by which a file says where its bound stands, because Cypher takes no parameter there. A file holds the
widest form, so it is valid as it is; the loader only ever narrows it, to a whole number.

    -[hops*1..8 /* most hops */]->      the 8 becomes the bound
    -[r3 WHERE …]-> /* hop 3 */         the line goes when the chain has fewer hops
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.queries.catalogue import Query, query

LONGEST = 8
_MOST = re.compile(r"\*1\.\.8 /\* most hops \*/")
_HOP = re.compile(r"/\* hop (\d) \*/\s*$")


@cache
def bounded(name: str, hops: int) -> Query:
    """The stored query for chains of at most (open) or exactly (sequence) `hops` hops, 1 to 8."""
    if not 1 <= hops <= LONGEST:
        raise ConfigurationError(f"A chain has 1 to {LONGEST} hops, not {hops}.")
    stored = query(name)
    text, found = _MOST.subn(f"*1..{hops:d}", stored.text)
    lines = [(line, _HOP.search(line)) for line in text.splitlines(keepends=True)]
    if not found and not any(mark for _, mark in lines):
        raise ConfigurationError(f"Stored query {name!r} has no mark for its length.")
    return replace(stored, text="".join(line for line, mark in lines if mark is None or int(mark[1]) <= hops))
