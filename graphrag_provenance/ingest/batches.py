"""Batches and workers: how validated records reach the store.

Owns: one transaction a batch, and the split of edges over workers by their key, so that two workers never hold the same edge
and every worker applies what it gets in order. A worker that fails stops the load; nothing of its batch is left.
"""

from __future__ import annotations

import queue
import threading
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType

from graphrag_provenance.errors import StoreTimeoutError
from graphrag_provenance.ingest.candidates import Candidate
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.edges import Edge
from graphrag_provenance.store.assertions import Decided, Rules, apply_edges, reevaluate
from graphrag_provenance.store.counting import Outcome
from graphrag_provenance.store.database import Database, Transaction
from graphrag_provenance.store.entities import EntityItem, add_aliases, apply_entities, ensure_entities
from graphrag_provenance.store.runs import Run
from graphrag_provenance.store.sources import Item, apply_sources
from graphrag_provenance.store.view import Key, Node, Pending, View

Applied = tuple[Outcome, MultisetHash, Pending]


def _commit(database: Database, run: Run, work: Callable[[Transaction], Applied]) -> Outcome:
    """One transaction of the run: apply, account for the change, and let the view learn of it after the commit."""
    def attempt(tx: Transaction) -> Applied:
        outcome, change, pending = work(tx)
        if tx.writes.total:
            run.account(tx, change)
        return outcome, change, pending

    try:
        (outcome, change, pending), writes = database.write(attempt, metadata=run.metadata)
    except StoreTimeoutError:
        run.check_held()  # a writer that takes over ends our transactions
        raise
    pending.commit()
    if pending.dry:
        pending.view.sum.combine(change)
    outcome.writes = writes
    return outcome


def write_sources(database: Database, run: Run, rules: Rules, view: View, items: Sequence[Item], clock: datetime) -> Outcome:
    """Store a batch of documents, revisions and chunks."""
    def work(tx: Transaction) -> Applied:
        applied = apply_sources(tx, run.seq, rules, view, items, clock)
        return applied.outcome, applied.change, applied.pending

    return _commit(database, run, work)


def write_tombstone(
    database: Database, run: Run, rules: Rules, view: View, item: Item, clock: datetime
) -> tuple[Outcome, list[Decided]]:
    """Store one tombstone and retire what it removes. Returns also the edges that cite its document, as they were and as they are."""
    found: list[Decided] = []

    def work(tx: Transaction) -> Applied:
        applied = apply_sources(tx, run.seq, rules, view, [item], clock)
        found[:] = applied.decided
        return applied.outcome, applied.change, applied.pending

    return _commit(database, run, work), found


def write_entities(database: Database, run: Run, view: View, items: Sequence[EntityItem]) -> Outcome:
    """Store a batch of entities."""
    return _commit(database, run, lambda tx: apply_entities(tx, run.seq, view, items))


def write_ends(database: Database, run: Run, view: View, keys: Iterable[Key], aliases: Mapping[str, Node]) -> Outcome:
    """Store the ends of edges that no record declares, and the ids of ends as they were written."""
    def work(tx: Transaction) -> Applied:
        outcome, change, pending = Outcome(), MultisetHash(), Pending(view)
        ensure_entities(tx, run.seq, pending, keys, outcome)
        add_aliases(tx, pending, aliases, outcome, change)
        return outcome, change, pending

    return _commit(database, run, work)


def write_edges(database: Database, run: Run, rules: Rules, view: View, edges: Sequence[Edge], stored: Container[Key]) -> Outcome:
    """Store a batch of edges; `stored` are those of their keys that the store has."""
    def work(tx: Transaction) -> Applied:
        outcome, change, pending = Outcome(), MultisetHash(), Pending(view)
        apply_edges(tx, run.seq, rules, pending, edges, outcome, change, stored)
        return outcome, change, pending

    return _commit(database, run, work)


def reevaluate_edges(
    database: Database, run: Run, rules: Rules, view: View, keys: Sequence[Key]
) -> tuple[Outcome, list[Decided]]:
    """Decide about a batch of stored edges anew. Returns also each as it was and as it is."""
    found: list[Decided] = []

    def work(tx: Transaction) -> Applied:
        outcome, change, pending = Outcome(), MultisetHash(), Pending(view)
        found[:] = reevaluate(tx, run.seq, rules, pending, keys, outcome, change)
        return outcome, change, pending

    return _commit(database, run, work), found


class EdgeWorkers:
    """Threads that take candidates in batches; an edge always goes to the same one."""

    def __init__(self, write: Callable[[Sequence[Candidate]], Outcome], workers: int, batch_size: int) -> None:
        self._write = write
        self._size = batch_size
        self._buffers: list[list[Candidate]] = [[] for _ in range(max(1, workers))]
        self._inboxes: list[queue.Queue[list[Candidate] | None]] = [queue.Queue(maxsize=2) for _ in self._buffers]
        self._done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._work, args=(inbox,), name=f"edges-{n}", daemon=True)
            for n, inbox in enumerate(self._inboxes)]

    def __enter__(self) -> EdgeWorkers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None and self._error is None:
            self._error = error
        for inbox in self._inboxes:
            inbox.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, inbox: queue.Queue[list[Candidate] | None]) -> None:
        while (batch := inbox.get()) is not None:
            if self._error is not None:
                continue  # drain, so that the reader never blocks; the error is raised there
            try:
                self._done.put(self._write(batch))
            except BaseException as error:  # noqa: BLE001 - handed to the reading thread, which raises it
                self._error = error

    def submit(self, candidate: Candidate) -> None:
        """Hand over one edge; blocks while its worker is busy. Raises what a worker raised."""
        if self._error is not None:
            raise self._error
        slot = zlib.crc32("\x00".join(candidate.key or ()).encode("utf-8", "surrogatepass")) % len(self._buffers)
        buffer = self._buffers[slot]
        buffer.append(candidate)
        if len(buffer) >= self._size:
            self._inboxes[slot].put(buffer)
            self._buffers[slot] = []

    def finished(self) -> Iterator[Outcome]:
        """Outcomes of batches committed since the last call."""
        while not self._done.empty():
            yield self._done.get()

    def drain(self) -> Iterator[Outcome]:
        """Write what is buffered, wait for the workers, and return the last outcomes. Raises what a worker raised."""
        for slot, buffer in enumerate(self._buffers):
            if buffer:
                self._inboxes[slot].put(buffer)
                self._buffers[slot] = []
        for inbox in self._inboxes:
            inbox.put(None)
        for thread in self._threads:
            thread.join()
        yield from self.finished()
        if self._error is not None:
            raise self._error
