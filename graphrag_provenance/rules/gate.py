"""The release gate: whether an answer's evidence is complete, and everything that is not (spec 4, release gate). Pure.

Owns: the judgement over a ledger and what a reader may know about its evidence. It shows that the evidence is complete, not that
the answer is true. O(facets + passages + edges). Leaves to others: the file (`rules.ledger`), the look-ups (`store.gate`).

Rules:
- a facet is covered by a sentence that is for it and cites something; what is cited has problems of its own;
- what does not exist, what the reader may not see and what only replaced revisions support is `stale-or-restricted-evidence`; the
  first two are told apart for auditors only;
- a sentence that cites nothing, or nothing that is there for the reader, is an `unsupported-sentence`;
- an edge must have an end among the entities of its sentence, else `wrong-entity`, and hold under its condition (and the answer's),
  else `wrong-environment`. A passage is about what the visible edges that cite it are about: one of them must fit; where there
  are none, nothing is known and nothing is said;
- a disputed edge, and one that a declared single-valued relation forbids beside another visible one, is a `conflict`;
- within one revision a later facet must not begin before an earlier one, neither by chunk ordinal nor by sentence: `section-order`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from graphrag_provenance.rules.heads import is_current
from graphrag_provenance.rules.ledger import Condition, Entry, Ledger

Json = dict[str, Any]
PassageKey = tuple[str, str]
"""(doc@version, chunk)"""


class Problem(StrEnum):
    """Why an answer needs a review."""

    CONFLICT = "conflict"
    SECTION_ORDER = "section-order"
    EVIDENCE = "stale-or-restricted-evidence"
    UNSUPPORTED = "unsupported-sentence"
    ENTITY = "wrong-entity"
    ENVIRONMENT = "wrong-environment"


@dataclass(frozen=True, slots=True)
class EdgeFact:
    """What the reader may know about an edge."""

    edge_id: str
    ends: frozenset[str]
    """Its source and target, Type:id."""
    scope: Mapping[str, Any]
    """What it states of environment, region, valid_from, valid_to."""
    current: bool
    disputed: bool
    rivals: tuple[str, ...] = ()
    """Visible edges that a declaration forbids beside it."""


@dataclass(frozen=True, slots=True)
class PassageFact:
    """What the reader may know about a passage."""

    doc: str
    chunk: str
    head: str | None
    """Head revision of its document."""
    ordinal: int | None
    """Its place in the revision."""
    cited_by: tuple[str, ...] = ()
    """Ids of visible edges that cite it, sorted."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the reader may know about the evidence of a ledger; what is hidden is absent, as what does not exist."""

    passages: Mapping[PassageKey, PassageFact]
    edges: Mapping[str, EdgeFact]
    """Edges that the ledger names, and all that cite its passages."""
    hidden: Collection[str | PassageKey] | None = None
    """For auditors: what exists and only permission is missing. None: not an auditor's view."""
    troubled: frozenset[str] = field(init=False)
    """Ids of the edges that are in some conflict."""

    def __post_init__(self) -> None:
        troubled = frozenset(edge.edge_id for edge in self.edges.values() if edge.disputed or edge.rivals)
        object.__setattr__(self, "troubled", troubled)


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem at one place."""

    reason: Problem
    entry: int
    """Number of the sentence, from 1."""
    evidence: str | PassageKey | None
    """The edge id, or the passage; None: the sentence as a whole."""
    detail: str
    """What is wrong, in words that are the same for what is hidden and for what does not exist."""

    def as_json(self) -> Json:
        """The finding as programs read it."""
        shown: Json = {"reason": self.reason.value, "entry": self.entry, "detail": self.detail, "edge_id": None, "passage": None}
        if isinstance(self.evidence, str):
            shown["edge_id"] = self.evidence
        elif self.evidence is not None:
            shown["passage"] = {"doc": self.evidence[0], "chunk": self.evidence[1]}
        return shown


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate says."""

    facets: tuple[str, ...]
    """Covered facets, sorted."""
    missing: tuple[str, ...]
    """Required facets that nothing covers, sorted."""
    findings: tuple[Finding, ...]
    """Every problem, by sentence."""

    @property
    def state(self) -> str:
        """`evidence-complete` or `review`."""
        return "review" if self.missing or self.findings else "evidence-complete"

    @property
    def reasons(self) -> tuple[str, ...]:
        """The kinds of problems, sorted, each once."""
        return tuple(sorted({finding.reason.value for finding in self.findings}))

    def as_json(self) -> Json:
        """The verdict as programs read it."""
        return {
            "schema": 1, "state": self.state, "facets": list(self.facets), "missing_facets": list(self.missing),
            "reasons": list(self.reasons), "findings": [finding.as_json() for finding in self.findings],
        }


