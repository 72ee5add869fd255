"""How a first load is cut into parts that know nothing of each other (spec 6, bulk load and past one machine).

Owns: what a stage of such a load is, what every part knows, what parts say to each other, and where the graph goes. Leaves to others:
what happens in a stage (`ingest.stages`), how messages travel (`ingest.shuffling`).
"""

from __future__ import annotations

import pickle
import zlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from graphrag_provenance.ingest.load import IngestOptions
from graphrag_provenance.ingest.sources import Block
from graphrag_provenance.rules.digests import EMPTY_SUM, MultisetHash
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.store.bulk import Graph
from graphrag_provenance.store.counting import Outcome, Reject


class Stage(StrEnum):
    """Where a message goes."""

    READ = "read"
    """A block of lines: each record goes to the part that its document, edge or entity belongs to."""
    SOURCES = "sources"
    """The documents of one part, whole: each part of edges is told what it cites."""
    EDGES = "edges"
    """The edges of one part."""
    ENDS = "ends"
    """The entities of one part, and the sources that edges imply."""
    REJECTS = "rejects"
    """Refused lines; their part is the block that they stand in."""
    TOLD = "told"
    """What a part comes to, for the run record."""


class Message(NamedTuple):
    """What one part has to say to another one."""

    stage: Stage
    part: int
    body: bytes


class Part(Graph, Protocol):
    """Takes what one part of the graph is made of."""

    @property
    def counts(self) -> dict[str, int]:
        """File → rows."""

    @property
    def longest(self) -> int:
        """Characters of the longest row."""


class Output(Protocol):
    """Where the graph goes."""

    @property
    def marks(self) -> Sequence[str]:
        """What may part the elements of a list there; each is one character."""

    def part(self, name: str, mark: str) -> AbstractContextManager[Part]:
        """Something that takes one part of it; another one of the same name replaces it."""

    def finish(self, counts: dict[str, int], longest: int, mark: str, told: dict[str, Any]) -> None:
        """All parts are whole; `told` is what the graph says of itself."""


@dataclass(frozen=True, slots=True)
class Job:
    """What every part of a load knows."""

    options: IngestOptions
    policies: PolicyLattice
    clock: datetime
    blocks: Sequence[Block]
    parts: int
    output: Output
    mark: str = ""
    """What parts the elements of a list; known once everything is read."""


@dataclass(slots=True)
class Told:
    """What a part comes to."""

    read: int = 0
    outcome: Outcome = field(default_factory=Outcome)
    sum: bytes = EMPTY_SUM
    """Its share of the graph hash."""
    counts: dict[str, int] = field(default_factory=dict)
    longest: int = 0
    marks: frozenset[str] = frozenset()
    """Which of the output's marks the lines may hold."""

    def add(self, other: Told) -> None:
        """What two parts come to together."""
        self.read += other.read
        self.outcome.add(other.outcome)
        total = MultisetHash(self.sum)
        total.combine(MultisetHash(other.sum))
        self.sum = total.to_bytes()
        for name, count in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.longest = max(self.longest, other.longest)
        self.marks |= other.marks


def place_of(parts: int, *key: str) -> int:
    """The part that a key belongs to."""
    return zlib.crc32("\x00".join(key).encode("utf-8", "surrogatepass")) % parts


def message(stage: Stage, part: int, what: str, order: int, content: object) -> Message:
    """Something to say; `order`: where in the input it comes from."""
    return Message(stage, part, pickle.dumps((what, order, content), pickle.HIGHEST_PROTOCOL))


def said(bodies: Iterable[bytes]) -> dict[str, list[Any]]:
    """What was said to a part, by what it is, in the order of the input."""
    found: dict[str, list[Any]] = defaultdict(list)
    for what, _, content in sorted((pickle.loads(body) for body in bodies), key=lambda one: one[:2]):
        found[what] += content
    return found


def told_by(body: bytes) -> Told:
    """What a part comes to."""
    found: Told = pickle.loads(body)
    return found


def ended(job: Job, rejects: Iterable[Reject], told: Told) -> Iterator[Message]:
    """The refused lines of a part, by the block that they stand in, then what it comes to."""
    begins: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, block in enumerate(job.blocks):
        begins[block.source.name].append((block.number, place))
    by_block: dict[int, list[Reject]] = defaultdict(list)
    for reject in rejects:
        here = begins[reject.file]
        by_block[here[bisect_left(here, (reject.line,)) - 1][1]].append(reject)
    for place, found in by_block.items():
        yield message(Stage.REJECTS, place, "rejects", 0, found)
    told.outcome.rejects = []
    yield Message(Stage.TOLD, 0, pickle.dumps(told, pickle.HIGHEST_PROTOCOL))


def rejects_of(bodies: Iterable[bytes]) -> list[Reject]:
    """The refused lines of a block, in the order of the input."""
    return sorted(said(bodies)["rejects"], key=lambda reject: reject.line)
