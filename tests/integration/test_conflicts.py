"""Conflicts are told for what a reader may see, and a hidden edge never reveals itself through one."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_provenance.access.interface import Decision, Grants
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.relations import Relation
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.traces import trace, traces
from tests.corpus.worlds import Load, edge, loader, reader

ACL = {"system": "wiki", "space": "s", "restriction_id": "r"}
ACL_KEY = '["wiki","s","r",null]'
OWNED = {"OWNED_BY": Relation(single_valued=True)}


@pytest.fixture
def load(fresh_database: Database, tmp_path: Any) -> Load:
    return loader(fresh_database, tmp_path)


def owned(source: str, target: str, **more: Any) -> list[dict[str, Any]]:
    return edge(source, target, relation="owned_by", **more)


def told(database: Database, who: Reader, relations: Any = OWNED, **more: Any) -> Any:
    found = trace(database, Question(("Thing", "a"), ("Thing", "b")), who, relations=relations, trace_id="t", **more)
    assert found.state == "supported"
    return found.as_json().get("conflicts")


def test_a_conflict_is_told_for_visible_edges_only(fresh_database: Database, load: Load, tenant: str) -> None:
    load(tenant, owned("a", "b"), owned("a", "c"), owned("a", "d", policy="hr"), owned("a", "e", environment="x"),
         owned("a", "f", stale=True), owned("x", "g"), owned("h", "a"), edge("a", "i"), owned("a", "j", policy="pubilc"),
         owned("a", "k", acl=ACL), owned("a", "l", valid_to="2020-01-01T00:00:00Z"))
    plain = reader(tenant, "internal")
    conflicts = told(fresh_database, plain)
    assert [one["conflicts_with"] for one in conflicts] == ["a->c", "a->e", "a->l"]
    assert conflicts[0] == {"edge_id": "a->b", "conflicts_with": "a->c", "relation": "OWNED_BY"}
    assert [one["conflicts_with"] for one in told(fresh_database, reader(tenant, "hr"))] == ["a->c", "a->d", "a->e", "a->l"]
    granted = told(fresh_database, plain, granted={ACL_KEY})
    assert [one["conflicts_with"] for one in granted] == ["a->c", "a->e", "a->k", "a->l"]
    assert told(fresh_database, plain, None) is None
    assert told(fresh_database, plain, {}) == told(fresh_database, plain, {"OWNED_BY": Relation()}) == []


def test_a_hidden_rival_and_no_rival_give_the_same_answer(fresh_database: Database, load: Load, tenant: str) -> None:
    load(tenant, owned("a", "b"), owned("a", "c", policy="restricted"), owned("a", "d", acl=ACL))
    load(tenant + "-without", owned("a", "b", edge_id="a->b"))
    question = Question(("Thing", "a"), ("Thing", "b"))
    full, without = (
        trace(fresh_database, question, reader(name, "internal"), relations=OWNED, trace_id="t").as_json()
        for name in (tenant, tenant + "-without"))
    assert full["conflicts"] == without["conflicts"] == []


def test_a_rival_that_the_live_source_takes_back_is_not_told(fresh_database: Database, load: Load, tenant: str) -> None:
    load(tenant, owned("a", "b"), owned("a", "c", acl=ACL))

    class Fickle:
        name = "fickle"

        def granted(self, reader: Reader) -> Grants:
            return Grants("fickle", frozenset({ACL_KEY}))

        def check(self, reader: Reader, refs: Any) -> Decision:
            return Decision("fickle", denied=dict.fromkeys(refs, "not-a-reader"))

    assert told(fresh_database, reader(tenant, "internal"), access=Fickle()) == []


def test_conflicts_of_many_claims_are_read_together(fresh_database: Database, load: Load, tenant: str, monkeypatch: Any) -> None:
    load(tenant, owned("a", "b"), owned("a", "c"), owned("x", "y"))
    who = reader(tenant, "internal")
    questions = [Question(("Thing", one), ("Thing", other)) for one, other in ("ab", "ac", "xy", "xz")]
    alone = [trace(fresh_database, question, who, relations=OWNED).conflicts for question in questions]
    sent: list[str] = []
    read = Database.read
    monkeypatch.setattr(Database, "read", lambda self, name, **more: sent.append(getattr(name, "name", name)) or read(self, name, **more))
    assert [found.conflicts for found in traces(fresh_database, questions, who, relations=OWNED)] == alone
    assert sent.count("read.rivals") == 1
    assert [len(found or ()) for found in alone] == [1, 1, 0, 0]
