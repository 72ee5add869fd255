"""The gate: one row a rule, every problem at once, and a verdict that does not depend on the order of what is listed."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.gate import EdgeFact, Facts, PassageFact, Verdict, judge
from graphrag_provenance.rules.incidents import measures, parse_incidents
from graphrag_provenance.rules.ledger import Ledger, ledger_schema, parse_ledger

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[2]


def edge(edge_id: str, *ends: str, current: bool = True, disputed: bool = False, rivals: tuple[str, ...] = (), **scope: Any) -> EdgeFact:
    return EdgeFact(edge_id, frozenset(ends or ("S:a", "S:b")), scope, current, disputed, rivals)


def passage(name: str, ordinal: int | None = 0, *, stale: bool = False, cited_by: tuple[str, ...] = ()) -> PassageFact:
    doc, chunk = name.split("#")
    return PassageFact(doc, chunk, f"{doc}+" if stale else doc, ordinal, cited_by)


def facts(*found: EdgeFact | PassageFact, hidden: Any = None) -> Facts:
    return Facts(
        {(one.doc, one.chunk): one for one in found if isinstance(one, PassageFact)},
        {one.edge_id: one for one in found if isinstance(one, EdgeFact)}, hidden)


def entry(facet: str | None, *evidence: str, **more: Any) -> dict[str, Any]:
    passages = [dict(zip(("doc", "chunk"), one.split("#"), strict=True)) for one in evidence if "#" in one]
    return {"sentence": "s", "facet": facet, "edges": [one for one in evidence if "#" not in one], "passages": passages, **more}


def ledger(*entries: dict[str, Any], **more: Any) -> Ledger:
    return Ledger.model_validate({"entries": list(entries), "entities": ["S:a"], "condition": {"environment": "production"}, **more})


THREE = (entry("verification", "d@1#3"), entry("prerequisite", "d@1#1"), entry("action", "e@1#2"))
SOUND = facts(passage("d@1#1", 1), passage("e@1#2", 2), passage("d@1#3", 3))
REQUIRED = {"facets": ["verification", "prerequisite", "action"], "order": []}


def test_what_is_covered_present_and_active_is_complete_with_sorted_facets() -> None:
    found = judge(ledger(*THREE, **REQUIRED), SOUND, NOW)
    assert found == Verdict(("action", "prerequisite", "verification"), (), ())
    assert found.as_json() == {
        "schema": 1, "state": "evidence-complete", "facets": ["action", "prerequisite", "verification"], "missing_facets": [],
        "reasons": [], "findings": []}


def test_what_nothing_covers_is_missing_sorted() -> None:
    found = judge(ledger(entry("action", "d@1#1"), entry("verification"), **REQUIRED), SOUND, NOW)
    assert (found.state, found.missing) == ("review", ("prerequisite", "verification"))


@pytest.mark.parametrize(("one", "known", "reasons"), [
    (entry(None, "d@1#1"), facts(passage("d@1#1", stale=True)), ["stale-or-restricted-evidence"]),
    (entry(None, "e1"), facts(edge("e1", current=False)), ["stale-or-restricted-evidence"]),
    (entry(None, "e1", "e2"), facts(edge("e1")), ["stale-or-restricted-evidence"]),
    (entry(None, "d@1#1"), facts(), ["stale-or-restricted-evidence", "unsupported-sentence"]),
    (entry(None), facts(), ["unsupported-sentence"]),
    (entry(None, "e1"), facts(edge("e1", disputed=True)), ["conflict"]),
    (entry(None, "e1"), facts(edge("e1", rivals=("e2",))), ["conflict"]),
    (entry(None, "e1"), facts(edge("e1", "S:b", "S:c")), ["wrong-entity"]),
    (entry(None, "e1", entities=["S:c"]), facts(edge("e1", "S:b", "S:c")), []),
    (entry(None, "e1", entities=[]), facts(edge("e1", "S:b", "S:c")), []),
    (entry(None, "e1"), facts(edge("e1", environment="staging")), ["wrong-environment"]),
    (entry(None, "e1"), facts(edge("e1", environment="production")), []),
    (entry(None, "e1"), facts(edge("e1", region="eu")), []),
    (entry(None, "e1", condition={"region": "us"}), facts(edge("e1", region="eu")), ["wrong-environment"]),
    (entry(None, "e1", condition={"environment": "staging"}), facts(edge("e1", environment="staging")), ["wrong-environment"]),
    (entry(None, "e1"), facts(edge("e1", valid_to=NOW)), ["wrong-environment"]),
    (entry(None, "e1"), facts(edge("e1", valid_from=NOW)), []),
    (entry(None, "e1", condition={"at": "2025-01-01T00:00:00Z"}), facts(edge("e1", valid_from=NOW)), ["wrong-environment"]),
    # A passage is about what cites it says.
    (entry(None, "d@1#1"), facts(passage("d@1#1", cited_by=("e1",)), edge("e1")), []),
    (entry(None, "d@1#1"), facts(passage("d@1#1", cited_by=("e1",)), edge("e1", "S:b", "S:c")), ["wrong-entity"]),
    (entry(None, "d@1#1"), facts(passage("d@1#1", cited_by=("e1", "e2")), edge("e1", "S:b", "S:c"), edge("e2")), []),
    (entry(None, "d@1#1"), facts(passage("d@1#1", cited_by=("e1",)), edge("e1", environment="staging")), ["wrong-environment"]),
    (entry(None, "d@1#1"), facts(passage("d@1#1", cited_by=("e1", "e2")), edge("e1", environment="staging"), edge("e2")), []),
    (entry(None, "d@1#1"), facts(passage("d@1#1", cited_by=("e1",)), edge("e1", disputed=True)), ["conflict"]),
    (entry(None, "d@1#1"), facts(passage("d@1#1", cited_by=("e1", "e2")), edge("e1"), edge("e2", "S:b", "S:c", disputed=True)), []),
])
def test_each_problem_has_its_reason(one: dict[str, Any], known: Facts, reasons: list[str]) -> None:
    found = judge(ledger(one), known, NOW)
    assert list(found.reasons) == reasons
    assert found.state == ("review" if reasons else "evidence-complete")


@pytest.mark.parametrize(("entries", "known", "told"), [
    ([entry("prerequisite", "d@1#1"), entry("action", "d@1#2")], (("d@1#1", 1), ("d@1#2", 2)), []),
    ([entry("prerequisite", "d@1#1"), entry("action", "d@1#2")], (("d@1#1", 5), ("d@1#2", 2)), ["by chunk"]),
    ([entry("action", "d@1#2"), entry("prerequisite", "d@1#1")], (("d@1#1", 1), ("d@1#2", 2)), ["by sentence"]),
    ([entry("action", "d@1#2"), entry("prerequisite", "d@2#1")], (("d@2#1", 9), ("d@1#2", 2)), []),
    ([entry("prerequisite", "d@1#1"), entry("action", "d@1#2")], (("d@1#1", None), ("d@1#2", 2)), []),
    ([entry("prerequisite", "d@1#1"), entry("action", "d@1#1")], (("d@1#1", 1),), []),
    ([entry("verification", "d@1#1"), entry("other", "d@1#2")], (("d@1#1", 5), ("d@1#2", 2)), []),
    ([entry("prerequisite", "d@1#1"), entry("action", "d@1#2"), entry("verification", "d@1#3")],
     (("d@1#1", 5), ("d@1#2", 9), ("d@1#3", 7)), ["by chunk"]),
])
def test_a_later_facet_does_not_begin_before_an_earlier_one(entries: Any, known: Any, told: list[str]) -> None:
    found = judge(ledger(*entries), facts(*(passage(*one) for one in known)), NOW)
    assert [next(w for w in ("by chunk", "by sentence") if w in one.detail) for one in found.findings] == told
    assert list(found.reasons) == (["section-order"] if told else [])


def test_a_sentence_without_a_region_of_its_own_is_about_that_of_the_answer() -> None:
    whole = {"environment": "production", "region": "eu"}
    known = facts(edge("e1", region="us"))
    assert judge(ledger(entry(None, "e1"), condition=whole), known, NOW).reasons == ("wrong-environment",)
    own = entry(None, "e1", condition={"region": "us"})
    assert [one.detail for one in judge(ledger(own, condition=whole), known, NOW).findings] == [
        "is said of region us, the answer is about eu"]
    assert judge(ledger(entry(None, "e1", condition={"region": "us"})), known, NOW).reasons == ()
    same = entry(None, "e1", condition={"region": "us", "environment": "production"})
    assert judge(ledger(same, condition=whole | {"region": "us"}), known, NOW).reasons == ()


def test_the_trouble_of_an_edge_is_told_of_a_passage_once_and_only_where_it_is() -> None:
    known = facts(passage("d@1#1", cited_by=("e1", "e2")), edge("e1"), edge("e2", disputed=True))
    (found,) = judge(ledger(entry(None, "d@1#1")), known, NOW).findings
    assert found.as_json() == {"reason": "conflict", "entry": 1, "detail": "evidence speaks against e2", "edge_id": None,
                               "passage": {"doc": "d@1", "chunk": "1"}}
    (other,) = judge(ledger(entry(None, "e2")), known, NOW).findings
    assert (other.as_json()["edge_id"], other.as_json()["passage"]) == ("e2", None)


def test_a_facet_begins_with_the_first_of_its_passages_whichever_sentence_cites_it() -> None:
    known = facts(passage("d@1#9", 9), passage("d@1#1", 1), passage("d@1#5", 5))
    sound = ledger(entry("x", "d@1#9"), entry("x", "d@1#1"), entry("y", "d@1#5"), facets=["x", "y"], order=["x", "y"])
    assert judge(sound, known, NOW).reasons == ()


def test_all_problems_are_told_at_once_sorted() -> None:
    known = facts(edge("e1", "S:b", "S:c", current=False, disputed=True, environment="staging"), passage("d@1#1", 9), passage("d@1#2", 1))
    found = judge(ledger(
        entry("action", "e1"), entry(None), entry("prerequisite", "d@1#1"), entry("action", "d@1#2"), facets=["z", "b"]), known, NOW)
    assert found.missing == ("b", "z")
    assert found.reasons == (
        "conflict", "section-order", "stale-or-restricted-evidence", "unsupported-sentence", "wrong-entity", "wrong-environment")
    assert [one.entry for one in found.findings] == [1, 1, 1, 1, 2, 4]


def test_only_an_auditor_hears_which_evidence_is_there_and_hidden() -> None:
    one = ledger(entry(None, "e1", "e2"))
    assert [f.detail for f in judge(one, facts(), NOW).findings if f.evidence] == ["not there for this reader"] * 2
    assert [f.detail for f in judge(one, facts(hidden={"e1"}), NOW).findings if f.evidence] == [
        "access: the reader may not see it", "does not exist"]


@given(st.permutations(range(4)))
def test_the_verdict_does_not_depend_on_the_order_of_evidence(order: list[int]) -> None:
    evidence = ["e1", "e2", "d@1#1", "nothing@1#2"]
    known = facts(edge("e1", disputed=True), edge("e2", "S:x", "S:y"), passage("d@1#1", stale=True))
    assert judge(ledger(entry("f", *(evidence[n] for n in order))), known, NOW) == judge(ledger(entry("f", *evidence)), known, NOW)


def test_the_time_grows_with_the_evidence_not_with_its_square() -> None:
    def seconds(count: int) -> float:
        known = facts(*(passage(f"d@1#{n}", n) for n in range(count)))
        one = ledger(*(entry("action", f"d@1#{n}") for n in range(count)))
        started = time.process_time()
        judge(one, known, NOW)
        return time.process_time() - started

    few = min(seconds(1_000) for _ in range(3))
    assert min(seconds(10_000) for _ in range(3)) < 40 * few


@pytest.mark.parametrize(("text", "told"), [
    ("{", "not valid JSON"), ("entries", "not valid TOML"), ("entries = 3", "entries"), ("entries = []\ncolour = 1", "colour"),
    ('[[entries]]\nsentence = "s"\npassages = [{doc = "d", chunk = "c"}]', "entries.0.passages.0.doc"),
    ('entities = ["x"]\nentries = []', "entities.0"), ("schema = 2\nentries = []", "schema"),
    ('entries = []\ncondition = {at = "2026-01-01"}', "condition.at"), ('entries = []\norder = ["a", "a"]', "stands there twice"),
])
def test_what_is_no_ledger_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_ledger(text, "f")


def test_the_schema_in_the_documents_is_the_one_of_the_program() -> None:
    written = json.loads((ROOT / "docs" / "gate.schema.json").read_text(encoding="utf-8"))
    assert written == ledger_schema(), "write it again: python -m json.tool of rules.ledger.ledger_schema()"


RESULT = {"facets": ["action"], "findings": [
    {"reason": "conflict", "entry": 1}, {"reason": "conflict", "entry": 2}, {"reason": "wrong-environment", "entry": 3}], "state": "review"}
LABELS = {"facets": ["action", "verification"], "conflict": [2, 4], "wrong-environment": [3], "opened_at": "2026-01-01T00:00:00Z",
          "found_at": "2026-01-01T00:02:00Z"}


def test_past_results_are_measured_against_what_was_found_out() -> None:
    lines = [json.dumps({"incident": "1", "result": RESULT, "labels": LABELS}), json.dumps({"incident": "2", "result": RESULT})]
    found = measures(parse_incidents("\n".join(lines), "f"))
    assert (found["incidents"], found["facet_recall"], found["seconds_to_find"]) == (2, 0.5, 120)
    assert found["problems"]["conflict"] == {"reported": 4, "labelled": 2, "missed": 1, "needless": 1, "recall": 0.5}
    assert found["problems"]["wrong-environment"] == {"reported": 2, "labelled": 1, "missed": 0, "needless": 0, "recall": 1.0}
    assert found["problems"]["unsupported-sentence"]["recall"] is None


@pytest.mark.parametrize(("text", "told"), [
    ("", "no incident"), ("{", "f:1 is not JSON"), ('{"incident": "1"}', "f:1: result"),
    (json.dumps({"incident": "1", "result": RESULT, "labels": {"conflicts": []}}), "labels.conflicts"),
    (json.dumps({"incident": "1", "result": RESULT, "labels": {"conflict": ["x"]}}), "labels.problems"),
    (json.dumps({"incident": "1", "result": RESULT, "labels": {"opened_at": "yesterday"}}), "labels.opened_at"),
])
def test_what_is_no_file_of_incidents_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_incidents(text, "f")
