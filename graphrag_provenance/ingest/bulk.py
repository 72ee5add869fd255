"""The first load of a store by import files (spec 6, bulk load).

Owns: that it comes to what an ordinary load of the same records comes to, the run record included. It is a dry run over an empty store,
whose result is written to files instead of being thrown away: the rules are the same code. Leaves to others: the files
(`exports.import_files`), the import (`server.admin`).

Cost: what the store would hold stands in memory, at about 4 KB an edge with two citations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest.loading import IngestOptions, Load, Progress, Summary, carry_out, counts_of, opened, summary_of
from graphrag_provenance.ingest.rejecting import RejectFile
from graphrag_provenance.ingest.sources import content_hash
from graphrag_provenance.store import runs
from graphrag_provenance.store.assertions import Rules
from graphrag_provenance.store.bulk import Row, WouldBe
from graphrag_provenance.store.nothing import EmptyDatabase
from graphrag_provenance.store.view import View


def bulk_load(
    paths: Sequence[Path], options: IngestOptions, write: Callable[[Callable[[], Sequence[Row] | Any], dict[str, Any]], object], *,
    progress: Callable[[Progress], None] | None = None,
) -> Summary:
    """Work out what an empty store becomes by these records, and hand it to `write` as rows and what the files say of themselves.

    Raises InputError for unusable input, and for options that only an ordinary load has."""
    if options.dry_run or options.resume is not None or options.stage:
        raise InputError("A bulk load is no dry run, is not held back, and completes no run.", hint="Leave out --bulk.")
    started = time.monotonic()
    database = EmptyDatabase()
    with opened(database, paths, options, "ingest") as (sources, inputs):
        run = runs.first_run(
            database, runs.RunStart("ingest", options.actor, options.pipeline, options.version, options.trace_id, inputs.told),
            options.policies)
        with RejectFile(options.rejects or Path(f"{run.run_id}.rejected.jsonl")) as rejects:
            load = Load(database, replace(options, dry_run=True, workers=1), sources, run,
                        Rules(run.policies, options.require_registered_sources), View(seq=run.seq, dry=True, whole=True), rejects,
                        progress or (lambda _: None))
            carry_out(load)
        for source, known in zip(sources, inputs.hashes, strict=True):
            if content_hash(source) != known:
                raise InputError(f"{source.name} changed while it was read.", hint="Nothing was loaded; load it again.")
    graph = WouldBe(load.view)
    load.outcome.writes = graph.writes()
    record, store = runs.first_store(run, counts_of(load), graph.sum())
    write(lambda: graph.rows(record, store), {"graph_hash": record["graph_hash"]})
    summary = summary_of(load, runs.run_json(record), started)
    return replace(summary, dry_run=False)
