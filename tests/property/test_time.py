"""Any sequence of loads, changes of the order, rollbacks and cuts leads where a plain-Python model says (spec 3).

The model is a list of the records that count and the order that stands, kept for each run. After every step the published edges
are the model's, every invariant holds, and the hash after a rollback is the one of the run that was restored.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from conftest import Cypher, Server
from corpus.records import POLICIES, Record, Store, check_sound
from hypothesis import given
from hypothesis import strategies as st
from test_loading_order import BELOW, CALM, look, oracle, wipe, worlds

from graphrag_provenance.ingest.policy import PolicyOptions, apply_policies
from graphrag_provenance.ingest.rollback import RollbackOptions, rollback
from graphrag_provenance.rules.policies import PolicyLattice, lattice
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.verification import verify

NARROW = lattice({name: sorted(below & {"public", "internal"}) for name, below in BELOW.items() if name != "legal"})
STEPS = st.lists(st.sampled_from(["load", "load", "load", "policy", "rollback", "rollback", "again", "cut"]), min_size=3, max_size=8)


@dataclass(frozen=True)
class Moment:
    """What the model knows of the state after a run."""

    records: tuple[Record, ...]
    order: PolicyLattice
    hash: str
    published: dict[Any, Any]


@dataclass
class Model:
    """The records that count, the order that stands, and what was after each run."""

    records: tuple[Record, ...] = ()
    order: PolicyLattice = POLICIES
    moments: dict[int, Moment] = field(default_factory=dict)


@pytest.fixture(scope="module")
def store(database: Database, server: Server, cypher: Cypher, tmp_path_factory: pytest.TempPathFactory) -> Store:
    if not server.disposable:
        pytest.skip("needs an empty store")
    return Store(database, cypher, tmp_path_factory.mktemp("time"))


def expected(model: Model) -> dict[Any, Any]:
    below = {name: set(model.order.below[name]) - {name} for name in model.order.names}
    return {key: policies for key, policies in oracle(list(model.records), below).items() if policies is not None}


def published(store: Store) -> dict[Any, Any]:
    return {key: policies for key, policies in look(store).items() if policies is not None}


def step(store: Store, model: Model, what: str, parts: list[Record], chance: random.Random) -> None:
    seq = 0
    if what in ("load", "again"):
        records = tuple(parts) if what == "load" else model.records[: len(model.records) // 2]
        if not records:
            return
        seq = store.load(*records, batch_size=chance.choice([1, 3, 100])).run["seq"]
        model.records += records
    elif what == "policy" and model.moments:
        model.order = NARROW if model.order.hash == POLICIES.hash else POLICIES
        seq = apply_policies(store.database, model.order, PolicyOptions(batch_size=chance.choice([1, 100]))).run["seq"]
    elif what == "cut" and model.moments:
        cut(store, model)
        return
    elif what == "rollback" and model.moments:
        to = chance.choice(sorted(model.moments))
        planned = rollback(store.database, RollbackOptions(to, dry_run=True)).as_json()
        done = rollback(store.database, RollbackOptions(to)).as_json()
        assert {name: planned[name] for name in ("counts", "records", "evidence")} == {
            name: done[name] for name in ("counts", "records", "evidence")}
        seq = done["run"]["seq"]
        then = model.moments[to]
        assert (store.hash(), published(store)) == (then.hash, then.published)
        model.records, model.order = then.records, then.order
    if seq:
        model.moments[seq] = Moment(model.records, model.order, store.hash(), published(store))


def cut(store: Store, model: Model) -> None:
    """A rollback that is cut off has done nothing."""
    before = store.hash(), look(store)

    def fail(*_: Any, **__: Any) -> Any:
        raise ConnectionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphrag_provenance.store.runs.Run.account", fail)
        with pytest.raises(ConnectionError):
            rollback(store.database, RollbackOptions(min(model.moments)))
    assert (store.hash(), look(store)) == before


@CALM
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
