"""Contexts and the retrievers of LangChain, LlamaIndex and neo4j-graphrag on a real store, with the real packages (spec 5)."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from llama_index.core.schema import MetadataMode

from graphrag_provenance import AccessDeniedError, AsyncStore, FileSource, InputError, MissingExtraError, Reader, Store
from graphrag_provenance.access.interface import Decision, Grants
from graphrag_provenance.integrations import langchain, llamaindex, neo4j_graphrag
from graphrag_provenance.model.records import AclRef
from graphrag_provenance.rules.context import Context
from graphrag_provenance.store import surroundings
from tests.corpus.worlds import edge, sha, thing

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "etl" / "samples" / "payments"
ACME = Reader("me", "ACME", {"internal"})
TENANT = "T-retrievers"
LOW = Reader("me", TENANT, {"internal"})
HR = Reader("me", TENANT, {"hr"})
FIN = {"system": "conf", "space": "FIN", "restriction_id": "7", "incarnation": "1"}
# Field report 7: ids with every character that breaks joined lists, and a name that is Cypher (12).
ODD = "a<SEP>b,c|d@e#f"
CYPHER_NAME = "OWNS`]->() DETACH DELETE n //"
Cypher = Callable[..., list[dict[str, Any]]]


def told(doc: str, name: str, text: str, policy: str | None = "internal", **more: Any) -> list[dict[str, Any]]:
    """A passage with its text."""
    said = {} if policy is None else {"policy": policy}
    return [
        {"kind": "document", "doc_id": doc.rpartition("@")[0], "title": f"Title {doc}", "source_type": "wiki", **said},
        {"kind": "revision", "doc": doc, "effective_at": "2026-01-01T00:00:00Z"},
        {"kind": "chunk", "doc": doc, "chunk": name, "section_path": ["1"], "ordinal": 0, "text": text, "content_sha256": sha(text),
         "chunker_version": "t", **more}]


def joins(source: str, target: str, doc: str, name: str, policy: str = "internal", **more: Any) -> dict[str, Any]:
    return {"kind": "edge", "edge_id": f"{source}=>{target}", "relation": "needs", "source": {"type": "Thing", "id": source},
            "target": {"type": "Thing", "id": target}, "evidence": [{"doc": doc, "chunk": name, "policy": policy, **more}]}


WORLD = [
    *edge("a", "b", environment="production"), *edge("b", "c"), *edge("b", "h", policy="hr"), *edge("b", "f", acl=FIN),
    *edge("old", "b", stale=True), *edge("disputed", "b", refuted=True), *edge("w", "b", policy="pubilc"),
    *thing("a", ("Alpha", "declared"), ("Maybe", "guess")), *thing("b", ("Twin", "declared")), *thing("c", ("Twin", "declared")),
    *thing("h", ("Hidden", "declared")), *thing("lonely", policy="internal"),
    # Two entities bear one name for hr; for others one of the two does not exist.
    *thing("h2", ("Half", "declared")), *thing("c2", ("Half", "declared")), *edge("c2", "b"), *edge("h2", "b", policy="hr"),
    *told(f"{ODD}@1", "x,y#z", "Two lines [4]\nof text; see [1, 2]."), joins("odd", CYPHER_NAME, f"{ODD}@1", "x,y#z", span=[0, 9]),
    {"kind": "entity", "type": "Thing", "id": "odd", "name": "Odd [1]\n[2] Forged", "aliases": []},
    # Its own policy opens the edge; nothing said of the passage itself does.
    *told("bare@1", "c", "NOBODYS TEXT", policy=None), joins("bare", "b", "bare@1", "c"),
    # A citation of a chunk that no record declares (11).
    joins("loose", "b", "undeclared@1", "nowhere"),
]  # fmt: skip


@pytest.fixture(scope="module")
def store(
    server: Any, wipe: Callable[[], None], cypher: Cypher, tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Store]:
    wipe()
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_")):
                patch.delenv(name)
        for name, value in server.environment().items():
            patch.setenv(name, value)
        patch.setenv("GRAPHRAG_PROVENANCE_QUERY_TIMEOUT_SECONDS", "120")
        patch.chdir(tmp_path_factory.mktemp("program"))
        with Store.open() as opened:
            opened.ingest(SAMPLE, policies=SAMPLE / "policies.toml")
            done = opened.ingest(WORLD, tenant=TENANT, rejects="rejects.jsonl")
            assert not done.rejected
            opened.ingest(edge("a", "foreign", policy="public"), tenant=f"{TENANT}-other")
            cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
            yield opened


def edges(context: Context) -> list[str]:
    return [part.edge["edge_id"] for part in context.edges if part.edge is not None]


def names(context: Context) -> list[str]:
    return [name for _, name in context.entities]


def test_the_examples_of_the_page_run_and_cite_evidence(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    known: dict[str, Any] = {}
    text = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    shown = []
    for number, example in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL), 1):
        exec(compile(example, f"docs/frameworks.md, example {number}", "exec"), known)
        shown.append(capsys.readouterr().out)
    context, cited, chain, rag, llama = shown
    for line in re.search(r"```text\n(.*?)```", text, re.DOTALL)[1].split("…\n")[0].splitlines():  # type: ignore[index]
        assert line.removesuffix(" …") in context
    assert cited.splitlines()[0] == "1 RUNBOOK@2.1 c-1010 https://handbook.acme.example/payments/2.1 ['E:dep:checkout-api->payment-router']"
    for answer in (chain, rag):
        assert "[3] Ledger postings and corrections, POL-31@2.1, https://policies.acme.example/POL-31/2.1" in answer
    assert "https://handbook.acme.example/payments/2.1" in llama


def test_a_question_finds_the_chain_between_what_it_names_and_then_what_is_around(store: Store) -> None:
    context = store.context("Does the Checkout API rest on POL-31?", reader=ACME, environment="production", region="eu-west")
    assert names(context) == ["checkout-api", "POL-31"]
    chain = ["E:dep:checkout-api->payment-router", "E:dep:payment-router->ledger", "E:gov:ledger->POL-31"]
    assert edges(context)[:3] == chain
    rest = [part.edge for part in context.edges[3:] if part.edge is not None]
    assert rest
    assert [one["edge_id"] for one in rest] == [one["edge_id"] for one in sorted(rest, key=lambda e: (-e["confidence"], e["edge_id"]))]
    assert context.citations[0].text is not None
    assert context.citations[0].text in store.context(entities=["System:checkout-api"], reader=ACME).as_json()["citations"][0]["text"]
    assert store.context("Does the Checkout API rest on POL-31?", reader=ACME, environment="production", region="eu-west") == context


def test_a_claim_is_told_by_its_chain_or_said_to_be_unresolved(store: Store) -> None:
    context = store.context(claims=[("Thing:a", "Thing:c"), ("Thing:c", "Thing:a")], reader=LOW)
    assert edges(context) == ["a->b", "b->c"]
    assert [one.as_json()["state"] for one in context.claims] == ["supported", "unresolved"]
    assert "No chain of evidenced relations joins Thing:c and Thing:a (no-path)." in context.text


def test_what_is_around_meets_the_conditions_of_a_trace(store: Store) -> None:
    def around(**more: Any) -> set[str]:
        return set(edges(store.context(entities=["Thing:b"], reader=LOW, **more)))

    usual = {"a->b", "b->c", "c2->b", "bare=>b", "loose=>b"}
    assert around() == usual
    assert around(environment="production") == usual
    assert around(environment="staging") == usual - {"a->b"}
    assert around(require_current=False) == usual | {"old->b"}
    assert around(hops=0) == set()
    assert set(edges(store.context(entities=["Thing:a"], reader=LOW, hops=2))) == usual
    assert edges(store.context(entities=["Thing:a"], reader=LOW, hops=2))[0] == "a->b"


@pytest.mark.parametrize(("question", "found", "unresolved"), [
    ("what of Alpha?", ["a"], []), ("what of ALPHA?", [], []), ("Thing:a and b", ["a", "b"], []), ("Thing:Alpha", ["a"], []),
    ("is Twin a twin", ["a"], [("Twin", "entity-join")]), ("Maybe", [], [("Maybe", "alias-guessed")]),
    ("Hidden", [], []), ("h", [], []), ("Half", ["c2"], []), ("disputed", ["disputed"], []), ("mute", [], []), ("w", [], []),
    ('x" OR *:* ~ \\', [], []), ("foreign", [], []), ("lonely", ["lonely"], []), ("B", ["b"], []),
    (f"what is {CYPHER_NAME}?", [CYPHER_NAME], []),
])
def test_names_of_a_question_stand_for_visible_entities_or_are_unresolved(
    store: Store, question: str, found: list[str], unresolved: list[tuple[str, str]]) -> None:
    context = store.context(question, reader=LOW)
    assert names(context) == found
    assert [(one.name, one.reason.value) for one in context.unresolved] == unresolved
    for name, _ in unresolved:
        assert f"“{name}” is unresolved" in context.text


def test_a_name_that_hr_shares_out_to_two_is_ambiguous_for_hr_only(store: Store) -> None:
    (one,) = store.context("Half", reader=HR).unresolved
    assert one.candidates == (("Thing", "c2"), ("Thing", "h2"))
    assert names(store.context("Hidden", reader=HR)) == ["h"]


def test_entities_that_are_given_are_found_by_declared_name_or_said_to_be_none(store: Store) -> None:
    context = store.context(entities=["Thing:Alpha", ("Thing", "b"), "Thing:Twin", "Thing:Hidden", "Thing:absent"], reader=LOW)
    assert names(context) == ["a", "b"]
    assert [(one.name, one.reason.value) for one in context.unresolved] == [
        ("Thing:Twin", "entity-join"), ("Thing:Hidden", "unknown-entity"), ("Thing:absent", "unknown-entity")]


def test_what_a_reader_may_not_see_changes_nothing(store: Store) -> None:
    """b has an edge for hr, one under a live reference and a withheld one; c2 has none of these. Neither tells."""
    whole = json.dumps(store.context(entities=["Thing:b"], reader=LOW, budget=150).as_json())
    for hidden in ("b->h", "h2", "b->f", "w->b", "pubilc", "internal", '"hr"', "policies", "acl", "FIN", "foreign"):
        assert hidden not in whole
    seen = store.context(entities=["Thing:b"], reader=HR, budget=150)
    assert seen.left_out + len(seen.edges) == json.loads(whole)["left_out"] + len(json.loads(whole)["edges"]) + 2
    for absent in ("Hidden", "Nothing"):
        context = store.context(absent, reader=LOW).as_json()
        assert (context["text"], context["entities"], context["unresolved"], context["left_out"]) == ("No entity was found.", [], [], 0)


@pytest.mark.parametrize(("name", "more"), [
    ("read.around", {"entities": [{"type": "Thing", "id": "b"}], "behind": [], "told": [], "environment": None, "region": None, "at": None,
                     "require_current": True, "limit": 100}),
    ("read.entities_by_key", {"names": [{"number": 0, "type": "Thing", "lookup": "h"}, {"number": 1, "type": None, "lookup": "Hidden"}]}),
    ("read.entities_by_name", {"names": [{"number": 0, "lookup": "h", "phrase": '"h"'}]}),
])
def test_each_stored_query_refuses_by_itself(store: Store, name: str, more: dict[str, Any]) -> None:
    def rows(*allowed: str, **given: Any) -> str:
        return json.dumps(store._database.read(name, tenant=TENANT, allowed=list(allowed), granted=[], **{**more, **given}), default=str)

    assert '"h"' not in rows("internal")
    assert '"h"' in rows("internal", "hr")
    assert rows() == "[]"


def test_an_edge_whose_evidence_is_stricter_than_itself_is_not_told(store: Store, cypher: Cypher) -> None:
    """The second check: the relationship claims to be internal, its evidence is hr's."""
    cypher("MATCH ({tenant: $t, id: 'b'})-[r {edge_id: 'b->h'}]->() SET r.policies = ['internal']", t=TENANT)
    try:
        assert "b->h" not in edges(store.context(entities=["Thing:b"], reader=LOW))
    finally:
        cypher("MATCH ({tenant: $t, id: 'b'})-[r {edge_id: 'b->h'}]->() SET r.policies = ['hr']", t=TENANT)


