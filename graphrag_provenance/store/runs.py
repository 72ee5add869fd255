"""Runs: every write has one (spec 3, runs; spec 1, invariants 5 and 8).

Owns: the writer's lease, the numbering of runs, the running sum behind the graph hash, and how a run ends. One run writes
at a time; others wait. A lease that is not renewed, or whose process is dead on this machine, is taken over: the abandoned
run is sealed as `interrupted` first, so that what it committed stays, is hashed, and can be resumed.

Each transaction of a run leaves a Delta (what it adds to the multiset hash) under the same commit as its data; the end of the
run folds them into the store. So the graph hash is right at every instant, kill -9 included.

The fence: to leave its Delta a transaction locks the store, then looks whether its run still holds it, and keeps the lock
until the commit. To take over, another writer locks the store too. So each transaction either commits before the takeover,
and is sealed with its run, or finds the store lost and leaves nothing; a writer that was merely stopped may wake up at any time.

A staged run holds a generation back (`store.staging`): until it is published or discarded, no run begins that would change the graph
under it. Recording what programs report goes on.

A run that changes the order of policies says so in the transaction that opens it (`policies_next`) and makes it the store's order
in the transaction that seals it. Until then, and after a run that was cut off, readers keep to what all these orders cover
(`store.readers`), and no other kind of run begins: it would have to decide by one order in a store that stands under several.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from graphrag_provenance.errors import InputError, ProvenanceError, StoreConflictError, StoreUnavailableError
from graphrag_provenance.events import report
from graphrag_provenance.model.instants import format_instant, now
from graphrag_provenance.model.trace_context import parse_trace_id
from graphrag_provenance.rules.digests import EMPTY_SUM, MultisetHash, graph_hash, run_digest
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.store.database import Database, Transaction
from graphrag_provenance.store.orders import order_text, require_settled, stored_policies, with_next
from graphrag_provenance.store.shield import uninterrupted

__all__ = ["Run", "RunStart", "begin", "require_unstaged", "run_json", "store_state", "stored_policies"]

STORE_ID = "store"
Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunStart:
    """Who writes, with what, why."""

    kind: str
    """`ingest`, `policy-apply`, `rollback` …"""
    actor: str
    pipeline: str
    version: str
    trace_id: str | None = None
    """W3C trace id (32 hex digits) or traceparent; made when absent."""
    inputs: tuple[Mapping[str, Any], ...] = ()
    """Input files with size and hash."""
    resumes: int | None = None
    """The run that this one completes."""


@dataclass(slots=True)
class Run:
    """A run that holds the store. `policies` is the order that the store applies."""

    database: Database
    seq: int
    run_id: str
    trace_id: str
    record: dict[str, Any]
    policies: PolicyLattice
    lease_seconds: float
    completes: frozenset[int] = frozenset()
    """The cut-off runs that this one completes: together they are one load."""
    becomes_order: bool = False
    """Whether `policies` becomes the store's order when the run has finished."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """The store's record as the run found it."""
    began: float = field(default_factory=time.monotonic)
    lost: threading.Event = field(default_factory=threading.Event)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def metadata(self) -> dict[str, str]:
        """What the server's transaction list shows about this run's transactions."""
        return {"run_id": self.run_id, "trace_id": self.trace_id, "app": "graphrag-provenance"}

    def account(self, tx: Transaction, change: MultisetHash) -> None:
        """Record a transaction's change of the graph hash in that transaction. Raises StoreConflictError when the store is lost."""
        rows = tx.run("run.delta", id=STORE_ID, run_id=self.run_id, seq=self.seq, sum=change.to_bytes(), counted=False)
        if not rows or rows[0]["held"] != 1:
            raise self._conflict()

    def adopt(self, tx: Transaction, order: PolicyLattice) -> None:
        """Make `order` the store's in the transaction that writes everything this run writes."""
        tx.run("run.adopt_order", id=STORE_ID, seq=self.seq, policies=order_text(order), policies_hash=order.hash, counted=False)

    def adopted(self, order: PolicyLattice) -> None:
        """That transaction is committed."""
        self.record |= {"order": order_text(order), "policies_hash": order.hash}

    def check_held(self) -> None:
        """Raises StoreConflictError if another writer took over (it then ends the transactions of this run)."""
        rows = self.database.read("store.state", id=STORE_ID)
        if not rows or rows[0]["store"].get("writer") != self.run_id:
            raise self._conflict()

    def _told(self) -> dict[str, Any]:
        """What every event of this run carries."""
        return {"run_id": self.run_id, "trace_id": self.trace_id, "seq": self.seq, "kind": self.record.get("kind")}

    def _conflict(self) -> StoreConflictError:
        if not self.lost.is_set():
            report("warning", "run lost the store", **self._told())
        self.lost.set()
        return StoreConflictError(
            f"Run {self.seq} no longer holds the store; another writer took over.", hint=f"Resume it: --resume {self.seq}.")

    def start_heartbeat(self) -> None:
        """Renew the lease until the run ends."""
        self._thread = threading.Thread(target=self._beat, name=f"lease-{self.seq}", daemon=True)
        self._thread.start()

    def stop_heartbeat(self) -> None:
        """Renew the lease no more: who cannot seal the run must at least let it lapse."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _beat(self) -> None:
        while not self._stop.wait(self.lease_seconds / 4):
            try:
                rows, _ = self.database.write(lambda tx: tx.run(
                    "run.renew", id=STORE_ID, run_id=self.run_id, seconds=self.lease_seconds, counted=False))
            except ProvenanceError as error:  # the database is away; the next transaction of the run fails
                report("warning", "lease not renewed", reason=error.message, **self._told())
                continue
            if not rows or rows[0]["held"] != 1:
                self._conflict()
                return

    def end(self, status: str, counts: Mapping[str, Any], *, also: Callable[[Transaction], None] = lambda _: None) -> dict[str, Any]:
        """Seal the run: fold its deltas, compute graph hash and digest, let the store go. `also`: what else happens in that
        transaction. Returns the run record."""
        self.stop_heartbeat()

        def work(tx: Transaction) -> dict[str, Any]:
            store = _lock(tx)[0]
            if store.get("writer") != self.run_id:
                sealed = tx.run("run.by_seq", seq=self.seq)[0]["run"]
                if sealed["run_id"] == self.run_id and sealed["status"] == status:
                    return run_json(sealed)  # by us: only the acknowledgement was lost
                raise self._conflict()
            also(tx)
            return _seal(tx, store, self.record, status, counts, self.policies if self.becomes_order else None)

        def write() -> dict[str, Any]:
            return self.database.write(work, metadata=self.metadata)[0]

        try:
            ended = write()
        except StoreUnavailableError:
            ended = write()  # it may have been the acknowledgement that was lost
        report("warning" if status == "failed" else "info", "run ended", status=status, graph_hash=ended["graph_hash"],
               digest=ended["digest"], counts=ended["counts"], seconds=round(time.monotonic() - self.began, 3), **self._told())
        return ended


def begin(
    database: Database, start: RunStart, *, policies: PolicyLattice, lease_seconds: float = 60.0, wait_seconds: float = 600.0,
    notify: Notify = lambda _: None, new_order: bool = False, unsettled: bool = False, beside: bool = False,
    settles: int | None = None,
) -> Run:
    """Take the store and open a run. `policies` becomes the store's order only if the store has none yet, or with `new_order`
    when the run has finished. Raises StoreConflictError while a change of the order is unfinished (unless `new_order`, or
    `unsettled`: the run adopts an order itself, see `Run.adopt`), and while another run is staged (unless `beside`: the run leaves
    the graph as it is, or `settles`: the staged run that it publishes or discards).

    Waits for another writer up to `wait_seconds`, then raises StoreConflictError naming it. Raises InputError for a trace id that is
    none.
    """
    start = _checked(start)
    deadline = time.monotonic() + wait_seconds
    told = ""
    while True:
        run, busy = uninterrupted(lambda: _try_begin(database, start, policies, lease_seconds, new_order, unsettled, beside, settles))
        if run is not None:
            run.start_heartbeat()
            named = {name: run.record[name] for name in ("actor", "pipeline", "version")}
            report("info", "run begun", inputs=len(start.inputs), resumes=start.resumes, **named, **run._told())
            return run
        if busy != told:
            notify(busy)
            told = busy
        if time.monotonic() >= deadline:
            raise StoreConflictError(busy, hint="Try again when it has finished.")
        time.sleep(0.25)


def _try_begin(
    database: Database, start: RunStart, policies: PolicyLattice, lease_seconds: float, new_order: bool, unsettled: bool, beside: bool,
    settles: int | None,
) -> tuple[Run | None, str]:
    run_id = str(uuid.uuid4())
    trace_id = start.trace_id or uuid.uuid4().hex
    known = database.read("store.state", id=STORE_ID)
    previous: str | None = known[0]["store"].get("writer") if known else None
    if previous is not None:
        if not _abandoned(known[0]["store"], known[0]["now"]):
            return None, _busy(known[0]["store"])
        # A writer that is stopped, not dead, would keep its locks for ever, the store's among them.
        database.read("run.terminate", run_id=previous)

    taken: dict[str, Any] = {}

    def work(tx: Transaction) -> tuple[Run | None, str]:
        taken.clear()
        store, clock = _lock(tx)
        if store.get("writer"):
            if not _abandoned(store, clock):
                return None, _busy(store)
            abandoned = tx.run("run.by_seq", seq=store["writer_seq"])[0]["run"]
            _seal(tx, store, abandoned, "interrupted", {})
            taken.update(abandoned=abandoned["seq"], abandoned_run_id=abandoned["run_id"])
            store = _lock(tx)[0]
        if not new_order and not unsettled:
            require_settled(store)
        if not beside:
            require_unstaged(store, settles)
        seq = int(store.get("head_seq", 0)) + 1
        stands = stored_policies(store) or policies
        order = policies if new_order else stands
        record = _opened(start, seq, run_id, trace_id, order)
        tx.run("run.begin", id=STORE_ID, run=record, store={
            "writer": run_id, "writer_seq": seq, "writer_host": socket.gethostname(), "writer_pid": os.getpid(),
            "lease_until": clock + timedelta(seconds=lease_seconds), "head_seq": seq,
            "policies": order_text(stands), "policies_hash": stands.hash, "policies_next": with_next(store, order) if new_order else None,
            "sum": store.get("sum", EMPTY_SUM), "graph_hash": store.get("graph_hash", graph_hash(EMPTY_SUM)),
        }, counted=False)
        return Run(database, seq, run_id, trace_id, record, order, lease_seconds, _completed(tx, start.resumes), new_order, store), ""

    result, _ = database.write(work, metadata={"run_id": run_id, "app": "graphrag-provenance"})
    if taken:
        report("warning", "abandoned run sealed as interrupted", run_id=run_id, trace_id=trace_id, **taken)
    if previous is not None and result[0] is not None:
        database.read("run.terminate", run_id=previous)  # what it began since can only fail, and may hold locks on data
    return result


def _busy(store: Mapping[str, Any]) -> str:
    where = f"process {store.get('writer_pid')} on {store.get('writer_host')}"
    return f"Run {store['writer_seq']} ({where}) is writing; waiting for it."


def _completed(tx: Transaction, seq: int | None) -> frozenset[int]:
    """A cut-off run and those that it was to complete itself."""
    found: set[int] = set()
    while seq is not None and seq not in found:
        found.add(seq)
        rows = tx.run("run.by_seq", seq=seq)
        seq = rows[0]["run"].get("resumes") if rows else None
    return frozenset(found)


def _lock(tx: Transaction) -> tuple[dict[str, Any], datetime]:
    row = tx.run("run.lock", id=STORE_ID, counted=False)[0]
    clock: datetime = row["now"]
    return row["store"], clock


def _abandoned(store: Mapping[str, Any], clock: datetime) -> bool:
    if store["lease_until"] <= clock:
        return True
    return store.get("writer_host") == socket.gethostname() and not _alive(int(store.get("writer_pid", 0)))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _seal(
    tx: Transaction, store: Mapping[str, Any], record: Mapping[str, Any], status: str, counts: Mapping[str, Any],
    order: PolicyLattice | None = None,
) -> dict[str, Any]:
    total = MultisetHash(store.get("sum", EMPTY_SUM))
    for row in tx.run("run.fold", seq=record["seq"], counted=False):
        total.combine(MultisetHash(row["sum"]))
    ended = _ended(record, status, counts, total, store.get("digest"))
    settled = {} if order is None or status != "finished" else {
        "policies": order_text(order), "policies_hash": order.hash, "policies_next": None}
    tx.run("run.end", id=STORE_ID, seq=record["seq"], run=ended, store={
        "writer": None, "writer_host": None, "writer_pid": None, "lease_until": None,
        "sum": total.to_bytes(), "graph_hash": ended["graph_hash"], "digest": ended["digest"], **settled,
    }, counted=False)
    return run_json(ended)


def require_unstaged(store: Mapping[str, Any] | None, settles: int | None = None) -> None:
    """Raise StoreConflictError if a run is staged, or, for one that settles it, if that one is not."""
    staged = (store or {}).get("staged")
    if settles is not None and staged != settles:
        raise StoreConflictError(f"Run {settles} is not staged any more.", hint="See: gprov run list.")
    if settles is None and staged is not None:
        raise StoreConflictError(f"Run {staged} is staged: nothing else is written until it is published or discarded.",
                                 hint=f"See it: gprov run show {staged}. Then: gprov run publish {staged}, or gprov run discard {staged}.")


def _checked(start: RunStart) -> RunStart:
    try:
        return replace(start, trace_id=parse_trace_id(start.trace_id) if start.trace_id else None)
    except ValueError as error:
        raise InputError(f"{error}.", hint="Leave it out to have one made.") from None


def _opened(start: RunStart, seq: int, run_id: str, trace_id: str, order: PolicyLattice) -> dict[str, Any]:
    """The record of a run that begins."""
    record = {
        "seq": seq, "run_id": run_id, "trace_id": trace_id, "actor": start.actor, "kind": start.kind,
        "pipeline": start.pipeline, "version": start.version, "started_at": now(), "status": "running",
        "counts": "{}", "inputs": json.dumps([dict(i) for i in start.inputs], sort_keys=True), "policies_hash": order.hash,
        "order": order_text(order),
    }
    return record if start.resumes is None else record | {"resumes": start.resumes}


def _ended(
    record: Mapping[str, Any], status: str, counts: Mapping[str, Any], total: MultisetHash, previous: str | None,
) -> dict[str, Any]:
    """The record of a run that ends, with its digest."""
    ended = {
        **record, "finished_at": now(), "status": status, "counts": json.dumps(counts, sort_keys=True),
        "graph_hash": total.graph_hash(), "previous": previous,
    }
    return ended | {"digest": run_digest(run_json(ended))}


def first_run(database: Database, start: RunStart, policies: PolicyLattice) -> Run:
    """The run that a store begins with when it is made of files: nothing holds it, since nobody else can see that store yet.
    Raises InputError for a trace id that is none."""
    run_id, trace_id = str(uuid.uuid4()), _checked(start).trace_id or uuid.uuid4().hex
    return Run(database, 1, run_id, trace_id, _opened(start, 1, run_id, trace_id, policies), policies, 0.0)


def first_store(run: Run, counts: Mapping[str, Any], total: MultisetHash) -> tuple[dict[str, Any], dict[str, Any]]:
    """The run's record and the store's own, as they stand when that run has finished."""
    ended = _ended(run.record, "finished", counts, total, None)
    return ended, {
        "id": STORE_ID, "head_seq": 1, "writer_seq": 1, "policies": order_text(run.policies), "policies_hash": run.policies.hash,
        "sum": total.to_bytes(), "graph_hash": ended["graph_hash"], "digest": ended["digest"]}


def run_json(record: Mapping[str, Any]) -> dict[str, Any]:
    """A run record as it is hashed and printed: instants as ISO text, counts and inputs as values."""
    values = {name: format_instant(value) if isinstance(value, datetime) else value for name, value in record.items()}
    for name in ("counts", "inputs", "order"):
        if isinstance(values.get(name), str):
            values[name] = json.loads(values[name])
    return values


def store_state(database: Database) -> dict[str, Any] | None:
    """The store's own record, or None for a store that nothing was ever written to."""
    rows = database.read("store.state", id=STORE_ID)
    return rows[0]["store"] if rows else None
