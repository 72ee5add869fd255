"""Files of claims: what they say, what is refused with its place, and that what is written is read back."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.cli.junit import Case, junit
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.rules.chains import Chain, Item, Reason, Step
from graphrag_provenance.rules.claims import Claim, GoldenQuestion, form_of, parse_claims, parse_golden, written
from graphrag_provenance.rules.golden import differences, recorded

GOOD = 'from = "System:A"\nto = "System:B"\n'
GOLDEN = GOOD + 'expect_state = "supported"\n'


def golden(**more: object) -> GoldenQuestion:
    return GoldenQuestion.model_validate({"from": "System:A", "to": "System:B", "expect_state": "supported", "id": "q"} | more)


@pytest.mark.parametrize(("text", "told"), [
    ("[[question", "not valid TOML"), ("", "holds no claim"), ("schema = 2\n[[question]]\n" + GOLDEN, "schema"),
    ('[[question]]\n' + GOLDEN + 'colour = "red"', r"f.toml: question 1 \(1\): colour: unknown field"),
    ('colour = "red"\n[[question]]\n' + GOLDEN, "colour is not understood"),
    ("[[question]]\n" + GOOD, r"expect_state: Field required"),
    ('[[question]]\nid = "x"\n' + GOLDEN + '[[question]]\nid = "x"\n' + GOLDEN, "question 2 has the id 'x' of question 1"),
    ("[[question]]\n" + GOLDEN.replace("System:A", "System"), r"question 1 \(1\): 'System' is not an address"),
    ("[[question]]\n" + GOLDEN + "at = 2026-01-01T00:00:00", "time zone"),
    ("[[question]]\n" + GOLDEN + 'at = "2026-01-01"', "no time of day"),
    ("[[question]]\n" + GOLDEN + 'relations = ["a b"]', "relation 'a b'"),
    ("[[question]]\n" + GOLDEN + "max_hops = 9", "max_hops"),
    ("[[question]]\n" + GOLDEN + 'expect_reason = "tired"', "expect_reason"),
    ('question = "x"', "question is not understood"),
])
def test_what_is_no_golden_file_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_golden(text, "f.toml")


@pytest.mark.parametrize(("text", "told"), [
    ('{"from": "System:A"}', r"line 1 \(1\): to: Field required"), ('{"from": "System:A", "to": "System:B"}\n{', "f.jsonl:2 is not JSON"),
    ("[1]", "f.jsonl:1 is not a JSON object"),
])
def test_what_is_no_claims_file_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_claims(text, "f.jsonl", "jsonl")


def test_the_top_of_a_file_says_who_reads_unless_a_question_does() -> None:
    one, other = parse_golden(
        'tenant = "T"\nclearance = ["internal"]\n[[question]]\n' + GOLDEN
        + '[[question]]\nroles = ["auditor"]\nclearance = []\n' + GOLDEN, "f")
    assert one.reader(None, "p") == Reader("p", "T", frozenset({"internal"}))
    assert other.reader(None, "p") == Reader("p", "T", frozenset(), frozenset({Role.AUDITOR}))


def test_a_claim_without_a_reader_is_asked_by_the_caller_or_by_nobody() -> None:
    (claim,) = parse_claims('{"from": "System:A", "to": "System:B", "expect_state": "supported"}', "f", form_of("f.jsonl"))
    caller = Reader("c", "T", frozenset({"internal"}))
    assert claim.reader(caller, "p") is caller
    with pytest.raises(InputError, match="does not say who asks"):
        claim.reader(None, "p")


@pytest.mark.parametrize(("tenant", "clearance", "names"), [
    ("T", ["internal"], True), ("T", [], True), ("T", None, False), (None, ["internal"], False), (None, None, False)])
def test_a_claim_names_its_reader_with_tenant_and_clearance(tenant: str | None, clearance: list[str] | None, names: bool) -> None:
    assert golden(tenant=tenant, clearance=clearance).names_reader is names


def test_a_claim_is_asked_as_it_is_written() -> None:
    asked = golden(undirected=True, allow_stale=True, environment="e", region="r", at="2026-01-01T00:00:00Z").question(6)
    assert (asked.directed, asked.require_current, asked.max_hops, asked.environment, asked.region) == (False, False, 6, "e", "r")
    plain = golden(max_hops=2).question(6)
    assert (plain.directed, plain.require_current, plain.max_hops, plain.at) == (True, True, 2, None)


def test_a_long_list_is_written_over_several_lines_under_the_names_of_the_file() -> None:
    many = golden(expect_edges=[f"edge-{number:040}" for number in range(9)])
    text = written([many], [])
    assert max(map(len, text.splitlines())) < 100
    assert "from = " in text
    assert "from_" not in text
    assert parse_golden(text, "f") == (many,)


TEXT = st.text(max_size=12)
QUESTIONS = st.lists(st.builds(
    lambda number, **more: golden(id=f"{number}", **more), st.uuids(), why=TEXT, environment=st.none() | TEXT, max_hops=st.integers(1, 8),
    tenant=TEXT, clearance=st.lists(TEXT, max_size=2), expect_edges=st.none() | st.lists(TEXT, max_size=3), undirected=st.booleans(),
    expect_evidence=st.none() | st.lists(st.lists(TEXT, max_size=2), max_size=2), at=st.none() | st.just("2026-01-01T00:00:00Z"),
    expect_reason=st.none() | st.sampled_from(list(Reason))), min_size=1, max_size=4)


@given(QUESTIONS, st.lists(TEXT.filter(str.isprintable), max_size=2))
def test_what_is_written_is_read_back(questions: list[GoldenQuestion], heading: list[str]) -> None:
    assert parse_golden(written(questions, heading), "f") == tuple(questions)


def step(edge_id: str, *passages: str, refuted: str | None = None) -> Step:
    said = [(one, "supports") for one in passages] + ([(refuted, "refutes")] if refuted else [])
    items = tuple(
        Item({"doc": one.partition("#")[0], "chunk": one.partition("#")[2], "polarity": polarity}, (), (), frozenset())
        for one, polarity in said)
    return Step({"edge_id": edge_id}, "R", "r", (), ("T", "S", "a"), ("T", "S", "b"), True, items)


def answer(*steps: Step, reason: Reason | None = None) -> Trace:
    return Trace(golden().question(), "t", reason, 7, (Chain((), steps),) if steps else ())


FOUND = answer(step("e1", "d@1#a", "d@1#b", "d@1#a", refuted="d@1#z"), step("e2", "d@2#c"))
PROVED = [["d@1#a", "d@1#b"], ["d@2#c"]]


@pytest.mark.parametrize(("expected", "got", "told"), [
    (golden(), FOUND, []),
    (golden(expect_edges=["e1", "e2"], expect_evidence=[["d@1#b", "d@1#a"], ["d@2#c"]]), FOUND, []),
    (golden(expect_state="unresolved"), answer(reason=Reason.STALE), []),
    (golden(expect_edges=["e1", "e2"]), answer(reason=Reason.STALE), [
        "state: expected supported, got unresolved (stale-revision)", "path, first at hop 1: expected e1, e2, got nothing"]),
    (golden(expect_state="unresolved", expect_reason="no-path"), answer(reason=Reason.STALE), [
        "reason: expected no-path, got stale-revision"]),
    (golden(expect_edges=["e1", "e3"], expect_evidence=PROVED), FOUND, ["path, first at hop 2: expected e1, e3, got e1, e2"]),
    (golden(expect_edges=["e1"]), FOUND, ["path, first at hop 2: expected e1, got e1, e2"]),
    (golden(expect_evidence=[["d@1#a", "d@1#b"], ["d@3#c"]]), FOUND, ["evidence, first at hop 2: expected d@3#c, got d@2#c"]),
    (golden(expect_evidence=PROVED[:1]), FOUND, ["evidence, first at hop 2: expected nothing, got d@2#c"]),
    (golden(), replace(FOUND, truncated=True), ["the search ran out of time, so what was found may not be all there is"]),
])
def test_a_difference_says_what_was_expected_what_came_and_from_which_hop(expected: GoldenQuestion, got: Trace, told: list[str]) -> None:
    assert [str(one) for one in differences(expected, got)] == told


@pytest.mark.parametrize("got", [FOUND, answer(reason=Reason.REGION)])
def test_what_is_recorded_is_what_is_expected(got: Trace) -> None:
    claim = Claim.model_validate({"from": "System:A", "to": "System:B", "id": "q", "distractors": ["e9"]})
    one = recorded(claim, got, Reader("p", "T", frozenset({"hr", "legal"}), frozenset({Role.AUDITOR})))
    assert (one.tenant, one.clearance, one.roles, one.max_hops, one.distractors) == ("T", ["hr", "legal"], ["auditor"], 4, ["e9"])
    assert differences(one, got) == ()
    assert differences(one, FOUND if got is not FOUND else answer(reason=Reason.REGION)) != ()


@given(TEXT, TEXT, TEXT)
def test_junit_is_xml_whatever_the_names(suite: str, name: str, why: str) -> None:
    root = ElementTree.fromstring(junit(suite, [Case(name), Case("b", why, why)], 1.5))
    (inner,) = root
    assert (inner.get("tests"), inner.get("failures"), inner.get("time")) == ("2", "1", "1.500")
    assert [len(case) for case in inner] == [0, 1]
