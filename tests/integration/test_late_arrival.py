"""Head and staleness in the store: decided by ids and the chain, whatever comes late (spec 3, revisions; field report 10)."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import Record, Store, check_sound, chunk, document, edge, revision

from graphrag_provenance.model.readers import Reader
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.documents import doc_diff, doc_show
from graphrag_provenance.store.verification import verify

READER = Reader("ann", "ACME", frozenset({"public"}))


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def part(doc: str, day: str, edge_id: str, **more: Any) -> list[Record]:
    return [document(doc.split("@")[0], policy="public"), revision(doc, effective_at=f"2026-01-{day}T00:00:00Z", **more),
            chunk(doc, "c1"), edge("A:a", "owns", "A:b", f"{doc}#c1", edge_id=edge_id)]


@pytest.mark.parametrize("declared", [True, False])
def test_an_old_revision_that_comes_late_is_stale_at_once(store: Store, declared: bool) -> None:
    said = {"supersedes": "d@1"} if declared else {}
    parts = [part("d@1", "01", "OLD"), part("d@2", "05", "NEW", **said)]
    seen = set()
    for order in itertools.permutations(parts):
        store.cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
        for records in order:
            store.load(*records)
        shown = doc_show(store.database, READER, "d")
        assert (shown["head"], {e["edge_id"]: e["current"] for e in shown["edges"]}) == ("d@2", {"OLD": False, "NEW": True})
        assert [one["state"] for one in shown["revisions"]] == ["superseded", "head"]
        check_sound(store)
        seen.add(store.hash())
    assert len(seen) == 1


def test_what_supersedes_decides_where_the_dates_say_the_contrary(store: Store) -> None:
    store.load(*part("d@1", "09", "OLD"))
    assert doc_show(store.database, READER, "d")["head"] == "d@1"
    store.load(*part("d@2", "02", "NEW", supersedes="d@1"))
    assert doc_show(store.database, READER, "d")["head"] == "d@2"
    assert (store.assertion("OLD")["current"], store.assertion("NEW")["current"]) == (False, True)
    assert verify(store.database).ok


def test_report_10_a_chunk_that_the_next_revision_drops_is_named_with_the_edge_it_carried(store: Store) -> None:
    store.load(document("d1", policy="public"), revision("d1@1"), chunk("d1@1", "c2"), chunk("d1@1", "c3"),
               edge("A:a", "owns", "A:b", "d1@1#c2", edge_id="STAYS"), edge("A:a", "owns", "A:c", "d1@1#c3", edge_id="GOES"))
    same = chunk("d1@1", "c2")
    store.load(revision("d1@2", effective_at="2026-02-01T00:00:00Z", supersedes="d1@1"), {**same, "doc": "d1@2"},
               edge("A:a", "owns", "A:b", "d1@2#c2", edge_id="STAYS"))
    found = doc_diff(store.database, READER, "d1@1", "d1@2")
    assert ([e["edge_id"] for e in found["kept"]], [e["edge_id"] for e in found["lost"]]) == (["STAYS"], ["GOES"])
    assert (found["chunks"]["same"], found["chunks"]["missing"]) == (1, ["c3"])
    assert store.assertion("GOES")["current"] is False
