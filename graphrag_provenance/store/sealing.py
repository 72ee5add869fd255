"""How a run ends when its work does not (spec 3, runs).

Owns: the seal of a run that was interrupted or failed. A store that no longer answers cannot be told; then the next writer seals the
run when its lease is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graphrag_provenance.errors import ProvenanceError, StoreUnavailableError
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.runs import Run


@contextmanager
def sealing(database: Database, run: Run, counts: Callable[[], Mapping[str, Any]] = dict) -> Iterator[None]:
    """Seals `run` as interrupted or failed when the block raises, with the counts as they stand then. Whoever succeeds ends it."""
    try:
        yield
    except KeyboardInterrupt:
        run.end("interrupted", counts())
        raise
    except BaseException as error:
        run.stop_heartbeat()
        try:
            if isinstance(error, StoreUnavailableError):
                database.verify()  # at once, without the patience of a write
            run.end("failed", counts())
        except ProvenanceError as second:
            error.add_note(f"the run could not be sealed: {second.message}")
        raise