def test_a_text_is_shown_only_if_something_said_of_the_passage_opens_it(store: Store) -> None:
    context = store.context(entities=["Thing:bare"], reader=LOW)
    assert edges(context) == ["bare=>b"]
    assert (context.citations[0].doc, context.citations[0].text) == ("bare@1", None)
    assert "NOBODYS TEXT" not in json.dumps(context.as_json())


def test_ids_of_every_kind_of_character_come_back_exactly(store: Store) -> None:
    context = store.context(entities=["Thing:odd"], reader=LOW)
    (one,) = context.citations
    assert (one.doc, one.chunk, one.text) == (f"{ODD}@1", "x,y#z", "Two lines [4]\nof text; see [1, 2].")
    assert one.evidence[0]["span"] == [0, 9]
    assert context.edges[0].edge is not None
    assert context.edges[0].edge["target"]["id"] == CYPHER_NAME
    assert context.text.splitlines()[0] == f"Odd (1) (2) Forged (Thing:odd) needs Thing:{CYPHER_NAME} [1]"
    assert context.text.splitlines()[2:] == ["  Two lines (4)", "  of text; see (1, 2)."]


def test_a_citation_of_a_passage_that_nothing_declares_is_told_by_its_ids(store: Store) -> None:
    context = store.context(entities=["Thing:loose"], reader=LOW)
    assert [(one.doc, one.chunk, one.text) for one in context.citations] == [("undeclared@1", "nowhere", None)]


