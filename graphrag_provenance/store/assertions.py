"""Loading edges and deriving their state (spec 1, graph; spec 2, writing).

Owns: one transaction over a batch of edges. Read what is stored of them, unite, decide by `rules.publication`, write what
differs: assertion, evidence, typed relationship and the change of the graph hash, together. The relationship of a changed edge
is deleted and, if the edge is published, created anew: there is no other way to become traversable.

Cost: a constant number of round trips a batch; work proportional to the batch and the evidence of its edges.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from graphrag_provenance.model.identifiers import relationship_type, split_revision
from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.edges import (
    Citation,
    Edge,
    Node,
    assertion_digest,
    merge_edge,
    named_anew,
    relationship_properties,
    stored_citation,
    with_verdict,
)
from graphrag_provenance.rules.fingerprints import noted
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.publication import State, Testimony, overruled, verdict
from graphrag_provenance.rules.rejects import RejectCode
from graphrag_provenance.store.counting import Outcome, Reject
from graphrag_provenance.store.database import Transaction
from graphrag_provenance.store.entities import add_aliases, ensure_entities, original_alias
from graphrag_provenance.store.history import keep
from graphrag_provenance.store.passages import Passages, testimony
from graphrag_provenance.store.view import Key, Pending, differ

PUBLISHED, WITHHELD, RETRACTED = State.PUBLISHED.value, State.WITHHELD.value, State.RETRACTED.value


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides about edges during one run."""

    policies: PolicyLattice
    require_registered_sources: bool = False


class Interval(NamedTuple):
    """One stored evidence item: the relationship, the run that wrote it, the run that ended it (None: active)."""

    id: str
    since: int
    until: int | None


class Decided(NamedTuple):
    """An edge that was decided anew."""

    before: Node
    after: Node
    """The same node if it stays."""
    had: int
    """Evidence items in force before."""
    has: int
    """Evidence items in force now."""


@dataclass(slots=True)
class _Work:
    """One edge inside a transaction: as stored, as it will be."""

    old: Node | None
    stored: dict[Citation, Interval | None]
    """Evidence that the store has, active or dormant; None for a new edge of a dry run."""
    node: Node | None
    added: dict[Citation, None] = field(default_factory=dict)
    active: list[Citation] = field(default_factory=list)
    """Evidence in force after this transaction."""
    retired: list[Citation] = field(default_factory=list)
    """Stored evidence that was active and is no longer in force."""
    revived: list[Citation] = field(default_factory=list)
    """Stored evidence that was dormant and is in force again."""
    restated: bool = False
    rewritten: bool = False
    """It changes even if its state and its evidence stay: its ends are others."""
    gives_up: bool = False
    """Its evidence is stated of another edge from now on."""
    renamed: bool = False
    """It was blank, and a record names other ends, relation or scope by its id."""
    originals: dict[str, Node] = field(default_factory=dict)

    @property
    def moved(self) -> bool:
        return bool(self.added or self.retired or self.revived)

    @property
    def blank(self) -> Node | None:
        """The node, if nothing is stated of it: its load was rolled back, and only its history is left."""
        stands = self.node is None or self.stored or self.added or self.node.get("merged_into") is not None
        return None if stands else self.node


