"""What change costs: a document deleted in stores of two sizes, taken back, another policy order, verification beside a bare scan.

Owns: what is deleted. A document of 100 edges, half of which the corpus states too, is loaded beside the corpus in a store of a
tenth of the edges, then in one of all of them. What a deletion costs must follow those 100 edges, not the store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import data
import floors
from loads import Input, load, prepared
from reporting import Goal, Report, seconds_of
from servers import Bench

from graphrag_provenance.ingest.deletion import DeletionOptions, Receipt, delete_document
from graphrag_provenance.ingest.policy import PolicyOptions, apply_policies
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.store.runs import store_state
from graphrag_provenance.store.verification import verify

DELETED, EDGES, CHUNKS = "probe", 100, 10
SHARE = 10
_ORDER = data.POLICY_FILE
_OTHER = _ORDER.replace('[policies.restricted]\nabove = ["internal"]', '[policies.restricted]\nabove = ["public"]')


def measure_time(server: Bench, given: Input, rounds: int, report: Report) -> None:
    """Delete one document, in a tenth of the edges and in all of them; and, in all of them, what has to look at everything."""
    small = max(len(given.corpus.edges) // SHARE, EDGES)
    seconds: dict[int, list[float]] = {}
    for size in (small, len(given.corpus.edges)):
        part = given if size == len(given.corpus.edges) else _smaller(given, size)
        load(server, _with_probe(part))
        seconds[size] = list(_deletions(server, rounds, report, f"{size:,} edges"))
        if size == len(given.corpus.edges):
            _whole(server, rounds, report)
        server.empty()
    few, many = seconds.values()
    for one, other in zip(few, many, strict=True):
        report.ratio(f"doc delete, {SHARE} times the edges / a tenth", other / one, Goal("≤", 1.5))


def _smaller(given: Input, size: int) -> Input:
    folder = given.files[0].parent / "smaller"
    folder.mkdir()
    return prepared(size, folder)


def _with_probe(given: Input) -> Input:
    file = data.write_lines(_probe(given.corpus), given.files[0].parent / "probe.jsonl")
    return replace(given, files=[*given.files, file])


def _probe(corpus: data.Corpus) -> Iterator[dict[str, Any]]:
    """The document's records: every other of its edges is one of the corpus, the rest are its own."""
    yield {"kind": "document", "doc_id": DELETED, "title": "Probe", "source_type": "bench", "policy": "public"}
    yield {"kind": "revision", "doc": f"{DELETED}@1", "effective_at": "2026-01-01T00:00:00Z"}
    for number in range(CHUNKS):
        text = f"Probe {number}"
        yield {"kind": "chunk", "doc": f"{DELETED}@1", "chunk": f"c{number}", "ordinal": number, "text": text, "chunker_version": "1",
               "content_sha256": "sha256:" + hashlib.sha256(text.encode()).hexdigest()}
    step = max(len(corpus.edges) // EDGES, 1)
    for number in range(EDGES):
        edge = corpus.edges[number * step % len(corpus.edges)]
        named = {"edge_id": edge["id"], "relation": edge["relation"]} if number % 2 else {
            "edge_id": f"probe{number}", "relation": "mentions"}
        yield {"kind": "edge", **named, "source": {"type": edge["source_type"], "id": edge["source"]},
               "target": {"type": edge["target_type"], "id": edge["target"]},
               "evidence": [{"doc": f"{DELETED}@1", "chunk": f"c{number % CHUNKS}"}]}


def _deletions(server: Bench, rounds: int, report: Report, where: str) -> Iterator[float]:
    """Delete the document and take it back, so that every round finds the same store; yields the seconds of each deletion."""
    options = DeletionOptions(data.TENANT, DELETED, actor="benchmark")
    for number in range(rounds + 1):
        before = store_state(server.database) or {}
        receipts: list[Receipt] = []
        deleting = seconds_of(lambda: receipts.append(delete_document(server.database, options)))  # noqa: B023
        if sum(receipts[0].counts.values()) != EDGES:
            raise SystemExit(f"The deletion touched {receipts[0].counted()}, not {EDGES} edges.")
        back = seconds_of(lambda: rollback(server.database, RollbackOptions(before["head_seq"], actor="benchmark")))  # noqa: B023
        if (store_state(server.database) or {}).get("graph_hash") != before["graph_hash"]:
            raise SystemExit("The rollback did not restore the graph hash.")
        if number:
            report.value(f"doc delete of {EDGES} edges, in {where}", "ms", deleting * 1000)
            report.value(f"run rollback of that, in {where}", "ms", back * 1000)
            yield deleting


def _whole(server: Bench, rounds: int, report: Report) -> None:
    """Every edge decided anew, and everything verified, beside one reading of all there is."""
    orders = [parse_policies(text, "the benchmark's policies") for text in (_OTHER, _ORDER)]
    for number in range(rounds + 1):
        scan = seconds_of(lambda: floors.scan(server.driver))
        applied = seconds_of(lambda: apply_policies(server.database, orders[number % 2], PolicyOptions(actor="benchmark")))  # noqa: B023
        verified = seconds_of(lambda: _require_sound(server))
        if number:
            report.value("floor: bare scan of all nodes and relationships", "s", scan)
            report.value("policy apply", "s", applied)
            report.value("verify, with the graph hash", "s", verified)
            report.ratio("policy apply / bare scan", applied / scan, Goal("≤", 3))
            report.ratio("verify / bare scan", verified / scan, Goal("≤", 3))


def _require_sound(server: Bench) -> None:
    found = verify(server.database)
    if found.violations:
        raise SystemExit(f"The store is not sound: {found.violations[0]}.")
