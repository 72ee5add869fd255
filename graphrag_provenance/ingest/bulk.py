"""The first load of a store by import files (spec 6, bulk load).

Owns: that it comes to what an ordinary load of the same records comes to, the run record included; that it is cut into as many parts as
the size of the input asks for; and that nothing is there if it fails. Leaves to others: the parts (`ingest.stages`), the files
(`exports.import_files`), the import (`server.admin`).

Cost: memory of one part a process, whatever the size of the input. On disk, beside the import files, about what the input takes.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest.load import IngestOptions, Load, Progress, Summary, counts_of, summary_of
from graphrag_provenance.ingest.loading import check_unchanged, opened
from graphrag_provenance.ingest.partitions import Job, Output, Stage, Told
from graphrag_provenance.ingest.rejecting import RejectFile
from graphrag_provenance.ingest.shuffling import disk_error, shuffle
from graphrag_provenance.ingest.sources import Source, blocks
from graphrag_provenance.model.instants import now
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.store import runs
from graphrag_provenance.store.assertions import Rules
from graphrag_provenance.store.bulk import add_run
from graphrag_provenance.store.counting import Reject
from graphrag_provenance.store.database import Writes
from graphrag_provenance.store.nothing import EmptyDatabase
from graphrag_provenance.store.view import View

ROOM = 3
"""Bytes that must be free for each byte of input: messages between parts, and import files."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How much is worked on at a time."""

    block: int = 32 << 20
    """Bytes of input that one process reads."""
    part: int = 16 << 20
    """Bytes of input that belong to one part."""


class Means(Protocol):
    """What carries out the stages of a load."""

    def carry_out(self, stage: Stage, job: Job, done: Callable[[int], None]) -> Told:
        """Every part of a stage; returns what they come to."""

    def rejects(self, block: int) -> list[Reject]:
        """What was refused of the lines of a block."""


def bulk_load(
    paths: Sequence[Path], options: IngestOptions, output: Output, folder: Path, *,
    progress: Callable[[Progress], None] | None = None, cut: Cut = Cut(),
    means: Callable[[Path, int], AbstractContextManager[Means]] = shuffle,
) -> Summary:
    """Work out what an empty store becomes by these records, and give it to `output`; what is in between is kept in `folder`, which is
    made, and deleted.

    Raises InputError for unusable input, for options that only an ordinary load has, and for a disk that is full."""
    if options.dry_run or options.resume is not None or options.stage:
        raise InputError("A bulk load is no dry run, is not held back, and completes no run.", hint="Leave out --bulk.")
    started = time.monotonic()
    database = EmptyDatabase()
    with opened(database, paths, options, "ingest") as (sources, inputs):
        _require_room(folder, sources)
        run = runs.first_run(
            database, runs.RunStart("ingest", options.actor, options.pipeline, options.version, options.trace_id, inputs.told),
            options.policies)
        rejects = RejectFile(options.rejects or Path(f"{run.run_id}.rejected.jsonl"))
        load = Load(database, options, sources, run, Rules(run.policies, options.require_registered_sources), View(), rejects,
                    progress or (lambda _: None))
        job = _job(load, output, cut)
        with rejects, _private(folder), means(folder, options.workers if len(job.blocks) + job.parts > 2 else 1) as carrier:
            told, job = _carry_out(load, job, carrier)
        check_unchanged(sources, inputs.hashes, "Nothing was loaded; load it again.")
        record, store = runs.first_store(run, counts_of(load), MultisetHash(told.sum))
        with output.part("run", job.mark) as graph:
            add_run(graph, record, store)
        told.add(Told(counts=graph.counts, longest=graph.longest))
        output.finish(told.counts, told.longest, job.mark, {"graph_hash": record["graph_hash"]})
        return summary_of(load, runs.run_json(record), started)


@contextmanager
def _private(folder: Path) -> Iterator[None]:
    """The folder, new and for its owner alone: what is read back from it is believed."""
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise disk_error(error, folder) from None
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _require_room(folder: Path, sources: Sequence[Source]) -> None:
    size = sum(source.size for source in sources)
    free = shutil.disk_usage(folder.parent).free
    if free < ROOM * size:
        raise InputError(
            f"A bulk load of {size / 1e9:.1f} GB needs {ROOM * size / 1e9:.1f} GB in {folder.parent}, and {free / 1e9:.1f} GB are free.",
            hint="Make room; with --bulk-files DIR, name a folder on another disk; for --bulk, set TMPDIR.")


def _job(load: Load, output: Output, cut: Cut) -> Job:
    found = [block for source in load.sources for block in blocks(source, cut.block)]
    parts = max(1, -(-sum(source.size for source in load.sources) // cut.part))
    return Job(replace(load.options, made_from=(), unreadable=(), rejects=None), load.run.policies, now(), found, parts, output)


def _carry_out(load: Load, job: Job, means: Means) -> tuple[Told, Job]:
    """All stages; counts what they come to in `load`. Returns also the job as it was in the end."""
    for reject in load.options.unreadable:
        load.read += 1
        load.rejects.write(reject)
    size = sum(source.size for source in load.sources)
    done: dict[str, float] = {"sources": 0, "edges": 0}

    def stage(one: Stage, phase: str, share: float) -> Told:
        def tell(part: int) -> None:
            block = job.blocks[part] if one is Stage.READ else None
            done[phase] += share * size / job.parts if block is None else share * (block.end - block.start)
            load.tell(phase, int(done[phase]))

        found = means.carry_out(one, job, tell)
        load.read += found.read
        load.outcome.add(found.outcome)
        return found

    told = stage(Stage.READ, "sources", 0.8)
    mark = next((one for one in job.output.marks if one not in told.marks), None)
    if mark is None:
        raise InputError("The records hold every character that could part the elements of a list in import files.",
                         hint="Load them without --bulk.")
    job = replace(job, mark=mark)
    told.add(stage(Stage.SOURCES, "sources", 0.2))
    load.tell("sources", size, last=True)
    told.add(stage(Stage.EDGES, "edges", 0.8))
    told.add(stage(Stage.ENDS, "edges", 0.2))
    for block in range(len(job.blocks)):
        for reject in means.rejects(block):
            load.rejects.write(reject)
    load.tell("edges", size, last=True)
    load.outcome.writes = Writes(*(sum(rows for name, rows in told.counts.items() if name.startswith(kind))
                                   for kind in ("nodes", "relationships")))
    return told, job
