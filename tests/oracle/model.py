"""What the specification says, by brute force and in plain Python: no index, no query, nothing of the product is imported.

Everything is derived from the list of records and from the order of policies each time it is asked. A chain is looked for by
writing down *all* chains; a policy is covered if a walk along the order reaches it; an edge is visible if every single statement
about its evidence is covered. Where the specification leaves a choice (which of several equally short chains is returned), the
model says what may be returned, not what must be.

Rules (spec 1 to 4, golden.toml):
- a scope field that an edge leaves out holds everywhere; validity is half-open; hops that state two environments (regions)
  are no chain even if the question names none;
- an open question walks no entity twice; an exact sequence walks no edge twice;
- unresolved because of the first of environment, region, time, stale, disputed whose condition alone stands in the way of some
  chain; if each chain fails several, the conditions are applied one after the other, and it is the first that leaves no chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

Record = dict[str, Any]
Order = Mapping[str, Sequence[str]]
CONDITIONS = ("environment-scope", "region-scope", "time-scope", "stale-revision", "disputed")
RESOLUTION = ("unknown-entity", "entity-join", "alias-guessed")
MISSING = object()


def covered(order: Order, clearances: Iterable[str]) -> frozenset[str]:
    """Every policy that a walk downwards from the clearances reaches."""
    reached: set[str] = set()
    waiting = [name for name in clearances if name in order]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += order[name]
    return frozenset(reached)


def said(record: Mapping[str, Any]) -> set[str]:
    """The policy statement of a record or an evidence item: none if the field is absent. Null is the blank one; what is no
    text gets a space before it, which no name has."""
    value = record.get("policy", MISSING)
    if value is MISSING:
        return set()
    return {value if isinstance(value, str) else "" if value is None else " " + json.dumps(value)}


def reference(record: Mapping[str, Any]) -> set[str]:
    """The key of a live reference."""
    ref = record.get("acl_ref")
    fields = ("system", "space", "restriction_id", "incarnation")
    return set() if ref is None else {json.dumps([ref.get(name) for name in fields], separators=(",", ":"), ensure_ascii=False)}


def instant(text: str | None) -> datetime | None:
    """A date-time of a record."""
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


@dataclass(frozen=True)
class View:
    """Who asks: tenant, clearances, what is granted now, and whether as an auditor."""

    tenant: str
    clearances: frozenset[str]
    granted: frozenset[str] = frozenset()
    auditor: bool = False


@dataclass
class Item:
    """One citation with everything that is known about it."""

    doc: str
    chunk: str
    supports: bool
    statements: set[str]
    references: set[str]
    stale: bool
    shown: Record


@dataclass
class Edge:
    """One edge of a tenant, as all its records together say."""

    edge_id: str
    relation: str
    source: tuple[str, str]
    target: tuple[str, str]
    scope: Record
    declared: set[str] = field(default_factory=set)
    attributes: Record = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    confidence: float | None = None

    @property
    def type(self) -> str:
        return self.relation.upper()

    @property
    def statements(self) -> set[str]:
        return self.declared.union(*(item.statements for item in self.items))

    @property
    def references(self) -> set[str]:
        return set().union(*(item.references for item in self.items))

    @property
    def current(self) -> bool:
        return any(item.supports and not item.stale for item in self.items)

    @property
    def disputed(self) -> bool:
        return any(item.supports for item in self.items) and any(not item.supports for item in self.items)

    def reasons(self, order: Order) -> list[str]:
        """Why it is withheld; [] when it is published."""
        found = {"unknown-policy: " + name for name in self.statements if name not in order}
        if not self.declared and any(not item.statements for item in self.items):
            found.add("undetermined-policy")
        if not any(item.supports for item in self.items):
            found.add("no-support")
        return sorted(found)

    def holds(self, at: datetime) -> bool:
        """Whether it is valid at an instant."""
        start, end = instant(self.scope.get("valid_from")), instant(self.scope.get("valid_to"))
        return (start is None or start <= at) and (end is None or at < end)


Hop = tuple[Edge, bool]
Chain = tuple[Hop, ...]


@dataclass
class Asked:
    """A question about a chain."""

    source: tuple[str, str]
    target: tuple[str, str]
    relations: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()
    directed: bool = True
    max_hops: int = 4
    environment: str | None = None
    region: str | None = None
    at: datetime | None = None
    require_current: bool = True


@dataclass
class Verdict:
    """What may be answered: a reason, or one of the shortest chains."""

    reason: str | None
    chains: list[Chain]


class Tenant:
    """The records of one tenant under one order, asked by brute force. `runs`: the loads, each a list of records."""

    def __init__(self, tenant: str, runs: Sequence[Sequence[Record]], order: Order) -> None:
        self.tenant, self.order = tenant, order
        self.records = [(number, record) for number, records in enumerate(runs) for record in records if owner(record) == tenant]

    def of(self, kind: str) -> Iterator[Record]:
        return (record for _, record in self.records if record["kind"] == kind)

    @cached_property
    def heads(self) -> dict[str, str]:
        """Document → the revision in force."""
        found: dict[str, str] = {}
        by_document: dict[str, dict[str, tuple[Any, ...]]] = {}
        replaced: set[str] = set()
        linked: set[str] = set()
        for number, record in self.records:
            if record["kind"] == "revision":
                document = record["doc"].rpartition("@")[0]
                by_document.setdefault(document, {}).setdefault(record["doc"], (instant(record["effective_at"]), number))
                if "supersedes" in record:
                    replaced.add(record["supersedes"])
                    linked |= {record["supersedes"], record["doc"]}
        for document, revisions in by_document.items():
            chain = [doc for doc in revisions if doc in linked and doc not in replaced]
            found[document] = max(chain or revisions, key=lambda doc, known=revisions: (known[doc], doc))
        return found

    @cached_property
    def _about(self) -> dict[tuple[str, ...], list[Record]]:
        """Records by what they are about: a document, a revision, a chunk."""
        found: dict[tuple[str, ...], list[Record]] = {}
        keys = {"document": ("doc_id",), "revision": ("doc",), "chunk": ("doc", "chunk")}
        for _, record in self.records:
            if record["kind"] in keys:
                found.setdefault((record["kind"], *(record[name] for name in keys[record["kind"]])), []).append(record)
        return found

    def _item(self, evidence: Record) -> Item:
        doc, chunk = evidence["doc"], evidence["chunk"]
        document = doc.rpartition("@")[0]
        about = {kind: self._about.get(key, []) for kind, key in (
            ("chunk", ("chunk", doc, chunk)), ("revision", ("revision", doc)), ("document", ("document", document)))}
        statements, references = said(evidence), reference(evidence)
        for record in [*about["chunk"], *about["revision"], *about["document"]]:
            statements |= said(record)
            references |= reference(record)
        head = self.heads.get(document)
        stale = head is not None and head != doc
        by = evidence.get("extracted_by") or {}
        last = {kind: records[-1] if records else {} for kind, records in about.items()}
        return Item(doc, chunk, evidence.get("polarity", "supports") == "supports", statements, references, stale, {
            "doc": doc, "doc_title": last["document"].get("title", document), "chunk": chunk,
            "section_path": last["chunk"].get("section_path", []), "span": evidence.get("span"),
            "quote_hash": evidence.get("quote_hash"), "polarity": evidence.get("polarity", "supports"),
            "url": last["revision"].get("source_url"), "head_revision": head, "is_stale": stale,
            "pipeline": by.get("pipeline"), "version": by.get("version")})

    @cached_property
    def edges(self) -> dict[str, Edge]:
        """Every edge, published or not."""
        found: dict[str, Edge] = {}
        cited: dict[str, set[str]] = {}
        for record in self.of("edge"):
            scope = {name: record.get("scope", {}).get(name) for name in ("environment", "region", "valid_from", "valid_to")}
            source, target = ((record[end]["type"], record[end]["id"]) for end in ("source", "target"))
            edge = found.setdefault(record["edge_id"], Edge(record["edge_id"], record["relation"], source, target, scope))
            edge.declared |= said(record["access"])
            edge.attributes |= record.get("attributes", {})
            for evidence in record["evidence"]:
                whole = {name: record[name] for name in ("extracted_by", "confidence") if name in record} | evidence
                text = json.dumps({"polarity": "supports"} | whole, sort_keys=True)
                if text not in cited.setdefault(edge.edge_id, set()):
                    cited[edge.edge_id].add(text)
                    item = self._item(whole)
                    edge.items.append(item)
                    if item.supports and "confidence" in whole:
                        edge.confidence = max(edge.confidence or 0.0, whole["confidence"])
        return found

    @cached_property
    def entities(self) -> dict[tuple[str, str], list[Record]]:
        """Every entity with its records; one that only edges name has none."""
        found: dict[tuple[str, str], list[Record]] = {}
        for record in self.of("entity"):
            found.setdefault((record["type"], record["id"]), []).append(record)
        for edge in self.edges.values():
            found.setdefault(edge.source, [])
            found.setdefault(edge.target, [])
        return found

    def names(self, entity: tuple[str, str]) -> list[str]:
        return sorted({record["name"] for record in self.entities[entity]})

    def name(self, entity: tuple[str, str]) -> str:
        return next(iter(self.names(entity)), entity[1])

    def sees(self, view: View, edge: Edge) -> bool:
        """Whether a reader may know of an edge: published, every statement covered, every reference granted."""
        return (view.tenant == self.tenant and not edge.reasons(self.order)
                and edge.statements <= covered(self.order, view.clearances) and edge.references <= view.granted)

    def seen(self, view: View) -> list[Edge]:
        """The edges that a reader may know of, by id."""
        return [self.edges[edge_id] for edge_id in sorted(self.edges) if self.sees(view, self.edges[edge_id])]

    def knows(self, view: View, entity: tuple[str, str], seen: Sequence[Edge]) -> bool:
        """Whether a reader may know of an entity."""
        if view.tenant != self.tenant or entity not in self.entities:
            return False
        declared: set[str] = set().union(*(said(record) for record in self.entities[entity]))
        if declared and declared <= covered(self.order, view.clearances):
            return True
        return any(entity in (edge.source, edge.target) for edge in seen)

    def named(self, view: View, kind: str | None, text: str, seen: Sequence[Edge]) -> dict[tuple[str, str], bool]:
        """The entities that an alias names, of those the reader may know of, and whether only by a guess."""
        found: dict[tuple[str, str], bool] = {}
        for entity, records in self.entities.items():
            methods = [alias["method"] for record in records for alias in record.get("aliases", ()) if alias["alias"] == text]
            if methods and kind in (None, entity[0]) and self.knows(view, entity, seen):
                found[entity] = all(method == "guess" for method in methods)
        return found

    # Chains.

    def chains(self, edges: Sequence[Edge], asked: Asked) -> Iterator[Chain]:
        """All chains between the ends, whatever else is asked of them."""
        exact, most = bool(asked.sequence), len(asked.sequence) or asked.max_hops
        if asked.source == asked.target:
            return
        wanted = [name.upper() for name in asked.sequence]
        allowed = {name.upper() for name in asked.relations}
        hops: dict[tuple[str, str], list[tuple[Edge, bool, tuple[str, str]]]] = {}
        for edge in edges:
            hops.setdefault(edge.source, []).append((edge, True, edge.target))
            if not asked.directed and edge.source != edge.target:
                hops.setdefault(edge.target, []).append((edge, False, edge.source))

        def walk(here: tuple[str, str], been: tuple[tuple[str, str], ...], chain: Chain) -> Iterator[Chain]:
            if here == asked.target and chain and (not exact or len(chain) == most):
                yield chain
            if len(chain) == most or (here == asked.target and not exact):
                return
            for edge, forward, there in hops.get(here, ()):
                if allowed and edge.type not in allowed:
                    continue
                if exact and (edge.type != wanted[len(chain)] or any(edge is one for one, _ in chain)):
                    continue
                if exact or there not in been:
                    yield from walk(there, (*been, there), (*chain, (edge, forward)))

        yield from walk(asked.source, (asked.source,), ())

    def fails(self, chain: Chain, asked: Asked, now: datetime) -> frozenset[str]:
        """The conditions that a chain does not meet."""
        edges = [edge for edge, _ in chain]
        failing = set()
        for condition, name, wanted in (("environment-scope", "environment", asked.environment), ("region-scope", "region", asked.region)):
            stated = {edge.scope[name] for edge in edges if edge.scope[name] is not None}
            if len(stated) > 1 or (wanted is not None and stated - {wanted}):
                failing.add(condition)
        if not all(edge.holds(asked.at or now) for edge in edges):
            failing.add("time-scope")
        if asked.require_current and not all(edge.current for edge in edges):
            failing.add("stale-revision")
        if any(edge.disputed for edge in edges):
            failing.add("disputed")
        return frozenset(failing)

    def trace(self, view: View, asked: Asked, now: datetime | None = None) -> Verdict:
        """The answer to a question."""
        now = now or datetime.now(UTC)
        seen = self.seen(view)
        ends, reasons = [], set()
        for end in (asked.source, asked.target):
            if self.knows(view, end, seen):
                ends.append(end)
                continue
            named = self.named(view, end[0], end[1], seen)
            sure = [entity for entity, guessed in named.items() if not guessed]
            ends.append(sure[0] if len(sure) == 1 else end)
            if len(sure) > 1:
                reasons.add("entity-join")
            elif not sure:
                reasons.add("alias-guessed" if named else "unknown-entity")
        asked = Asked(**{**vars(asked), "source": ends[0], "target": ends[1]})
        if reasons:
            verdict = Verdict(next(reason for reason in RESOLUTION if reason in reasons), [])
        else:
            verdict = self._verdict([(chain, self.fails(chain, asked, now)) for chain in self.chains(seen, asked)])
        if verdict.reason is not None and view.auditor:
            published = [edge for edge in self.edges.values() if not edge.reasons(self.order)]
            if any(not self.fails(chain, asked, now) for chain in self.chains(published, asked)):
                return Verdict("access", [])
        return verdict

    @staticmethod
    def _verdict(found: Sequence[tuple[Chain, frozenset[str]]]) -> Verdict:
        sound = [chain for chain, failing in found if not failing]
        if sound:
            least = min(map(len, sound))
            return Verdict(None, [chain for chain in sound if len(chain) == least])
        for condition in CONDITIONS:
            if any(failing == {condition} for _, failing in found):
                return Verdict(condition, [])
        left = [failing for _, failing in found]
        for condition in CONDITIONS if left else ():
            left = [failing for failing in left if condition not in failing]
            if not left:
                return Verdict(condition, [])
        return Verdict("no-path", [])


def owner(record: Mapping[str, Any]) -> str:
    """The tenant of a record."""
    tenant: str = record["access"]["tenant"] if record["kind"] == "edge" else record["tenant"]
    return tenant
