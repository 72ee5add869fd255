"""What a store weighs: bytes on disk for one more edge, one more evidence item, one more run (spec 6, past one machine).

Owns: how a weight is found. The corpus is loaded, then a fifth as many new edges with two evidence items, then the same number with four,
between the same entities and citing the same chunks, then some runs that change nothing; after each the server is stopped, and the
growth of the database's folder, without its transaction log, is what was added. Needs a server of our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import data
from loads import Input, load
from reporting import Report
from servers import Bench

SHARE = 5
RUNS = 50


def measure_footprint(server: Bench, given: Input, _rounds: int, report: Report) -> None:
    """Bytes an edge, an evidence item and a run; one round, since a store only grows."""
    folder, count = given.files[0].parent, max(len(given.corpus.edges) // SHARE, 1)
    before = server.weight()
    load(server, given)
    sizes = [server.weight()]
    for items in (2, 4):
        file = data.write_lines(_edges(given.corpus, count, items), folder / f"with-{items}.jsonl")
        load(server, replace(given, files=[file]))
        sizes.append(server.weight())
    file = data.write_lines(_edges(given.corpus, 1, 4), folder / "one.jsonl")
    for _ in range(RUNS):
        load(server, replace(given, files=[file]))  # it stands there already: nothing changes, and a run record is left
    whole, two, four = sizes[0] - before, sizes[1] - sizes[0], sizes[2] - sizes[1]
    item = (four - two) / (2 * count)
    report.value("store: all of the corpus, an edge", "bytes", whole / len(given.corpus.edges))
    report.value("store: an edge without evidence", "bytes", two / count - 2 * item)
    report.value("store: an evidence item", "bytes", item)
    report.value("store: a run", "bytes", (server.weight() - sizes[2]) / RUNS)
    server.empty()


def _edges(corpus: data.Corpus, count: int, items: int) -> Iterator[dict[str, Any]]:
    chunks = corpus.chunks
    for number, edge in enumerate(corpus.edges[:count]):
        yield {
            "kind": "edge", "edge_id": f"w{items}-{number:06d}", "relation": f"weighs_{items}",
            "source": {"type": edge["source_type"], "id": edge["source"]},
            "target": {"type": edge["target_type"], "id": edge["target"]}, "confidence": edge["confidence"],
            "evidence": [
                {"doc": chunk["revision"], "chunk": chunk["id"], "span": [10, 70], "quote_hash": edge["evidence"][0]["quote"],
                 "policy": chunk["policy"]}
                for chunk in (chunks[(number * 7 + step * 131) % len(chunks)] for step in range(items))]}

