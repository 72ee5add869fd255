"""The stages of a first load in parts (spec 6, bulk load and past one machine).

Owns: what one part needs to be told by others, so that it decides what an ordinary load decides. What a record comes to is the work of
the functions that an ordinary load calls, over a store that holds nothing: edges are decided once all sources are, and told of what
they cite; an end that no record declares is counted where its entity belongs. Nothing here knows how messages travel; a stage takes
them in any order, and a part that is carried out again gives the same.

Memory: what belongs to one part, or stands in one block. A document, with its revisions and chunks, is never split.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from graphrag_provenance.ingest.batches import write_ends
from graphrag_provenance.ingest.candidates import Candidate, Reading, candidate, rejected, to_edge
from graphrag_provenance.ingest.load import Load, reading
from graphrag_provenance.ingest.loading import patient_collector, store_edges, store_sources
from graphrag_provenance.ingest.partitions import Job, Message, Part, Stage, Told, ended, message, place_of, said
from graphrag_provenance.ingest.rejecting import RejectFile
from graphrag_provenance.ingest.sources import Line, content, lines
from graphrag_provenance.ingest.validate import parse_line
from graphrag_provenance.model.identifiers import split_revision
from graphrag_provenance.rules.edges import Citation, Edge, Identity
from graphrag_provenance.rules.fingerprints import fingerprint
from graphrag_provenance.rules.merging import Merges
from graphrag_provenance.rules.rejects import Refused
from graphrag_provenance.store.assertions import Rules
from graphrag_provenance.store.bulk import Implied, add_edge, add_entities, add_implied, add_sources
from graphrag_provenance.store.counting import Reject
from graphrag_provenance.store.nothing import EmptyDatabase
from graphrag_provenance.store.passages import NEEDED
from graphrag_provenance.store.runs import Run
from graphrag_provenance.store.view import Key, Kind, View

SEQ = 1
"""The run that a store begins with."""
_Out = dict[tuple[Stage, int, str], list[Any]]


def carry_out(stage: Stage, job: Job, part: int, bodies: Iterable[bytes]) -> Iterator[Message]:
    """One part of a stage: what was said to it goes in; what it says comes out, last of all what it comes to."""
    with patient_collector():
        yield from _STAGES[stage](job, part, bodies)


class _Rejects(RejectFile):
    """Refused lines, kept until they are handed on."""

    def __init__(self) -> None:
        super().__init__(None)
        self.kept: list[Reject] = []

    def write(self, reject: Reject) -> None:
        self.kept.append(reject)


class _Share(Load):
    """The load of one part."""

    def __init__(self, job: Job, *, whole: bool = False) -> None:
        database, self.kept = EmptyDatabase(), _Rejects()
        options = replace(job.options, dry_run=True)
        super().__init__(
            database, options, [], Run(database, SEQ, "", "", {}, job.policies, 0.0),
            Rules(job.policies, options.require_registered_sources), View(seq=SEQ, dry=True, whole=whole), self.kept, lambda _: None)
        self.job = job

    def take_records(self, records: Sequence[tuple[Any, ...]]) -> None:
        """Records that are no edges, in batches."""
        size = self.options.batch_size
        for start in range(0, len(records), size):
            store_sources(self, [Candidate(kind, Line(file, number, data), key, taken)
                                 for kind, file, number, data, key, taken in records[start:start + size]], self.job.clock)

    def ended(self, graph: Part) -> Iterator[Message]:
        """What it comes to."""
        told = Told(outcome=self.outcome, sum=self.view.sum.to_bytes(), counts=dict(graph.counts), longest=graph.longest)
        return ended(self.job, self.kept.kept, told)


def _read(job: Job, part: int, bodies: Iterable[bytes]) -> Iterator[Message]:
    assert not [*bodies], "it reads lines"
    block, how = job.blocks[part], reading(job.options, Merges())
    told, rejects = Told(marks=_held(content(block), job.output.marks)), _Rejects()
    out: _Out = defaultdict(list)
    asked: dict[tuple[int, int], dict[Key, None]] = defaultdict(dict)
    for line in lines(block, job.options.max_line_bytes):
        told.read += 1
        try:
            value = parse_line(line)
            if value["kind"] != "edge":
                _send(job, how, line, value, out)
                continue
            edge = to_edge(line, fingerprint(line.data, how.salt), how)
        except Refused as refused:
            rejects.write(rejected(line, refused))
            continue
        place = place_of(job.parts, edge.tenant, edge.edge_id)
        out[Stage.EDGES, place, "edges"].append(_flat(edge))
        for item in edge.citations:
            asked[place_of(job.parts, split_revision(item.doc)[0]), place][edge.tenant, item.doc, item.chunk] = None
    for (place, edges), passages in asked.items():
        out[Stage.SOURCES, place, "asked"].append((edges, [*passages]))
    yield from _said(out, part)
    yield from ended(job, rejects.kept, told)


def _said(out: _Out, order: int) -> Iterator[Message]:
    for (stage, place, what), words in out.items():
        yield message(stage, place, what, order, words)


def _send(job: Job, how: Reading, line: Line, value: dict[str, Any], out: _Out) -> None:
    """A record that is no edge, to the part where it is validated. What does not plainly name its document or entity is refused there."""
    one = candidate(line, value, how)
    record = (one.kind, line.file, line.number, line.data, one.key, one.fingerprint)
    if one.kind == "entity":
        out[Stage.ENDS, place_of(job.parts, *(one.key or ())), "records"].append(record)
        return
    doc = value.get("doc_id") if one.kind in ("document", "tombstone") else value.get("doc")
    if not isinstance(doc, str):
        doc = ""
    elif one.kind in ("revision", "chunk"):
        doc = doc.rpartition("@")[0]
    out[Stage.SOURCES, place_of(job.parts, doc), "records"].append(record)


def _held(data: bytes, marks: Sequence[str]) -> frozenset[str]:
    """Which of the marks the JSON of these lines may hold, as they are or escaped."""
    escaped = data.lower() if b"\\u" in data else b""
    return frozenset(mark for mark in marks if mark.encode() in data or b"\\u%04x" % ord(mark) in escaped)


def _flat(edge: Edge) -> tuple[Any, ...]:
    return (edge.tenant, edge.edge_id, tuple(edge.identity), [tuple(item) for item in edge.citations], edge.declared, edge.attributes,
            edge.originals, edge.file, edge.line, edge.raw, edge.fingerprint)


def _edge(flat: tuple[Any, ...]) -> Edge:
    tenant, edge_id, identity, citations, *rest = flat
    return Edge(tenant, edge_id, Identity._make(identity), tuple(map(Citation._make, citations)), *rest)


def _sources(job: Job, part: int, bodies: Iterable[bytes]) -> Iterator[Message]:
    share, heard = _Share(job, whole=True), said(bodies)
    share.take_records(heard["records"])
    asked: dict[int, dict[Key, None]] = defaultdict(dict)
    for edges, passages in heard["asked"]:
        asked[edges].update(dict.fromkeys(passages))
    for edges, wanted in asked.items():
        yield message(Stage.EDGES, edges, "said", part, [_answer(share, wanted)])
    with job.output.part(f"sources-{part:06d}", job.mark) as graph:
        add_sources(graph, share.view)
    yield from share.ended(graph)


def _answer(share: Load, passages: Iterable[Key]) -> tuple[Any, ...]:
    """What is known of these passages: nodes with what decides about edges, who else declares their documents, and, if it is wanted,
    their texts."""
    view = share.view
    known: dict[Kind, dict[Key, Any]] = {"document": {}, "revision": {}, "chunk": {}}
    declared: set[Key] = set()
    texts: dict[Key, str] = {}
    for tenant, doc, chunk in passages:
        doc_id = split_revision(doc)[0]
        keys: dict[Kind, Key] = {"document": (tenant, doc_id), "revision": (tenant, doc), "chunk": (tenant, doc, chunk)}
        for kind, key in keys.items():
            node = None if key in known[kind] else view.nodes(kind).get(key)
            if node is not None:
                known[kind][key] = {name: value for name, value in node.items() if name in NEEDED[kind]}
        declared.update((one, doc_id) for one in view.declaring(doc_id))
        text = share.quotes.unwritten(keys["chunk"])
        if text is not None:
            texts[keys["chunk"]] = text
    return known, declared, texts


def _edges(job: Job, part: int, bodies: Iterable[bytes]) -> Iterator[Message]:
    share, heard = _Share(job), said(bodies)
    for known, declared, texts in heard.pop("said", ()):
        for kind, nodes in known.items():
            share.view.put(kind, nodes)
        for key in declared:
            share.view.declare(key)
        for key, text in texts.items():
            share.quotes.know(key, text)
    implied: dict[Implied, None] = {}
    with job.output.part(f"edges-{part:06d}", job.mark) as graph:
        for batch in _batches(heard.pop("edges", []), job.options.batch_size):
            share.take(store_edges(share, batch, ()))
            for (tenant, _), (node, evidence) in share.view.planned.items():
                add_edge(graph, node, evidence)
                _imply(share.view, tenant, evidence, implied)
            share.view.planned.clear()
    yield from _said(_ends(job, share, implied), part)
    yield from share.ended(graph)


def _batches(flat: list[tuple[Any, ...]], size: int) -> Iterator[list[Edge]]:
    """Edges in batches. All that is said of one is in one batch, so that it need not be remembered."""
    of_one: dict[Key, list[tuple[Any, ...]]] = defaultdict(list)
    for one in flat:
        of_one[one[:2]].append(one)
    flat.clear()
    batch: list[Edge] = []
    for key in [*of_one]:
        batch += map(_edge, of_one.pop(key))
        if len(batch) >= size or not of_one:
            yield batch
            batch = []


def _imply(view: View, tenant: str, evidence: Iterable[Citation], implied: dict[Implied, None]) -> None:
    for item in evidence:
        if (tenant, item.doc, item.chunk) not in view.nodes("chunk"):
            document = (tenant, split_revision(item.doc)[0])
            implied[Implied(tenant, item.doc, item.chunk, (tenant, item.doc) in view.nodes("revision"),
                            document in view.nodes("document"))] = None


def _ends(job: Job, share: Load, implied: Iterable[Implied]) -> _Out:
    """What the edges of a part name: the part of an entity counts it, and its aliases."""
    out: _Out = defaultdict(list)
    for key in share.view.nodes("entity"):
        out[Stage.ENDS, place_of(job.parts, *key), "ends"].append(key)
    for node in share.view.aliases.values():
        share.view.sum.remove(node["digest"])
        out[Stage.ENDS, place_of(job.parts, node["tenant"], node["type"], node["id"]), "aliases"].append(node)
    share.outcome.entities.clear()
    for one in implied:
        out[Stage.ENDS, place_of(job.parts, split_revision(one.doc)[0]), "implied"].append(one)
    return out


def _finish(job: Job, part: int, bodies: Iterable[bytes]) -> Iterator[Message]:
    share, heard = _Share(job), said(bodies)
    share.take_records(heard["records"])
    aliases = {node["alias_id"]: node for node in heard["aliases"]}
    share.take(write_ends(share.database, share.run, share.view, heard["ends"], aliases))
    with job.output.part(f"ends-{part:06d}", job.mark) as graph:
        add_entities(graph, share.view)
        add_implied(graph, heard["implied"], SEQ)
    yield from share.ended(graph)


_STAGES: dict[Stage, Callable[[Job, int, Iterable[bytes]], Iterator[Message]]] = {
    Stage.READ: _read, Stage.SOURCES: _sources, Stage.EDGES: _edges, Stage.ENDS: _finish}
