"""Chains: whether an assembled path answers a question for a reader, and if none does, why (spec 2, reading; spec 4, trace).

Owns: the question, the conditions every hop must meet, the second check of an assembled chain ("filter again on the
result"), coherence, and the order of reasons. Pure. The stored queries in `cypher/path` apply the same conditions inside
the expansion; neither trusts the other.

Rules: a condition that a hop does not state holds for it. Validity is half-open. A hop needs active supporting evidence
that resolves, all of it under policies and references that the reader has. A chain joins on canonical ids only. Hops that
state different environments (or regions) are not one chain: what holds in staging and what holds in production do not
follow from each other, even when the question names neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.identifiers import is_name, normalise_entity_id, parse_address, relationship_type
from graphrag_provenance.model.records import Polarity
from graphrag_provenance.rules.heads import is_current

LONGEST = 8
Address = tuple[str, str]


def address(text: str) -> Address:
    """`Type:id` as (type, id). Raises InputError that says how to write it."""
    try:
        return parse_address(text)
    except ValueError as error:
        raise InputError(f"{error}.") from None


class Reason(StrEnum):
    """Why a claim is unresolved, most specific first."""

    UNKNOWN_ENTITY = "unknown-entity"
    ENTITY_JOIN = "entity-join"
    ALIAS_GUESSED = "alias-guessed"
    ENVIRONMENT = "environment-scope"
    REGION = "region-scope"
    TIME = "time-scope"
    STALE = "stale-revision"
    DISPUTED = "disputed"
    NO_PATH = "no-path"
    ACCESS = "access"
    """For auditors only: there is a chain, and only permission is missing."""


CONDITIONS = (Reason.ENVIRONMENT, Reason.REGION, Reason.TIME, Reason.STALE, Reason.DISPUTED)
SCOPES = (Reason.ENVIRONMENT, Reason.REGION)
"""Conditions that are also about the chain as a whole: its hops must agree, even when the question names nothing."""


@dataclass(frozen=True, slots=True)
class Question:
    """A claim to be traced. Raises InputError for anything that is not a question, with what to write instead."""

    source: Address
    """(type, id or name) where the claim starts."""
    target: Address
    """(type, id or name) where it ends."""
    relations: tuple[str, ...] = ()
    """Relations that may be walked, in any order; empty: all."""
    sequence: tuple[str, ...] = ()
    """The exact relations, hop by hop; overrides `max_hops`."""
    directed: bool = True
    """Whether every hop runs from its source to its target."""
    max_hops: int = 4
    """Most hops of the chain, 1 to 8."""
    environment: str | None = None
    """Environment that every hop must hold in; None: any one."""
    region: str | None = None
    """Region that every hop must hold in; None: any one."""
    at: datetime | None = None
    """Instant at which every hop must be valid; None: now."""
    require_current: bool = True
    """Whether every hop needs evidence in a head revision."""

    def __post_init__(self) -> None:
        for side in ("source", "target"):
            kind, name = getattr(self, side)
            if not is_name(kind) or not normalise_entity_id(name):
                raise InputError(f"{kind}:{name} is not an entity.", hint="Write Type:id, for example System:LEDGER.")
            object.__setattr__(self, side, (kind, normalise_entity_id(name)))
        if self.relations and self.sequence:
            raise InputError("A question names the relations allowed or their exact sequence, not both.")
        for relation in (*self.relations, *self.sequence):
            try:
                relationship_type(relation)
            except ValueError as error:
                raise InputError(f"{error}.", hint="Write a relation as in the records, for example depends_on.") from None
        if not 1 <= self.max_hops <= LONGEST or len(self.sequence) > LONGEST:
            raise InputError(f"A chain has 1 to {LONGEST} hops.", hint="Ask with --max-hops between 1 and 8.")
        if self.at is not None and self.at.tzinfo is None:
            raise InputError("The instant of a question needs a time zone.", hint="Write for example 2026-01-01T00:00:00Z.")
        if self.at is not None:
            object.__setattr__(self, "at", self.at.astimezone(UTC))  # Cypher orders equal instants by their zones

    @property
    def hops(self) -> int:
        """Most hops: the length of the sequence, or `max_hops`."""
        return len(self.sequence) or self.max_hops


@dataclass(frozen=True, slots=True)
class Conditions:
    """What every hop must meet beside access; None or False: not asked."""

    environment: str | None
    region: str | None
    at: datetime | None
    require_current: bool
    allow_disputed: bool = False
    not_environments: tuple[str, ...] = ()
    """Environments already tried: hops that state one are left out."""
    not_regions: tuple[str, ...] = ()
    """Regions already tried."""

    def without(self, reason: Reason) -> Conditions | None:
        """The same without one condition; None where it is not asked anyway."""
        relaxed = {
            Reason.ENVIRONMENT: replace(self, environment=None),
            Reason.REGION: replace(self, region=None),
            Reason.TIME: replace(self, at=None),
            Reason.STALE: replace(self, require_current=False),
            Reason.DISPUTED: replace(self, allow_disputed=True),
        }[reason]
        return None if relaxed == self else relaxed


def conditions(question: Question, now: datetime) -> Conditions:
    """What a question asks of every hop; `now` stands in where it names no instant."""
    return Conditions(question.environment, question.region, question.at or now, question.require_current)


ANYTHING = Conditions(None, None, None, require_current=False, allow_disputed=True)


@dataclass(frozen=True, slots=True)
class Item:
    """One active citation of a hop, with every statement about it."""

    content: Mapping[str, Any]
    """doc, chunk, section_path, span, quote_hash, polarity, url, title, doc_id, head, pipeline, version, run."""
    statements: tuple[str, ...]
    """Policy statements about it: its own, its chunk's, its revision's, its document's."""
    references: tuple[str, ...]
    """Live access references about it."""
    tenants: frozenset[str]

    @property
    def supports(self) -> bool:
        """Whether it supports its edge; anything but `supports` does not."""
        return bool(self.content["polarity"] == Polarity.SUPPORTS)

    @property
    def stale(self) -> bool:
        """Whether its revision is not the head of its document."""
        return not is_current(self.content["doc"], self.content["head"])