def judge(ledger: Ledger, facts: Facts, now: datetime) -> Verdict:
    """The verdict; `now` stands in where nothing says an instant."""
    covered = {entry.facet for entry in ledger.entries if entry.facet is not None and (entry.edges or entry.passages)}
    findings: list[Finding] = []
    usual = _Asked.of(Entry(sentence=""), ledger, now)
    for number, entry in enumerate(ledger.entries, 1):
        as_usual = entry.entities is None and not entry.condition.model_fields_set
        findings.extend(_entry(number, entry, usual if as_usual else _Asked.of(entry, ledger, now), facts))
    findings += _order(ledger, facts)
    findings.sort(key=lambda one: (one.entry, one.reason, str(one.evidence), one.detail))
    return Verdict(tuple(sorted(covered)), tuple(sorted(set(ledger.facets) - covered)), tuple(dict.fromkeys(findings)))


def _entry(number: int, entry: Entry, asked: _Asked, facts: Facts) -> Iterable[Finding]:
    if asked.contradiction is not None:
        yield Finding(Problem.ENVIRONMENT, number, None, asked.contradiction)
    there = 0
    for edge_id in entry.edges:
        edge = facts.edges.get(edge_id)
        if edge is None:
            yield _absent(number, edge_id, facts)
            continue
        there += 1
        if not edge.current:
            yield Finding(Problem.EVIDENCE, number, edge_id, "stale: only replaced revisions support it")
        if not asked.about(edge):
            yield Finding(Problem.ENTITY, number, edge_id, f"is about {_list(edge.ends)}")
        elsewhere = asked.elsewhere(edge)
        if elsewhere is not None:
            yield Finding(Problem.ENVIRONMENT, number, edge_id, elsewhere)
        yield from _conflicts(number, edge_id, edge)
    for passage in entry.passages:
        key = (passage.doc, passage.chunk)
        fact = facts.passages.get(key)
        if fact is None:
            yield _absent(number, key, facts)
            continue
        there += 1
        if not is_current(fact.doc, fact.head):
            yield Finding(Problem.EVIDENCE, number, key, f"stale: {fact.head} replaced it")
        if not asked.fits_one(fact.cited_by, facts.edges):
            yield _unfit(number, key, [facts.edges[one] for one in fact.cited_by], asked)
        if facts.troubled:
            edges = (facts.edges[one] for one in fact.cited_by if one in facts.troubled)
            yield from (found for edge in edges if asked.fits(edge) for found in _conflicts(number, key, edge))
    if not there:
        yield Finding(Problem.UNSUPPORTED, number, None, "it cites nothing that is there")


def _unfit(number: int, key: PassageKey, citing: Sequence[EdgeFact], asked: _Asked) -> Finding:
    """What is wrong with a passage of which no edge that cites it fits."""
    away = next((asked.elsewhere(edge) for edge in citing if asked.about(edge)), None)
    if away is not None:
        return Finding(Problem.ENVIRONMENT, number, key, away)
    return Finding(Problem.ENTITY, number, key, f"is about {_list({end for edge in citing for end in edge.ends})}")


def _conflicts(number: int, evidence: str | PassageKey, edge: EdgeFact) -> Iterable[Finding]:
    if edge.disputed:
        yield Finding(Problem.CONFLICT, number, evidence, f"evidence speaks against {edge.edge_id}")
    for rival in edge.rivals:
        yield Finding(Problem.CONFLICT, number, evidence, f"{edge.edge_id} and {rival} cannot both hold")