def test_a_live_reference_is_told_only_while_the_source_opens_it(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "access.toml"
    file.write_text('schema = 1\n[systems.conf.spaces.FIN]\nrestrictions = [{id = "7", incarnation = "1", readers = ["user:me"]}]\n',
                    encoding="utf-8")
    with Store.open(access=FileSource(file)) as opened:
        assert "b->f" in edges(opened.context(entities=["Thing:b"], reader=LOW))
        assert names(opened.context("f", reader=LOW)) == ["f"]
        file.write_text("schema = 1\n", encoding="utf-8")
        assert "b->f" not in edges(opened.context(entities=["Thing:b"], reader=LOW))
        assert names(opened.context("f", reader=LOW)) == []


class Wavering:
    """A source that opens a reference when it is first asked, and takes it back before anything is shown."""

    name = "wavering"

    def __init__(self) -> None:
        self.asked = 0

    def granted(self, reader: Reader) -> Grants:
        self.asked += 1
        return Grants(self.name, frozenset({AclRef(**FIN).key()} if self.asked == 1 else ()))

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        return Decision(self.name, denied=dict.fromkeys(refs, "not-a-reader"))


@pytest.mark.parametrize("about", [{"entities": ["Thing:b"]}, {"claims": [("Thing:b", "Thing:f")]}, {"question": "f"}])
def test_what_is_taken_back_before_it_is_shown_is_not_told(store: Store, about: dict[str, Any]) -> None:
    source = Wavering()
    with Store.open(access=source) as opened:
        context = opened.context(reader=LOW, **about)
    assert source.asked > 1
    assert context == store.context(reader=LOW, **about)


def test_edges_that_are_too_many_to_read_are_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "_MOST_EDGES", 2)
    context = store.context(entities=["Thing:b"], reader=LOW)
    assert (len(context.edges), context.left_out, context.uncounted) == (2, 3, False)
    assert context.text.endswith("3 more relations do not fit here.")
    further = store.context(entities=["Thing:b"], reader=LOW, hops=2)
    assert further.uncounted
    assert further.text.splitlines()[-1].startswith("At least ")
    monkeypatch.setattr(surroundings, "_MOST_EDGES", 1)
    context = store.context(entities=["Thing:a"], reader=LOW, hops=2)  # an edge is counted at its nearer end only
    assert (edges(context), context.left_out, context.uncounted) == (["a->b", "b->c"], 3, False)
    context = store.context(claims=[("Thing:a", "Thing:c")], entities=["Thing:b"], reader=LOW)  # what a chain tells is not left out
    assert (edges(context), context.left_out) == (["a->b", "b->c"], 3)


