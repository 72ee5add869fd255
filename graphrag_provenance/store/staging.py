"""What a staged run holds back (spec 3, staged generations; docs/decisions/0009-staged-generations.md).

Owns: its form in the store: the input as it was accepted, in compressed parts, and the conditions under which it was read. It hangs on
the run's record and is no part of the graph: nothing that reads or walks the graph meets it, and the graph hash does not count it.
One run can be staged at a time; the store's record names it. Leaves to `ingest.staging` what is done with it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphrag_provenance.errors import InputError, StoreError
from graphrag_provenance.model.identifiers import canonical_json
from graphrag_provenance.store.database import Database, Transaction
from graphrag_provenance.store.runs import STORE_ID, run_json

STAGED, PUBLISH, DISCARD = "staged", "publish", "discard"
OUTCOME = {PUBLISH: "published", DISCARD: "discarded"}
"""Kind of the run that settles a staged one → what the staged one is from then on."""
_PART = 1 << 20


class Part(NamedTuple):
    """A piece of what is held back: of source number `source` (0: the conditions), called `file`."""

    number: int
    source: int
    file: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Held:
    """A staged run and what it holds back."""

    run: Mapping[str, Any]
    parts: tuple[Part, ...]

    @property
    def seq(self) -> int:
        """Number of the staged run."""
        return int(self.run["seq"])

    @property
    def candidate_hash(self) -> str:
        """The graph hash that publishing leads to."""
        return str(self.run["counts"]["candidate_hash"])

    @property
    def conditions(self) -> dict[str, Any]:
        """How the input is read."""
        found: dict[str, Any] = json.loads(b"".join(_content(part) for part in self.parts if part.source == 0))
        return found

    def sources(self) -> Iterator[tuple[int, str, bytes]]:
        """(number, name, content) of each input file, rejected records left blank, piece by piece in order."""
        yield from ((part.source, part.file, _content(part)) for part in self.parts if part.source)


def packed(conditions: Mapping[str, Any], sources: Iterable[tuple[str, Iterable[bytes]]]) -> list[Part]:
    """What is to be held back, in parts: `sources` are (name, pieces of content)."""
    parts = [Part(0, 0, "", zlib.compress(canonical_json(dict(conditions))))]
    for source, (name, pieces) in enumerate(sources, start=1):
        file = name.encode("utf-8", "backslashreplace").decode()
        parts += [Part(number, source, file, zlib.compress(piece))
                  for number, piece in enumerate(_gathered(pieces), start=len(parts))]
    return parts


def content_hash(parts: Sequence[Part]) -> str:
    """`sha256:` over all that is held back, for the run record."""
    told = [[part.number, part.source, part.file, hashlib.sha256(_content(part)).hexdigest()] for part in parts]
    return "sha256:" + hashlib.sha256(canonical_json(told)).hexdigest()


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of about a mebibyte; at least one."""
    gathered, size = [], 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size >= _PART:
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)


def _content(part: Part) -> bytes:
    try:
        return zlib.decompress(part.content)
    except zlib.error as error:
        raise StoreError(f"What the staged run holds back cannot be read: {error}.", hint="Check the store: gprov verify.") from None


def hold(tx: Transaction, seq: int, parts: Sequence[Part]) -> None:
    """Keep what run `seq` holds back, and name it as the staged one; in the transaction that seals it."""
    tx.run("run.stage", id=STORE_ID, seq=seq, parts=[part._asdict() for part in parts], counted=False)


def read_held(database: Database) -> Held:
    """The staged run. Raises InputError when none is, StoreError when what it holds back is not what its record says."""
    rows = database.read("run.staged", id=STORE_ID)
    if not rows:
        raise InputError("No run is staged.", hint="Stage one first: gprov ingest PATH --stage.")
    held = held_of(rows[0]["run"], rows[0]["parts"])
    if content_hash(held.parts) != held.run["counts"]["content_hash"]:
        raise StoreError(f"What run {held.seq} holds back is not what was staged.",
                         hint=f"Drop it and stage the input again: gprov run discard {held.seq}.")
    return held


def held_of(run: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> Held:
    """A run record and its parts, as stored."""
    return Held(run_json(run), tuple(Part(one["number"], one["source"], one["file"], bytes(one["content"])) for one in parts))


def settle(tx: Transaction, seq: int, by: int) -> None:
    """Run `by` publishes or discards the staged run `seq`: what that held back goes. Raises StoreError if it is not staged."""
    if not tx.run("run.settle", id=STORE_ID, seq=seq, by=by, counted=False):
        raise StoreError(f"Run {seq} is not staged any more.", hint="See: gprov run list.")


def with_outcome(database: Database, run: dict[str, Any]) -> dict[str, Any]:
    """A run record as people read it: one that was staged says what became of it."""
    if run.get("status") != STAGED or run.get("settled") is None:
        return run
    rows = database.read("run.by_seq", seq=run["settled"])
    return {**run, "status": OUTCOME.get(rows[0]["run"]["kind"], STAGED)} if rows else run
