"""The second check of what a look-up returns, by itself (rules of `store.seeing` and `store.readers`)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from graphrag_provenance.store.database import Database
from graphrag_provenance.store.readers import Visibility, may_see
from graphrag_provenance.store.seeing import could_be_seen, end_of, may_read, references_of, shown, stands_for

VIEW = Visibility("T", frozenset({"public", "internal"}), frozenset({"OPS"}), frozenset({"public", "internal", "hr"}), "hash")


@pytest.mark.parametrize(("damage", "seen"), [
    ({}, True), ({"policies": ["internal", "public"]}, True), ({"acl": ["OPS"]}, True), ({"acl": []}, True),
    ({"policies": ["internal", "hr"]}, False), ({"policies": []}, False), ({"policies": None}, False),
    ({"acl": ["OPS", "FIN"]}, False), ({"acl": None}, False), ({"tenant": "U"}, False), ({"tenant": None}, False),
])
def test_an_edge_is_seen_by_policies_references_and_tenant(damage: dict[str, Any], seen: bool) -> None:
    assert may_see(VIEW, {"tenant": "T", "policies": ["internal"], "acl": []} | damage) is seen


@pytest.mark.parametrize(("damage", "read"), [
    ({}, True), ({"references": ["OPS"]}, True), ({"statements": []}, False), ({"statements": ["internal", "hr"]}, False),
    ({"references": ["OPS", "FIN"]}, False), ({"tenants": ["T", "U"]}, False), ({"tenants": ["U"]}, False), ({"tenants": []}, False),
])
def test_a_passage_is_read_only_if_something_said_of_it_opens_it(damage: dict[str, Any], read: bool) -> None:
    assert may_read(VIEW, {"statements": ["internal"], "references": [], "tenants": ["T", "T"]} | damage) is read


def cited(own: str | None = None, *said: str, reference: str | None = None, tenants: tuple[str, ...] = ("T",)) -> dict[str, Any]:
    return {"policy": own, "statements": list(said), "reference": reference, "references": [], "tenants": list(tenants)}


@pytest.mark.parametrize(("state", "declared", "evidence", "seen"), [
    ("published", None, cited("internal"), True), ("published", None, cited(None, "internal"), True),
    ("published", None, cited("internal", "hr"), False), ("published", None, cited("pubilc"), False),
    ("published", None, cited(), False), ("published", ["internal"], cited(), True), ("published", ["hr"], cited(), False),
    ("published", ["hr"], cited("internal"), True),  # what is declared speaks where nothing else does
    ("published", None, cited("internal", reference="OPS"), True), ("published", None, cited("internal", reference="FIN"), False),
    ("published", None, cited("internal", tenants=("T", "U")), False),
    # why an edge is withheld is what an auditor is there to see; what is known and not the auditor's stays hidden
    ("withheld", None, cited("pubilc"), True), ("withheld", None, cited(), True), ("withheld", None, cited("hr", "pubilc"), False),
    ("withheld", ["hr"], cited(), False), ("withheld", None, cited("pubilc", reference="FIN"), False),
    ("withheld", None, cited("pubilc", tenants=("U",)), False),
])
def test_evidence_is_shown_by_what_is_said_of_it(state: str, declared: list[str] | None, evidence: dict[str, Any], seen: bool) -> None:
    row = {"assertion": {"state": state, "declared": declared}, "evidence": [evidence, cited("public")]}
    assert [one.content for one in shown(VIEW, row)] == [one for one in row["evidence"] if one is not evidence or seen]


def test_an_edge_stands_under_its_references_and_those_of_its_citations() -> None:
    items = shown(VIEW, {"assertion": {"state": "published"}, "evidence": [cited("internal", reference="OPS"), cited("internal")]})
    assert references_of({"acl": ["FIN"]}, items) == {"FIN", "OPS"}
    assert references_of({"acl": None}, items) == {"OPS"}
    assert references_of({}, []) == set()


@pytest.mark.parametrize(("into", "end"), [
    ({}, "a"), ({"b": "c"}, "a"), ({"a": "b"}, "b"), ({"a": "b", "b": "c", "c": "d"}, "d"),
    ({"a": "a"}, None), ({"a": "b", "b": "a"}, None)])
def test_a_chain_of_merges_ends_somewhere_or_is_a_circle(into: dict[str, str], end: str | None) -> None:
    assert end_of(into, "a") == end


class Stored:
    """Retracted edges: what took each in, what is declared of it, and what it ever cited."""

    def __init__(self, into: dict[str, str], **evidence: list[dict[str, Any]]) -> None:
        self.into, self.evidence = into, evidence
        self.asked: list[list[str]] = []

    def read(self, name: str, *, tenant: str, edge_ids: list[str]) -> list[dict[str, Any]]:
        assert tenant == "T"
        if name == "read.edge_statements":
            return [{"edge_id": one, "evidence": self.evidence.get(one, [cited("internal")])} for one in edge_ids]
        self.asked.append(edge_ids)
        return [{"assertion": {"edge_id": one, "merged_into": self.into[one]}} for one in edge_ids if one in self.into]


@pytest.mark.parametrize(("declared", "evidence", "seen"), [
    (None, [cited("internal")], True), (None, [cited(None, "public"), cited("internal", reference="OPS")], True), (None, [], False),
    (None, [cited("internal"), cited("hr")], False), (None, [cited("internal"), cited()], False),
    (["internal"], [cited()], True), (["hr"], [cited("internal")], False),  # declared is said of every citation
    (None, [cited("internal", reference="FIN")], False), (None, [cited("internal", tenants=("T", "U"))], False),
])
def test_who_may_see_all_that_an_edge_ever_cited_could_have_seen_it(
    declared: list[str] | None, evidence: list[dict[str, Any]], seen: bool) -> None:
    found = could_be_seen(cast(Database, Stored({}, e=evidence)), VIEW, {"e": {"declared": declared}})
    assert found == ({"e"} if seen else set())
    assert could_be_seen(cast(Database, None), VIEW, {}) == set()


@pytest.mark.parametrize(("asked", "into", "found", "pages"), [
    ("a", {"a": "b", "b": "c"}, {"a": "c"}, ["a", "b", "c"]), ("ab", {"a": "b", "b": "c"}, {"a": "c", "b": "c"}, ["ab", "c"]),
    ("x", {"a": "b"}, {}, ["x"]), ("ax", {"a": "b"}, {"a": "b"}, ["ax", "b"]), ("a", {"a": "b", "b": "a"}, {}, ["a", "b"]),
    ("a", {"a": "h", "h": "c"}, {"a": "h"}, ["a", "h"]),  # what took h in is not for who may not see h
    ("gfedcb", dict.fromkeys("bcdefg", "a"), dict.fromkeys("bcdefg", "a"), ["bcdefg", "a"]), ("", {}, {}, []),
])
def test_what_stands_for_an_edge_is_at_the_end_of_its_merges(
    asked: str, into: dict[str, str], found: dict[str, str], pages: list[str]) -> None:
    stored = Stored(into, h=[cited("hr")])
    assert stands_for(cast(Database, stored), VIEW, list(asked)) == found
    assert ["".join(page) for page in stored.asked] == pages
