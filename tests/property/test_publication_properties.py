"""The publication rule is a function of the set of evidence, and more evidence never opens access (spec 1, 2)."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import event, given
from hypothesis import strategies as st

from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.rules.publication import State, Verdict, verdict
from graphrag_provenance.rules.publication import Testimony as Item

POLICIES = lattice({
    "public": [], "internal": ["public"], "confidential": ["internal"], "hr": ["internal"], "legal": ["internal"],
    "board": ["hr", "confidential"], "island": [],
})
KNOWN = st.sampled_from(POLICIES.names)
UNKNOWN = st.sampled_from(["", " ", "PUBLIC ", "pubilc", "Public", " null", " []", " 1"])


def items(statements: st.SearchStrategy[str]) -> st.SearchStrategy[Item]:
    return st.builds(
        Item,
        polarity=st.sampled_from(["supports", "supports", "refutes"]),
        statements=st.lists(statements, max_size=3).map(tuple),
        acl=st.lists(st.sampled_from(["a1", "a2"]), max_size=2).map(tuple),
        confidence=st.none() | st.floats(0, 1),
        current=st.booleans(),
        registered=st.booleans(),
    )


@dataclass(frozen=True)
class Edge:
    evidence: list[Item]
    declared: tuple[str, ...]
    stands_in: bool

    def judged(self, *more: Item) -> Verdict:
        return verdict(POLICIES, [*self.evidence, *more], self.declared, declared_stands_in=self.stands_in)


def edges(statements: st.SearchStrategy[str]) -> st.SearchStrategy[Edge]:
    return st.builds(
        Edge, st.lists(items(statements), max_size=5), st.lists(statements, max_size=2).map(tuple), st.booleans()
    )


ANY_EDGE = edges(KNOWN | UNKNOWN)
ANY_ITEM = items(KNOWN | UNKNOWN)


@given(ANY_EDGE, st.data())
def test_the_order_of_evidence_statements_and_declarations_does_not_matter(edge: Edge, data: st.DataObject) -> None:
    shuffled = Edge(
        [item._replace(statements=tuple(reversed(item.statements)), acl=tuple(reversed(item.acl)))
         for item in data.draw(st.permutations(edge.evidence))],
        tuple(reversed(edge.declared)),
        edge.stands_in,
    )
    assert shuffled.judged() == edge.judged()


@given(ANY_EDGE, st.data())
def test_evidence_that_is_stated_twice_counts_once(edge: Edge, data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(edge.evidence))) if edge.evidence else []
    assert edge.judged(*again) == edge.judged()


def admits(found: Verdict, clearances: list[str], granted: set[str]) -> bool:
    """Whether a reader may walk the edge: published, cleared for every policy, granted every live reference."""
    allowed = POLICIES.covers(clearances)
    return found.state is State.PUBLISHED and POLICIES.permits(allowed, found.policies) and set(found.acl) <= granted


@given(edges(KNOWN), ANY_ITEM, st.lists(KNOWN, max_size=4), st.sets(st.sampled_from(["a1", "a2"])))
def test_more_evidence_on_a_published_edge_never_lets_a_reader_in(
    edge: Edge, more: Item, clearances: list[str], granted: set[str]
) -> None:
    before, after = edge.judged(), edge.judged(more)
    if before.state is State.PUBLISHED:
        event(f"published, then {after.state}")
        assert admits(before, clearances, granted) or not admits(after, clearances, granted)


@given(edges(KNOWN), st.lists(KNOWN, max_size=4))
def test_a_declaration_never_lets_a_reader_in_to_what_evidence_decides(edge: Edge, clearances: list[str]) -> None:
    alone = Edge(edge.evidence, (), edge.stands_in).judged()
    if alone.state is State.PUBLISHED:
        everything = {"a1", "a2"}
        assert admits(alone, clearances, everything) or not admits(edge.judged(), clearances, everything)


@given(ANY_EDGE, ANY_ITEM, UNKNOWN)
def test_an_unknown_statement_always_withholds(edge: Edge, item: Item, unknown: str) -> None:
    found = edge.judged(item._replace(statements=(*item.statements, unknown)))
    assert found.state is State.WITHHELD
    assert f"unknown-policy: {unknown}" in found.reasons
    declared = Edge([*edge.evidence, item], (*edge.declared, unknown), edge.stands_in).judged()
    assert declared.state is State.WITHHELD


@given(ANY_EDGE)
def test_a_reader_of_a_published_edge_is_cleared_for_every_single_statement(edge: Edge) -> None:
    found = edge.judged()
    said = {name for item in edge.evidence for name in item.statements} | set(edge.declared)
    if found.state is State.PUBLISHED:
        assert POLICIES.covers(found.policies) >= said
        assert set(found.policies) <= said


@given(ANY_EDGE)
def test_the_fields_of_a_verdict_fit_together(edge: Edge) -> None:
    found = edge.judged()
    supports = any(item.polarity == "supports" for item in edge.evidence)
    event(str(found.state))
    assert (found.state is State.RETRACTED) == (not edge.evidence)
    assert (found.state is State.PUBLISHED) == bool(found.policies)
    assert (found.state is State.WITHHELD) == bool(found.reasons)
    assert list(found.reasons) == sorted(set(found.reasons))
    assert supports or found.state is not State.PUBLISHED
    assert supports or not (found.current or found.disputed or found.confidence is not None)
    assert set(found.acl) == {key for item in edge.evidence for key in item.acl}
