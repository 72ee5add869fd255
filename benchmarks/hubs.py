"""What a hub costs: questions whose only way leads through an entity with 100,000 edges (spec 6, numbers).

Owns: the star that is asked about. `HUB` edges lead from leaves to one hub; half of them stand under a policy that the reader
lacks. Asked is what a hub is bad at: two leaves (the way through the hub), a leaf and the hub's far side that no chain reaches (every
edge is looked at, and again for the reason), and the same with hardly any time, which must be said and not waited for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import data
import floors
from loads import Input, load
from reporting import Goal, Report, seconds_of
from servers import Bench

from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.store.traces import trace

HUB = 100_000
LIMIT = 10.0
"""The default time limit of a read, seconds."""
_HURRY = 0.001
_ASKED = 20
_FLOOR = "UNWIND $rows AS row MATCH (h:RawEntity {id: 'hub'}) CREATE (:RawEntity {id: row.id})-[:RAW_CALLS {id: row.edge}]->(h)"


def measure_hub(server: Bench, given: Input, rounds: int, report: Report) -> None:
    """Traces through the hub, beside the same search without any condition."""
    file = data.write_lines(_records(), given.files[0].parent / "hub.jsonl")
    load(server, replace(given, files=[file]))
    _floor(server)
    chance, reader = random.Random(5), Reader("bench", data.TENANT, frozenset({"internal"}))
    asked = [tuple(2 * n for n in chance.sample(range(HUB // 2), 2)) for _ in range(_ASKED)]
    hurried = server.database.patient(_HURRY)
    for number in range(rounds + 1):
        raw = [seconds_of(lambda o=one: _require(floors.path(server.driver, _leaf(o[0]), _leaf(o[1])))) for one in asked]
        through = [seconds_of(lambda o=one: _expect(_trace(server.database, reader, o), None)) for one in asked]
        hidden = [seconds_of(lambda o=one: _expect(_trace(server.database, reader, (o[0], o[1] + 1)), "unknown-entity")) for one in asked]
        nowhere = [seconds_of(lambda o=one: _expect(_trace(server.database, reader, (o[0], None)), "no-path")) for one in asked[:5]]
        cut = _trace(hurried, reader, (asked[0][0], None))
        if not cut.truncated or cut.chains:
            raise SystemExit("A search that ran out of time did not say so.")
        if number == 0:
            continue
        name = f"trace through a hub of {HUB:,} edges"
        report.value(f"floor: shortestPath through a hub of {HUB:,} edges", "ms", _middle(raw))
        report.value(name, "ms", _middle(through))
        report.value(f"{name}, to an entity that is hidden", "ms", _middle(hidden))
        report.value(f"{name}, where no chain leads, with the reason", "ms", _middle(nowhere))
        report.ratio(f"{name} / the same unfiltered", sum(through) / sum(raw))
        report.ratio(f"slowest answer about a hub / time limit of {LIMIT:g} s", max(*through, *hidden, *nowhere) / LIMIT, Goal("≤", 1))
    server.empty()


def _records() -> Iterator[dict[str, Any]]:
    yield {"kind": "document", "doc_id": "hub", "title": "Hub", "source_type": "bench", "policy": "public"}
    yield {"kind": "revision", "doc": "hub@1", "effective_at": "2026-01-01T00:00:00Z"}
    for number in range(HUB):
        policy = "secret" if number % 2 else "internal"
        yield _edge(f"hub{number}", _leaf(number), "hub", policy)
    yield _edge("aside", "far", "farther", "internal")


def _edge(edge_id: str, source: str, target: str, policy: str) -> dict[str, Any]:
    return {"kind": "edge", "edge_id": edge_id, "relation": "calls", "source": {"type": "Service", "id": source},
            "target": {"type": "Service", "id": target}, "evidence": [{"doc": "hub@1", "chunk": "c1", "policy": policy}]}


def _leaf(number: int) -> str:
    return f"leaf{number}"


def _floor(server: Bench) -> None:
    server.driver.execute_query("CREATE (:RawEntity {id: 'hub'})")
    for start in range(0, HUB, floors.BATCH):
        rows = [{"id": _leaf(n), "edge": f"hub{n}"} for n in range(start, min(start + floors.BATCH, HUB))]
        server.driver.execute_query(_FLOOR, rows=rows)


def _trace(database: Any, reader: Reader, ends: tuple[int, int | None]) -> Trace:
    source, target = ends
    return trace(database, Question(
        ("Service", _leaf(source)), ("Service", "far" if target is None else _leaf(target)), directed=False, max_hops=3), reader)


def _expect(answer: Trace, reason: str | None) -> None:
    if answer.reason != reason or answer.truncated:
        end = "ran out of time" if answer.truncated else f"is {answer.reason}"
        raise SystemExit(f"{answer.question.source} to {answer.question.target} {end}, not {reason}.")


def _require(found: Any) -> None:
    if not found:
        raise SystemExit("The floor did not find a way through the hub.")


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] * 1000
