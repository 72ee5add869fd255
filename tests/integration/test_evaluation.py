"""The shipped questions are answered whole, and each planted fault lowers a measure that names it (spec 4, evaluation)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.rules.chains import Question, Reason
from graphrag_provenance.rules.claims import Claim, parse_golden
from graphrag_provenance.rules.evaluation import check_split, expected, measured, score
from graphrag_provenance.store.asking import ask_claims
from graphrag_provenance.store.database import Database
from tests.corpus.worlds import POLICIES, SAMPLE

GOLDEN = parse_golden(SAMPLE.joinpath("golden.toml").read_text(encoding="utf-8"), "golden.toml")


@pytest.fixture(scope="module")
def sample(wipe: Callable[[], None], database: Database, tmp_path_factory: pytest.TempPathFactory) -> Database:
    """The shipped sample and nothing else."""
    wipe()
    ingest(database, sorted(SAMPLE.glob("*.jsonl")), IngestOptions(POLICIES, rejects=tmp_path_factory.mktemp("e") / "rejected.jsonl"))
    return database


def evaluate(database: Database) -> dict[str, Any]:
    answers = ask_claims(database, GOLDEN, None, principal="alice")
    check_split(GOLDEN, {one.id: answer for one, answer in zip(GOLDEN, answers, strict=True)})
    return measured([score(*pair) for pair in zip(GOLDEN, answers, strict=True)])


def test_the_set_has_every_reason_and_distractors_for_each_question() -> None:
    counts = Counter(expected(one) for one in GOLDEN)
    assert len(GOLDEN) >= 60
    assert set(counts) == {"supported", *Reason}
    assert all(one.distractors and one.documents and one.split for one in GOLDEN)
    assert all(one.expect_evidence for one in GOLDEN if one.expect_state == "supported")
    assert not any(set(one.distractors) & set(one.expect_edges or ()) for one in GOLDEN)


def test_what_is_answerable_is_answered_whole_and_nothing_else_is_supported(sample: Database) -> None:
    body = evaluate(sample)
    assert body["measures"] == {
        "passage_recall": 1.0, "edge_correctness": 1.0, "complete_chain_support": 1.0, "answer_accuracy": 1.0}
    assert body["failures"] == []


def asked_without(monkeypatch: pytest.MonkeyPatch, change: Callable[[Question], Question]) -> None:
    question = Claim.question
    monkeypatch.setattr(Claim, "question", lambda self, *more: change(question(self, *more)))


def names_read_as(monkeypatch: pytest.MonkeyPatch, change: Callable[[list[Any]], list[Any]]) -> None:
    read = Database.read

    def altered(self: Database, name: Any, **more: Any) -> list[Any]:
        rows = read(self, name, **more)
        return change(rows) if getattr(name, "name", name) == "path.aliases" else rows

    monkeypatch.setattr(Database, "read", altered)


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str, str, str]] = {
    # fault: how it is planted, the measure that falls, the kind of question that shows it, the kind of failure
    "ignore the environment": (
        lambda m: asked_without(m, lambda q: replace(q, environment=None)), "edge_correctness", "environment-scope", "invented"),
    "ignore the head": (
        lambda m: asked_without(m, lambda q: replace(q, require_current=False)), "edge_correctness", "stale-revision", "invented"),
    "join on names": (
        lambda m: names_read_as(m, lambda rows: list({row["number"]: row for row in reversed(rows)}.values())), "edge_correctness",
        "entity-join", "invented"),
    "accept a guessed alias": (
        lambda m: names_read_as(m, lambda rows: [{**row, "guessed": False} for row in rows]), "edge_correctness", "alias-guessed",
        "invented"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_lowers_a_measure(sample: Database, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    plant, measure, kind, failure = FAULTS[fault]
    plant(monkeypatch)
    body = evaluate(sample)
    assert body["measures"][measure] < 1
    assert body["by_expected"][kind]["answer_accuracy"] < 1
    assert body["by_failure"].get(failure)
