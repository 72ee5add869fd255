"""What was rolled back has no say in what comes after it: a store gives the same graph for the same records as one that never had it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cypher
from corpus.records import Record, Store, check_sound, edge, registered

from graphrag_provenance.ingest.merging import MergeOptions, merge_entities
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.store.database import Database

FIRST = registered("d@1#c", "public")
OTHERWISE: dict[str, Record] = {
    "another target": edge("System:A", "owns", "System:C", "d@1#c", edge_id="E"),
    "another direction": edge("System:B", "owns", "System:A", "d@1#c", edge_id="E"),
    "another relation": edge("System:A", "depends_on", "System:B", "d@1#c", edge_id="E"),
    "the relation in other letters": edge("System:A", "owns", "System:B", "d@1#c", edge_id="E"),
    "another scope": edge("System:A", "owns", "System:B", "d@1#c", edge_id="E", scope={"region": "eu-west"}),
    "the same": edge("System:A", "OWNS", "System:B", "d@1#c", edge_id="E"),
}


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def empty(store: Store) -> None:
    store.cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")


@pytest.mark.parametrize("name", OTHERWISE)
def test_an_id_whose_load_was_rolled_back_may_name_any_edge(store: Store, name: str) -> None:
    store.load(*FIRST, OTHERWISE[name])
    alone = store.hash()
    empty(store)
    store.load(*FIRST)
    store.load(OTHERWISE["the same"])
    with_first = store.hash()
    rollback(store.database, RollbackOptions(1))

    loaded = store.load(OTHERWISE[name])

    assert loaded.rejected == {}
    assert store.hash() == alone
    check_sound(store)
    rollback(store.database, RollbackOptions(2))
    assert store.hash() == with_first, "the first edge of that id is not what it was"
    check_sound(store)


def test_an_id_that_something_is_stated_of_keeps_what_it_names(store: Store) -> None:
    store.load(*FIRST, OTHERWISE["the same"])
    assert store.load(OTHERWISE["another target"]).rejected == {"edge-id-conflict": 1}


def test_the_same_records_after_a_merge_that_was_rolled_back_give_the_same_graph(store: Store) -> None:
    records = [edge("System:A", "owns", "System:T", "d@1#c", edge_id="E1"), edge("System:B", "owns", "System:T", "d@1#c", edge_id="E2"),
               edge("System:A", "depends_on", "System:U", "d@1#c")]
    store.load(*FIRST)
    store.load(*records)
    before = store.hash()
    merge_entities(store.database, MergeOptions("ACME", ("System", "A"), ("System", "B")))
    rollback(store.database, RollbackOptions(1))

    loaded = store.load(*records)

    assert (loaded.rejected, store.hash()) == ({}, before)
    check_sound(store)