def apply_edges(
    tx: Transaction, seq: int, rules: Rules, pending: Pending, edges: Sequence[Edge], outcome: Outcome, change: MultisetHash,
    stored: Container[Key],
) -> None:
    """Merge a batch of edges into the store. Bad ones become rejects of `outcome`; `change` takes the change of the graph hash;
    `stored` are those of their keys that the store has."""
    keys = dict.fromkeys((edge.tenant, edge.edge_id) for edge in edges)
    works = _read(tx, pending, {key: None for key in keys if key in stored or pending.dry})
    _load_sources(tx, pending, chain(
        ((edge.tenant, item) for edge in edges for item in edge.citations),
        ((key[0], item) for key, work in works.items() for item in work.stored)))
    foreign = _foreign_documents(tx, pending, edges)
    for edge in edges:
        work = works.setdefault((edge.tenant, edge.edge_id), _Work(None, {}, None))
        if (blank := work.blank) is not None:
            work.node = named_anew(blank, edge)
            work.renamed = work.renamed or work.node != blank
        refused = _refusal(work, edge, rules, pending, foreign)
        if refused is not None:
            outcome.rejects.append(Reject(edge.file, edge.line, *refused, edge.raw))
            continue
        merged = merge_edge(work.node, edge, seq)
        fresh = [item for item in dict.fromkeys(edge.citations) if item not in work.stored and item not in work.added]
        work.added |= dict.fromkeys(fresh)
        outcome.evidence["added"] += len(fresh)
        outcome.evidence["unchanged"] += len(edge.citations) - len(fresh)
        restated = work.node is None or differ(work.node, merged)
        work.restated = work.restated or restated
        work.node = noted(work.node, merged, edge.fingerprint, changed=restated or bool(fresh))
        if edge.attributes and not restated:
            pending.restate_edge((edge.tenant, edge.edge_id))
            work.node["stated"] = seq  # what the same batch says otherwise is said in the same run
        for entity_type, entity_id, written in edge.originals:
            alias = original_alias((edge.tenant, entity_type, entity_id), written, seq)
            work.originals[alias["alias_id"]] = alias
    _settle(tx, seq, rules, pending, works, outcome, change)


def reevaluate(
    tx: Transaction, seq: int, rules: Rules, pending: Pending, keys: Iterable[Key], outcome: Outcome, change: MultisetHash
) -> list[Decided]:
    """Derive the state of known edges anew, because what is said about their evidence, or the order of policies, changed.
    Returns each as it was and as it is."""
    works = _read(tx, pending, dict.fromkeys(keys))
    for work in works.values():
        work.restated = True
    _load_sources(tx, pending, ((key[0], item) for key, work in works.items() for item in work.stored))
    _settle(tx, seq, rules, pending, works, outcome, change)
    return [Decided(work.old, work.node, sum(one is None or one.until is None for one in work.stored.values()), len(work.active))
            for work in works.values() if work.old is not None and work.node is not None]


def _read(tx: Transaction, pending: Pending, keys: Mapping[Key, None]) -> dict[Key, _Work]:
    works: dict[Key, _Work] = {}
    for row in tx.run("edge.assertions", keys=[list(key) for key in keys]):
        node = pending.view.together("edge", (row["node"]["tenant"], row["node"]["edge_id"]), row["node"])
        stored: dict[Citation, Interval | None] = {
            stored_citation(item): Interval(item["id"], item["since"], item.get("until")) for item in row["evidence"]}
        works[(node["tenant"], node["edge_id"])] = _Work(node, stored, node)
    for key in keys:
        planned = pending.planned_edge(key)
        if planned is not None:
            works[key] = _Work(planned[0], dict(planned[1]), planned[0])
    return works


def _load_sources(tx: Transaction, pending: Pending, cited: Iterable[tuple[str, Citation]]) -> None:
    chunks = {(tenant, item.doc, item.chunk) for tenant, item in cited}
    revisions = {(tenant, doc) for tenant, doc, _ in chunks}
    pending.load(tx, "document", {(tenant, split_revision(doc)[0]) for tenant, doc in revisions})
    pending.load(tx, "revision", revisions)
    pending.load(tx, "chunk", chunks)


def _foreign_documents(tx: Transaction, pending: Pending, edges: Sequence[Edge]) -> set[Key]:
    """Cited documents that this tenant does not declare but another one does."""
    unknown = {(edge.tenant, split_revision(item.doc)[0]) for edge in edges for item in edge.citations}
    unknown = {key for key in unknown if not (pending.get("document", key) or {}).get("registered")}
    if not unknown:
        return set()
    foreign = {tuple(row["key"]) for row in tx.run("source.in_other_tenant", keys=[list(key) for key in unknown])}
    return foreign | {key for key in unknown if pending.view.declared_elsewhere(key)}


