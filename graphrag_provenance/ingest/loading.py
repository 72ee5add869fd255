"""The load: standard records into the store, as one run (spec 1, spec 3 runs, spec 5 JSON).

Owns: the order of work. First pass: every line is checked; documents, revisions, chunks and entities are stored. Second pass:
edges, by workers that never share an edge. Each batch is one transaction; a load that was cut off is loaded again and ends in
the same state. Memory is bounded by the batches under way, not by the input.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from graphrag_provenance.errors import InputError, StoreError
from graphrag_provenance.ingest.batches import EdgeWorkers, write_edges, write_entities, write_sources
from graphrag_provenance.ingest.candidates import Candidate, candidate, rejected, sift, to_edge, to_source
from graphrag_provenance.ingest.load import IngestOptions, Load, Progress, Summary, counts_of, summary_of
from graphrag_provenance.ingest.rejecting import RejectFile
from graphrag_provenance.ingest.sources import Line, Source, content_hash, lines, open_sources
from graphrag_provenance.ingest.validate import LINE_CODES, parse_line, surely_edge, surely_no_edge
from graphrag_provenance.model.instants import now
from graphrag_provenance.rules.edges import Edge
from graphrag_provenance.rules.rejects import Refused
from graphrag_provenance.store import runs
from graphrag_provenance.store.assertions import Rules
from graphrag_provenance.store.counting import Outcome, Reject
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.entities import EntityItem
from graphrag_provenance.store.orders import require_settled
from graphrag_provenance.store.sealing import sealing
from graphrag_provenance.store.shield import uninterrupted
from graphrag_provenance.store.sources import Item
from graphrag_provenance.store.view import Key, View


class Inputs(NamedTuple):
    """What a load reads: the hash of each source, and what the run record says of it."""

    hashes: tuple[str, ...]
    told: tuple[Mapping[str, Any], ...]


@contextmanager
def opened(
    database: Database, paths: Sequence[Path | Source], options: IngestOptions, kind: str,
) -> Iterator[tuple[list[Source], Inputs]]:
    """The sources of a load that will be a run of that kind, checked before anything is begun. Raises InputError."""
    with open_sources(paths) as sources:
        if options.rejects is not None and any(options.rejects.absolute() == s.path.absolute() for s in sources):
            raise InputError(f"The reject file {options.rejects} is an input file.", hint="Name another one with --rejects.")
        hashes = tuple(content_hash(source) for source in sources)
        told = tuple(options.made_from) or tuple(
            {"name": s.name, "bytes": s.size, "sha256": found} for s, found in zip(sources, hashes, strict=True))
        if options.resume is not None:
            _check_resumed(database, options.resume, told, kind)
        yield sources, Inputs(hashes, told)


def check_unchanged(
    sources: Sequence[Source], hashes: Sequence[str], hint: str = "What was committed stays; load it again, as a new run.",
) -> None:
    """Raises InputError if a source is not what it was when it was hashed."""
    for source, known in zip(sources, hashes, strict=True):
        if content_hash(source) != known:
            raise InputError(f"{source.name} changed while it was loaded.", hint=hint)


def ingest(
    database: Database, paths: Sequence[Path | Source], options: IngestOptions, *, progress: Callable[[Progress], None] | None = None,
    notify: Callable[[str], None] | None = None,
) -> Summary:
    """Load standard JSONL (`-`: standard input) as one run. Raises InputError for unusable input, StoreError when the
    store fails: what was committed stays, and the same call with `resume` completes it."""
    started = time.monotonic()
    with opened(database, paths, options, "ingest") as (sources, inputs):
        if options.dry_run:
            return _dry_run(database, sources, options, progress, started)
        run = runs.begin(
            database,
            runs.RunStart("ingest", options.actor, options.pipeline, options.version, options.trace_id, inputs.told, options.resume),
            policies=options.policies, lease_seconds=options.lease_seconds, wait_seconds=options.wait_seconds,
            notify=notify or (lambda _: None))
        rejects = RejectFile(options.rejects or Path(f"{run.run_id}.rejected.jsonl"))
        load = Load(database, options, sources, run, Rules(run.policies, options.require_registered_sources),
                    View(seq=run.seq, completes=run.completes, virgin=not run.before.get("head_seq")), rejects,
                    progress or (lambda _: None))
        with sealing(database, run, lambda: counts_of(load)), _resumable(run), rejects:
            carry_out(load)
            check_unchanged(sources, inputs.hashes)
        record = run.end("finished", counts_of(load))
        return summary_of(load, record, started)


@contextmanager
def _resumable(run: runs.Run) -> Iterator[None]:
    """A store that fails leaves a load that can be completed; the error says how."""
    try:
        yield
    except StoreError as error:
        if "--resume" not in (error.hint or ""):
            error.hint = f"{error.hint or ''} What was committed stays; complete it with --resume {run.seq}.".lstrip()
        raise


def carry_out(load: Load) -> None:
    """Both passes over the sources."""
    for reject in load.options.unreadable:
        load.read += 1
        load.rejects.write(reject)
    with patient_collector():
        _first_pass(load)
        load.tell("edges", 0, last=True)
        _second_pass(load)


@contextmanager
def patient_collector() -> Iterator[None]:
    """A load makes many short-lived objects: at its default pace the cycle collector takes half the time. What the driver leaves in
    cycles, with the parameters of a batch, waits for it: at a tenth of this pace a load held twice as much."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _first_pass(load: Load) -> None:
    clock = now()
    batch: list[Candidate] = []
    base = 0

    def flush() -> None:
        if batch:
            uninterrupted(lambda: store_sources(load, batch, clock))
            batch.clear()

    for source in load.sources:
        done = 0
        for line in lines(source, load.options.max_line_bytes):
            load.read += 1
            done += len(line.data) + line.too_long + 1
            if not surely_edge(line):
                try:
                    value = parse_line(line)
                    if value["kind"] != "edge":
                        batch.append(candidate(line, value, load.reading))
                except Refused as refused:
                    load.rejects.write(rejected(line, refused))
            if len(batch) >= load.options.batch_size:
                flush()
            load.tell("sources", base + min(done, source.size))
        base += source.size
    flush()
    load.tell("sources", base, last=True)