def test_what_a_context_cannot_be_about_is_one_sentence(store: Store) -> None:
    for wrong in ({}, {"entities": ["nothing"]}, {"entities": ["Thing:b"], "hops": 4}, {"question": "w " * 201},
                  {"question": "b", "at": "soon"}, {"question": "b", "budget": 0}, {"question": "b", "max_hops": 9},
                  {"claims": [("Thing:b", "nothing")]}):
        with pytest.raises(InputError):
            store.context(reader=LOW, **wrong)
    with pytest.raises(AccessDeniedError):
        store.context("b", reader=None)  # type: ignore[arg-type]


Retrieve = Callable[[Store, Reader, str], list[tuple[str, dict[str, Any]]]]
OPTIONS: dict[str, Any] = {"environment": "production", "region": "eu-west", "budget": 900}


def by_langchain(store: Store, reader: Reader, question: str) -> list[tuple[str, dict[str, Any]]]:
    found = langchain.ProvenanceRetriever(store, reader, **OPTIONS).invoke(question)
    assert all(isinstance(one, Document) for one in found)
    return [(one.page_content, one.metadata) for one in found]


def by_llamaindex(store: Store, reader: Reader, question: str) -> list[tuple[str, dict[str, Any]]]:
    found = llamaindex.ProvenanceRetriever(store, reader, **OPTIONS).retrieve(question)
    for one in found:
        assert {one.node.get_content(mode) for mode in (MetadataMode.LLM, MetadataMode.EMBED)} == {one.get_content()}
    return [(one.get_content(), one.node.metadata) for one in found]


