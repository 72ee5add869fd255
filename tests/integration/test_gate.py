"""The join rule and the gate through the real store: same thing, place, revision and permission, or the reason why not (spec 4)."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_provenance.access.interface import Decision, Grants
from graphrag_provenance.errors import AccessDeniedError
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Audience
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.rules.relations import Relation
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.gate import gate
from graphrag_provenance.store.traces import trace
from tests.corpus.worlds import Load, edge, loader, reader, sha, thing

ACL = {"system": "wiki", "space": "s", "restriction_id": "r"}
ACL_KEY = '["wiki","s","r",null]'
OWNED = {"OWNED_BY": Relation(single_valued=True)}


@pytest.fixture
def load(fresh_database: Database, tmp_path: Any) -> Load:
    return loader(fresh_database, tmp_path)


def judged(database: Database, tenant: str, *entries: dict[str, Any], clearance: str = "internal", auditor: bool = False,
           facets: list[str] | None = None, granted: frozenset[str] = frozenset(), access: Any = None, relations: Any = None) -> Any:
    ledger = Ledger.model_validate({
        "entries": [{"sentence": "s", **one} for one in entries], "entities": ["Thing:pay"], "facets": facets or [],
        "condition": {"environment": "production"}})
    who, view = reader(tenant, clearance, auditor=auditor), "auditor" if auditor else "reader"
    return gate(database, ledger, who, granted=granted, access=access, relations=relations, audience=view).as_json()  # type: ignore[arg-type]


def passages(*records: dict[str, Any]) -> list[dict[str, str]]:
    """Where the edges among some records are said."""
    return [{"doc": item["doc"], "chunk": item["chunk"]} for one in records if one["kind"] == "edge" for item in one["evidence"]]


SAME = {"environment": "production"}
# (what, edge from the service to its runbook, what the reader hears, what the auditor hears, what the gate says of the passage)
RULE: list[tuple[str, list[dict[str, Any]], str | None, str | None, list[str]]] = [
    ("the same service, environment and revision, permitted", edge("pay", "run", **SAME), None, None, []),
    ("another service", edge("pay2", "run", **SAME), "entity-join", "entity-join", ["wrong-entity"]),
    ("another environment", edge("pay", "run", environment="staging"), "environment-scope", "environment-scope", ["wrong-environment"]),
    ("an older revision", edge("pay", "run", stale=True, **SAME), "stale-revision", "stale-revision", ["stale-or-restricted-evidence"]),
    ("not permitted", edge("pay", "run", policy="hr", **SAME), "no-path", "access", [
        "stale-or-restricted-evidence", "unsupported-sentence"]),
]


@pytest.mark.parametrize(("what", "records", "heard", "audited", "reasons"), RULE, ids=[row[0] for row in RULE])
def test_the_join_rule(fresh_database: Database, load: Load, tenant: str, what: str, records: Any, heard: str | None,
                       audited: str | None, reasons: list[str]) -> None:
    # Two services bear the name, where it matters; both ends are known whatever becomes of the edge.
    shared = [*thing("pay", ("Payments", "declared")), *(thing("pay2", ("Payments", "declared")) if heard == "entity-join" else [])]
    load(tenant, records, shared, edge("pay", "x"), edge("y", "run"), edge("pay2", "x"))
    question = Question(("Thing", "Payments"), ("Thing", "run"), environment="production")

    def ask(audience: Audience) -> Any:
        return trace(fresh_database, question, reader(tenant, "internal", auditor=True), audience=audience).as_json(audience)

    answer = ask("reader")
    assert (answer["state"], answer["reason"]) == ("unresolved" if heard else "supported", heard)
    assert ask("auditor")["reason"] == audited
    cited = passages(*records)
    if heard is None:
        (step,) = answer["paths"][0]["steps"]
        assert [{"doc": item["doc"], "chunk": item["chunk"]} for item in step["evidence"]] == cited
    found = judged(fresh_database, tenant, {"facet": "action", "passages": cited}, facets=["action"])
    assert (found["state"], found["reasons"]) == ("review" if reasons else "evidence-complete", reasons)
    assert (found["facets"], found["missing_facets"]) == (["action"], [])
    found = judged(fresh_database, tenant, {"facet": "action", "edges": [records[-1]["edge_id"]]}, facets=["action"])
    assert found["reasons"] == reasons


def test_by_its_id_another_service_is_simply_not_joined(fresh_database: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("pay2", "run"), edge("pay", "x"), *(
        [{**one, "name": "Payments"} for one in thing(name)] for name in ("pay", "pay2")))
    found = trace(fresh_database, Question(("Thing", "pay"), ("Thing", "run")), reader(tenant, "internal"))
    assert (found.state, found.reason) == ("unresolved", "no-path")


def test_a_missing_facet_is_listed_and_all_present_and_active_is_complete(fresh_database: Database, load: Load, tenant: str) -> None:
    one, two = edge("pay", "a"), edge("pay", "b")
    load(tenant, one, two)
    needed = ["verification", "action", "prerequisite"]
    ready = {"facet": "prerequisite", "passages": passages(*one)}, {"facet": "action", "edges": ["pay->b"], "passages": passages(*two)}
    found = judged(fresh_database, tenant, *ready, facets=needed)
    assert (found["state"], found["missing_facets"], found["reasons"]) == ("review", ["verification"], [])
    found = judged(fresh_database, tenant, *ready, {"facet": "verification", "edges": ["pay->a"]}, facets=needed)
    assert (found["state"], found["facets"], found["findings"]) == ("evidence-complete", ["action", "prerequisite", "verification"], [])
    assert found["generation"] == 1


def test_what_is_hidden_and_what_does_not_exist_are_judged_alike_and_told_apart_for_the_auditor_only(
    fresh_database: Database, load: Load, tenant: str) -> None:
    hidden, closed = edge("pay", "h", policy="hr"), edge("pay", "l", acl=ACL)
    silent = [{"kind": "document", "doc_id": "S", "title": "S", "source_type": "wiki"},
              {"kind": "revision", "doc": "S@1", "effective_at": "2026-01-01T00:00:00Z"},
              {"kind": "chunk", "doc": "S@1", "chunk": "c", "section_path": ["1"], "ordinal": 0, "content_sha256": sha("S"),
               "chunker_version": "t"}]
    load(tenant, hidden, closed, silent, edge("pay", "w", policy="pubilc"))
    said = [*passages(*hidden), *passages(*closed), {"doc": "S@1", "chunk": "c"}]
    there = [{"edges": ["pay->h"]}, {"edges": ["pay->l"]}, {"edges": ["pay->w"]}, *({"passages": [one]} for one in said)]
    absent = [{"edges": ["no"]}] * 3 + [{"passages": [{"doc": "No@1", "chunk": str(n)}]} for n in range(3)]

    def heard(entries: Any, **more: Any) -> list[Any]:
        found = judged(fresh_database, tenant, *entries, **more)["findings"]
        return [(one["entry"], one["reason"], one["detail"]) for one in found]

    assert heard(there) == heard(absent)
    assert len(heard(there)) == 12
    details = [detail for _, reason, detail in heard(there, auditor=True) if reason.startswith("stale")]
    assert details == [*["access: the reader may not see it"] * 2, "does not exist", *["access: the reader may not see it"] * 3]
    assert [detail for _, reason, detail in heard(absent, auditor=True) if reason.startswith("stale")] == ["does not exist"] * 6
    assert len(heard(there, granted=frozenset({ACL_KEY}))) == 8
    assert heard([there[0], there[3]], clearance="hr") == []
    with pytest.raises(AccessDeniedError):
        gate(fresh_database, Ledger.model_validate({"entries": []}), reader(tenant, "hr"), audience="auditor")


def test_a_hidden_edge_says_nothing_about_a_passage_and_makes_no_conflict(fresh_database: Database, load: Load, tenant: str) -> None:
    mine = edge("pay", "b", relation="owned_by")
    (cited,) = passages(*mine)
    rival = edge("pay", "c", relation="owned_by", policy="hr")
    about_others = edge("other", "else")
    about_others[-1]["evidence"] = [{**mine[-1]["evidence"][0], "policy": "hr"}]
    load(tenant, mine, rival, about_others[-1:])
    entry = {"passages": [cited], "edges": ["pay->b"]}
    assert judged(fresh_database, tenant, entry, relations=OWNED)["state"] == "evidence-complete"
    found = judged(fresh_database, tenant, entry, relations=OWNED, clearance="hr")
    assert [one["detail"] for one in found["findings"]] == ["pay->b and pay->c cannot both hold"] * 2
    assert judged(fresh_database, tenant, entry, clearance="hr")["state"] == "evidence-complete"


def test_either_side_of_a_dispute_is_in_conflict(
    fresh_database: Database, load: Load, tenant: str) -> None:
    records = edge("pay", "b", refuted=True)
    load(tenant, records)
    supporting, refuting = passages(*records)
    for entry in ({"passages": [supporting]}, {"passages": [refuting]}, {"edges": ["pay->b"]}):
        assert judged(fresh_database, tenant, entry)["reasons"] == ["conflict"]


def test_what_the_live_source_takes_back_is_judged_as_absent(fresh_database: Database, load: Load, tenant: str) -> None:
    load(tenant, edge("pay", "b", acl=ACL))

    class Fickle:
        name = "fickle"
        asked = 0

        def granted(self, reader: Reader) -> Grants:
            self.asked += 1
            return Grants("fickle", frozenset({ACL_KEY} if self.asked == 1 else ()))

        def check(self, reader: Reader, refs: Any) -> Decision:
            raise AssertionError("a judgement rests on all that was granted")

    assert judged(fresh_database, tenant, {"edges": ["pay->b"]}, granted=frozenset({ACL_KEY}))["state"] == "evidence-complete"
    assert judged(fresh_database, tenant, {"edges": ["pay->b"]}, access=Fickle())["state"] == "review"


def test_another_tenants_evidence_does_not_exist(fresh_database: Database, load: Load, tenant: str) -> None:
    records = edge("pay", "b")
    load(tenant, records)
    found = judged(fresh_database, tenant + "-other", {"edges": ["pay->b"], "passages": passages(*records)}, auditor=True)
    assert {one["detail"] for one in found["findings"] if one["reason"].startswith("stale")} == {"does not exist"}


def test_ten_thousand_passages_take_few_round_trips(fresh_database: Database, load: Load, tenant: str, monkeypatch: Any) -> None:
    load(tenant, edge("pay", "b"))
    sent: list[str] = []
    read = Database.read
    monkeypatch.setattr(Database, "read", lambda self, name, **more: sent.append(getattr(name, "name", name)) or read(self, name, **more))
    judged(fresh_database, tenant, *({"passages": [{"doc": "D@1", "chunk": str(n)}]} for n in range(10_000)), {"edges": ["pay->b"]})
    assert len(sent) < 12
