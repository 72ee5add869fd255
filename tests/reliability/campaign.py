"""Many cuts, one store: after each, the run is completed, and the store must be what it would be without the cut.

Checked after each: `verify` finds nothing, `audit verify` finds nothing and no tail is cut, the graph hash is that of an uninterrupted
cycle, no command printed a traceback. A run whose command said that it was done is done.
"""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.reliability.bulk import BULK_KINDS, Bulk, BulkKind
from tests.reliability.cutting import KINDS, Bench, Ended, Kind, cut, ended, until_begun
from tests.reliability.deeds import Deed, beginning, cycle

Json = dict[str, Any]
_SECOND = "second"
"""Pipeline of the writer that waits while the clock jumps."""
_AUDITOR = ("--tenant", "ACME", "--clearance", "confidential", "--role", "auditor")


@dataclass
class Report:
    """What was done, and what was wrong."""

    cuts: Counter[str] = field(default_factory=Counter)
    """By what died and during which run."""
    completed: Counter[str] = field(default_factory=Counter)
    """How: it needed nothing more (it went on by itself, or had ended), was repeated, or was resumed."""
    crowds: int = 0
    """How often two loaders and a rollback wrote at once."""
    wrong: list[str] = field(default_factory=list)


class Campaign:
    """Cuts against one store. The first cycle is uninterrupted: it tells the hashes and how long each run takes."""

    def __init__(self, bench: Bench, folder: Path, rng: random.Random, say: Callable[[str], None], bulk: Bulk | None = None) -> None:
        self._bench, self._rng, self._say, self._bulk = bench, rng, say, bulk
        self._folder = folder
        self._deeds: list[Deed] = []
        self._hash: dict[str, str] = {}
        self._seconds: dict[str, float] = {}
        self._head: tuple[str, ...] = ()  # kept outside from before the cut, so that a lost tail is found
        self.report = Report()

    def learn(self) -> None:
        """The uninterrupted cycle."""
        first = self._first = beginning(self._folder)
        self._learn(first)
        self._deeds = cycle(self._folder, int(self._last()["seq"]))
        for deed in self._deeds:
            self._learn(deed)
        assert self._hash["rollback"] == self._hash[first.name], "a cycle does not end where it began"
        assert len(set(self._hash.values())) == len(self._deeds), "a run changes nothing: its cut would tell nothing"
        self._say(", ".join(f"{name} {seconds:.1f} s" for name, seconds in self._seconds.items()))

    def _learn(self, deed: Deed) -> None:
        child = self._bench.begin(*deed.command)
        lines = until_begun(child)
        started = time.monotonic()
        done = ended(child, lines)
        assert done.code in (0, 1), f"{deed.name}: {done.code}\n{done.err}"
        self._seconds[deed.name] = time.monotonic() - started
        self._hash[deed.name] = self._checked(deed.name, deed.name)

    def run(self, cuts: int, kinds: tuple[Kind, ...] = KINDS) -> Report:
        """So many cuts, one a run, round and round; and one cut of a bulk load and one crowd of writers a round."""
        while self.report.cuts.total() < cuts:
            for deed in self._deeds:
                if self.report.cuts.total() >= cuts:
                    return self.report
                self._one(deed, self._rng.choice(kinds))
            if self._bulk is not None and self.report.cuts.total() < cuts:
                self._of_bulk(self._bulk, self._rng.choice(BULK_KINDS))
            self._crowd()
        return self.report

    def _of_bulk(self, bulk: Bulk, kind: BulkKind) -> None:
        self.report.cuts[f"{kind} during bulk"] += 1
        told = bulk.cut(kind, self._wrong)
        self.report.completed[told.rpartition(": ")[2]] += 1
        self._say(f"{self.report.cuts.total()}: {told}; {len(self.report.wrong)} wrong")

    def _crowd(self) -> None:
        """Two loaders and a rollback at once: each waits for its turn, none is lost, and the way back still leads to the same place."""
        load, renew, *_, rollback = self._deeds
        children = []
        for deed in self._rng.sample([load, renew, rollback], 3):
            children.append(self._bench.begin(*deed.command))
            time.sleep(self._rng.uniform(0, 1))
        for child in children:
            self._seen("a crowd", ended(child), codes=(0, 1))
        self._seen("after a crowd", self._bench.run(*rollback.command), codes=(0,))
        self._same("a crowd", rollback)
        self.report.crowds += 1

    def _same(self, place: str, deed: Deed) -> None:
        found = self._checked(place, deed.name)
        if found != self._hash[deed.name]:
            self._wrong(f"{place}: graph hash {found}, without the cut {self._hash[deed.name]}")

    def _one(self, deed: Deed, kind: Kind) -> None:
        after = self._rng.uniform(0, self._seconds[deed.name])
        place = f"{kind} cut {after:.2f} s into {deed.name}"
        before = int(self._last()["seq"])
        self.report.cuts[f"{kind} during {deed.name}"] += 1
        child = self._bench.begin(*deed.command)
        if kind == "clock":
            self._with_a_second_writer(place, deed, child, after)
        else:
            self._seen(place, cut(self._bench, kind, child, after))
        how = "needed nothing more"
        for attempt in range(4):
            runs = [run for run in self._runs() if run["seq"] > before and run["kind"] == deed.kind and run["pipeline"] != _SECOND]
            if runs and runs[0]["status"] == "finished":
                break
            cut_off = next((int(run["seq"]) for run in runs if run["status"] != "finished"), None)
            how = "resumed" if deed.resumable and cut_off is not None else "repeated"
            again = self._bench.run(*deed.completion(cut_off))
            self._seen(place, again)
            if again.code not in (0, 1) and attempt == 3:
                self._wrong(f"{place}: not completed: {again.err}")
        self.report.completed[how] += 1
        self._same(place, deed)
        self._say(f"{self.report.cuts.total()}: {place}: {how}; {len(self.report.wrong)} wrong")

    def _with_a_second_writer(self, place: str, deed: Deed, child: subprocess.Popen[str], after: float) -> None:
        """The clock jumps while another writer, who has nothing new to say, waits for the store or takes it over."""
        lines = until_begun(child)
        second = self._bench.begin(*self._first.command, "--pipeline-name", _SECOND)
        jump = self._rng.choice((-1, 1)) * self._rng.randrange(3_600, 100_000)
        self._seen(f"{place}, by {jump} s", cut(self._bench, "clock", child, after, jump, lines))
        self._seen(f"{place}, by {jump} s, the second writer", ended(second))

    def _seen(self, place: str, done: Ended, codes: Collection[int] = (0, 1, 3, -9)) -> None:
        if "Traceback" in done.err:
            self._wrong(f"{place}: a traceback: {done.err}")
        if done.code not in codes:
            self._wrong(f"{place}: exit code {done.code}: {done.err}")

    def _checked(self, place: str, name: str) -> str:
        """The graph hash, recomputed in full; everything that is wrong is reported."""
        sound = self._bench.ask("verify", "--format", "json")
        verified: Json = sound.json()
        if not verified["ok"]:
            self._wrong(f"{place}: verify: {json.dumps(verified['violations'])}")
        chain = self._bench.ask("audit", "verify", "--format", "json", *self._head, *_AUDITOR)
        if chain.code != 0:
            self._wrong(f"{place}: audit verify: {chain.out}{chain.err}")
        self._head = ("--head", self._bench.ask("audit", "head", *_AUDITOR).out.strip())
        return str(verified["graph_hash"])

    def _runs(self) -> list[Json]:
        found = self._bench.ask("run", "list", "--format", "json").json()
        return list(found["runs"])

    def _last(self) -> Json:
        return next(iter(self._runs()), {"seq": 0})

    def _wrong(self, what: str) -> None:
        self.report.wrong.append(what)
        self._say(f"WRONG {what}")
