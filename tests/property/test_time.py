"""Any sequence of loads, deletions, purges, merges, changes of the order, rollbacks, stagings and cuts leads where a model says (spec 3).

The model is a list of the records that count, what was merged and the order that stands, kept for each run, and what is staged. After every
step the published edges are the model's, every invariant holds, and the hash after a rollback is the one of the run that was restored.
While something is staged, every writer is refused; the step after it is settled by one that publishes or discards.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from corpus.records import POLICIES, TENANT, Record, Store, check_sound, run_records, write
from hypothesis import given, settings
from hypothesis import strategies as st
from test_loading_order import BELOW, CALM, DOCS, look, oracle, tombstone, wipe, worlds
from test_merging import Merge, merge, renamed

from graphrag_provenance.errors import InputError, NotFoundError, StoreConflictError
from graphrag_provenance.ingest import IngestOptions
from graphrag_provenance.ingest.deletion import DeletionOptions, delete_document
from graphrag_provenance.ingest.policy import PolicyOptions, apply_policies
from graphrag_provenance.ingest.purging import PurgeOptions, purge_texts
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.ingest.staging import SettleOptions, ask_candidate, discard, publish, stage
from graphrag_provenance.model.instants import now
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.policies import PolicyLattice, lattice
from graphrag_provenance.store.as_of import edge_as_of, edges_as_of, traces_as_of
from graphrag_provenance.store.lookups import edge_list, edge_show
from graphrag_provenance.store.traces import traces
from graphrag_provenance.store.verification import verify

NARROW = lattice({name: sorted(below & {"public", "internal"}) for name, below in BELOW.items() if name != "legal"})
STEPS = st.lists(
    st.sampled_from(["load", "load", "load", "delete", "purge", "policy", "merge", "rollback", "rollback", "again", "cut", "stage",
                     "stage"]), min_size=3, max_size=8)


@dataclass(frozen=True)
class Moment:
    """What the model knows of the state after a run."""

    records: tuple[Record, ...]
    order: PolicyLattice
    merges: tuple[Merge, ...]
    hash: str
    published: dict[Any, Any]


@dataclass
class Model:
    """The records that count, the order that stands, and what was after each run."""

    records: tuple[Record, ...] = ()
    order: PolicyLattice = POLICIES
    merges: tuple[Merge, ...] = ()
    moments: dict[int, Moment] = field(default_factory=dict)
    staged: tuple[int, tuple[Record, ...], str] | None = None
    """Number, records and candidate hash of the staged run."""


@pytest.fixture(scope="module")
def store(emptied: Store) -> Store:
    return emptied


def expected(model: Model) -> dict[Any, Any]:
    below = {name: set(model.order.below[name]) - {name} for name in model.order.names}
    records = renamed(list(model.records), list(model.merges))
    return {key: policies for key, policies in oracle(records, below).items() if policies is not None}


def published(store: Store) -> dict[Any, Any]:
    return {key: policies for key, policies in look(store).items() if policies is not None}


def step(store: Store, model: Model, what: str, parts: list[Record], chance: random.Random) -> None:
    seq = 0
    if model.staged is not None:
        seq = settle(store, model, what, chance)
    elif what == "stage":
        seq = hold(store, model, tuple(parts), chance)
    elif what in ("load", "again"):
        records = tuple(parts) if what == "load" else model.records[: len(model.records) // 2]
        if not records:
            return
        seq = store.load(*records, batch_size=chance.choice([1, 3, 100])).run["seq"]
        model.records += records
    elif what == "policy" and model.moments:
        model.order = NARROW if model.order.hash == POLICIES.hash else POLICIES
        seq = apply_policies(store.database, model.order, PolicyOptions(batch_size=chance.choice([1, 100]))).run["seq"]
    elif what == "delete" and model.moments:
        seq, gone = delete(store, chance.choice(DOCS))
        model.records += gone
    elif what == "purge" and model.moments:
        before = store.hash()
        seq = purge_texts(store.database, PurgeOptions(TENANT, now())).run.get("seq", 0)
        assert store.hash() == before
    elif what == "merge":
        pair = chance.choice([("A", "B"), ("B", "A")])
        seq = merge(store, pair)
        model.merges += (pair,) if seq else ()
    elif what == "cut" and model.moments:
        cut(store, model)
    elif what == "rollback" and model.moments:
        to = chance.choice(sorted(model.moments))
        planned = rollback(store.database, RollbackOptions(to, dry_run=True)).as_json()
        done = rollback(store.database, RollbackOptions(to)).as_json()
        assert {name: planned[name] for name in ("counts", "records", "evidence")} == {
            name: done[name] for name in ("counts", "records", "evidence")}
        seq = done["run"]["seq"]
        then = model.moments[to]
        assert (store.hash(), published(store)) == (then.hash, then.published)
        model.records, model.order, model.merges = then.records, then.order, then.merges
    if seq:
        model.moments[seq] = Moment(model.records, model.order, model.merges, store.hash(), published(store))


def hold(store: Store, model: Model, records: tuple[Record, ...], chance: random.Random) -> int:
    """Stage records; where chance has it so, a first try is cut off. The graph is what it was."""
    before = store.hash(), look(store)
    file = write(store.folder / "staged.jsonl", records)
    options = IngestOptions(POLICIES, batch_size=chance.choice([1, 3, 100]), rejects=store.folder / "staged.rejected.jsonl")
    if chance.random() < 0.4:
        interrupted("ingest.staging.packed", lambda: stage(store.database, [file], options))
    summary = stage(store.database, [file], options)
    assert (store.hash(), look(store)) == before
    assert summary.candidate_hash is not None
    model.staged = summary.run["seq"], records, summary.candidate_hash
    return int(summary.run["seq"])


def settle(store: Store, model: Model, what: str, chance: random.Random) -> int:
    """Whatever else would write is refused; then what is staged is published or discarded, perhaps after a try that is cut off."""
    assert model.staged is not None
    seq, records, candidate = model.staged
    before = store.hash(), look(store)
    for writer in (lambda: store.load(*records), lambda: rollback(store.database, RollbackOptions(min(model.moments))),
                   lambda: apply_policies(store.database, NARROW, PolicyOptions())):
        with pytest.raises(StoreConflictError, match=f"^Run {seq} is staged"):
            writer()
    wanted = expected(replace(model, records=model.records + records))
    relationships = ask_candidate(store.database, lambda seen: seen.read("verify.relationships"))
    assert {(f"{r['source'][1]}:{r['source'][2]}", r["type"], f"{r['target'][1]}:{r['target'][2]}"): tuple(r["properties"]["policies"])
            for r in relationships} == wanted
    ask = discard if what in ("delete", "rollback", "cut") else publish
    if chance.random() < 0.4:
        interrupted("store.runs.Run.account", lambda: ask(store.database, SettleOptions(seq)))
    assert (store.hash(), look(store)) == before
    ask(store.database, SettleOptions(seq))
    if ask is publish:
        model.records += records
        assert store.hash() == candidate
    else:
        assert (store.hash(), look(store)) == before
    model.staged = None
    return len(run_records(store.database))


def interrupted(place: str, work: Callable[[], Any]) -> None:
    """A try that ends at `place`."""
    def fail(*_: Any, **__: Any) -> Any:
        raise ConnectionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"graphrag_provenance.{place}", fail)
        with pytest.raises(ConnectionError):
            work()


def delete(store: Store, doc: str) -> tuple[int, tuple[Record, ...]]:
    """Delete a document that has a head; returns the run, and the tombstone that says the same."""
    try:
        planned = delete_document(store.database, DeletionOptions(TENANT, doc, dry_run=True))
        done = delete_document(store.database, DeletionOptions(TENANT, doc))
    except (NotFoundError, InputError):
        return 0, ()
    assert done.counted() == planned.counted()
    return done.run["seq"], (tombstone(doc, int(done.revision.rpartition("@")[2]), None),)


def cut(store: Store, model: Model) -> None:
    """A rollback that is cut off has done nothing."""
    before = store.hash(), look(store)

    interrupted("store.runs.Run.account", lambda: rollback(store.database, RollbackOptions(min(model.moments))))
    assert (store.hash(), look(store)) == before


@settings(CALM, max_examples=10)
@given(parts=st.lists(worlds(), min_size=8, max_size=8), steps=STEPS, chance=st.randoms(use_true_random=False))
def test_time_leads_where_the_model_says(
    store: Store, parts: list[list[Record]], steps: list[str], chance: random.Random,
) -> None:
    wipe(store)
    model = Model()
    for number, what in enumerate(["load", *steps]):
        step(store, model, what, parts[number % len(parts)], chance)
        check_sound(store)
        assert verify(store.database).violations == ()
        known = expected(model)
        assert published(store) == known


@settings(CALM, max_examples=6)
@given(parts=st.lists(worlds(), min_size=2, max_size=2), chance=st.randoms(use_true_random=False))
def test_a_staged_load_leads_where_the_same_load_does(store: Store, parts: list[list[Record]], chance: random.Random) -> None:
    wipe(store)
    model = Model()
    for what in ("load", "stage", "publish"):
        step(store, model, what, parts[what == "stage"], chance)
    published = store.hash(), look(store)
    check_sound(store)
    assert verify(store.database).violations == ()
    wipe(store)
    store.load(*parts[0])
    store.load(*parts[1], batch_size=chance.choice([1, 3, 100]))
    assert (store.hash(), look(store)) == published


EVERYTHING = Reader("auditor", TENANT, frozenset(BELOW))
QUESTIONS = [
    Question(("System", source), (kind, target), directed=directed, require_current=current, max_hops=3)
    for source, kind, target in (("A", "System", "B"), ("A", "Team", "A"), ("one", "Team", "A"), ("B", "System", "two"))
    for directed, current in ((True, True), (False, False))]


def known(records: list[Record]) -> list[Record]:
    """The records with no policy that nobody knows, and one on each edge: so everything a run published stays visible."""
    def statement(record: Record) -> Record:
        return {name: "public" if name == "policy" and value not in BELOW else value for name, value in record.items()}

    def whole(record: Record) -> Record:
        if record["kind"] != "edge":
            return statement(record)
        access = statement({"policy": "public", **record["access"]})
        return record | {"access": access, "evidence": [statement(item) for item in record["evidence"]]}

    return [whole(record) for record in records]


def told(answers: list[Trace]) -> list[Any]:
    """What an answer says, but for which of several shortest chains it names."""
    return [{"state": a["state"], "reason": a["reason"], "hops": [len(p["steps"]) for p in a["paths"]]}
            for a in (answer.as_json() for answer in answers)]


@settings(CALM, max_examples=6)
@given(parts=st.lists(worlds(), min_size=6, max_size=6), chance=st.randoms(use_true_random=False),
       steps=st.lists(st.sampled_from(["load", "load", "delete", "purge", "merge", "rollback", "again", "stage"]), min_size=3, max_size=6))
def test_what_a_past_run_answers_is_what_it_answered_then(
    store: Store, parts: list[list[Record]], steps: list[str], chance: random.Random,
) -> None:
    wipe(store)
    model = Model()
    then: dict[int, list[Trace]] = {}
    edges: dict[int, dict[str, Any]] = {}
    lists: dict[int, Any] = {}
    for number, what in enumerate(["load", *steps]):
        step(store, model, what, known(parts[number % len(parts)]), chance)
        then[max(model.moments)] = traces(store.database, QUESTIONS, EVERYTHING)
        edges[max(model.moments)] = {
            name: edge_show(store.database, EVERYTHING, name) for name in sorted(store.published())[:4]}
        lists[max(model.moments)] = edge_list(store.database, EVERYTHING)
    for seq, found in edges.items():
        for name, was in found.items():
            assert edge_as_of(store.database, EVERYTHING, name, seq) == was | {"generation": seq}
    for seq, listed in lists.items():
        assert edges_as_of(store.database, EVERYTHING, seq) == listed
    for seq, recorded in then.items():
        answers = traces_as_of(store.database, QUESTIONS, EVERYTHING, seq)
        assert told(answers) == told(recorded)
        for was, is_ in zip(recorded, answers, strict=True):
            old, new = was.as_json()["paths"], is_.as_json()["paths"]
            if [s["edge_id"] for p in old for s in p["steps"]] == [s["edge_id"] for p in new for s in p["steps"]]:
                assert new == old
