"""Whether one stored record is sound: its derived parts are what the rules derive from the rest (spec 1, invariants).

Owns: which properties of a document, revision, chunk, entity, alias and run follow from others, and the comparison. The
derivations themselves are those of the loader (`rules.statements`, `rules.heads`, `rules.digests`, `model.identifiers`).
Each check tells what is wrong through `say` and returns the digest by which the record counts, or None if it does not count.
A property that is missing or of another form raises KeyError, TypeError, ValueError or AttributeError.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from graphrag_provenance.model.identifiers import canonical_text, check_entity_type, normalise_entity_id, point_id, split_revision
from graphrag_provenance.rules.digests import EMPTY_SUM, graph_hash, run_digest
from graphrag_provenance.rules.heads import Candidate, document_succession, succession
from graphrag_provenance.rules.history import KEYS, as_it_was, key_of
from graphrag_provenance.rules.invariants import Invariant
from graphrag_provenance.rules.statements import counts, entity_counts, node_digest

Node = Mapping[str, Any]
Say = Callable[[Invariant, str], None]
RUNNING = "running"


def check_runs_named(say: Say, node: Node, known: Collection[int]) -> None:
    """Every change names a run that exists."""
    if node.get("since") not in known:
        say(Invariant.UNKNOWN_RUN, "'since' names no run")
    for name in ("changed", "stated", "arrival", "purged"):
        if name in node and node[name] not in known:
            say(Invariant.UNKNOWN_RUN, f"'{name}' names no run")


def check_document(say: Say, node: Node, revisions: Iterable[Node]) -> bytes | None:
    """The head is that of the declared revisions."""
    candidates = []
    for revision in revisions:
        if revision["tenant"] != node["tenant"]:
            say(Invariant.TENANT, "a document has a revision of another tenant")
        if revision["registered"]:
            candidates.append(Candidate(
                revision["doc"], revision["effective_at"], revision["supersedes"], revision["arrival"], revision["complete"]))
    derived = document_succession(succession(candidates))
    if node.get("head") != derived["head"]:
        say(Invariant.HEAD, "the head is not that of the declared revisions")
    elif any(node.get(name) != value for name, value in derived.items()):
        say(Invariant.HEAD, "line or whole of a document is not that of its declared revisions")
    if not isinstance(node["registered"], bool):
        raise TypeError("a flag is not true or false")
    return _counted(say, "document", node, counts(node))


def check_revision(say: Say, node: Node, parents: Sequence[Sequence[Any]]) -> bytes | None:
    """The revision is under its document, whose id is part of its own."""
    doc_id, version = split_revision(node["doc"])
    if (node["doc_id"], node["version"]) != (doc_id, version):
        say(Invariant.IDENTIFIER, "doc_id or version of a revision is not part of its id")
    _check_parent(say, "a revision is not under its document alone", node["tenant"], [doc_id], parents)
    return _counted(say, "revision", node, node["registered"])


def check_chunk(say: Say, node: Node, parents: Sequence[Sequence[Any]]) -> bytes | None:
    """The chunk is under its revision, and its text is the one that its hash names."""
    _check_parent(say, "a chunk is not under its revision alone", node["tenant"], [node["doc"]], parents)
    if node["registered"] and node["point_id"] != point_id(node["tenant"], node["doc"], node["chunk"]):
        say(Invariant.IDENTIFIER, "point_id of a chunk is not derived from its key")
    text = node.get("text")
    if node["has_text"] != (text is not None or "purged" in node):
        say(Invariant.CHUNK_TEXT, "has_text does not say whether a text was given")
    if text is not None and "purged" in node:
        say(Invariant.CHUNK_TEXT, "a chunk whose text was purged has one")
    if text is not None and node["content_sha256"] != "sha256:" + hashlib.sha256(text.encode()).hexdigest():
        say(Invariant.CHUNK_TEXT, "the text of a chunk is not what its content_sha256 names")
    return _counted(say, "chunk", node, node["registered"])


def _check_parent(say: Say, message: str, tenant: str, key: list[str], parents: Sequence[Sequence[Any]]) -> None:
    if any(parent[0] != tenant for parent in parents):
        say(Invariant.TENANT, message)
    if [list(parent) for parent in parents] != [[tenant, *key]]:
        say(Invariant.PARENT, message)


def check_entity(say: Say, node: Node, labels: Collection[str]) -> bytes | None:
    """Type, label and id are legal, and the name shown is the least one."""
    if set(labels) != {"Entity", check_entity_type(node["type"])}:
        say(Invariant.ENTITY_LABEL, "the labels of an entity are not Entity and its type")
    if node["id"] != normalise_entity_id(node["id"]):
        say(Invariant.IDENTIFIER, "the id of an entity is not in normal form")
    if node["name"] != min(node["names"], default=node["id"]):
        say(Invariant.IDENTIFIER, "the name shown of an entity is not the least of its names")
    return _counted(say, "entity", node, entity_counts(node))


def check_alias(say: Say, node: Node, derived: Node, entities: Sequence[Sequence[Any]]) -> bytes | None:
    """The alias points to the entity that it states. `derived` is what its statement makes of it."""
    if any(entity[0] != node["tenant"] for entity in entities):
        say(Invariant.TENANT, "an alias names an entity of another tenant")
    if [list(entity) for entity in entities] != [[node["tenant"], node["type"], node["id"]]]:
        say(Invariant.ALIAS, "an alias does not name the one entity that it states")
    if any(node[name] != derived[name] for name in ("alias_id", "lookup")):
        say(Invariant.IDENTIFIER, "alias_id or lookup of an alias is not its derivation")
    return _counted(say, "alias", node, True)


class VersionChecks:
    """Checks past versions, those of one record in a row, oldest first."""

    def __init__(self, runs: Collection[int]) -> None:
        self._runs = runs
        self._last: tuple[str, str, int] = ("", "", 0)

    def check(self, say: Say, node: Node) -> None:
        """A version holds in a span of runs that no other version of its record shares, and is what its digest says."""
        kind, key, since, until = node["kind"], node["key"], node["from_run"], node["to_run"]
        version = as_it_was(node)
        if kind not in KEYS or key != canonical_text(key_of(kind, version)):
            say(Invariant.HISTORY, "a past version is not one of the record that its key names")
            return
        if since not in self._runs or until not in self._runs or until <= since:
            say(Invariant.HISTORY, "a past version does not hold from one run to a later one")
        if self._last[:2] == (kind, key) and self._last[2] > since:
            say(Invariant.HISTORY, "two past versions of a record hold at one time")
        self._last = (kind, key, until)
        if kind == "assertion":
            return  # its digest covers its evidence; rolling back to it compares that
        counted = kind == "alias" or (entity_counts(version) if kind == "entity" else counts(version))
        if version.get("digest") != (node_digest(kind, version) if counted else None):
            say(Invariant.HISTORY, "the digest of a past version is not that of its content")


def check_store(say: Say, store: Node, last: Node, running: bool, head_seq: int) -> None:
    """The store's own record names its last ended run (`last`, {} before one) and the writer of the run under way."""
    if store.get("graph_hash") != graph_hash(store.get("sum", EMPTY_SUM)):
        say(Invariant.STORE_RECORD, "graph_hash is not that of the sum")
    if store.get("graph_hash") != last.get("graph_hash", graph_hash(EMPTY_SUM)):
        say(Invariant.STORE_RECORD, "graph_hash is not that of the last ended run")
    if store.get("digest") != last.get("digest"):
        say(Invariant.STORE_RECORD, "digest is not that of the last ended run")
    if store.get("head_seq", 0) != head_seq:
        say(Invariant.STORE_RECORD, "head_seq is not the number of the last run")
    if running != (store.get("writer") is not None):
        say(Invariant.STORE_RECORD, "a run is under way without a writer that holds the store, or the other way round")