def by_neo4j_graphrag(store: Store, reader: Reader, question: str) -> list[tuple[str, dict[str, Any]]]:
    found = neo4j_graphrag.ProvenanceRetriever(store, reader, **OPTIONS).search(query_text=question)
    assert found.metadata is not None
    assert found.metadata["schema"] == 1
    return [(one.content, one.metadata or {}) for one in found.items]


RETRIEVERS = [by_langchain, by_llamaindex, by_neo4j_graphrag]


@pytest.mark.parametrize("retrieve", RETRIEVERS)
def test_a_retriever_gives_the_context_with_evidence_and_citations(store: Store, retrieve: Retrieve) -> None:
    question = "Does the Checkout API rest on POL-31?"
    found = retrieve(store, ACME, question)
    context = store.context(question, reader=ACME, **OPTIONS)
    assert "\n\n".join(text for text, _ in found) == context.text
    assert context.tokens <= 900
    for (text, beside), part in zip(found, context.edges, strict=False):
        assert [one["n"] for one in beside["citations"]] == list(part.citations)
        assert beside["edge_id"] in [e["edge_id"] for e in beside["citations"][0]["evidence"]]
        assert f"[{part.citations[0]}]" in text
        assert beside["citations"][0]["doc"]
        json.dumps(beside)
    assert found[-1][1]["kind"] == "note"
    assert found[-1][1]["left_out"] == context.left_out > 0


