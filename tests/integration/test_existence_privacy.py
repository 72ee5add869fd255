"""Every public read of two stores, one of which lacks all that the reader may not see: the answers must be the same (spec 2, reading).

The fuller store holds, beside the same records, hidden edges, evidence, passages, revisions, documents, entities and their pasts.
Numbers, ids, digests and times of runs are masked: they tell that the store was written to, not what was written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import TENANT, Record, Store, chunk, cites, document, edge, entity, revision, sha256

from graphrag_provenance.errors import ProvenanceError
from graphrag_provenance.model.identifiers import point_id
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.records import AclRef
from graphrag_provenance.model.reports import AnswerReport, QuoteReport, RetrievalReport
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.context import build_context
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.rules.quotes import quote_hash
from graphrag_provenance.rules.relations import Relation
from graphrag_provenance.store import answers, as_of, documents, gate, lookups, quotes, retrievals, traces
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.surroundings import Wanted, gather

OPEN = {"system": "conf", "space": "S", "restriction_id": "open"}
CLOSED = {"system": "conf", "space": "S", "restriction_id": "closed"}
READER = Reader("ann", TENANT, frozenset({"internal"}))
CLEARED = Reader("ann", TENANT, frozenset({"secret"}), frozenset({Role.READER, Role.AUDITOR}))
OPENED = {READER: frozenset({AclRef(**OPEN).key()}), CLEARED: frozenset({AclRef(**OPEN).key(), AclRef(**CLOSED).key()})}
RELATIONS = {"OWNED_BY": Relation(single_valued=True)}
TRACE = "d" * 32
MASKED = {
    "generation", "trace_id", "run", "since", "until", "retired_by", "at", "graph_hash", "digest", "recorded_at", "retrieval_id",
    "ingested_at", "seq",
}
TEXT = "The ledger needs the vault."


class Hidden(list[Record]):
    """Records that the reader may not see."""


def text(doc: str, name: str, body: str = TEXT, **more: Any) -> Record:
    return chunk(doc, name, text=body, content_sha256=sha256(body), **more)


def link(edge_id: str, source: str, target: str, *evidence: str | Record, relation: str = "calls", **more: Any) -> Record:
    return edge(f"A:{source}", relation, f"A:{target}", *evidence, edge_id=edge_id, **more)


def said(citation: str, quote: str = "ledger needs", span: tuple[int, int] = (4, 16), **more: Any) -> Record:
    return cites(citation, quote_hash=quote_hash(quote), span=list(span), **more)


def secret(citation: str, **more: Any) -> Record:
    return cites(citation, policy="secret", **more)


def alias(name: str, method: str = "declared") -> Record:
    return {"alias": name, "method": method, "linker": "l", "linker_version": "1"}


def revised(doc_id: str, version: int, **more: Any) -> Record:
    return revision(f"{doc_id}@{version}", effective_at=f"2026-0{version}-01T00:00:00Z", **more)


RUNS: list[list[Record | Hidden]] = [
    [
        document("d", policy="internal"), revised("d", 1), text("d@1", "c1"), text("d@1", "c2", "Nothing of it.", ordinal=1),
        text("d@1", "c3", "To go.", ordinal=2), document("p", policy="public"), revised("p", 1), text("p@1", "c"),
        document("o"), revised("o", 1, acl_ref=OPEN), text("o@1", "c"), document("y", policy="internal"), revised("y", 1),
        text("y@1", "c"), document("t"), document("n", policy="internal"), revised("n", 1), text("n@1", "c"),
        entity("A:a", aliases=[alias("alpha")]), entity("A:lone", policy="public", aliases=[alias("solo")]),
        link("ab", "a", "b", said("d@1#c1")), link("bc", "b", "c", said("d@1#c2"), "p@1#c"),
        link("cd", "c", "d", said("o@1#c", policy="public")), link("own", "a", "o1", "p@1#c", relation="owned_by"),
        link("y", "b", "e", "y@1#c"), link("calm", "m", "n", "p@1#c"), link("lost", "a", "q", said("d@1#c3")),
        # Direct ways, other ends, other owners; first and last in every order of ids.
        Hidden([document("s", policy="secret"), revised("s", 1), text("s@1", "c"), link("ac", "a", "c", "s@1#c"),
                link("0", "a", "z", "s@1#c"), link("zz", "a", "z2", "s@1#c"), link("own2", "a", "o2", "s@1#c", relation="owned_by"),
                link("own3", "lone", "o3", "s@1#c", relation="owned_by"), link("ref", "b", "d", cites("p@1#c", acl_ref=CLOSED)),
                link("odd", "a", "w", cites("p@1#c", policy="pubilc")), link("two", "a", "v", cites("p@1#c", policy="hr"), "d@1#c1"),
                link("back", "c", "a", "s@1#c", scope={"environment": "x"}), link("stage", "d", "a", "s@1#c")]),
        # Entities by the same names, of their own policy and of none.
        Hidden([entity("A:h", name="alpha beta", policy="secret", aliases=[alias("alpha"), alias("solo")]),
                entity("A:h2", name="solo", aliases=[alias("nobody")]), link("h2", "h", "h2", "s@1#c")]),
        # Passages of visible revisions, and revisions of visible documents.
        Hidden([text("d@1", "c8", policy="secret", ordinal=3), text("d@1", "c9", acl_ref=CLOSED, ordinal=4),
                text("d@1", "c7", "The vault needs a key.", policy="secret"), revision("p@0", policy="hr"),
                text("p@0", "c")]),
        # What only hidden evidence speaks of: no record declares it.
        Hidden([link("u1", "a", "b", secret("d@1#undeclared"), relation="uses"), link("u2", "a", "b", secret("d@7#c"), relation="uses"),
                link("u3", "a", "b", secret("nowhere@1#c"), relation="uses"),
                link("u4", "a", "b", secret("p@1#undeclared", acl_ref=CLOSED), relation="uses")]),
        # Pasts: what is hidden under today's statements, and what was hidden then.
        Hidden([document("w", policy="internal"), revised("w", 1), text("w@1", "c"), link("fades", "f", "g", "w@1#c"),
                document("x", policy="internal"), revised("x", 1), text("x@1", "c"), link("gone", "k", "l", "x@1#c"),
                revised("t", 1, policy="secret", complete=True), text("t@1", "c"), link("turned", "a", "t", "t@1#c"),
                document("b1", policy="internal"), revised("b1", 1, complete=True), text("b1@1", "c"), link("both", "i", "j", "b1@1#c")]),
    ],
    [
        revised("d", 2, supersedes="d@1", complete=True), text("d@2", "c1"), text("d@2", "c4", "Nothing of it.", ordinal=1),
        link("ab", "a", "b", said("d@2#c1")), link("bc", "b", "c", said("d@2#c4")), link("new", "b", "q2", "d@2#c4"),
        {"kind": "tombstone", "doc_id": "d", "tenant": TENANT, "chunk": "c3", "deleted_in_revision": "d@2"},
        Hidden([document("w", policy="secret"), document("x", policy="secret"),
                {"kind": "tombstone", "doc_id": "d", "tenant": TENANT, "chunk": "c8", "deleted_in_revision": "d@2"},
                text("d@2", "c9", "Other.", acl_ref=CLOSED), link("hs", "a", "b", said("d@2#c1", policy="secret"), relation="uses"),
                document("q", policy="secret"), revised("q", 1, complete=True), text("q@1", "c"), link("calm", "m", "n", "q@1#c")]),
    ],
    [
        revised("t", 2, policy="internal", complete=True), text("t@2", "c"), link("turned", "a", "t", "t@2#c"),
        link("both", "i", "j", "n@1#c"),
        Hidden([revised("q", 2, complete=True), revised("b1", 2, complete=True), document("b1", policy="secret"),
                {"kind": "tombstone", "doc_id": "x", "tenant": TENANT, "deleted_in_revision": "x@1"}]),
    ],
]
# The last run takes one edge from the reader: in the fuller store it is hidden, in the other its source is gone.
TAKEN = ([document("y", policy="secret")], [{"kind": "tombstone", "doc_id": "y", "tenant": TENANT, "deleted_in_revision": "y@1"}])
EDGES = sorted({one["edge_id"] for run in RUNS for part in run for one in (part if isinstance(part, Hidden) else [part])
                if one["kind"] == "edge"} | {"absent"})
ENTITIES = ["a", "b", "c", "d", "e", "f", "g", "h", "h2", "i", "j", "k", "l", "lone", "m", "o2", "t", "v", "w", "z", "absent",
            "alpha", "solo", "nobody"]
DOCS = ["d", "d@1", "d@2", "d@7", "p", "p@0", "p@1", "s", "s@1", "o", "o@1", "t", "t@1", "t@2", "w", "w@1", "x", "x@1", "b1", "q", "q@1",
        "nowhere", "nowhere@1", "absent", "absent@1"]
PLACES = [("d@1", "c1"), ("d@1", "c2"), ("d@1", "c7"), ("d@1", "c8"), ("d@1", "c9"), ("d@1", "undeclared"), ("d@1", "absent"),
          ("d@7", "c"), ("d@2", "c1"), ("p@0", "c"), ("p@1", "c"), ("p@1", "undeclared"), ("s@1", "c"), ("nowhere@1", "c"),
          ("absent@1", "c"), ("o@1", "c")]
CLAIMS: dict[str, list[str]] = {"N1": ["ab", "bc"], "N2": ["ab", "y"], "N3": ["calm"]}

WAYS: list[tuple[str, str, dict[str, Any]]] = [
    (source, target, {}) for source in ("a", "alpha", "solo", "k", "i", "f") for target in ("c", "z", "l", "g", "j", "t")]
WAYS += [("c", "a", {}), ("d", "a", {}), ("a", "d", {}), ("h", "h2", {}), ("a", "c", {"directed": False}), ("d", "b", {"directed": False}),
         ("a", "c", {"max_hops": 1}), ("a", "c", {"sequence": ("calls", "calls")}), ("a", "b", {"relations": ("uses",)}),
         ("c", "a", {"environment": "y"}), ("a", "d", {"require_current": False}), ("a", "o1", {}), ("lone", "o3", {}), ("a", "w", {}),
         ("nobody", "a", {}), ("a", "o2", {}), ("a", "v", {})]
QUESTIONS = [Question(("A", source), ("A", target), **more) for source, target, more in WAYS]
PASTS = (1, 5, 6)  # the loads; runs 2 to 4 record answers and retrievals

KINDS = ("trace ", "traces as of 1", "traces as of 5", "traces as of 6", "edge show", "edge history", "edge list", "entity show",
         "entity find", "doc show", "doc diff", "quotes of edge", "quotes of d", "quotes of s", "gate", "answer show",
         "retrieval explain", "record on", "context of", "context around", "context for")

Read = Callable[[Database, Reader], Any]


def reads() -> dict[str, Read]:
    """Every public read, by name."""
    found: dict[str, Read] = {}

    def add(name: str, call: Callable[..., Any], *args: Any, **more: Any) -> None:
        found[name] = lambda database, who: call(database, who, *args, granted=OPENED[who], **more)

    for source, target, more in WAYS:
        question = Question(("A", source), ("A", target), **more)
        name = f"{source} {target} {more or ''}"
        found[f"trace {name}"] = lambda database, who, q=question: traces.trace(  # type: ignore[misc]
            database, q, who, granted=OPENED[who], relations=RELATIONS).as_json()
    for seq in PASTS:
        found[f"traces as of {seq}"] = lambda database, who, seq=seq: [  # type: ignore[misc]
            one.as_json() for one in as_of.traces_as_of(database, QUESTIONS, who, seq, granted=OPENED[who])]
    for edge_id in EDGES:
        add(f"edge show {edge_id}", lookups.edge_show, edge_id)
        # What is taken from a reader later has no past for the reader either; in the other store it was never taken.
        for seq in PASTS if edge_id not in ("calm", "y") else ():
            add(f"edge show {edge_id} as of {seq}", as_of.edge_as_of, edge_id, seq)
        add(f"edge history {edge_id}", lookups.edge_history, edge_id)
        add(f"quotes of edge {edge_id}", quotes.verify_edge_quotes, edge_id)
        found[f"record on {edge_id}"] = lambda database, who, e=edge_id: answers.record_answers(  # type: ignore[misc]
            database, who, [answer("N9", [e, "absent"])], granted=OPENED[who])
    for seq in PASTS:
        found[f"edge list as of {seq}"] = lambda database, who, seq=seq: [  # type: ignore[misc]
            one for one in as_of.edges_as_of(database, who, seq, granted=OPENED[who]) if one["edge_id"] not in ("calm", "y")]
    for limit, after in ((1, None), (3, None), (3, "ab"), (100, None), (2, "own")):
        add(f"edge list {limit} {after}", lookups.edge_list, limit=limit, after=after)
    for name in ENTITIES:
        add(f"entity show {name}", lookups.entity_show, ("A", name))
        add(f"entity show {name} 1", lookups.entity_show, ("A", name), limit=1)
        add(f"entity find {name}", lookups.entity_find, name)
        add(f"entity find {name} 1", lookups.entity_find, name, 1)
    for doc in DOCS:
        add(f"doc show {doc}", documents.doc_show, doc)
        add(f"doc show {doc} 1", documents.doc_show, doc, limit=1)
        if "@" in doc:
            add(f"quotes of {doc}", quotes.verify_revision_quotes, doc)
    for before, after in (("d@1", "d@2"), ("d@1", "d@7"), ("d@2", "d@1"), ("p@0", "p@1"), ("t@1", "t@2"), ("s@1", "s@2"),
                          ("absent@1", "absent@2")):
        add(f"doc diff {before} {after}", documents.doc_diff, before, after)
    add("quotes", quotes.verify_all_quotes)
    told = [QuoteReport(doc=doc, chunk=name, quote=quote) for doc, name in PLACES for quote in ("ledger needs", "vault needs", "unsaid")]
    add("quotes of a file", quotes.verify_quotes, told)
    cited: list[tuple[str, Record]] = [(f"{doc}#{name}", {"passages": [{"doc": doc, "chunk": name}]}) for doc, name in PLACES]
    for name, evidence in [*cited, *((edge_id, {"edges": [edge_id]}) for edge_id in EDGES)]:
        ledger = Ledger.model_validate({"entries": [{"sentence": "s", **evidence}]})
        found[f"gate {name}"] = lambda database, who, one=ledger: gate.gate(  # type: ignore[misc]
            database, one, who, granted=OPENED[who], relations=RELATIONS).as_json()
    for answer_id in (*CLAIMS, "absent"):
        add(f"answer show {answer_id}", answers.show_answer, answer_id)
    for trace_id in (TRACE, "e" * 32):
        add(f"retrieval explain {trace_id}", retrievals.explain_retrieval, trace_id)
    texts = [*ENTITIES[::3], "what of alpha and c?", "alpha beta", "A:h", "h needs b"]
    contexts = {f"of {text!r}": Wanted(text) for text in texts}
    contexts |= {f"around {name}": Wanted(entities=(("A", name),), hops=3) for name in ENTITIES}
    contexts |= {f"for {source} {target}": Wanted(claims=((("A", source), ("A", target)),)) for source, target, _ in WAYS[:36:5]}
    for name, wanted in contexts.items():
        found[f"context {name}"] = lambda database, who, wanted=wanted: context(database, who, wanted)  # type: ignore[misc]
    return found


def context(database: Database, who: Reader, wanted: Wanted) -> list[Any]:
    """What a model sees, with room for all and with little."""
    gathered = gather(database, who, wanted, granted=OPENED[who])
    return [build_context(gathered, budget=budget).as_json() for budget in (2_000, 60)]


def answer(answer_id: str, path: list[str]) -> AnswerReport:
    return AnswerReport.model_validate({"answer_id": answer_id, "trace_id": TRACE, "claims": [{"text": "t", "path": path}]})


def asked(database: Database, read: Read, who: Reader) -> Any:
    try:
        return masked(read(database, who))
    except ProvenanceError as error:
        return {"error": error.code, "text": str(error), "hint": error.hint}


def masked(value: Any) -> Any:
    """An answer without what depends on when and by which run something was written."""
    if isinstance(value, Mapping):
        return {name: None if name in MASKED else masked(item) for name, item in value.items()}
    return [masked(item) for item in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Worlds:
    """The answers of the store with hidden things, of the one without, and of the first to whom nothing is hidden."""

    full: dict[str, Any]
    bare: dict[str, Any]
    cleared: dict[str, Any]


@pytest.fixture(scope="module")
def worlds(wipe: Callable[[], None], database: Database, cypher: Cypher, tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    found: list[dict[str, Any]] = []
    for whole in (True, False):
        wipe()
        store = Store(database, cypher, tmp_path_factory.mktemp("world"))
        _build(store, whole=whole)
        cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
        for who in (READER, CLEARED) if whole else (READER,):
            with ThreadPoolExecutor(4) as pool:
                wanted = reads()
                found.append(dict(zip(wanted, pool.map(lambda read, who=who: asked(database, read, who), wanted.values()), strict=True)))
    return Worlds(found[0], found[2], found[1])


def _build(store: Store, *, whole: bool) -> None:
    for number, run in enumerate(RUNS, 1):
        records = [one for part in run if whole or not isinstance(part, Hidden) for one in (part if isinstance(part, Hidden) else [part])]
        summary = store.load(*records)
        assert not summary.rejected, store.rejects(summary)
        if number == 1:
            reports = [answer(answer_id, path) for answer_id, path in CLAIMS.items()]
            answers.record_answers(store.database, READER, reports, granted=OPENED[READER])
            points: list[Record] = [{"id": f"{doc}#{name}"} for doc, name in PLACES]
            points += [{"id": point_id(TENANT, doc, name)} for doc, name in PLACES]
            report = RetrievalReport.model_validate({"trace_id": TRACE, "passages": points})
            for who in (READER, Reader("bob", TENANT, frozenset())):
                retrievals.record_retrievals(store.database, who, [report])
    assert not store.load(*TAKEN[not whole]).rejected


@pytest.mark.parametrize("name", reads())
def test_a_reader_gets_the_answer_of_a_store_without_what_is_hidden(worlds: Worlds, name: str) -> None:
    assert worlds.full[name] == worlds.bare[name]


def test_the_worlds_differ_for_whoever_may_see_it(worlds: Worlds) -> None:
    """Controls: of every kind of read, some would differ if nothing were filtered."""
    for kind in KINDS:
        assert any(name.startswith(kind) and worlds.cleared[name] != worlds.bare[name] for name in worlds.bare), kind
    assert sum(worlds.cleared[name] != worlds.bare[name] for name in worlds.bare) * 3 > len(worlds.bare)
    assert json.dumps(worlds.full).count('"supported"') > 20