@dataclass(frozen=True, slots=True)
class Step:
    """One hop as it was read: the typed relationship and the evidence of its assertion."""

    edge: Mapping[str, Any]
    """The relationship's properties."""
    type: str
    relation: str | None
    """The assertion's relation; None when no published assertion stands behind the relationship."""
    declared: tuple[str, ...]
    """The edge's own policy statements."""
    source: tuple[str, str, str]
    """(tenant, type, id)"""
    target: tuple[str, str, str]
    forward: bool
    """Walked from source to target."""
    evidence: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """A path as it was read."""

    entities: tuple[Mapping[str, Any], ...]
    """tenant, type, id, name of each node, in order."""
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """One hop of a chain that does not hold."""

    hop: int
    """From 1; 0: the chain as a whole."""
    edge_id: str | None
    constraint: str
    """A Reason, or `tenant`, `join`, `direction`, `relation`, `evidence`."""


def failures(
    chain: Chain, question: Question, asked: Conditions, tenant: str, allowed: frozenset[str], granted: frozenset[str],
    *, ends: tuple[Address, Address] | None = None, unproved: bool = False,
) -> tuple[Failure, ...]:
    """Everything that keeps an assembled chain from answering; () when it holds. Trusts nothing that the query filtered.

    `ends` are the canonical ids when a name led to them. `unproved` leaves evidence out (an auditor's rejected candidate).
    """
    found: list[Failure] = []
    source, target = ends or (question.source, question.target)
    places = [(e["tenant"], e["type"], e["id"]) for e in chain.entities]
    exact = len(chain.steps) == len(question.sequence) if question.sequence else 1 <= len(chain.steps) <= question.hops
    if not exact or len(places) != len(chain.steps) + 1 or places[0] != (tenant, *source) or places[-1] != (tenant, *target):
        return (Failure(0, None, "join"),)
    for hop, step in enumerate(chain.steps, 1):
        here, there = places[hop - 1], places[hop]
        walked = (step.source, step.target) if step.forward else (step.target, step.source)
        if walked != (here, there):
            found.append(Failure(hop, step.edge.get("edge_id"), "join"))
        if question.directed and not step.forward:
            found.append(Failure(hop, step.edge.get("edge_id"), "direction"))
        if not _relation_fits(step, question, hop):
            found.append(Failure(hop, step.edge.get("edge_id"), "relation"))
        if any(owner != tenant for owner in (step.edge.get("tenant"), step.source[0], step.target[0])):
            found.append(Failure(hop, step.edge.get("edge_id"), "tenant"))
        if not _permitted(step, allowed, granted, unproved=unproved):
            found.append(Failure(hop, step.edge.get("edge_id"), Reason.ACCESS))
        if not unproved and not _proved(step, tenant):
            found.append(Failure(hop, step.edge.get("edge_id"), "evidence"))
        found += [Failure(hop, step.edge.get("edge_id"), reason) for reason in _unmet(step, asked, unproved=unproved)]
    return tuple(found)


def hop_holds(
    step: Step, question: Question, hop: int, asked: Conditions, tenant: str, allowed: frozenset[str], granted: frozenset[str],
) -> bool:
    """Whether one hop, walked as it stands, may be part of a chain at that place: what `failures` asks of each hop alone."""
    return (
        _relation_fits(step, question, hop) and (step.forward or not question.directed)
        and hop_stands(step, asked, tenant, allowed, granted))


