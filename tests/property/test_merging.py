"""Merging entities before, between or after loads publishes what loading the same records under one name does (spec 3, entity merge)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from corpus.records import TENANT, Record, Store, check_sound, run_records
from hypothesis import given, settings
from hypothesis import strategies as st
from test_loading_order import CALM, wipe, worlds

from graphrag_provenance.ingest.merging import MergeOptions, merge_entities
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.store.verification import verify

NAMES = ("A", "B", "C")
Merge = tuple[str, str]
PAIRS = st.lists(st.sampled_from([(a, b) for a in NAMES for b in NAMES if a != b]), min_size=1, max_size=3)


def renamed(records: list[Record], merges: list[Merge]) -> list[Record]:
    """The records with each merged system under the name of the one that stands for it. Written from the specification alone."""
    def end(address: Record) -> Record:
        name = address["id"].strip()
        for source, target in merges:
            if address["type"] == "System" and name == source:
                name = target
        return {**address, "id": name}

    return [{**r, "source": end(r["source"]), "target": end(r["target"])} if r["kind"] == "edge" else
            end(r) if r["kind"] == "entity" else r for r in records]


def systems(records: list[Record]) -> list[Record]:
    """A world of one type: three entities to merge, one of them also written with a space."""
    def end(address: Record) -> Record:
        return {**address, "type": "System", "id": address["id"].replace("A", "C")} if address["type"] == "Team" else address

    return [{**r, "source": end(r["source"]), "target": end(r["target"])} if r["kind"] == "edge" else
            end(r) if r["kind"] == "entity" else r for r in records]


def states(store: Store) -> dict[Any, Any]:
    """What each edge says and how it stands, ids aside. No two edges say the same."""
    rows = store.cypher(
        "MATCH (a:Assertion) WHERE a.merged_into IS NULL OPTIONAL MATCH (s)-[r]->(t) WHERE r.edge_id = a.edge_id"
        " RETURN properties(a) AS a, s.id AS s, t.id AS t, type(r) AS type, properties(r) AS r")
    found = {}
    for row in rows:
        a, r = row["a"], row["r"] or {}
        said = (a["source_id"], a["relation"].upper(), a["target_type"], a["target_id"])
        assert said not in found
        assert a["state"] != "published" or (row["s"], row["type"], row["t"]) == (a["source_id"], a["relation"].upper(), a["target_id"])
        found[said] = {name: a.get(name) for name in (
            "state", "reasons", "policies", "acl", "confidence", "current", "disputed", "registered", "declared")} | {
            "evidence": r.get("evidence"), "relationship": r.get("policies")}
    return found


@pytest.fixture(scope="module")
def store(emptied: Store) -> Store:
    return emptied


def merge(store: Store, pair: Merge) -> int:
    """Merge two systems, if there are both and neither was merged; the number of the run, else 0."""
    there = store.cypher("MATCH (n:Entity {type: 'System'}) WHERE n.merged_into IS NULL RETURN n.id AS id")
    if not set(pair) <= {row["id"] for row in there}:
        return 0
    seq: int = merge_entities(store.database, MergeOptions(TENANT, ("System", pair[0]), ("System", pair[1]))).run["seq"]
    check_sound(store)
    return seq


@settings(CALM, max_examples=8)
@given(records=worlds().map(systems), pairs=PAIRS, chance=st.randoms(use_true_random=False))
def test_merging_at_any_point_publishes_what_one_name_does(
    store: Store, records: list[Record], pairs: list[Merge], chance: random.Random,
) -> None:
    shuffled = chance.sample(records, len(records))
    cuts = sorted(chance.randrange(len(shuffled) + 1) for _ in pairs)
    parts = [shuffled[start:end] for start, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]
    wipe(store)
    done: list[Merge] = []
    waiting: list[Merge] = []
    for part, pair in zip(parts, [*pairs, None], strict=True):
        if part:
            assert store.load(*part, batch_size=chance.choice([1, 3, 100]), workers=chance.choice([1, 3])).rejected == {}
        waiting += [pair] if pair else []
        for one in [*waiting]:
            if merge(store, one):
                done.append(one)
                waiting.remove(one)
    found = states(store)
    assert verify(store.database).violations == ()
    hashes = [run["graph_hash"] for run in run_records(store.database)]
    to = chance.randrange(len(hashes))
    rollback(store.database, RollbackOptions(to + 1))
    assert store.hash() == hashes[to]
    assert verify(store.database).violations == ()

    wipe(store)
    for part in parts:
        if part:
            store.load(*renamed(part, done))
    assert found == states(store)


@settings(CALM, max_examples=8)
@given(records=worlds().map(systems), pairs=PAIRS, chance=st.randoms(use_true_random=False))
def test_the_input_of_a_load_again_writes_nothing_after_merges(
    store: Store, records: list[Record], pairs: list[Merge], chance: random.Random,
) -> None:
    wipe(store)
    store.load(*records)
    for pair in pairs:
        merge(store, pair)
    merged = store.hash()
    assert (store.load(*records, batch_size=chance.choice([1, 3, 100])).outcome.writes.total, store.hash()) == (0, merged)
    store.cypher("MATCH (n) WHERE n.records IS NOT NULL REMOVE n.records")
    store.load(*chance.sample(records, len(records)), batch_size=chance.choice([1, 3, 100]))
    assert store.hash() == merged
    check_sound(store)
