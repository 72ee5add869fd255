"""Verification finds every damage to what was and to what is held back: past versions, and staged runs (invariants `history`, `staged`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cypher
from corpus.records import POLICIES, Store, document, edge, entity, registered, write
from test_verify import Copy, found

from graphrag_provenance.ingest import IngestOptions
from graphrag_provenance.ingest.staging import SettleOptions, discard, publish, stage
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.verification import verify

ALIAS = [{"alias": "al", "method": "declared", "linker": "t", "linker_version": "1"}]
DOC = "MATCH (p:Past {kind: 'document', from_run: 1}) "
DAMAGES = {
    "a version is given the key of another record": (DOC + "SET p.key = '[\"ACME\",\"d2\"]'", "history"),
    "a version says that it is of another record": (DOC + "SET p.doc_id = 'd2'", "history"),
    "a version is of no kind": (DOC + "SET p.kind = 'documents'", "history"),
    "a version begins with a run that is not there": (DOC + "SET p.from_run = 0", "history"),
    "a version ends with a run that is not there": (DOC + "SET p.to_run = 99", "history"),
    "a version ends before it begins": (DOC + "SET p.to_run = 1", "history"),
    "a version holds while the next one does": (DOC + "SET p.to_run = 3", "history"),
    "a past document has another title": (DOC + "SET p.title = 'x'", "history"),
    "a past document counts no more": (DOC + "REMOVE p.digest", "history"),
    "a past document is called undeclared": (DOC + "SET p.registered = false", "history"),
    "a past entity has another name": ("MATCH (p:Past {kind: 'entity'}) SET p.names = ['x']", "history"),
    "a past revision has another date": ("MATCH (p:Past {kind: 'revision'}) SET p.effective_at = datetime()", "history"),
    "a past chunk has another policy": ("MATCH (p:Past {kind: 'chunk'}) SET p.policies = ['public']", "history"),
    "a past edge is given to another edge": ("MATCH (p:Past {kind: 'assertion'}) SET p.edge_id = 'E2'", "history"),
    "what is held back is another": ("MATCH (p:Staged {source: 1}) MATCH (q:Staged {source: 0}) SET p.content = q.content", "staged"),
    "a part of what is held back is gone": ("MATCH (p:Staged {source: 1}) DETACH DELETE p", "staged"),
    "a file that is held back is renamed": ("MATCH (p:Staged {source: 1}) SET p.file = 'x'", "staged"),
    "what is held back cannot be read": ("MATCH (p:Staged {source: 1}) SET p.content = p.file", "malformed"),
    "what is held back hangs on nothing": ("MATCH (:Run)-[h:HOLDS]->(p:Staged {source: 1}) DELETE h", "stray"),
    "what is held back hangs on a document": (
        "MATCH (p:Staged {source: 1}) MATCH (d:Document {doc_id: 'd1'}) CREATE (d)-[:HOLDS]->(p)", "stray"),
    "the store forgets the staged run": ("MATCH (s:Store) REMOVE s.staged", "staged"),
    "the store names another staged run": ("MATCH (s:Store) SET s.staged = 2", "staged"),
    "a staged run is said to be published": ("MATCH (r:Run {seq: 8}) SET r.settled = 7", "staged"),
    "a published run names another one": ("MATCH (r:Run {seq: 6}) SET r.settled = 5", "staged"),
    "a discarded run is staged again": ("MATCH (r:Run {seq: 4}) REMOVE r.settled", "staged"),
    "an ordinary run is said to be published": ("MATCH (r:Run {seq: 1}) SET r.settled = 7", "staged"),
    "a published run holds something back": ("MATCH (r:Run {seq: 6}) MATCH (p:Staged {source: 1}) CREATE (r)-[:HOLDS]->(p)", "staged"),
}


@pytest.fixture(scope="module")
def copies() -> dict[str, Copy]:
    return {}


@pytest.fixture
def aged(request: pytest.FixtureRequest, database: Database, cypher: Cypher, copies: dict[str, Copy], tmp_path: Path) -> Database:
    """A store with past versions of every kind that a load makes, a discarded run (4), a published one (6), and a staged one (8)."""
    if "aged" not in copies:
        store = Store(request.getfixturevalue("fresh_database"), cypher, tmp_path)
        store.load(*registered("d1@1#c", "internal"), *registered("d2@1#c"), entity("System:A", name="Alpha"),
                   edge("System:A", "owns", "System:B", "d1@1#c", edge_id="E1"))
        revision, chunk = ({**one, "policy": "internal"} for one in registered("d1@1#c")[1:])
        store.load(document("d1", title="Second"), entity("System:A", name="Aleph", aliases=ALIAS), revision, chunk,
                   edge("System:A", "owns", "System:B", "d1@1#c", "d1@1#c2", edge_id="E1"))
        store.load(document("d1", title="Third"))
        for number, settle in ((4, discard), (6, publish), (8, None)):
            file = write(tmp_path / "staged.jsonl", [entity(f"System:N{number}")])
            assert stage(store.database, [file], IngestOptions(POLICIES, rejects=tmp_path / "r.jsonl")).run["seq"] == number
            if settle:
                settle(store.database, SettleOptions(number))
        copies["aged"] = Copy.of(cypher)
    elif Copy.of(cypher).content() != copies["aged"].content():
        copies["aged"].put_back(cypher)
    return database


def test_the_aged_store_is_sound_and_holds_what_is_to_be_damaged(aged: Database, cypher: Cypher) -> None:
    report = verify(aged)
    assert report.violations == ()
    kinds = {row["k"] for row in cypher("MATCH (p:Past) RETURN p.kind AS k")}
    assert kinds == {"document", "revision", "chunk", "entity", "assertion"}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_to_what_was_or_is_held_back_is_found(damage: str, aged: Database, cypher: Cypher) -> None:
    statement, invariant = DAMAGES[damage]
    cypher(statement)
    assert invariant in found(verify(aged)), verify(aged).violations
