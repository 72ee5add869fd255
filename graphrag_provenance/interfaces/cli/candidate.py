"""`--candidate`: a read of the store as it will be once the staged run is published.

Owns: which store a command asks. Leaves to others: how a candidate is asked (`ingest.staging`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from graphrag_provenance.ingest.staging import ask_candidate
from graphrag_provenance.store.database import Database

T = TypeVar("T")


def asked(database: Database, candidate: bool, ask: Callable[[Database], T]) -> T:
    """What `ask` returns of the present store, or of the candidate."""
    return ask_candidate(database, ask) if candidate else ask(database)
