"""Every read of random worlds against a brute-force model, and against a store that holds only what the reader may see.

At least 2,000 reads, of a few forms; `python -m tests.oracle` makes longer runs of all. That the comparison can fail is proved by
planted faults.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.store import lookups
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.traces import trace
from tests.corpus.worlds import Load, edge, loader
from tests.oracle.faults import FAULTS, Fault, differences, plain
from tests.oracle.model import Asked, Tenant, View, covered
from tests.oracle.running import Runner
from tests.oracle.worlds import Read

SEEDS = range(1, 5)
READS = 450


def few(read: Read) -> bool:
    """Questions that share some statements of paths: each number of hops is one of its own, which takes the server seconds to plan."""
    asked = read.asked
    return read.kind != "trace" or ((asked["directed"] or not read.view.auditor) and (
        len(asked["sequence"]) == 3 if asked["sequence"] else asked["max_hops"] == 4))


@pytest.fixture(scope="module")
def runner(wipe: Callable[[], None], database: Database, cypher: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Runner:
    wipe()
    return Runner(database, cypher, tmp_path_factory.mktemp("oracle"))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_read_is_what_the_model_says(runner: Runner, seed: int) -> None:
    asked, differing = runner.report.total, len(runner.report.differences)
    runner.run(seed, READS, asks=few)
    assert runner.report.total - asked >= READS
    assert [str(one) for _, one in runner.report.differences[differing:]] == []


def test_the_questions_are_worth_asking(runner: Runner) -> None:
    """A run in which everything is hidden, or nothing, would prove little."""
    if not runner.report.total:
        pytest.skip("nothing was asked")
    assert runner.report.total >= 2_000
    answers = runner.report.answers
    assert len([reason for reason, count in answers.items() if count >= 3]) >= 7, answers
    assert answers["None"] * 25 >= answers.total(), answers
    assert all(runner.report.reads[f"shadow {kind}"] for kind in ("trace", "edge_show", "entity_show", "entity_find"))


@pytest.mark.parametrize("seed", [24])
def test_whoever_is_cleared_for_nothing_sees_nothing(runner: Runner, seed: int) -> None:
    """Controls: the world is full, and with no clearance, or without the grants, it is empty or smaller."""
    made = runner.build(seed)
    tenant, keys = made.tenants[0], frozenset().union(*(edge.references for edge in made.model(made.tenants[0]).edges.values()))

    def seen(clearances: frozenset[str], granted: frozenset[str]) -> list[str]:
        reader = Reader("r", tenant, clearances)
        return [one["edge_id"] for one in lookups.edge_list(runner.database, reader, limit=1000, granted=granted)]

    everything = seen(frozenset(made.order), keys)
    assert seen(frozenset(), keys) == []
    assert set(seen(frozenset(made.order), frozenset())) < set(everything)
    assert len(everything) > 5


@pytest.mark.parametrize("fault", [Fault("no fault"), *FAULTS], ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(runner: Runner, fault: Fault) -> None:
    """All of the questions: `python -m tests.oracle.faults`."""
    assert bool(differences(runner, fault, count=250, asks=plain)) is (fault.name != "no fault")


# What the oracle found, each in its smallest form.

@pytest.fixture
def load(runner: Runner, tmp_path: Path, cypher: Callable[..., Any]) -> Load:
    cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
    runner.weighted = False
    runner.built = None
    return loader(runner.database, tmp_path)


def test_a_boundary_stays_where_it_is_when_the_edge_is_stated_again(runner: Runner, load: Load, tenant: str) -> None:
    """The driver gave UTC a name, the edge was written back with it, and Cypher orders equal instants by their zones."""
    for _ in range(2):
        load(tenant, edge("a", "b", valid_from="2020-01-01T00:00:00Z", valid_to="2024-06-01T00:00:00Z"), edge("a", "c"), edge("c", "b"))
    at = datetime(2024, 6, 1, tzinfo=UTC)
    answer = trace(runner.database, Question(("Thing", "a"), ("Thing", "b"), at=at), Reader("r", tenant, frozenset({"internal"})))
    assert [step["edge_id"] for step in answer.as_json()["paths"][0]["steps"]] == ["a->c", "c->b"]


@pytest.mark.parametrize("first", ["x", "y"])
def test_the_reason_does_not_depend_on_which_of_two_chains_is_found(runner: Runner, load: Load, tenant: str, first: str) -> None:
    """One chain fails environment and time, the other time and dispute: applied in order, time is the first that leaves none."""
    ways = {
        "x": [edge("a", "x", environment="staging"), edge("x", "b", valid_to="2020-01-01T00:00:00Z")],
        "y": [edge("a", "y", refuted=True), edge("y", "b", valid_to="2020-01-01T00:00:00Z")]}
    for way in sorted(ways, reverse=first == "y"):
        load(tenant, *ways[way])
    question = Question(("Thing", "a"), ("Thing", "b"), environment="production")
    assert trace(runner.database, question, Reader("r", tenant, frozenset({"internal"}))).as_json()["reason"] == "time-scope"


def test_a_scope_that_the_question_leaves_open_can_be_what_alone_stands_in_the_way(runner: Runner, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "m", environment="one"), edge("m", "b", environment="two"), edge("a", "b", stale=True))
    question = Question(("Thing", "a"), ("Thing", "b"))
    assert trace(runner.database, question, Reader("r", tenant, frozenset({"internal"}))).as_json()["reason"] == "environment-scope"


def test_citations_of_one_run_stand_in_one_order(runner: Runner, load: Load, tenant: str) -> None:
    load(tenant, edge("a", "b", refuted=True, edge_id="E"))
    history = lookups.edge_history(runner.database, Reader("r", tenant, frozenset({"internal"})), "E")["history"]
    assert [one["doc"] for one in history] == sorted(one["doc"] for one in history)


# The model itself, by hand.

def test_the_model_knows_the_order_and_the_join() -> None:
    order = {"public": [], "internal": ["public"], "hr": ["internal"], "legal": ["internal"]}
    assert covered(order, ["hr"]) == {"hr", "internal", "public"}
    assert covered(order, ["nobody"]) == frozenset()
    ends = {"source": {"type": "T", "id": "a"}, "target": {"type": "T", "id": "b"}}
    record = {"kind": "edge", "edge_id": "E", "relation": "r", **ends, "access": {"tenant": "t"},
              "evidence": [{"doc": "D@1", "chunk": "c", "policy": "hr"}, {"doc": "D@2", "chunk": "c", "policy": "legal"}]}
    model = Tenant("t", [[record]], order)
    assert [bool(model.seen(View("t", frozenset(names)))) for names in (["hr"], ["hr", "legal"], [])] == [False, True, False]
    assert not model.seen(View("other", frozenset(order)))
    asked = Asked(("T", "a"), ("T", "b"))
    assert model.trace(View("t", frozenset(["hr", "legal"])), asked).reason is None
    assert model.trace(View("t", frozenset(["hr"])), asked).reason == "unknown-entity"
    unknown = Tenant("t", [[record | {"evidence": [{"doc": "D@1", "chunk": "c", "policy": None}]}]], order)
    assert unknown.edges["E"].reasons(order) == ["unknown-policy: "]
