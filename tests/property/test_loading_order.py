"""Order, batches, files, workers and interruptions of a load do not change the graph (spec 1, invariants 6 and 7; spec 3, runs).

Random records are loaded as they come, and again shuffled, split and cut off; the graph hash must be one, and what is
published must be what a plain-Python oracle says.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from corpus.records import POLICIES, TENANT, Record, Store, check_sound, chunk, cites, document, edge, entity, revision, write
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.store.verification import verify

NAMES = ["public", "internal", "confidential", "secret", "hr", "legal"]
# None: says nothing. A known policy is likelier than one that nobody knows.
STATEMENTS = st.sampled_from([None, None, *NAMES, *NAMES, "pubilc", ""])
DOCS = ["d0", "d1", "d2"]
CITATIONS = [f"{doc}@{version}#{name}" for doc in DOCS for version in (1, 2) for name in ("a", "b")]
ENDS = ["System:A", "System:B", "Team: A", "Team:A"]


def tombstone(doc: str, version: int, name: str | None) -> Record:
    chunk_named = {} if name is None else {"chunk": name}
    return {"kind": "tombstone", "doc_id": doc, "tenant": TENANT, "deleted_in_revision": f"{doc}@{version}", **chunk_named}


def in_force(records: list[Record], doc: str, chunk_id: str) -> bool:
    """Whether evidence counts: not replaced by a later complete revision, not removed by a tombstone. Versions are ordered."""
    doc_id, _, version = doc.rpartition("@")
    declared: dict[str, Record] = {}
    for r in records:
        if r["kind"] == "revision":  # what one record leaves out, another one says
            declared[r["doc"]] = declared.get(r["doc"], {}) | r
    placed = {f"{doc_id}@{n}" for n in (1, 2) if f"{doc_id}@{n}" in declared}
    placed |= {declared[d]["supersedes"] for d in list(placed) if "supersedes" in declared[d]}
    for r in records:
        if r["kind"] == "tombstone" and r["doc_id"] == doc_id and r.get("chunk", chunk_id) == chunk_id:
            gone = r["deleted_in_revision"]
            if not (gone in placed and doc in placed and version > gone.rpartition("@")[2]):
                return False
    return not any(declared[d].get("complete") and d.rpartition("@")[2] > version and (doc in declared or doc in placed)
                   for d in placed if d in declared)


def said(record: Record, policy: str | None) -> Record:
    return record if policy is None else record | {"policy": policy}


@st.composite
def worlds(draw: st.DrawFn) -> list[Record]:
    records: list[Record] = []
    for doc in DOCS:
        for _ in range(draw(st.integers(0, 2))):
            title = draw(st.sampled_from(["T", "U"]))  # two titles in one load: the greater one stands
            records.append(said(document(doc, title=title, attributes={"n": draw(st.integers(0, 3))}), draw(STATEMENTS)))
        for version in draw(st.sets(st.sampled_from([1, 2]))):
            more = {"complete": True} if draw(st.integers(0, 2)) == 0 else {}
            more |= {"supersedes": f"{doc}@1"} if version == 2 and draw(st.booleans()) else {}
            records.append(said(revision(f"{doc}@{version}", effective_at=f"2026-01-0{version}T00:00:00Z", **more), draw(STATEMENTS)))
        if draw(st.integers(0, 4)) == 0:
            records.append(tombstone(doc, draw(st.sampled_from([1, 2])), draw(st.sampled_from([None, "a"]))))
    for citation in draw(st.sets(st.sampled_from(CITATIONS), max_size=8)):
        doc, _, name = citation.partition("#")
        records.append(said(chunk(doc, name), draw(STATEMENTS)))
    for address in draw(st.lists(st.sampled_from(ENDS), max_size=4)):
        alias = {"alias": draw(st.sampled_from(["one", "two"])), "method": "declared", "linker": "l", "linker_version": "1"}
        records.append(entity(address, name=draw(st.sampled_from(["x", "y"])), aliases=[alias]))
    for _ in range(draw(st.integers(1, 12))):
        source, target = draw(st.sampled_from(ENDS)), draw(st.sampled_from(ENDS))
        items = [
            said(cites(citation, polarity=draw(st.sampled_from(["supports", "supports", "supports", "refutes"])),
                       confidence=draw(st.sampled_from([0.25, 0.5]))), draw(STATEMENTS))
            for citation in draw(st.lists(st.sampled_from(CITATIONS), min_size=1, max_size=4))
        ]  # fmt: skip
        relation = draw(st.sampled_from(["owns", "Owns", "sues"]))
        attributes = {"k": draw(st.integers(0, 2))}
        records.append(edge(source, relation, target, *items, policy=draw(STATEMENTS), attributes=attributes))
    return records


def oracle(records: list[Record], order: dict[str, set[str]] | None = None) -> dict[tuple[str, ...], tuple[str, ...] | None]:
    """(source, relation, target) → effective policies, or None if withheld. Written from the specification alone."""
    order = order or BELOW
    sayings: dict[str, set[str]] = {}
    for record in records:
        if record["kind"] in ("document", "revision", "chunk") and "policy" in record:
            key = record.get("doc_id") or record["doc"] + ("#" + record["chunk"] if record["kind"] == "chunk" else "")
            sayings.setdefault(key, set()).add(record["policy"])
    items: dict[tuple[str, ...], list[Record]] = {}
    declared: dict[tuple[str, ...], set[str]] = {}
    for record in records:
        if record["kind"] == "edge":
            ends = [f"{record[side]['type']}:{record[side]['id'].strip()}" for side in ("source", "target")]
            key = (ends[0], record["relation"].upper(), ends[1])
            items.setdefault(key, []).extend(record["evidence"])
            declared.setdefault(key, set()).update([record["access"]["policy"]] if "policy" in record["access"] else [])
    found: dict[tuple[str, ...], tuple[str, ...] | None] = {}
    for key, cited in items.items():
        evidence = [item for item in cited if in_force(records, item["doc"], item["chunk"])]
        policies = set(declared[key])
        known = True
        for item in evidence:
            doc = item["doc"]
            here = {item["policy"]} if "policy" in item else set()
            for place in (f"{doc}#{item['chunk']}", doc, doc.rpartition("@")[0]):
                here |= sayings.get(place, set())
            known = known and bool(here or declared[key])
            policies |= here
        supported = any(item["polarity"] == "supports" for item in evidence)
        if not known or not supported or not policies <= set(order):
            found[key] = None
        else:
            found[key] = tuple(sorted(p for p in policies if not any(p in order[q] for q in policies)))
    return found


BELOW: dict[str, set[str]] = {
    "public": set(), "internal": {"public"}, "confidential": {"public", "internal"}, "hr": {"public", "internal"},
    "legal": {"public", "internal"}, "secret": {"public", "internal", "confidential"},
}  # fmt: skip


class CutOff(Exception):
    """Raised by a progress callback, to end a load in the middle."""


def cut_after(calls: int) -> Any:
    left = calls

    def progress(_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise CutOff

    return progress


def wipe(store: Store) -> None:
    store.cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")


def look(store: Store) -> dict[tuple[str, ...], tuple[str, ...] | None]:
    return {
        (f"{a['source_type']}:{a['source_id']}", a["relation"].upper(), f"{a['target_type']}:{a['target_id']}"):
            tuple(a["policies"]) if a["state"] == "published" else None
        for a in (row["a"] for row in store.cypher("MATCH (a:Assertion) RETURN properties(a) AS a"))
    }  # fmt: skip


@pytest.fixture(scope="module")
def store(emptied: Store) -> Store:
    return emptied


CALM = settings(
    max_examples=12, deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck))  # fmt: skip


@CALM
@given(records=worlds(), chance=st.randoms(use_true_random=False))
def test_one_result_whatever_the_order_files_batches_workers_and_cuts(
    store: Store, records: list[Record], chance: random.Random,
) -> None:
    wipe(store)
    assert store.load(*records, batch_size=1000, workers=1).rejected == {}
    check_sound(store)
    assert look(store) == oracle(records)
    whole = store.hash()
    again = store.load(*records, batch_size=1, workers=3)
    assert (again.outcome.writes.total, store.hash()) == (0, whole)

    shuffled = chance.sample(records, len(records))
    wipe(store)
    cut = chance.randrange(len(shuffled) + 1)
    files = [write(Path(store.folder / f"part-{n}.jsonl"), part) for n, part in enumerate((shuffled[:cut], shuffled[cut:]))]
    store.load(files=files, batch_size=chance.choice([1, 2, 3, 7]), workers=chance.choice([1, 2, 4]))
    check_sound(store)
    assert store.hash() == whole

    shuffled = chance.sample(records, len(records))
    wipe(store)
    file = write(store.folder / "cut.jsonl", shuffled)
    resumed = load_cut_off(store, file, chance.randrange(1, 4))
    check_sound(store)
    assert (resumed, store.hash()) == (True, whole)


def load_cut_off(store: Store, file: Path, calls: int) -> bool:
    """Load with a cut after some progress, then resume; returns whether the run that completed it has ended."""
    options = IngestOptions(policies=POLICIES, batch_size=1, rejects=store.folder / "r.jsonl")
    try:
        ingest(store.database, [file], options, progress=cut_after(calls))
    except CutOff:
        return bool(store.load(files=[file], resume=1, batch_size=2).run["status"] == "finished")
    return True


@CALM
@given(records=worlds(), chance=st.randoms(use_true_random=False))
def test_several_runs_publish_what_one_run_does(store: Store, records: list[Record], chance: random.Random) -> None:
    """Split over runs, statements of fact may be restated (a later title stands), but policies and evidence only unite."""
    wipe(store)
    shuffled = chance.sample(records, len(records))
    size = chance.choice([1, 3, 5])
    for start in range(0, len(shuffled), max(size, len(shuffled) // 3)):
        store.load(*shuffled[start:start + max(size, len(shuffled) // 3)], batch_size=chance.choice([1, 100]))
    check_sound(store)
    assert [*verify(store.database).violations] == []
    assert look(store) == oracle(records)
    assert {r["tenant"] for r in store.relationships()} <= {TENANT}


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_values_that_contradict_each_other_come_to_rest_whatever_the_batches(store: Store, batch_size: int) -> None:
    """Also when no fingerprint tells that a record was taken in before."""
    records = [edge("System:A", "owns", "System:B", f"d{n}@1#c", policy="public", attributes={"k": n}) for n in (0, 1, 2)]
    wipe(store)
    store.load(*records)
    whole = store.hash()
    for order in ([2, 0, 1], [0, 1, 2, 0, 1], [1, 2, 1, 2, 0, 0]):
        store.cypher("MATCH (n) WHERE n.records IS NOT NULL REMOVE n.records")
        store.load(*(records[n] for n in order), batch_size=batch_size)
        assert store.hash() == whole, order
