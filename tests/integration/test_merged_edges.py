"""An id of an edge that another one took in leads there, for whoever could have seen both (spec 3, entity merge)."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import TENANT, Store, chunk, cites, document, edge, entity, registered, revision
from corpus.worlds import reader

from graphrag_provenance.access.interface import Decision, Grants
from graphrag_provenance.errors import NotFoundError
from graphrag_provenance.ingest.merging import MergeOptions, merge_entities
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.records import AclRef
from graphrag_provenance.model.reports import AnswerReport
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.store.answers import answer_impact, record_answers, show_answer
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.gate import gate
from graphrag_provenance.store.lookups import edge_history, edge_show

LOW, HIGH = reader(TENANT, "internal"), reader(TENANT, "secret")
AUDITOR = reader(TENANT, "secret", auditor=True)


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    """A1 and A2 own C, by `one` and `two`; A3 does by `three`, on secret evidence beside that of `two`; an answer rests on `one`."""
    made = Store(fresh_database, cypher, tmp_path)
    made.load(*registered("d1@1#c", "internal"), *registered("d2@1#c", "public"), *registered("s@1#c", "secret"),
              *(entity(f"Company:A{n}") for n in (1, 2, 3)),
              edge("Company:A1", "owns", "Company:C", "d1@1#c", edge_id="one"),
              edge("Company:A2", "owns", "Company:C", "d2@1#c", edge_id="two"),
              edge("Company:A3", "owns", "Company:C", "s@1#c", edge_id="three"))
    report = {"answer_id": "A-1", "trace_id": "a" * 32, "claims": [{"text": "it owns", "path": ["one"]}]}
    record_answers(made.database, LOW, [AnswerReport.model_validate(report)])
    return made


def merge(store: Store, source: str, target: str) -> None:
    merge_entities(store.database, MergeOptions(TENANT, ("Company", source), ("Company", target)))


def judged(store: Store, edge_id: str, who: Any = LOW) -> Any:
    ledger = Ledger.model_validate({"entries": [{"sentence": "s", "edges": [edge_id]}], "entities": ["Company:A2"], "facets": []})
    body = gate(store.database, ledger, who).as_json()
    return {**body, "generation": None}


def test_the_old_id_shows_the_edge_that_took_it_in_and_says_so(store: Store) -> None:
    merge(store, "A1", "A2")
    found = edge_show(store.database, LOW, "one")
    assert (found["edge_id"], found["merged_from"], len(found["evidence"])) == ("two", "one", 2)
    assert {name: value for name, value in found.items() if name != "merged_from"} == edge_show(store.database, LOW, "two")
    assert edge_show(store.database, AUDITOR, "one")["edge_id"] == "two"


def test_a_chain_of_merges_is_followed_to_its_end(store: Store) -> None:
    merge(store, "A1", "A2")
    merge(store, "A2", "A3")
    assert edge_show(store.database, HIGH, "one")["edge_id"] == "three"
    store.cypher("MATCH (a:Assertion {edge_id: 'three'}) SET a.merged_into = 'one'")
    with pytest.raises(NotFoundError):
        edge_show(store.database, LOW, "one")


def test_who_may_not_see_the_one_that_stands_hears_what_is_heard_of_an_edge_that_never_was(store: Store) -> None:
    merge(store, "A1", "A3")
    for edge_id in ("one", "three", "never"):
        with pytest.raises(NotFoundError, match=f"^There is no edge {edge_id}\\."):
            edge_show(store.database, LOW, edge_id)
    unlike = [judged(store, edge_id) for edge_id in ("one", "never")]
    assert [one["findings"][0]["detail"] for one in unlike] == ["not there for this reader"] * 2
    assert show_answer(store.database, LOW, "A-1")["claims"][0]["path"] == [{"state": "gone", "edge_id": None, "then": None, "now": None}]


def test_who_could_never_have_seen_the_old_edge_does_not_hear_of_it_when_the_new_one_opens(store: Store) -> None:
    """What the old edge rested on is retired after the merge: the new one is open again, the old id stays unknown."""
    merge(store, "A3", "A2")
    store.load(document("s", policy="secret"), revision("s@2", supersedes="s@1", effective_at="2026-02-01T00:00:00Z", complete=True))
    assert edge_show(store.database, LOW, "two")["edge_id"] == "two"
    with pytest.raises(NotFoundError, match=r"^There is no edge three\."):
        edge_show(store.database, LOW, "three")
    assert judged(store, "three")["findings"][0]["detail"] == "not there for this reader"
    assert edge_show(store.database, HIGH, "three")["merged_from"] == "three"


class Revoking:
    """A source that grants a reference once, and never again."""

    name = "revoking"

    def __init__(self, *keys: str) -> None:
        self.keys = frozenset(keys)

    def granted(self, reader: Reader) -> Grants:
        now, self.keys = self.keys, frozenset()
        return Grants(self.name, now)

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        return Decision(self.name, frozenset(), dict.fromkeys(refs, "not-a-reader"))


def test_that_an_edge_was_merged_is_told_while_all_that_it_rested_on_is_open(store: Store) -> None:
    """The edge that stands needs no reference any more; that the old one became it is known only through one that was revoked."""
    reference = {"system": "conf", "space": "FIN"}
    store.load(document("r", policy="internal"), revision("r@1", acl_ref=reference), chunk("r@1", "c"), entity("Company:A4"),
               edge("Company:A4", "owns", "Company:C", "r@1#c", edge_id="four"))
    merge(store, "A4", "A2")
    store.load(document("r", policy="internal"), revision("r@2", supersedes="r@1", effective_at="2026-02-01T00:00:00Z", complete=True))
    key = AclRef(**reference).key()
    assert edge_show(store.database, LOW, "two")["edge_id"] == "two"
    assert edge_show(store.database, LOW, "four", {key})["merged_from"] == "four"
    with pytest.raises(NotFoundError, match=r"^There is no edge four\."):
        edge_show(store.database, LOW, "four", access=Revoking(key))


def test_the_history_of_an_old_id_is_not_that_of_another_edge(store: Store) -> None:
    merge(store, "A1", "A2")
    assert edge_history(store.database, LOW, "two")["edge_id"] == "two"
    with pytest.raises(NotFoundError, match=r"^There is no edge one\."):
        edge_history(store.database, LOW, "one")


def test_the_gate_judges_the_old_id_by_the_edge_that_stands(store: Store) -> None:
    merge(store, "A1", "A2")
    assert judged(store, "one") == judged(store, "two")
    assert judged(store, "one")["state"] == "evidence-complete"


def test_an_answer_that_rests_on_the_old_edge_stands_while_its_evidence_does(store: Store) -> None:
    merge(store, "A1", "A2")
    assert answer_impact(store.database, AUDITOR)["claims"] == []
    (step,) = show_answer(store.database, LOW, "A-1")["claims"][0]["path"]
    assert (step["state"], step["edge_id"], step["merged_from"], step["unchanged"]) == ("standing", "two", "one", False)
    assert [one["doc"] for one in step["then"]["evidence"]] == ["d1@1"]
    assert [one["doc"] for one in step["now"]["evidence"]] == ["d1@1", "d2@1"]


def test_an_answer_is_concerned_when_the_edge_that_stands_became_stricter_or_lost_the_passage(store: Store) -> None:
    merge(store, "A1", "A2")
    store.load(edge("Company:A2", "owns", "Company:C", cites("d2@1#x", policy="secret"), edge_id="two"),
               revision("d1@2", supersedes="d1@1", effective_at="2026-02-01T00:00:00Z", complete=True))
    ((concerned,),) = [one["edges"] for one in answer_impact(store.database, AUDITOR)["claims"]]
    assert (concerned["edge_id"], concerned["merged_into"], concerned["impact"]) == ("one", "two", ["restricted", "evidence-retired"])
