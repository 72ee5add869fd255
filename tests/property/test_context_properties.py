"""Context for a model, whatever the graph holds: never over the budget, nothing left out in silence, every [n] a citation (spec 5)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.chains import Item, Question, Reason, Step
from graphrag_provenance.rules.context import AskedClaim, Context, Gathered, build_context, estimated_tokens
from graphrag_provenance.rules.naming import Unresolved
from graphrag_provenance.rules.telling import Fact

SECRET = "pol-secret"
NASTY = [
    "[1]", "a [2, 3] b", "[", "1]", "x\n[4] y", "line\r\nbreak", "<SEP>",
    "a,b|c", "a@b#c", 'q"\'`;)', "Żuławski", "[１]", "\u2028[5]", "  ", "ok",
]  # fmt: skip
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=40))
names = texts.map(lambda text: text or "n")


@st.composite
def items(draw: st.DrawFn) -> Item:
    stale = draw(st.booleans())
    doc = f"{draw(st.sampled_from(NASTY)).strip() or 'd'}@{draw(st.integers(1, 2))}"
    content = {
        "doc": doc, "chunk": draw(st.sampled_from(["c", "#", "c,d"])), "section_path": draw(st.lists(texts, max_size=2)),
        "span": draw(st.sampled_from([None, [0, 3]])), "quote_hash": "sha256:00",
        "polarity": draw(st.sampled_from(["supports"] * 4 + ["refutes"])),
        "url": draw(st.sampled_from([None, "https://x/[9]"])), "title": draw(names), "head": "newer@9" if stale else doc,
        "pipeline": "p", "version": "1", "run": {"seq": 1, "pipeline": "p", "version": "1", "at": None}}
    return Item(content, (SECRET,), (SECRET,), frozenset({"T"}))


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    edge: dict[str, Any] = {
        "edge_id": draw(names), "tenant": "T", "policies": [SECRET], "acl": [SECRET], "confidence": 0.5, "current": True, "disputed": False,
        "environment": draw(st.sampled_from([None, "prod [1]"])), "region": None, "valid_from": None, "valid_to": None}
    ends = [("T", "Thing", draw(names)) for _ in range(2)]
    step = Step(edge, "CALLS", "calls", (SECRET,), ends[0], ends[1], True, tuple(draw(st.lists(items(), min_size=1, max_size=4))))
    return Fact(step, draw(names), draw(names))


@st.composite
def gatherings(draw: st.DrawFn) -> Gathered:
    told = draw(st.lists(facts(), max_size=5, unique_by=lambda fact: fact.edge_id))
    places = {(one.content["doc"], one.content["chunk"]) for fact in told for one in fact.step.evidence}
    readable = {place: draw(texts) for place in sorted(places) if draw(st.booleans())}
    ends = st.tuples(st.just("Thing"), names)
    unresolved = draw(st.lists(st.builds(
        Unresolved, names, st.sampled_from([Reason.ENTITY_JOIN, Reason.ALIAS_GUESSED, Reason.UNKNOWN_ENTITY]),
        st.lists(ends, max_size=7).map(tuple)), max_size=2))
    claims = [AskedClaim(Question(("Thing", "a [7]"), ("Thing", "b")), draw(st.sampled_from([None, Reason.NO_PATH])))]
    return Gathered(tuple(told), draw(st.sampled_from([0, 0, 7])), draw(st.booleans()), readable, (), tuple(unresolved),
                    tuple(claims[: draw(st.integers(0, 1))]), 3)


COUNTERS = {
    "estimate": estimated_tokens, "characters": len, "words": lambda text: len(text.split()),
    "a start token": lambda text: 1 + len(text) // 4, "uneven": lambda text: len(text) + 50 * (len(text) % 3 == 1),
}
budgets = st.one_of(st.integers(2, 60), st.integers(60, 1500))


@settings(max_examples=120)
@given(gatherings(), budgets, st.sampled_from(sorted(COUNTERS)), st.integers(1, 4))
def test_whatever_is_gathered(gathered: Gathered, budget: int, counter: str, most: int) -> None:
    count = COUNTERS[counter]
    try:
        context = build_context(gathered, budget=budget, count_tokens=count, most_sources=most)
    except InputError:
        assert count("") > budget
        return
    assert count(context.text) == context.tokens <= budget
    assert context == build_context(gathered, budget=budget, count_tokens=count, most_sources=most)
    assert SECRET not in context.text + json.dumps(context.as_json())
    every_edge_is_told_in_order_or_counted(context, gathered)
    every_mark_is_a_citation_that_maps_back(context, gathered)


def every_edge_is_told_in_order_or_counted(context: Context, gathered: Gathered) -> None:
    told = [part.edge["edge_id"] for part in context.edges if part.edge]
    assert told == [fact.edge_id for fact in gathered.facts][: len(told)]
    assert len(told) + context.left_out == len(gathered.facts) + gathered.unread
    for part, fact in zip(context.edges, gathered.facts, strict=False):
        places = {(one.content["doc"], one.content["chunk"]) for one in fact.step.evidence if one.supports}
        assert len(part.citations) + part.sources_left_out == len(places)
    if context.left_out and context.text:
        assert re.search(rf"\b{context.left_out} more relations? do(es)? not fit here\.$", context.text)


def every_mark_is_a_citation_that_maps_back(context: Context, gathered: Gathered) -> None:
    marks = {int(n) for n in re.findall(r"\[\s*(\d+)\s*\]", context.text)}
    assert marks == {one.n for one in context.citations} == set(range(1, len(context.citations) + 1))
    assert not re.search(r"\[\s*\d+\s*[,;–-]", context.text)
    assert context.cited(context.text) == (context.citations, ())
    begun = [line for line in context.text.splitlines() if re.match(r"\[\d+\] ", line)]
    assert len([line for line in begun if ", " in line]) >= len(context.citations)
    by_id = {fact.edge_id: fact for fact in gathered.facts}
    for part in context.edges:
        assert part.edge is not None
        for n in part.citations:
            one = context.citations[n - 1]
            assert part.edge["edge_id"] in [e["edge_id"] for e in one.evidence]
            assert any((i.content["doc"], i.content["chunk"]) == (one.doc, one.chunk) and i.supports
                       for i in by_id[part.edge["edge_id"]].step.evidence)
            assert one.text in (None, (gathered.texts or {}).get((one.doc, one.chunk)))


@given(texts)
def test_the_default_counter_is_a_third_of_the_bytes_rounded_up(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    assert size / 3 <= estimated_tokens(text) < size / 3 + 1


def fact(edge_id: str, *evidence: tuple[str, bool], polarity: str = "supports") -> Fact:
    made = tuple(
        Item({"doc": doc, "chunk": "c", "section_path": ["1"], "span": [1, 2], "quote_hash": f"sha256:{doc}", "polarity": polarity,
              "url": f"https://x/{doc}", "title": "Title", "head": "new@9" if stale else doc, "pipeline": "p", "version": "1",
              "run": None}, ("p",), (), frozenset({"T"})) for doc, stale in evidence)
    edge: dict[str, Any] = {"edge_id": edge_id, "tenant": "T", "policies": ["p"], "acl": [], "confidence": 1.0, "current": True}
    return Fact(Step(edge, "CALLS", "calls", (), ("T", "Thing", "a"), ("T", "Thing", "b"), True, made), "Alpha", "b")


def build(*told: Fact, texts: dict[tuple[str, str], str] | None = None, **more: Any) -> Context:
    return build_context(Gathered(told, texts=texts or {}), **{"budget": 1_000, **more})


def test_an_edge_reads_as_a_sentence_with_its_sources() -> None:
    context = build(fact("e", ("d@1", False)), texts={("d@1", "c"): "First.\n\n  Second."})
    assert context.text == "Alpha (Thing:a) calls Thing:b [1]\n[1] Title, d@1, 1, https://x/d@1\n  First.\n  Second."
    (one,) = context.citations
    assert one.as_json() == {
        "n": 1, "doc": "d@1", "chunk": "c", "doc_title": "Title", "section_path": ["1"], "section": "1", "url": "https://x/d@1",
        "head_revision": "d@1", "is_stale": False, "text": "First.\n\n  Second.",
        "evidence": [{"edge_id": "e", "span": [1, 2], "quote_hash": "sha256:d@1"}]}


def test_a_passage_is_printed_once_and_cited_by_each_edge_that_rests_on_it() -> None:
    context = build(fact("e", ("d@1", False)), fact("f", ("d@1", False), ("g@1", False)))
    assert [part.citations for part in context.edges] == [(1,), (1, 2)]
    assert context.text.count("https://x/d@1") == 1
    assert [e["edge_id"] for e in context.citations[0].evidence] == ["e", "f"]


def test_replaced_passages_are_told_only_where_there_is_no_other() -> None:
    (part,) = build(fact("e", ("d@1", True), ("g@1", False))).edges
    assert (part.sources_left_out, "g@1" in part.text, "d@1" in part.text) == (1, True, False)
    assert part.text.splitlines()[0].endswith("[1] and 1 more source")
    assert "(replaced by new@9)" in build(fact("e", ("d@1", True))).text


def test_three_hundred_sources_are_counted_and_three_are_cited() -> None:
    (part,) = build(fact("e", *((f"d{n}@1", False) for n in range(300)))).edges
    assert (len(part.citations), part.sources_left_out) == (3, 297)
    assert "[1][2][3] and 297 more sources" in part.text


def test_a_passage_that_does_not_fit_is_left_out_before_its_edge_is() -> None:
    long = {("d@1", "c"): "x" * 900}
    context = build(fact("e", ("d@1", False)), texts=long, budget=200)
    assert "(its text does not fit here)" in context.text
    assert context.citations[0].text is None
    assert build(fact("e", ("d@1", False)), texts=long, budget=400).citations[0].text == "x" * 900


def test_what_does_not_fit_ends_it_and_is_counted() -> None:
    context = build(*(fact(f"e{n}", (f"d{n}@1", False)) for n in range(10)), budget=60)
    assert 0 < len(context.edges) < 10
    assert context.text.endswith(f"{10 - len(context.edges)} more relations do not fit here.")
    tiny = build(*(fact(f"e{n}", (f"d{n}@1", False)) for n in range(10)), budget=2)
    assert (tiny.text, tiny.left_out) == ("", 10)


def test_what_is_unresolved_is_said_and_nothing_is_chosen() -> None:
    unresolved = (Unresolved("Billing", Reason.ENTITY_JOIN, (("System", "b"), ("Team", "b"))), Unresolved("Bill", Reason.ALIAS_GUESSED))
    context = build_context(Gathered(unresolved=unresolved), budget=500)
    assert context.text == (
        "“Billing” is unresolved: it names System:b, Team:b.\n“Bill” is unresolved: only a guess says what it names.\nNo entity was found.")
    assert build_context(Gathered(entities=(("System", "b"),)), budget=500).text == "No relation was found."


BILLING = Unresolved("Billing", Reason.ENTITY_JOIN, (("System", "b"), ("Team", "b")))
NOBODY = Unresolved("X", Reason.UNKNOWN_ENTITY)
CLAIM = Question(("Thing", "a"), ("Thing", "b"))


@pytest.mark.parametrize(("gathered", "text"), [
    (Gathered(), "No entity was found."), (Gathered(claims=(AskedClaim(CLAIM, None),)), "No relation was found."),
    (Gathered(claims=(AskedClaim(CLAIM, Reason.NO_PATH),)),
     "No chain of evidenced relations joins Thing:a and Thing:b (no-path).\nNo relation was found."),
    (Gathered(unread=7), "7 more relations do not fit here."),
    (Gathered(unread=1, uncounted=True), "At least 1 more relation does not fit here."),
    (Gathered(unresolved=(NOBODY,)), "“X” is no entity here.\nNo entity was found."),
    # at length, and in short where that does not fit
    (Gathered(unresolved=(BILLING,)), "“Billing” is unresolved: it names System:b, Team:b.\nNo entity was found."),
    (Gathered(unresolved=(BILLING,)), "“Billing” is unresolved: it names 2 entities.\nNo entity was found."),
    (Gathered(unresolved=(BILLING, NOBODY)), "2 names or claims are unresolved.\nNo entity was found."),
])
def test_what_a_context_lacks_is_said_as_long_as_it_fits(gathered: Gathered, text: str) -> None:
    assert build_context(gathered, budget=len(text), count_tokens=len).text == text
    assert len(build_context(gathered, budget=len(text) - 1, count_tokens=len).text) < len(text)


def test_what_is_left_out_counts_what_was_not_read() -> None:
    told = tuple(fact(f"e{n}", (f"d{n}@1", False)) for n in range(10))
    context = build_context(Gathered(told, unread=7), budget=60)
    assert 0 < len(context.edges) == 17 - context.left_out
    assert (context.citations[0].text, context.citations[0].n) == (None, 1)


def test_a_context_as_programs_read_it() -> None:
    gathered = Gathered((fact("e", ("d@1", False)),), 7, True, None, (("Thing", "a"),), (BILLING,),
                        (AskedClaim(CLAIM, None), AskedClaim(CLAIM, Reason.NO_PATH)), 3)
    context = build_context(gathered, budget=1_000, count_tokens=len)
    told = context.as_json()
    ends = {"from": {"type": "Thing", "id": "a"}, "to": {"type": "Thing", "id": "b"}}
    assert told["claims"] == [{**ends, "state": "supported", "reason": None}, {**ends, "state": "unresolved", "reason": "no-path"}]
    assert {name: told[name] for name in ("schema", "text", "tokens", "budget", "left_out", "uncounted", "generation", "entities")} == {
        "schema": 1, "text": context.text, "tokens": len(context.text), "budget": 1_000, "left_out": 7, "uncounted": True, "generation": 3,
        "entities": [{"type": "Thing", "id": "a"}]}
    assert told["unresolved"] == [BILLING.as_json()]
    assert told["citations"] == [one.as_json() for one in context.citations]
    (edge,) = told["edges"]
    assert (edge["edge_id"], edge["citations"], edge["sources_left_out"]) == ("e", [1], 0)


@pytest.mark.parametrize(("answer", "numbers", "unknown"), [
    ("Yes [1].", [1], []), ("Yes [1][2]", [1, 2], []), ("Yes [2, 1; 9]", [1, 2], [9]), ("No [x] (1) [0]", [], [0]), ("", [], []),
    ("[ 2 ] and [2]", [2], []), ("[16][8][9]", [], [8, 9, 16]),
])
def test_an_answer_leads_back_to_its_citations(answer: str, numbers: list[int], unknown: list[int]) -> None:
    cited, lost = build(fact("e", ("d@1", False), ("g@1", False))).cited(answer)
    assert ([one.n for one in cited], list(lost)) == (numbers, unknown)


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"budget": -1}, {"most_sources": 0}, {"count_tokens": lambda text: 5_000}])
def test_a_budget_that_holds_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        build(fact("e", ("d@1", False)), **wrong)


@pytest.mark.parametrize("least", [{"budget": 1}, {"most_sources": 1}, {"budget": 5, "count_tokens": lambda text: 5 + len(text)}])
def test_the_least_that_holds_something_is_taken(least: dict[str, Any]) -> None:
    assert build(fact("e", ("d@1", False)), **least).left_out in (0, 1)
