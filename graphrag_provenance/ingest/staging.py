"""Staged generations: a load that is held back, checked, then published or discarded (spec 3; docs/decisions/0009-staged-generations.md).

Owns: what staging, publishing and discarding do, and how a candidate is asked. Staging carries the whole load out in one transaction
that is taken back, so it says exactly what publishing will do, and keeps the accepted input and the graph hash that it leads to.
A candidate is asked inside such a transaction, by the statements of every other read. Publishing carries the load out in a
transaction that commits only if the graph hash comes out as the one that was staged: all of it goes live at once, or nothing does.

Cost: staging, publishing and each question to a candidate hold what the load writes in one transaction of the server.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from graphrag_provenance.errors import InputError, StoreConflictError, StoreError, StoreTimeoutError
from graphrag_provenance.ingest.load import IngestOptions, Load, Progress, Summary, counts_of, summary_of
from graphrag_provenance.ingest.loading import carry_out, check_unchanged, ingest, opened
from graphrag_provenance.ingest.quoting import QuoteMode
from graphrag_provenance.ingest.rejecting import RejectFile
from graphrag_provenance.ingest.sources import Source, lines
from graphrag_provenance.rules.digests import EMPTY_SUM, MultisetHash
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.relations import Relation
from graphrag_provenance.store import runs
from graphrag_provenance.store.assertions import Rules
from graphrag_provenance.store.database import Database, Transaction, Writes
from graphrag_provenance.store.sealing import sealing
from graphrag_provenance.store.staging import (
    DISCARD,
    PUBLISH,
    STAGED,
    Held,
    content_hash,
    hold,
    packed,
    read_held,
    settle,
    with_outcome,
)
from graphrag_provenance.store.view import View
from graphrag_provenance.store.within import Within

T = TypeVar("T")
Report = Callable[[Progress], None]
_CARRIED = ("tenant", "require_registered_sources", "batch_size", "max_line_bytes")


@dataclass(frozen=True, slots=True)
class SettleOptions:
    """Which staged run to publish or to discard, and on whose behalf."""

    seq: int
    """Number of the staged run."""
    actor: str = "unknown"
    trace_id: str | None = None
    lease_seconds: float = 60.0
    wait_seconds: float = 600.0


@dataclass(slots=True)
class _Part(runs.Run):
    """The run of a load that is a part of one transaction: its changes are summed up, not accounted for one by one."""

    change: MultisetHash = field(default_factory=MultisetHash)

    def account(self, tx: Transaction, change: MultisetHash) -> None:
        self.change.combine(change)

    def check_held(self) -> None:
        """Left to whoever opened the transaction."""


def stage(
    database: Database, paths: Sequence[Path | Source], options: IngestOptions, *, progress: Report | None = None,
    notify: Callable[[str], None] | None = None,
) -> Summary:
    """Hold a load back, as one run: nothing of it is live before `publish`. Raises as `ingest`, and StoreConflictError while another
    run is staged. A staging that is cut off has staged nothing, and is simply asked for again."""
    started = time.monotonic()
    if options.dry_run:
        runs.require_unstaged(runs.store_state(database))
        return ingest(database, paths, options, progress=progress, notify=notify)
    with opened(database, paths, options, "stage") as (sources, inputs):
        start = runs.RunStart("stage", options.actor, options.pipeline, options.version, options.trace_id, inputs.told, options.resume)
        run = runs.begin(
            database, start, policies=options.policies, lease_seconds=options.lease_seconds, wait_seconds=options.wait_seconds,
            notify=notify or (lambda _: None))
        path = options.rejects or Path(f"{run.run_id}.rejected.jsonl")
        with sealing(database, run):
            load, candidate = database.rehearse(
                lambda tx: _carried_out(Within(database, tx), sources, options, _as_part(run), RejectFile(path, places=True), progress),
                metadata=run.metadata)
            load.outcome.writes = Writes()  # they were taken back
            check_unchanged(sources, inputs.hashes, "Nothing was staged; stage it again.")
            parts = packed(_conditions(options), ((source.name, _accepted(source, load)) for source in sources))
            counts = {**counts_of(load), "candidate_hash": candidate, "content_hash": content_hash(parts)}
        record = run.end(STAGED, counts, also=lambda tx: hold(tx, run.seq, parts))
        return replace(summary_of(load, record, started), candidate_hash=candidate)


def publish(
    database: Database, options: SettleOptions, *, progress: Report | None = None, notify: Callable[[str], None] | None = None,
) -> Summary:
    """Make a staged run live, as a run of its own. Raises InputError for a run that is not staged, and StoreError if the graph hash is not
    the one that was staged: then nothing is changed. One that is cut off has done nothing, or all of it."""
    started = time.monotonic()
    _check_staged(database, options.seq)
    held = read_held(database)
    run = _begin(database, PUBLISH, held, options, notify)

    def work(tx: Transaction) -> Load:
        part = _as_part(run)
        with _input(held) as sources:
            load, found = _carried_out(
                Within(database, tx), sources, _options(held, run.policies), part, RejectFile(None), progress)
        _require(found, held)
        settle(tx, held.seq, run.seq)
        run.account(tx, part.change)
        return load

    with sealing(database, run):
        try:
            load, writes = database.write(work, metadata=run.metadata)
        except StoreTimeoutError:
            run.check_held()  # a writer that takes over ends our transactions
            raise
        load.outcome.writes = writes
    return summary_of(load, run.end("finished", counts_of(load)), started)


def discard(database: Database, options: SettleOptions, *, notify: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Drop a staged run, as a run of its own, whose record is returned; the graph is what it was. Raises InputError for a run that is not
    staged."""
    state = _check_staged(database, options.seq)
    rows = database.read("run.by_seq", seq=state["staged"])
    run = _begin(database, DISCARD, Held(runs.run_json(rows[0]["run"]), ()), options, notify)

    def work(tx: Transaction) -> None:
        settle(tx, options.seq, run.seq)
        run.account(tx, MultisetHash())

    with sealing(database, run):
        database.write(work, metadata=run.metadata)
    return run.end("finished", {})