def store_sources(load: Load, batch: Sequence[Candidate], clock: datetime) -> None:
    """Take in a batch of candidates that are no edges."""
    sifted = sift(load.database, load.view, batch)
    load.view.restated.change(sifted.again)
    for kind, count in sifted.repeated.items():
        (load.outcome.entities if kind == "entity" else load.outcome.sources)["unchanged"] += count
    sources: list[Item] = []
    entities: list[EntityItem] = []
    for one in sifted.new:
        try:
            item = to_source(one, load.reading)
        except Refused as refused:
            load.rejects.write(rejected(one.line, refused))
            continue
        if isinstance(item, EntityItem):
            entities.append(item)
        else:
            sources.append(item)
    load.quotes.remember(sources)
    if sources:
        load.take(write_sources(load.database, load.run, load.rules, load.view, sources, clock))
    if entities:
        load.take(write_entities(load.database, load.run, load.view, entities))


def _second_pass(load: Load) -> None:
    base = 0
    with EdgeWorkers(lambda batch: _sift_edges(load, batch), load.options.workers, load.options.batch_size) as workers:
        for source in load.sources:
            done = 0
            for line in lines(source, load.options.max_line_bytes):
                done += len(line.data) + line.too_long + 1
                one = _edge(load, line)
                if one is not None:
                    workers.submit(one)
                for outcome in workers.finished():
                    load.take(outcome)
                load.tell("edges", base + min(done, source.size))
            base += source.size
        for outcome in workers.drain():
            load.take(outcome)
    load.tell("edges", base, last=True)


def _edge(load: Load, line: Line) -> Candidate | None:
    """The edge of a line, or None for another kind, or for a broken line of one (the first pass dealt with those)."""
    if surely_no_edge(line):
        return None
    try:
        value = parse_line(line)
        return candidate(line, value, load.reading) if value["kind"] == "edge" else None
    except Refused as refused:
        if surely_edge(line) or refused.code not in LINE_CODES:
            load.rejects.write(rejected(line, refused))
        return None


def _sift_edges(load: Load, batch: Sequence[Candidate]) -> Outcome:
    sifted = sift(load.database, load.view, batch)
    load.view.restated.change(sifted.again)
    unchanged = load.view.leave_edges({key[1:]: changed for key, changed in sifted.again.items()})
    refusals: list[Reject] = []
    edges: list[Edge] = []
    for one in sifted.new:
        try:
            edges.append(one.edge or to_edge(one.line, one.fingerprint, load.reading))
        except Refused as refused:
            refusals.append(rejected(one.line, refused))
    outcome = store_edges(load, edges, sifted.stored)
    outcome.edges["unchanged"] += unchanged
    outcome.evidence["unchanged"] += sifted.evidence
    outcome.rejects = refusals + outcome.rejects
    return outcome


def store_edges(load: Load, edges: Sequence[Edge], stored: Container[Key]) -> Outcome:
    """Take in a batch of edges; `stored` are those of their keys that the store has."""
    edges, unproved, grades = load.quotes.sift(edges)
    outcome = write_edges(load.database, load.run, load.rules, load.view, edges, stored) if edges else Outcome()
    outcome.quotes.update(grades)
    outcome.rejects = unproved + outcome.rejects
    return outcome


def _check_resumed(database: Database, seq: int, inputs: Sequence[Mapping[str, Any]], kind: str) -> None:
    rows = database.read("run.by_seq", seq=seq)
    if not rows:
        raise InputError(f"There is no run {seq}.", hint="See: gprov run list.")
    earlier = runs.run_json(rows[0]["run"])
    if earlier["kind"] != kind or earlier["status"] in ("finished", "staged"):
        raise InputError(f"Run {seq} is not an unfinished {'load' if kind == 'ingest' else kind} "
                         f"(it is {earlier['kind']}, {earlier['status']}).")
    if sorted(i["sha256"] for i in earlier["inputs"]) != sorted(i["sha256"] for i in inputs):
        raise InputError(f"The input is not that of run {seq}.", hint="Name the same files with the same content.")


def _dry_run(database: Database, sources: list[Source], options: IngestOptions, progress: Callable[[Progress], None] | None,
             started: float) -> Summary:
    """Everything but the writing: checks, verdicts and counts against the store as it is. Holds the would-be state in memory.
    One worker: what one batch would have written, the next must know."""
    options = replace(options, workers=1)
    state = runs.store_state(database)
    require_settled(state)
    order = runs.stored_policies(state) or options.policies
    seq = int((state or {}).get("head_seq", 0)) + 1
    run = runs.Run(database, seq, "dry-run", options.trace_id or "", {}, order, options.lease_seconds)
    with RejectFile(options.rejects) as rejects:
        load = Load(database, options, sources, run, Rules(order, options.require_registered_sources),
                     View(seq=seq, dry=True), rejects, progress or (lambda _: None))
        carry_out(load)
    record = {"seq": None, "run_id": None, "trace_id": options.trace_id, "actor": options.actor, "pipeline": options.pipeline,
              "version": options.version, "status": "dry-run", "digest": None, "graph_hash": (state or {}).get("graph_hash")}
    return summary_of(load, record, started)
