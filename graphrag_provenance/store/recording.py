"""Recording what programs report, as runs of their own kind (spec 4, claims and answers; spec 3, runs).

Owns: the run around a recording, and that it accounts for the digests of all it recorded. A recording holds the store like any
other run, so what it reads of the graph cannot change before it is written down. A recording that is cut off keeps what it
committed; its run then accounts for nothing, and recording the same again writes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.recorded import content_digest, digest_text, recorded_hash
from graphrag_provenance.store import runs
from graphrag_provenance.store.database import Database, Row, Transaction
from graphrag_provenance.store.sealing import sealing

_CREATE = {"answer": "answer.create", "retrieval": "retrieval.create"}


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """Who records, for the run record."""

    actor: str = "unknown"
    source: str = "report"
    """Where the reports come from."""
    trace_id: str | None = None
    lease_seconds: float = 60.0
    wait_seconds: float = 600.0


def recorded_run(
    database: Database, kind: str, options: RecordingOptions, make: Callable[[runs.Run], Sequence[Row]],
    inputs: Sequence[Mapping[str, Any]], notify: Callable[[str], None] | None = None,
) -> tuple[dict[str, Any], list[Row]]:
    """Write the rows that `make` gives while the run holds the store. Returns the run record, and the rows with their digests.

    Raises whatever `make` raises; the run has failed then, and nothing was written.
    """
    order = runs.stored_policies(runs.store_state(database))
    if order is None:
        raise InputError("The store holds no graph yet.", hint="Load records first: gprov ingest PATH.")
    run = runs.begin(
        database, runs.RunStart(kind, options.actor, f"{kind}-record", "1", options.trace_id, tuple(inputs)), policies=order,
        lease_seconds=options.lease_seconds, wait_seconds=options.wait_seconds, notify=notify or (lambda _: None),
        beside=True)
    with sealing(database, run):
        rows = [dict(row) for row in make(run)]
        digests = []
        for row in rows:
            row["props"] = {**row["props"], "since": run.seq}
            digest = content_digest(kind, row["props"])
            row["props"]["content_digest"] = digest_text(digest)
            digests.append(digest)

        def write(tx: Transaction) -> None:
            tx.run(_CREATE[kind], rows=rows)
            run.account(tx, MultisetHash())  # the graph is what it was; the fence holds all the same

        database.write(write, metadata=run.metadata)
    return run.end("finished", {f"{kind}s": len(rows), "recorded_hash": recorded_hash(digests)}), rows


def check_generations(database: Database, generations: Iterable[int | None]) -> None:
    """Before a run is opened: raise InputError for a generation that is still to come."""
    latest = int((runs.store_state(database) or {}).get("head_seq", 0))
    for generation in generations:
        if generation is not None and generation > latest:
            raise InputError(f"There is no generation {generation}.", hint=f"The present one is {latest}.")


def state_of_generation(database: Database, generation: int | None, before: int) -> tuple[int, str]:
    """A generation up to run `before` (default: that), with its graph hash. Raises InputError for one that does not exist."""
    seq = before if generation is None else generation
    found = database.read("run.by_seq", seq=seq) if seq <= before else []
    if not found or not found[0]["run"].get("graph_hash"):
        raise InputError(f"There is no generation {seq}.", hint=f"The present one is {before}.")
    return seq, str(found[0]["run"]["graph_hash"])