def _refusal(work: _Work, edge: Edge, rules: Rules, pending: Pending, foreign: set[Key]) -> tuple[RejectCode, str] | None:
    if work.node is not None and not edge.identity.same_as(work.node):
        return RejectCode.EDGE_ID_CONFLICT, (
            f"edge id {edge.edge_id!r} already names {work.node['source_type']}:{work.node['source_id']} "
            f"-{work.node['relation']}-> {work.node['target_type']}:{work.node['target_id']} in another scope or with other ends")
    for item in edge.citations:
        if foreign and (edge.tenant, split_revision(item.doc)[0]) in foreign:
            return RejectCode.TENANT_MISMATCH, f"document of {item.doc!r} is declared in another tenant, not in {edge.tenant!r}"
        if rules.require_registered_sources and not (pending.get("chunk", (edge.tenant, item.doc, item.chunk)) or {}).get("registered"):
            return RejectCode.UNREGISTERED_SOURCE, f"no record declares chunk {item.chunk!r} of {item.doc!r}"
    return None


def _settle(
    tx: Transaction, seq: int, rules: Rules, pending: Pending, works: dict[Key, _Work], outcome: Outcome, change: MultisetHash
) -> None:
    changed: list[_Work] = []
    said = Passages(pending)
    for key, work in works.items():
        tenant = key[0]
        if work.node is None:
            continue
        if not (work.restated or work.added):
            outcome.edges["unchanged"] += pending.leave_edge(key, work.node)
            continue
        heard = _weigh(work, said, tenant)
        derived = verdict(rules.policies, heard, work.node["declared"],
                          declared_stands_in=not rules.require_registered_sources)
        node = with_verdict(work.node, derived)
        digest = assertion_digest(node, work.active)
        old_digest = None if work.old is None else work.old.get("digest")
        if digest == old_digest and work.old is not None and not work.moved and not work.rewritten:
            if work.node.get("stated") == seq:  # something else was said, and then the same again
                pending.restate_edge(key)
            outcome.edges["unchanged"] += pending.leave_edge(key, work.old)
            continue
        if old_digest is not None:
            change.remove(old_digest)
        if digest is not None:
            change.add(digest)
            node["digest"] = digest
        node["changed"] = seq
        work.node = node
        outcome.edges["unchanged"] -= pending.change_edge(key)
        outcome.evidence["retired"] += len(work.retired)
        _count(work, rules.policies, seq, outcome)
        changed.append(work)
    new = [work.node for work in changed if (work.old is None or work.renamed) and work.node is not None]
    if new:
        ensure_entities(tx, seq, pending, (key for node in new for key in _end_keys(node)), outcome)
    aliases = {alias_id: alias for work in works.values() for alias_id, alias in work.originals.items()}
    add_aliases(tx, pending, aliases, outcome, change)
    if pending.dry:
        for work in changed:
            pending.remember_edge((work.node or {})["tenant"], (work.node or {})["edge_id"], work.node, _planned(work, seq))
    elif changed:
        _write(tx, seq, pending, changed)


def _weigh(work: _Work, said: Passages, tenant: str) -> list[Testimony]:
    """Sort the evidence of an edge into what is in force and what is not; returns what is said about the former."""
    heard: list[Testimony] = []
    work.active, work.retired, work.revived = [], [], []
    if work.gives_up:
        work.retired = list(work.stored)
        return heard
    for item in (*work.stored, *work.added):
        about = said.of(tenant, item.doc, item.chunk)
        stood = work.stored.get(item)
        if about.in_force:
            work.active.append(item)
            heard.append(testimony(item, about))
            if stood is not None and stood.until is not None:
                work.revived.append(item)
        elif stood is not None and stood.until is None:
            work.retired.append(item)
    return heard


def _planned(work: _Work, seq: int) -> dict[Citation, Interval]:
    """What the evidence of an edge would be after a dry run."""
    active = set(work.active)
    return {item: Interval("", seq, None if item in active else seq) for item in (*work.stored, *work.added)}


def _count(work: _Work, policies: PolicyLattice, seq: int, outcome: Outcome) -> None:
    """Count an edge once a run, under the state it has last."""
    counted = [(work.node or {}, 1)]
    if work.old is not None and work.old["changed"] == seq:
        counted.append((work.old, -1))
    for node, sign in counted:
        outcome.edges[node["state"]] += sign
        outcome.edges["unregistered"] += sign * (not node["registered"])
        if node["state"] == PUBLISHED:
            outcome.edges["overruled"] += sign * overruled(policies, node["declared"], node["policies"])
        outcome.withheld.update({reason.partition(":")[0]: sign for reason in node["reasons"]})


