"""Field reports 7, 8 and 11 through every importer and every export: one table of importers, one of exports (issues of other stores).

7: an id is kept whatever it holds. 8: two ids joined in one text are split by a declared rule, or refused; never one id. 11: an edge
that cites what no record declares is taken only under a known policy, is flagged as unregistered, and is refused on request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import duckdb
import pytest
from prov.model import ProvDocument

from graphrag_provenance.errors import InputError
from graphrag_provenance.exports.import_files import export_import_files
from graphrag_provenance.exports.jsonl import Exported, export_jsonl
from graphrag_provenance.exports.openlineage import run_events
from graphrag_provenance.exports.prov import ProvFormat, prov_document
from graphrag_provenance.ingest import IngestOptions, Summary, ingest
from graphrag_provenance.ingest.pipelines import bind, find_pipeline, list_pipelines
from graphrag_provenance.ingest.piping import run_pipeline
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.exporting import Everything, export_everything
from graphrag_provenance.store.runs import store_state

Cypher = Callable[..., list[dict[str, Any]]]
Node = tuple[list[str], dict[str, Any]]
POLICIES = parse_policies(etl_path("policies.toml").read_text(encoding="utf-8"))
ODD = "a<SEP>b,c|d@e#f'g\") ;h`i$j{k}\\l λ \U0001f600"
TEXT = "Ann leads."
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")


@dataclass(frozen=True)
class Case:
    """What a source says: an edge from ODD to B about passages of a document."""

    document: str = ODD
    chunks: tuple[str, ...] = ("c1",)
    """The passages that the edge cites."""
    known: tuple[str, ...] = ("c1",)
    """The passages that the source has."""
    joined: bool = False
    """Whether the cited ids stand in one text, parted by a comma."""


def csv_text(rows: list[list[str]]) -> str:
    return "".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows)


def as_jsonl(case: Case, folder: Path, policy: str | None) -> None:
    doc = f"{case.document}@1"
    lines: list[dict[str, Any]] = [
        {"kind": "document", "doc_id": case.document, "title": "t", "source_type": "s"},
        {"kind": "revision", "doc": doc, "effective_at": "2026-01-01T00:00:00Z"},
        *({"kind": "chunk", "doc": doc, "chunk": one, "ordinal": 0, "section_path": [], "content_sha256": "sha256:" + "0" * 64,
           "chunker_version": "1"} for one in case.known),
        {"kind": "edge", "relation": "leads", "source": {"type": "Thing", "id": ODD}, "target": {"type": "Thing", "id": "B"},
         "evidence": ",".join(case.chunks) if case.joined else [{"doc": doc, "chunk": one} for one in case.chunks],
         "access": {"policy": policy} if policy else {}}]
    (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def as_csv(case: Case, folder: Path, policy: str | None) -> None:
    chunks = [",".join(case.chunks)] if case.joined else list(case.chunks)
    edges = [["relation", "source_type", "source", "target_type", "target", "doc", "chunk", "policy"]]
    edges += [["leads", "Thing", ODD, "Thing", "B", f"{case.document}@1", chunk, policy or ""] for chunk in chunks]
    (folder / "edges.csv").write_text(csv_text(edges), encoding="utf-8")
    documents = [["doc", "title", "source_type", "effective_at"], [f"{case.document}@1", "t", "s", "2026-01-01T00:00:00Z"]]
    (folder / "documents.csv").write_text(csv_text(documents), encoding="utf-8")


def as_redocred(case: Case, folder: Path, policy: str | None) -> None:
    mentions = [[{"name": name, "type": "Thing", "sent_id": 0, "pos": [0, 1]}] for name in (ODD, "B")]
    evidence: Any = [0 if one in case.known else 7 for one in case.chunks]
    found = {"title": case.document, "sents": [["Ann", "leads", "."]], "vertexSet": mentions,
             "labels": [{"r": "leads", "h": 0, "t": 1, "evidence": ",".join(map(str, evidence)) if case.joined else evidence}]}
    (folder / "documents.json").write_text(json.dumps([found]), encoding="utf-8")


def as_msgraphrag(case: Case, folder: Path, policy: str | None) -> None:
    units = [",".join(case.chunks)] if case.joined else list(case.chunks)
    with duckdb.connect() as writer:
        for name, query in {
            "documents": "SELECT $document AS id, 't' AS title, $text AS text, '2025-03-04 09:39:37 -0800' AS creation_date",
            "text_units": "SELECT unnest($known) AS id, 0 AS human_readable_id, $text AS text, $document AS document_id",
            "entities": "SELECT unnest([$odd, 'B']) AS title, 'Thing' AS type, '' AS description",
            "relationships": "SELECT 'r1' AS id, $odd AS source, 'B' AS target, '' AS description, 1.0::DOUBLE AS weight, "
                             "$units AS text_unit_ids",
        }.items():
            values = {"document": case.document, "text": TEXT, "known": list(case.known), "odd": ODD, "units": units}
            used = {one: value for one, value in values.items() if f"${one}" in query}
            writer.execute(f"CREATE OR REPLACE TABLE made AS {query}", used)
            writer.execute(f"COPY made TO '{folder / name}.parquet' (FORMAT parquet)")


def as_langchain(case: Case, folder: Path, policy: str | None) -> None:
    """A graph document has its one passage with it, so it cannot cite another."""
    ends = [{"id": name, "type": "Thing", "properties": {}} for name in (ODD, "B")]
    found = [{"nodes": ends, "relationships": [{"source": ends[0], "target": ends[1], "type": "leads", "properties": {}}],
              "source": {"id": one, "page_content": TEXT + one, "metadata": {"source": case.document}, "type": "Document"}}
             for one in case.chunks]
    (folder / "graph_documents.jsonl").write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")


def as_lightrag(case: Case, folder: Path, policy: str | None) -> None:
    cited = (",".join(case.chunks) if case.joined else "<SEP>".join(case.chunks))
    told = {"source_id": cited, "entity_type": "Thing", "keywords": "leads"}
    keys = "".join(f'<key id="{name}" for="all" attr.name="{name}" attr.type="string"/>' for name in told)
    data = "".join(f'<data key="{name}">{escape(value)}</data>' for name, value in told.items())
    nodes = "".join(f"<node id={quoteattr(name)}>{data}</node>" for name in (ODD, "B"))
    (folder / "graph_chunk_entity_relation.graphml").write_text(
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}<graph edgedefault="undirected">{nodes}'
        f'<edge source={quoteattr(ODD)} target="B">{data}</edge></graph></graphml>', encoding="utf-8")
    (folder / "kv_store_text_chunks.json").write_text(json.dumps({
        one: {"content": TEXT, "full_doc_id": case.document, "chunk_order_index": 0, "file_path": "f"} for one in case.known}),
        encoding="utf-8")


def as_neo4j(folder: Path, nodes: Mapping[str, Node], joins: list[tuple[str, str, str, dict[str, Any]]]) -> None:
    (folder / "nodes.jsonl").write_text("".join(
        json.dumps({"id": id, "labels": labels, "properties": properties}) + "\n" for id, (labels, properties) in nodes.items()),
        encoding="utf-8")
    (folder / "relationships.jsonl").write_text("".join(
        json.dumps({"id": str(number), "type": kind, "source": start, "target": end, "properties": properties}) + "\n"
        for number, (start, kind, end, properties) in enumerate(joins)), encoding="utf-8")


def as_graphrag(case: Case, folder: Path, policy: str | None) -> None:
    """Passages are nodes: a relationship to one that is not there cannot be."""
    created = {"path": case.document, "createdAt": "2026-01-01T00:00:00+00:00"}
    nodes: dict[str, Node] = {"d": (["Document"], created)}
    nodes |= {one: (["Chunk"], {"id": one, "index": 0, "text": TEXT}) for one in case.chunks}
    nodes |= {name: (["Thing", "__Entity__"], {"name": name}) for name in (ODD, "B")}
    joins = [(one, "FROM_DOCUMENT", "d", {}) for one in case.chunks if one in case.known]
    joins += [(name, "FROM_CHUNK", one, {}) for name in (ODD, "B") for one in case.chunks]
    as_neo4j(folder, nodes, [*joins, (ODD, "leads", "B", {})])


def as_graphiti(case: Case, folder: Path, policy: str | None) -> None:
    """An episode is a document with one passage; several cited passages are several episodes."""
    nodes: dict[str, Node] = {
        f"e{one}": (["Episodic"], {"uuid": case.document if one == "c1" else one, "name": "t", "content": TEXT,
                                   "valid_at": "2026-01-01T00:00:00Z"}) for one in case.known}
    nodes |= {name: (["Entity", "Thing"], {"uuid": name, "name": name}) for name in (ODD, "B")}
    episodes = [case.document if one == "c1" else one for one in case.chunks]
    told = {"uuid": "f", "name": "leads", "fact": "", "episodes": ",".join(episodes) if case.joined else episodes}
    as_neo4j(folder, nodes, [(ODD, "RELATES_TO", "B", told)])


IMPORTERS: dict[str, tuple[Callable[[Case, Path, str | None], None], dict[str, str]]] = {
    "jsonl": (as_jsonl, {}), "csv": (as_csv, {}), "redocred": (as_redocred, {}), "msgraphrag": (as_msgraphrag, {}),
    "langchain": (as_langchain, {"effective_at": "2026-01-01T00:00:00Z"}),
    "lightrag": (as_lightrag, {"effective_at": "2026-01-01T00:00:00Z"}),
    "neo4j-graphrag": (as_graphrag, {"several": "cite"}), "graphiti": (as_graphiti, {}),
}
WITHOUT_JOINED = {"langchain": "a graph document has one source", "neo4j-graphrag": "passages are joined by relationships"}
UNREGISTERED = {
    "jsonl": "flagged", "csv": "flagged", "redocred": "flagged",
    "msgraphrag": "refused", "lightrag": "refused", "neo4j-graphrag": "refused", "graphiti": "refused",
}
"""Without a record of the passage those refused know no revision of it. A graph document of langchain brings its passage along."""


@pytest.fixture
def take(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Callable[..., tuple[Summary, list[dict[str, Any]]]]:
    """Loads a case by an importer into an empty store: what came of it, and the edges with what they cite."""
    def run(importer: str, case: Case, policy: str | None = "internal", **more: Any) -> tuple[Summary, list[dict[str, Any]]]:
        cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
        write, values = IMPORTERS[importer]
        folder = tmp_path / importer / str(len(list(tmp_path.rglob("*"))))
        folder.mkdir(parents=True)
        write(case, folder, policy)
        options = IngestOptions(policies=POLICIES, tenant="T", rejects=tmp_path / "rejects.jsonl", **more)
        if importer == "jsonl":
            summary = ingest(fresh_database, [folder / "records.jsonl"], options)
        else:
            found = find_pipeline(importer, tmp_path)
            given = {**values, **({"policy": policy} if policy and "policy" in found.options else {})}
            summary, _ = run_pipeline(fresh_database, bind(found, paths=[folder], options=given), options, memory_mb=128)
        return summary, cypher(
            "MATCH (a:Assertion) OPTIONAL MATCH (a)-[:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(r:Revision)<-[:HAS_REVISION]-(d:Document) "
            "WITH a, c, d ORDER BY c.chunk RETURN a.source_id AS source, a.state AS state, a.registered AS registered, "
            "collect([d.doc_id, c.chunk]) AS cited")

    return run


def test_the_table_has_every_importer() -> None:
    assert IMPORTERS.keys() == {"jsonl", *(folder.name for where, folder in list_pipelines(Path("nowhere")) if where == "shipped")}


@pytest.mark.parametrize("importer", IMPORTERS)
def test_report_7_ids_are_kept_whatever_they_hold(take: Callable[..., Any], importer: str) -> None:
    _, edges = take(importer, Case())
    folded = ODD.casefold() if importer == "redocred" else ODD  # that pipeline declares case folding
    assert [(one["source"], one["state"]) for one in edges] == [(folded, "published")]
    assert [doc for doc, _ in edges[0]["cited"]] == [ODD]


@pytest.mark.parametrize("importer", [name for name in IMPORTERS if name not in WITHOUT_JOINED])
def test_report_8_two_ids_in_one_text_are_never_one_id(take: Callable[..., Any], importer: str) -> None:
    """A comma is no declared separator of any of them. In CSV a cell is one id, so what it cites is a passage that no record declares."""
    if importer == "redocred":
        with pytest.raises(InputError, match=r"edges\.sql failed"):  # sentences are numbers; nothing is loaded
            take(importer, Case(document="d", chunks=("c1", "c1"), joined=True))
        return
    joined = Case(document="d", chunks=("c1", "c2"), known=("c1", "c2"), joined=True)
    summary, edges = take(importer, joined, require_registered_sources=importer == "csv")
    assert edges == []
    assert sum(summary.rejected.values()) == 1


@pytest.mark.parametrize("importer", UNREGISTERED)
def test_report_11_what_no_record_declares_is_flagged_or_refused(take: Callable[..., Any], importer: str) -> None:
    missing = Case(chunks=("nowhere",), known=("0",) if importer == "redocred" else ())
    summary, edges = take(importer, missing)
    if UNREGISTERED[importer] == "flagged":
        assert [(one["state"], one["registered"]) for one in edges] == [("published", False)]
        assert summary.outcome.edges["unregistered"] == 1
        _, edges = take(importer, missing, policy=None)
        assert [one["state"] for one in edges] == ["withheld"], "no policy says who may read it"
        summary, edges = take(importer, missing, require_registered_sources=True)
    assert edges == []
    assert sum(summary.rejected.values()) == 1 + (importer == "neo4j-graphrag"), "there the passage is refused, too"


def prov(form: ProvFormat) -> Callable[[Everything, Path], str]:
    def run(everything: Everything, folder: Path) -> str:
        text = prov_document(everything).text(form)
        rdf = {"rdf_format": form.value} if form in (ProvFormat.TURTLE, ProvFormat.TRIG) else {}
        read = ProvDocument.deserialize(content=text, format="rdf" if rdf else form.value, **rdf)
        return repr([str(value) for record in read.records for _, value in record.attributes])

    return run


def import_files(everything: Everything, folder: Path) -> str:
    export_import_files(everything, folder)
    return repr("".join(path.read_text(encoding="utf-8").replace('""', '"') for path in folder.glob("*.csv")))


EXPORTS: dict[str, Callable[[Everything, Path], str]] = {
    "jsonl": lambda everything, _: repr([json.loads(line) for line in export_jsonl(everything, Exported())]),
    "import-csv": import_files, **{f"prov {form.value}": prov(form) for form in ProvFormat},
    "openlineage": lambda everything, _: repr([json.loads(line) for line in run_events(everything)]),
}


def test_every_export_keeps_the_ids_and_says_what_is_not_registered(
    fresh_database: Database, cypher: Cypher, tmp_path: Path
) -> None:
    folder = tmp_path / ODD.replace("\\", "")
    folder.mkdir()
    as_jsonl(Case(chunks=("c1", "nowhere"), known=("c1",)), folder, "internal")
    options = IngestOptions(policies=POLICIES, tenant="T", rejects=tmp_path / "rejects.jsonl")
    ingest(fresh_database, [folder / "records.jsonl"], options)
    graph_hash = (store_state(fresh_database) or {})["graph_hash"]
    operator = Reader("op", "T", frozenset(), frozenset({Role.OPERATOR}))
    told: dict[str, str] = {}
    for name, export in EXPORTS.items():
        place = tmp_path / name
        place.mkdir()
        with export_everything(fresh_database, operator, all_tenants=True) as everything:
            told[name] = export(everything, place)
    for name, text in told.items():
        wanted = str(folder / "records.jsonl") if name == "openlineage" else ODD
        assert repr(wanted)[1:-1].replace("\\'", "'") in text.replace("\\'", "'"), name
        assert name == "openlineage" or "nowhere" in text, name
    with export_everything(fresh_database, operator, all_tenants=True) as everything:
        (tmp_path / "again.jsonl").write_text("".join(line + "\n" for line in export_jsonl(everything, Exported())), encoding="utf-8")
    cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
    ingest(fresh_database, [tmp_path / "again.jsonl"], options)
    assert (store_state(fresh_database) or {})["graph_hash"] == graph_hash