def ask_candidate(database: Database, ask: Callable[[Database], T]) -> T:
    """What `ask` returns of the store as it will be once the staged run is published. Nothing is written, and nobody else sees it.

    Raises InputError when none is staged, StoreConflictError when it is settled meanwhile, and StoreError if the graph hash is not the one
    that was staged."""
    def work(tx: Transaction) -> T:
        candidate = Within(database, tx)
        held = read_held(candidate)
        state = runs.store_state(candidate) or {}
        order = runs.stored_policies(state)
        assert order is not None  # the staged run began
        run = _Part(candidate, held.seq, held.run["run_id"], held.run["trace_id"], {}, order, 0.0, before=state)
        with _input(held) as sources:
            _, found = _carried_out(candidate, sources, _options(held, order), run, RejectFile(None), None)
        if (runs.store_state(candidate) or {}).get("staged") != held.seq:
            raise StoreConflictError(f"Run {held.seq} was published or discarded meanwhile.", hint="See: gprov run list.")
        _require(found, held)
        return ask(candidate)

    return database.rehearse(work)


def _as_part(run: runs.Run) -> _Part:
    return _Part(run.database, run.seq, run.run_id, run.trace_id, run.record, run.policies, run.lease_seconds, run.completes,
                 before=run.before)


def _carried_out(
    database: Database, sources: Sequence[Source], options: IngestOptions, run: _Part, rejects: RejectFile, progress: Report | None,
) -> tuple[Load, str]:
    """A load, carried out within a transaction, and the graph hash that it leads to. One worker: one transaction has one writer."""
    load = Load(database, replace(options, workers=1), list(sources), run, Rules(run.policies, options.require_registered_sources),
                View(seq=run.seq, completes=run.completes), rejects, progress or (lambda _: None))
    with rejects:
        carry_out(load)
    total = MultisetHash(run.before.get("sum", EMPTY_SUM))
    total.combine(run.change)
    return load, total.graph_hash()


def _require(found: str, held: Held) -> None:
    if found != held.candidate_hash:
        raise StoreError(f"What run {held.seq} holds back does not lead to the graph hash that was staged; nothing was changed.",
                         hint=f"Check the store (gprov verify), or drop it and stage the input again: gprov run discard {held.seq}.")


def _conditions(options: IngestOptions) -> dict[str, Any]:
    """Everything besides the lines that decides how they are read."""
    return {**{name: getattr(options, name) for name in _CARRIED}, "verify_quotes": options.verify_quotes.value,
            "relations": {name: relation.model_dump() for name, relation in options.relations.items()}}


def _options(held: Held, order: PolicyLattice) -> IngestOptions:
    told = held.conditions
    return IngestOptions(
        order, verify_quotes=QuoteMode(told["verify_quotes"]), **{name: told[name] for name in _CARRIED},
        relations={name: Relation.model_validate(relation) for name, relation in told["relations"].items()})


def _accepted(source: Source, load: Load) -> Iterator[bytes]:
    """The lines of a source at their places, those of rejected records blank: what is refused today may be accepted tomorrow."""
    refused = load.rejects.places
    if refused is None:
        raise AssertionError("nobody kept which lines were refused")
    last = 0
    for line in lines(source, load.options.max_line_bytes):
        kept = b"" if line.too_long or (line.file, line.number) in refused else line.data
        yield b"\n" * (line.number - last - 1) + kept + b"\n"
        last = line.number


@contextmanager
def _input(held: Held) -> Iterator[list[Source]]:
    """What is held back, as files."""
    with tempfile.TemporaryDirectory(prefix="gprov-staged-") as folder:
        sources: dict[int, Source] = {}
        for number, name, content in held.sources():
            path = Path(folder) / f"{number}.jsonl"
            with path.open("ab") as file:
                file.write(content)
            sources[number] = Source(name, path, path.stat().st_size)
        yield list(sources.values())


def _check_staged(database: Database, seq: int) -> Mapping[str, Any]:
    """The store's record, with run `seq` staged. Raises InputError if it is not, saying what it is."""
    state = runs.store_state(database) or {}
    if state.get("staged") == seq:
        return state
    rows = database.read("run.by_seq", seq=seq)
    if not rows:
        raise InputError(f"There is no run {seq}.", hint="See: gprov run list.")
    run = with_outcome(database, runs.run_json(rows[0]["run"]))
    became = f"it was {run['status']} by run {run['settled']}" if run.get("settled") else f"it is {run['kind']}, {run['status']}"
    staged = state.get("staged")
    raise InputError(f"Run {seq} is not staged: {became}.", hint=f"Run {staged} is." if staged else "No run is: gprov ingest PATH --stage.")


def _begin(
    database: Database, kind: str, held: Held, options: SettleOptions, notify: Callable[[str], None] | None,
) -> runs.Run:
    """A run that settles a staged one; its record names that one, who made its input, and from what."""
    staged = held.run
    start = runs.RunStart(
        kind, options.actor, str(staged["pipeline"]), str(staged["version"]), options.trace_id,
        ({"staged": held.seq, "digest": staged["digest"]}, *staged["inputs"]))
    order = runs.stored_policies(runs.store_state(database))
    assert order is not None  # the staged run began
    return runs.begin(database, start, policies=order, lease_seconds=options.lease_seconds, wait_seconds=options.wait_seconds,
                      notify=notify or (lambda _: None), settles=held.seq)