def _write(tx: Transaction, seq: int, pending: Pending, works: Sequence[_Work]) -> None:
    placeholders = _placeholders(works, pending, seq)
    if placeholders:
        tx.run("source.merge_placeholders", rows=placeholders)
    moved: list[dict[str, Any]] = []
    created, updated, evidence, withdrawn, published, marked, cleared = [], [], [], [], [], [], []
    for work in works:
        node = work.node or {}
        key = [node["tenant"], node["edge_id"]]
        if work.old is None:
            created.append({"props": node, "evidence": [[i.doc, i.chunk, i.properties() | _span(i, work, seq)] for i in work.added]})
        else:
            updated.append({"props": node})
            evidence += [{"tenant": key[0], "edge_id": key[1], "doc": i.doc, "chunk": i.chunk,
                          "props": i.properties() | _span(i, work, seq)} for i in work.added]
            evidence += _moves(work, seq, moved)
            if work.old["state"] == PUBLISHED:
                withdrawn.append([*_ends(work.old), key[1]])
            if work.old["state"] == WITHHELD and node["state"] != WITHHELD:
                cleared.append(key)
        if node["state"] == PUBLISHED:
            published.append([*_ends(node), relationship_type(node["relation"]), relationship_properties(node, work.active)])
        elif node["state"] == WITHHELD and (work.old is None or work.old["state"] != WITHHELD):
            marked.append(key)
    keep(tx, seq, "assertion", (work.old for work in works if work.old is not None))
    for name, rows in (("edge.create", created), ("edge.update", updated), ("edge.move_evidence", moved), ("edge.add_evidence", evidence),
                       ("edge.withdraw", withdrawn), ("edge.publish", published)):
        if rows:
            tx.run(name, rows=rows)
    for name, keys in (("edge.mark_withheld", marked), ("edge.clear_withheld", cleared)):
        if keys:
            tx.run(name, keys=keys)


def _span(item: Citation, work: _Work, seq: int) -> dict[str, Any]:
    """From when to when a new evidence item counts: what is not in force on arrival never did."""
    return {"since": seq} if item in work.active else {"since": seq, "until": seq}


def _moves(work: _Work, seq: int, moved: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Intervals that end or are opened again, into `moved`; returns those that begin anew, with the same content."""
    begun: list[dict[str, Any]] = []
    node = work.node or {}
    for item in work.retired:
        stood = work.stored[item]
        assert stood is not None
        until = seq if stood.until is None else stood.until
        moved.append({"id": stood.id, "since": stood.since, "until": until, "dropped": seq if work.gives_up else None})
    for item in work.revived:
        stood = work.stored[item]
        assert stood is not None
        if stood.until == seq:  # it ended in this very run
            moved.append({"id": stood.id, "since": stood.since, "until": None, "dropped": None})
        else:
            moved.append({"id": stood.id, "since": stood.since, "until": stood.until, "dropped": seq})
            begun.append({"tenant": node["tenant"], "edge_id": node["edge_id"], "doc": item.doc, "chunk": item.chunk,
                          "props": item.properties() | {"since": seq}})
    return begun


def _end_keys(node: Node) -> tuple[Key, Key]:
    return (node["tenant"], node["source_type"], node["source_id"]), (node["tenant"], node["target_type"], node["target_id"])


def _ends(node: Node) -> list[Any]:
    return [node[name] for name in ("tenant", "source_type", "source_id", "target_type", "target_id")]


def _placeholders(works: Sequence[_Work], pending: Pending, seq: int) -> list[dict[str, Any]]:
    """Chunks that new evidence cites and the store does not have, in key order (two writers then lock in one order)."""
    rows: dict[Key, dict[str, Any]] = {}
    for work in works:
        tenant = (work.node or {})["tenant"]
        for item in work.added:
            key = (tenant, item.doc, item.chunk)
            if pending.get("chunk", key) is None and key not in rows:
                doc_id, version = split_revision(item.doc)
                rows[key] = {"tenant": tenant, "doc_id": doc_id, "doc": item.doc, "version": version, "chunk": item.chunk, "since": seq}
    return [rows[key] for key in sorted(rows)]