def hop_stands(step: Step, asked: Conditions, tenant: str, allowed: frozenset[str], granted: frozenset[str]) -> bool:
    """Whether one edge, whatever chain it is part of, is visible to a reader and meets the conditions."""
    return hop_visible(step, tenant, allowed, granted) and not [*_unmet(step, asked, unproved=False)]


def hop_visible(step: Step, tenant: str, allowed: frozenset[str], granted: frozenset[str]) -> bool:
    """Whether a hop may be known at all to a reader, whatever is asked."""
    return (all(owner == tenant for owner in (step.edge.get("tenant"), step.source[0], step.target[0]))
            and _permitted(step, allowed, granted, unproved=False) and _proved(step, tenant))


def _relation_fits(step: Step, question: Question, hop: int) -> bool:
    if step.relation is None or relationship_type(step.relation) != step.type:
        return False
    if question.sequence:
        return relationship_type(question.sequence[hop - 1]) == step.type
    return not question.relations or step.type in {relationship_type(relation) for relation in question.relations}


def _permitted(step: Step, allowed: frozenset[str], granted: frozenset[str], *, unproved: bool) -> bool:
    policies, references = step.edge.get("policies"), step.edge.get("acl")
    if not policies or references is None or not allowed.issuperset(policies) or not granted.issuperset(references):
        return False
    if unproved:
        return True
    return allowed.issuperset(step.declared) and all(
        (item.statements or step.declared) and allowed.issuperset(item.statements) and granted.issuperset(item.references)
        for item in step.evidence)


def _proved(step: Step, tenant: str) -> bool:
    return any(item.supports for item in step.evidence) and all(item.tenants == {tenant} for item in step.evidence)


def _unmet(step: Step, asked: Conditions, *, unproved: bool) -> Iterable[Reason]:
    edge = step.edge
    environment, region = edge.get("environment"), edge.get("region")
    if environment is not None and (asked.environment not in (None, environment) or environment in asked.not_environments):
        yield Reason.ENVIRONMENT
    if region is not None and (asked.region not in (None, region) or region in asked.not_regions):
        yield Reason.REGION
    if asked.at is not None and not _valid(edge.get("valid_from"), edge.get("valid_to"), asked.at):
        yield Reason.TIME
    current = bool(edge.get("current")) and (unproved or any(item.supports and not item.stale for item in step.evidence))
    if asked.require_current and not current:
        yield Reason.STALE
    disputed = edge.get("disputed") is not False or any(not item.supports for item in step.evidence)
    if disputed and not asked.allow_disputed:
        yield Reason.DISPUTED


def _valid(start: datetime | None, end: datetime | None, at: datetime) -> bool:
    return (start is None or start <= at) and (end is None or at < end)


def mixed(chain: Chain, waived: Collection[Reason] = ()) -> Reason | None:
    """The scope, of those not waived, in which the hops of a chain contradict each other: environment before region."""
    return next((scope for scope in SCOPES if scope not in waived and len(stated(chain, scope)) > 1), None)


def stated(chain: Chain, scope: Reason) -> tuple[str, ...]:
    """The environments (or regions) that the hops of a chain state, sorted."""
    name = "environment" if scope is Reason.ENVIRONMENT else "region"
    return tuple(sorted({step.edge[name] for step in chain.steps if step.edge.get(name) is not None}))


def without_each(asked: Conditions) -> dict[Reason, Conditions]:
    """The question without one condition at a time; a scope is always asked, if only of the chain as a whole."""
    each = {reason: asked.without(reason) or (asked if reason in SCOPES else None) for reason in CONDITIONS}
    return {reason: one for reason, one in each.items() if one is not None}


def one_after_another(asked: Conditions) -> dict[Reason, Conditions]:
    """The question with the conditions up to and including each, in order."""
    found, last = {}, asked
    for reason in reversed(CONDITIONS):
        found[reason] = last
        last = last.without(reason) or last
    return dict(reversed(found.items()))


def reason_of(alone: Mapping[Reason, bool], applied: Mapping[Reason, bool]) -> Reason:
    """Why there is no chain, though there is one without any condition.

    `alone`: whether there is a chain without just this condition; the first such is the reason. Else each chain fails several:
    `applied` says whether one is left once the conditions up to this one are applied, and the first that leaves none is the reason.
    Both ask whether some chain exists, never which one was found: what else the store holds has no part in the answer.
    """
    first = next((reason for reason in CONDITIONS if alone.get(reason)), None)
    return first or next((reason for reason in CONDITIONS if not applied.get(reason, True)), Reason.NO_PATH)
