"""Measures the product beside the floor, on the same server in one run, and prints the ratios.

    python benchmarks/run.py [ingest|trace|hub|gate|time|bulk|footprint|memory|all] [--edges N] [--rounds N] …

Owns: what is timed, in which order, and how it is told. Floor and product take turns in every round, after one round that
is thrown away, so that both meet the same warm-up and the same noise of the machine. Times come as medians with least and
most; where the server is our own, so do processor seconds (this process and the server), which other work disturbs less.
Needs an empty server in NEO4J_URI, or starts one of its own; `--strict` ends with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import data
import floors
from bulk import measure_bulk
from footprint import measure_footprint
from hubs import measure_hub
from loads import Input, load, prepared
from memory import measure_memory
from over_time import measure_time
from reporting import Cost, Goal, Report, seconds_of
from rich.console import Console
from servers import Bench, bench

from graphrag_provenance.ingest import Summary
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.gate import judge
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.store import gate as gates
from graphrag_provenance.store.traces import trace, traces

HOPS = 3
GATE_PASSAGES = 10_000


def measure_ingest(server: Bench, given: Input, rounds: int, report: Report) -> None:
    """Full load beside the two floors, and the second load of the same input."""
    count = len(given.corpus.edges)
    for number in range(rounds + 1):
        bare = Cost.of(server, lambda: floors.bare(server.driver, given.corpus))
        server.empty()
        nodes = Cost.of(server, lambda: floors.evidence_nodes(server.driver, given.corpus))
        server.empty()
        first = Cost.of(server, lambda: load(server, given))
        second = Cost.of(server, lambda: _require_no_writes(load(server, given)))
        server.empty()
        if number == 0:
            continue
        steps = {"floor: bare MERGE": bare, "floor: evidence nodes": nodes, "full ingest": first, "second load": second}
        for name, cost in steps.items():
            report.value(name, "edges/s", count / cost.seconds)
            if cost.client is not None and cost.server is not None:
                report.value(f"{name}, processor time here", "s", cost.client)
                report.value(f"{name}, processor time of the server", "s", cost.server)
        compared = {
            "full ingest / bare MERGE": (bare, first, Goal("≥", 0.33)),
            "full ingest / evidence nodes": (nodes, first, Goal("≥", 1.5)),
            "second load / first load": (first, second, Goal("≥", 3)),
        }
        for name, (one, other, goal) in compared.items():
            report.ratio(name, one.seconds / other.seconds, goal)
            if one.cpu and other.cpu:
                report.ratio(f"{name}, by processor time", one.cpu / other.cpu)


def measure_trace(server: Bench, given: Input, rounds: int, report: Report) -> None:
    """Path with all its evidence for 200 pairs within three hops, beside bare shortestPath; both graphs stand side by side."""
    floors.evidence_lists(server.driver, given.corpus)
    load(server, given)
    reader = Reader("bench", data.TENANT, frozenset({data.POLICIES[-1]}))
    asked = data.pairs(given.corpus, hops=HOPS)
    for number in range(rounds + 1):
        raw, ours = [], []
        for source, target in asked:
            raw.append(seconds_of(lambda s=source, t=target: _require(floors.path(server.driver, s["id"], t["id"]))))
            question = Question(
                (source["label"], source["id"]), (target["label"], target["id"]), directed=False, max_hops=HOPS)
            ours.append(seconds_of(lambda q=question: _require_chain(trace(server.database, q, reader))))
        batch = seconds_of(lambda: _require(floors.paths(server.driver, [(s["id"], t["id"]) for s, t in asked])))
        claims = [
            Question((s["label"], s["id"]), (t["label"], t["id"]), directed=False, max_hops=HOPS) for s, t in asked]
        many = seconds_of(lambda: [_require_chain(one) for one in traces(server.database, claims, reader)])  # noqa: B023
        if number == 0:
            continue
        for part in (50, 95):
            floor, own = _percentile(raw, part), _percentile(ours, part)
            report.value(f"floor: shortestPath, p{part}", "ms", floor * 1000)
            report.value(f"trace, p{part}", "ms", own * 1000)
            report.ratio(f"trace / shortestPath, p{part}", own / floor, Goal("≤", 1.5 if part == 50 else 2))
        report.value("floor: 200 pairs in one statement", "ms", batch * 1000)
        report.value("200 claims in one call", "ms", many * 1000)
        report.ratio("200 claims in one call / 200 pairs in one statement", many / batch, Goal("≤", 3))
    server.empty()


def measure_gate(server: Bench, given: Input, rounds: int, report: Report) -> None:
    """A ledger over every passage of the corpus, 10,000 at most: with its look-ups, and the judgement by itself."""
    load(server, given)
    reader = Reader("bench", data.TENANT, frozenset({data.POLICIES[-1]}))
    refs = [{"doc": chunk["revision"], "chunk": chunk["id"]} for chunk in given.corpus.chunks[:GATE_PASSAGES]]
    ledger = Ledger.model_validate({
        "facets": ["action"], "entries": [{"sentence": "s", "facet": "action", "passages": [ref]} for ref in refs]})
    inner: list[float] = []

    def timed(*arguments: Any) -> Any:
        started = time.perf_counter()
        verdict = judge(*arguments)
        inner.append(time.perf_counter() - started)
        return verdict

    for number in range(rounds + 1):
        with patch.object(gates, "judge", timed):
            whole = seconds_of(lambda: gates.gate(server.database, ledger, reader))
        if number:
            report.value(f"gate over {len(refs):,} passages", "ms", inner[-1] * 1000)
            report.value(f"gate over {len(refs):,} passages, with look-ups", "ms", whole * 1000)
            report.ratio(f"gate over {len(refs):,} passages / 50 ms", inner[-1] / 0.05, Goal("≤", 1))
    server.empty()


def _require_no_writes(summary: Summary) -> None:
    if summary.outcome.writes.total:
        raise SystemExit(f"The second load wrote: {summary.outcome.writes}.")


def _require_chain(answer: Trace) -> None:
    if not answer.chains:
        end = "the search ran out of time" if answer.truncated else f"unresolved: {answer.reason}"
        raise SystemExit(f"{answer.question.source} to {answer.question.target} within {HOPS} hops was not traced, {end}.")


def _require(found: Any) -> None:
    if not found:
        raise SystemExit("The floor did not find a pair within three hops.")


def _percentile(values: Sequence[float], part: int) -> float:
    return sorted(values)[int(len(values) * part / 100)]


# What a store weighs comes first: in one that was emptied, what is new takes the space of what is gone.
MEASURES: dict[str, Callable[[Bench, Input, int, Report], None]] = {
    "footprint": measure_footprint, "ingest": measure_ingest, "trace": measure_trace, "hub": measure_hub, "gate": measure_gate,
    "time": measure_time, "bulk": measure_bulk, "memory": measure_memory}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the measures asked for and print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="?", default="all", choices=(*MEASURES, "all"))
    parser.add_argument("--edges", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, help="default: the product's")
    parser.add_argument("--batch-size", type=int, help="default: the product's")
    parser.add_argument("--neo4j-version", help="of the server that is started here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write JSON lines")
    parser.add_argument("--strict", action="store_true", help="end with 1 if a goal is missed")
    asked = parser.parse_args(arguments)
    with bench(asked.neo4j_version) as server, tempfile.TemporaryDirectory(prefix="gprov-bench-data-") as folder:
        given = prepared(asked.edges, Path(folder), asked.workers, asked.batch_size)
        report = Report(asked.edges, server.version)
        for name, measure in MEASURES.items():
            if asked.what in (name, "all"):
                measure(server, given, asked.rounds, report)
    report.show(Console())
    if asked.json:
        data.write_lines(report.lines(), asked.json)
    return 1 if asked.strict and report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
