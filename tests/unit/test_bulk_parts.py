"""A first load in parts: processes come to what one does, memory follows the part, and a failure is one sentence (spec 6, bulk load)."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tracemalloc
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from corpus.records import POLICIES, chunk, cites, document, edge, entity, revision, sha256, write

from graphrag_provenance.errors import InputError, StoreError
from graphrag_provenance.exports.import_files import ImportFolder, import_arguments
from graphrag_provenance.ingest import IngestOptions
from graphrag_provenance.ingest.bulk import Cut, bulk_load
from graphrag_provenance.ingest.quoting import QuoteMode
from graphrag_provenance.ingest.sources import Line, Source, blocks, content, lines
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies

SAMPLE = etl_path("samples", "payments")


@dataclass
class Failing:
    """Takes no graph: ends the process, or finds the disk full."""

    fault: str = "none"
    marks: tuple[str, ...] = ("\x1f",)
    longest: int = 0

    @property
    def counts(self) -> dict[str, int]:
        return {}

    def node(self, *_: Any) -> None:
        pass

    relationship = node

    @contextmanager
    def part(self, name: str, mark: str) -> Iterator[Failing]:
        if self.fault == "killed" and name.startswith("edges"):
            os._exit(9)
        if self.fault == "full" and name.startswith("edges"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        yield self

    def finish(self, *_: Any) -> None:
        pass


def options(folder: Path, **more: Any) -> IngestOptions:
    return IngestOptions(**{"policies": POLICIES, "rejects": folder / "rejects.jsonl", "workers": 1} | more)


def files(folder: Path) -> dict[str, list[str]]:
    """The rows of each file, but for the run, which is another one."""
    return {file.name: sorted(file.read_text(encoding="utf-8").split("\n")) for file in folder.glob("*.csv")
            if not file.name.startswith(("nodes-Run", "nodes-Store"))}


def test_processes_come_to_what_one_does(tmp_path: Path) -> None:
    paths = sorted(SAMPLE.glob("*.jsonl"))
    order = parse_policies((SAMPLE / "policies.toml").read_text(encoding="utf-8"))
    hashes, found = set(), []
    for workers, cut in ((1, Cut()), (1, Cut(block=20_000, part=30_000)), (2, Cut(block=20_000, part=30_000))):
        folder = tmp_path / f"files-{len(found)}"
        folder.mkdir()
        summary = bulk_load(paths, options(tmp_path, policies=order, workers=workers), ImportFolder(folder), folder / "unfinished", cut=cut)
        hashes.add(summary.run["graph_hash"])
        found.append(files(folder))
        assert not (folder / "unfinished").exists()
    assert len(hashes) == 1
    assert found[1] == found[2]
    assert len(found[0]) < len(found[1])
    rows = [sorted(row for rows in one.values() for row in rows if row) for one in found]
    assert set(rows[0]) == set(rows[1]), "the same rows, in other files"
    assert [one for one in import_arguments(folder) if "nodes-Chunk" in one] == [
        f"--nodes={folder}/nodes-Chunk.csv,{folder}/nodes-Chunk.part-.*"]


def entangled() -> Iterator[dict[str, Any]]:
    """Edges of many parts that share what no record declares, spellings of an end, and ids; each kind of what one part asks of another."""
    for number in range(12):
        ends = ("System: A ", "depends_on", f"Team:{number}")
        yield edge(*ends, "d1@1#c", cites("nowhere@1#c", policy="public"), edge_id=f"e{number}", attributes={"n": 1})
        yield edge(*ends, "d1@1#c", policy="secret", edge_id=f"e{number}", attributes={"n": 2})
        yield edge("System:A", "depends_on", f"Team:x{number}", "d1@1#c", edge_id=f"e{number}")
        yield edge("System:A", "owns", f"Team:{number}", "foreign@1#c", edge_id=f"f{number}", policy="public")
        yield edge("System:A", "uses", f"Team:{number}", cites("d1@1#c", quote_hash=sha256("of"), span=[5, 7]), edge_id=f"q{number}")
        yield edge("System:A", "uses", f"Team:{number}", cites("d1@1#c", quote_hash=sha256("on"), span=[5, 7]), edge_id=f"w{number}")
        yield edge("System:A", "cites", f"Team:{number}", "d2@1#c", "d2@2#c", edge_id=f"g{number}", policy="public")
    yield from (document("d1", policy="internal"), revision("d1@1"), chunk("d1@1", "c"), entity("Team:3"))
    yield from (document("foreign", tenant="OTHER"), document("d2"), revision("d2@1"),
                revision("d2@2", effective_at="2026-02-01T00:00:00Z", complete=True))


def test_what_parts_share_is_decided_and_counted_once(tmp_path: Path) -> None:
    records = [*entangled()]
    found, told = [], []
    for name, cut in (("one", Cut()), ("many", Cut(block=2_000, part=900))):
        file = write(tmp_path / "in.jsonl", records)
        (tmp_path / name).mkdir()
        summary = bulk_load([file], options(tmp_path, verify_quotes=QuoteMode.STRICT), ImportFolder(tmp_path / name),
                            tmp_path / "unfinished", cut=cut)
        rows = sorted(row for rows in files(tmp_path / name).values() for row in rows if row)
        found.append((summary.run["graph_hash"], summary.outcome, summary.rejected, [*dict.fromkeys(rows)]))
        told.append((tmp_path / "rejects.jsonl").read_text(encoding="utf-8"))
    assert found[0] == found[1]
    assert told[0] == told[1]
    summary_json, ends = summary.as_json(), {"System:A"} | {f"Team:{n}" for n in range(12)}
    assert summary_json["entities"] == {"created": 1, "updated": 0, "unchanged": 0, "from_edges": len(ends) - 1, "aliases": 1}
    assert summary_json["rejected_reasons"] == {"edge-id-conflict": 12, "tenant-mismatch": 12, "quote-absent": 12}
    assert summary_json["edges"] == {"published": 36, "withheld": 0, "unchanged": 0, "retracted": 0, "unregistered": 24, "overruled": 0}
    assert summary_json["writes"]["nodes"] == 36 + len(ends) + 1 + 3 * 4, "edges, ends, an alias, and sources"


def records(edges: int) -> Iterator[dict[str, Any]]:
    """Edges before what they cite."""
    for number in range(edges):
        yield edge(f"System:{number % 50}", "depends_on", f"Team:{number % 30}", f"d{number % 40}@1#c", policy="public",
                   edge_id=f"e{number}", attributes={"about": "x" * 100})
    for number in range(40):
        yield from (document(f"d{number}"), revision(f"d{number}@1"), chunk(f"d{number}@1", "c"), entity(f"System:{number}"))


def peak(folder: Path, edges: int) -> int:
    file = write(folder / f"{edges}.jsonl", records(edges))
    tracemalloc.start()
    try:
        bulk_load([file], options(folder), Failing(), folder / "unfinished", cut=Cut(block=50_000, part=50_000))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_follows_the_part_and_not_the_input(tmp_path: Path) -> None:
    peak(tmp_path, 100)  # what is loaded once
    small, large = peak(tmp_path, 300), peak(tmp_path, 1_200)
    assert large - small < 800_000, "900 edges take 3.6 MB where they are held"


@pytest.mark.parametrize(("fault", "workers", "kind", "told"), [
    ("killed", 2, StoreError, "ended from outside"), ("full", 1, InputError, "The disk is full")])
def test_a_failure_is_one_sentence_and_leaves_nothing(tmp_path: Path, fault: str, workers: int, kind: type[Exception], told: str) -> None:
    file = write(tmp_path / "in.jsonl", records(50))
    with pytest.raises(kind, match=told):
        bulk_load([file], options(tmp_path, workers=workers), Failing(fault), tmp_path / "unfinished", cut=Cut(block=5_000, part=5_000))
    assert [one.name for one in tmp_path.iterdir()] == ["in.jsonl"]


def test_room_is_looked_for_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "in.jsonl", records(50))
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1, 1, 2 * file.stat().st_size))
    with pytest.raises(InputError, match="are free"):
        bulk_load([file], options(tmp_path), Failing(), tmp_path / "unfinished")
    monkeypatch.undo()
    write(file, [json.dumps({"kind": "entity", "name": "\x1f"}).replace("u001f", "u001F")])
    with pytest.raises(InputError, match="every character"):
        bulk_load([file], options(tmp_path), Failing(), tmp_path / "unfinished")


@pytest.mark.parametrize("size", [1, 7, 30, 1_000])
def test_blocks_hold_the_lines_of_a_file(tmp_path: Path, size: int) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_bytes(b"\xef\xbb\xbf{1}\r\n\n" + b"x" * 40 + b"\r\n{2}\n\n\n{3}\n" + b"y" * 41 + b"\n{4}")
    source = Source("odd", file, file.stat().st_size)
    cut = [*blocks(source, size)]
    assert b"".join(map(content, cut)) == file.read_bytes()
    assert [line for block in cut for line in lines(block, 20)] == [*lines(source, 20)] == [
        Line("odd", 1, b"{1}"), Line("odd", 3, b"", too_long=40), Line("odd", 4, b"{2}"), Line("odd", 7, b"{3}"),
        Line("odd", 8, b"", too_long=41), Line("odd", 9, b"{4}")]
    assert len(cut) > 1 or size == 1_000