@pytest.mark.parametrize("retrieve", RETRIEVERS)
def test_a_retriever_tells_nothing_of_what_its_reader_may_not_see(store: Store, retrieve: Retrieve) -> None:
    assert "b->h" in json.dumps(retrieve(store, HR, "b"))
    assert "b->h" not in json.dumps(retrieve(store, LOW, "b"))
    hidden, absent = retrieve(store, LOW, "Hidden"), retrieve(store, LOW, "Nothing")
    assert [text for text, _ in hidden] == ["No entity was found."]
    assert hidden == absent
    assert retrieve(store, Reader("me", TENANT, frozenset()), "b") == absent


@pytest.mark.parametrize("retrieve", RETRIEVERS)
def test_a_retriever_gives_odd_ids_back_exactly_and_says_what_is_ambiguous(store: Store, retrieve: Retrieve) -> None:
    (_, beside), *_ = retrieve(store, LOW, "Thing:odd")
    assert (beside["citations"][0]["doc"], beside["citations"][0]["chunk"]) == (f"{ODD}@1", "x,y#z")
    ((text, note),) = retrieve(store, LOW, "Twin")
    assert text.splitlines()[0] == "“Twin” is unresolved: it names Thing:b, Thing:c."
    assert [one["candidates"] for one in note["unresolved"]] == [[{"type": "Thing", "id": "b"}, {"type": "Thing", "id": "c"}]]


@pytest.mark.parametrize("module", [langchain, llamaindex, neo4j_graphrag], ids=lambda module: str(module.__name__))
@pytest.mark.parametrize("nobody", [None, "me", {"principal": "me", "tenant": "ACME", "clearances": ["internal"]}])
def test_a_retriever_without_a_reader_is_not_made(store: Store, module: Any, nobody: Any) -> None:
    with pytest.raises(AccessDeniedError):
        module.ProvenanceRetriever(store, nobody)


def test_a_claim_may_be_asked_for(store: Store) -> None:
    lang = langchain.ProvenanceRetriever(store, LOW).invoke("", claims=[("Thing:a", "Thing:c")])
    neo = neo4j_graphrag.ProvenanceRetriever(store, LOW).search(source="Thing:a", target="Thing:c")
    llama = llamaindex.ProvenanceRetriever(store, LOW).context(claims=[("Thing:a", "Thing:c")])
    assert [one.metadata["edge_id"] for one in lang] == [one.metadata["edge_id"] for one in neo.items if one.metadata] == edges(llama)
    assert edges(llama) == ["a->b", "b->c"]
    with pytest.raises(InputError, match="two ends"):
        neo4j_graphrag.ProvenanceRetriever(store, LOW).search(source="Thing:a")


def test_retrievers_and_contexts_work_with_asyncio(store: Store) -> None:
    async def ask() -> list[Any]:
        lang = await langchain.ProvenanceRetriever(store, LOW).ainvoke("c2")
        llama = await llamaindex.ProvenanceRetriever(store, LOW).aretrieve("c2")
        async with await AsyncStore.open() as shared:
            context = await shared.context("c2", reader=LOW)
        return [lang[0].metadata["edge_id"], llama[0].node.metadata["edge_id"], *edges(context)]

    assert asyncio.run(ask()) == ["c2->b"] * 3


def test_a_tool_of_neo4j_graphrag_knows_the_parameters(store: Store) -> None:
    tool = neo4j_graphrag.ProvenanceRetriever(store, LOW).convert_to_tool("relations", "Evidenced relations.")
    assert set(tool.get_parameters()["properties"]) == {"query_text", "source", "target"}


@pytest.mark.parametrize(("module", "package", "extra"), [
    ("langchain", "langchain_core", "langchain"), ("llamaindex", "llama_index", "llamaindex"),
    ("neo4j_graphrag", "neo4j_graphrag", "neo4j-graphrag")])
def test_a_missing_framework_is_one_sentence_that_says_what_to_install(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"graphrag_provenance.integrations.{module}"
    monkeypatch.delitem(sys.modules, name)
    for loaded in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs the package '{package}'.*pip install 'graphrag-provenance\[{extra}\]'"):
        importlib.import_module(name)