def _absent(number: int, evidence: str | PassageKey, facts: Facts) -> Finding:
    detail = "not there for this reader"
    if facts.hidden is not None:
        detail = "access: the reader may not see it" if evidence in facts.hidden else "does not exist"
    return Finding(Problem.EVIDENCE, number, evidence, detail)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the evidence of one sentence must fit."""

    entities: frozenset[str]
    where: tuple[tuple[str, str], ...]
    """What is asked of the environment and the region, where something is."""
    at: datetime
    contradiction: str | None
    """What the sentence's own condition says against the answer's."""

    @classmethod
    def of(cls, entry: Entry, ledger: Ledger, now: datetime) -> _Asked:
        own, whole = entry.condition, ledger.condition
        asked = (("environment", own.environment or whole.environment), ("region", own.region or whole.region))
        return cls(
            frozenset(ledger.entities if entry.entities is None else entry.entities),
            tuple((name, wanted) for name, wanted in asked if wanted is not None), own.instant or whole.instant or now,
            _contradiction(own, whole))

    def about(self, edge: EdgeFact) -> bool:
        return not self.entities or not self.entities.isdisjoint(edge.ends)

    def fits(self, edge: EdgeFact) -> bool:
        return self.about(edge) and self.elsewhere(edge) is None

    def fits_one(self, citing: Sequence[str], edges: Mapping[str, EdgeFact]) -> bool:
        """Whether one of them fits, or there are none. Most fit at once: a plain loop, since this is asked of every passage."""
        for edge_id in citing:
            if self.fits(edges[edge_id]):
                return True
        return not citing

    def elsewhere(self, edge: EdgeFact) -> str | None:
        """Where an edge holds instead; None: it holds here."""
        scope = edge.scope
        if not scope:
            return None
        for name, wanted in self.where:
            stated = scope.get(name)
            if stated is not None and stated != wanted:
                return f"holds in {name} {stated}, not {wanted}"
        start, stop = scope.get("valid_from"), scope.get("valid_to")
        if (start is not None and self.at < start) or (stop is not None and self.at >= stop):
            return "does not hold at that time"
        return None


def _contradiction(own: Condition, whole: Condition) -> str | None:
    for name in ("environment", "region"):
        one, other = getattr(own, name), getattr(whole, name)
        if None not in (one, other) and one != other:
            return f"is said of {name} {one}, the answer is about {other}"
    return None


def _order(ledger: Ledger, facts: Facts) -> Iterable[Finding]:
    """Later facets that begin before earlier ones, within one revision."""
    ranks = {facet: rank for rank, facet in enumerate(ledger.order)}
    if len({entry.facet for entry in ledger.entries} & ranks.keys()) < 2:
        return  # nothing is before or after anything
    first: dict[tuple[str, int], tuple[int, int]] = {}  # by revision and facet: the least ordinal, and the first sentence
    for number, entry in enumerate(ledger.entries, 1):
        rank = ranks.get(entry.facet or "")
        if rank is None:
            continue
        for passage in entry.passages:
            fact = facts.passages.get((passage.doc, passage.chunk))
            if fact is not None and fact.ordinal is not None:
                place = (fact.doc, rank)
                known = first.get(place)
                if known is None or fact.ordinal < known[0]:
                    first[place] = (fact.ordinal, number if known is None else known[1])
    latest: dict[tuple[str, str], tuple[int, int]] = {}
    for (doc, rank), begins in sorted(first.items()):
        for what, start in zip(("chunk", "sentence"), begins, strict=True):
            last = latest.get((doc, what))
            if last is not None and start < last[0]:
                detail = f"{ledger.order[rank]} comes before {ledger.order[last[1]]} by {what}, in {doc}"
                yield Finding(Problem.SECTION_ORDER, begins[1], None, detail)
            else:
                latest[doc, what] = (start, rank)


def _list(values: Iterable[str]) -> str:
    found = sorted(values)
    return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
