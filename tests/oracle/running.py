"""Many worlds against one real store: load, ask, change, ask again.

A world is loaded by the real ingest into an emptied store, and damaged as `World.strays` says. Its reads are asked in four parts:
as loaded; after later records closed, opened or withdrew edges; after another order of policies was applied; and once more in a
store that holds only what the reader may see, where every answer must be the same.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.ingest.policy import PolicyOptions, apply_policies
from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.store.database import Database
from tests.oracle.comparing import Difference, answer, compare, masked
from tests.oracle.model import Asked, Record, Tenant, View, instant
from tests.oracle.worlds import BALLAST, Read, World, ballast, change, reads, reordered, subset, views, world

Cypher = Callable[..., list[dict[str, Any]]]
THREADS = 4


@dataclass
class Report:
    """What was asked, and what differed."""

    reads: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[int, Difference]] = field(default_factory=list)
    """Seed of the world, difference."""
    answers: Counter[str] = field(default_factory=Counter)
    """How often each reason was the answer of a trace, so that a run that only ever says one thing is seen."""
    seconds: float = 0.0

    @property
    def total(self) -> int:
        return self.reads.total()


@dataclass
class Runner:
    """A store that may be emptied, and the folder for the files that are loaded."""

    database: Database
    cypher: Cypher
    folder: Path
    report: Report = field(default_factory=Report)
    weighted: bool = False
    built: World | None = None
    """The world that is loaded, as loaded."""
    asks: Callable[[Read], bool] | None = None

    def _empty(self, but: str) -> None:
        self.cypher(f"MATCH (n) WHERE NOT n:Migration AND NOT {but} CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 5000 ROWS",
                    kept=BALLAST)

    def run(self, seed: int, count: int, *, shadows: int = 2, asks: Callable[[Read], bool] | None = None) -> None:
        """Ask about the world of a seed: `count` reads, `shadows` of the readers also in a store with only what they may see.

        `asks`: which questions to take, of twice as many; default: all.
        """
        started = time.monotonic()
        rng = random.Random(f"reads {seed}")
        self.asks = asks
        made, self.built = self.build(seed), None
        parts = (count // 2, count // 4, count - count // 2 - count // 4)
        self.ask(made, self._some(rng, made, views(rng, made), parts[0]))
        self.load(change(seed, made), made)
        readers = views(rng, made)
        self.ask(made, self._some(rng, made, readers, parts[1]))
        if shadows:
            self.shadow(rng, made, rng.sample(readers, shadows), count // 8)
        made.order = reordered(rng, made.order)
        apply_policies(self.database, lattice(made.order), PolicyOptions(batch_size=7))
        self.ask(made, self._some(rng, made, views(rng, made), parts[2]))
        self.report.seconds += time.monotonic() - started

    def _some(self, rng: random.Random, made: World, readers: Sequence[View], count: int) -> list[Read]:
        if self.asks is None:
            return reads(rng, made, readers, count)
        return [read for read in reads(rng, made, readers, count * 2) if self.asks(read)][:count]

    def build(self, seed: int) -> World:
        """Empty the store (but for the ballast) and load the world of a seed."""
        made = world(seed)
        if not self.weighted:
            self._empty("false")
            self.load(ballast(), made)
            self.weighted = True
        self._empty("coalesce(n.tenant = $kept AND NOT n:Past, false)")
        self.cypher("MATCH (a:Assertion {tenant: $kept}) SET a.changed = 0", kept=BALLAST)  # runs are numbered from 1 again
        for records in made.runs:
            self.load(records, made)
        for tenant, source, target, owner, relation in made.strays:
            self.cypher(
                "MATCH (s:Entity {tenant: $t, type: $source[0], id: $source[1]}), (t:Entity {tenant: $t, type: $target[0], id: $target[1]})"
                " CREATE (s)-[r:$($type)]->(t) SET r = {edge_id: 'stray', tenant: $owner, policies: [$lowest], acl: [], current: true,"
                " disputed: false, evidence: []}",
                t=tenant, source=list(source), target=list(target), owner=owner, type=relation.upper(), lowest=next(iter(made.order)))
        self.built = made
        return made

    def reads(self, made: World, count: int) -> list[Read]:
        """Some questions about a world as it is now."""
        rng = random.Random(f"reads {made.seed}")
        return reads(rng, made, views(rng, made), count)

    def load(self, records: Sequence[Record], made: World) -> None:
        """One run."""
        if not records:
            return
        file = self.folder / "world.jsonl"
        file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        summary = ingest(self.database, [file], IngestOptions(lattice(made.order), rejects=self.folder / "rejected.jsonl"))
        assert not summary.rejected, (made.seed, summary.rejected)
        assert not summary.policies_differ
        self.cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")

    def ask(self, made: World, wanted: Sequence[Read]) -> None:
        """Ask, and compare with the model."""
        models = {tenant: made.model(tenant) for tenant in made.tenants}
        for read, found in zip(wanted, self.answers(wanted), strict=True):
            self.report.reads[read.kind] += 1
            if read.kind == "trace":
                self.report.answers[str(found.get("reason", "error"))] += 1
            self.report.differences += [(made.seed, one) for one in compare(models[read.view.tenant], read, found)]

    def answers(self, wanted: Sequence[Read]) -> list[Any]:
        """The store's answers, a few at a time."""
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(lambda read: answer(self.database, read), wanted))

    def shadow(self, rng: random.Random, made: World, readers: Sequence[Any], count: int) -> None:
        """Existence privacy: answers must equal those of a store that holds only what the reader may see."""
        for number, view in enumerate(readers):
            if view.auditor:
                continue
            alone = f"shadow-{number}"
            for records in subset(made, view, alone):
                self.load(records, made)
            wanted = [Read(one.kind, view, one.asked) for one in self._some(rng, made, [view], count)]
            elsewhere = [Read(one.kind, type(view)(alone, view.clearances, view.granted), one.asked) for one in wanted]
            model = made.model(view.tenant)
            for read, full, only in zip(wanted, self.answers(wanted), self.answers(elsewhere), strict=True):
                self.report.reads[f"shadow {read.kind}"] += 1
                one, other = (comparable(model, read, found) for found in (full, only))
                if one != other:
                    self.report.differences.append((made.seed, Difference(read, "as if the rest did not exist", other, one)))


def comparable(model: Tenant, read: Read, found: Any) -> Any:
    """An answer as two stores give it; where several chains are equally short, which one is left out."""
    found = masked(found)
    if read.kind == "trace" and found.get("state") == "supported":
        verdict = model.trace(read.view, Asked(**{**read.asked, "at": instant(read.asked["at"])}))
        if len(verdict.chains) != 1:
            return {name: value for name, value in found.items() if name not in ("paths", "citations")} | {
                "hops": [len(path["steps"]) for path in found["paths"]]}
    return found