def _counted(say: Say, kind: str, node: Node, counts: object) -> bytes | None:
    """The digest by which a node counts; only declared ones do."""
    if not isinstance(counts, bool):
        raise TypeError("a flag is not true or false")
    digest = node_digest(kind, dict(node)) if counts else None
    if node.get("digest") != digest:
        say(Invariant.RECORD_DIGEST, f"the digest of the {kind} is not that of its content")
    return digest


def check_run_order(runs: Iterable[Node]) -> Iterator[tuple[Invariant, str, str]]:
    """What is wrong with a sequence of runs, as they are hashed (`run_json`): (invariant, message, number)."""
    expected, previous, open_run = 1, None, None
    for run in runs:
        seq = run["seq"]
        for missing in range(expected, seq):
            yield Invariant.RUN_SEQUENCE, "a run is missing", str(missing)
        if seq < expected:
            yield Invariant.RUN_SEQUENCE, "a run has a number below 1, or one that another run has", str(seq)
        expected = seq + 1
        if open_run is not None:
            yield Invariant.RUN_SEQUENCE, "a run before the last has not ended", open_run
            open_run = None
        if run.get("status") == RUNNING:
            open_run = str(seq)
            continue
        if run.get("digest") != run_digest(run):
            yield Invariant.RUN_DIGEST, "the digest of a run is not that of its record", str(seq)
        if run.get("previous") != previous:
            yield Invariant.RUN_CHAIN, "'previous' is not the digest of the run before", str(seq)
        previous = run.get("digest")
