"""What a context is made of: entities by name, chains between them, edges around them, texts of passages (spec 5, frameworks).

Owns: which stored queries that takes, and that all of it is read under one order of policies and confirmed by the live access source
as one answer. Leaves to others: what is a name (`rules.naming`), the chains (`store.traces`), the words (`rules.context`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import permutations
from typing import Any

from graphrag_provenance.access.asking import confirmed
from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import InputError
from graphrag_provenance.model.identifiers import is_name, normalise_entity_id
from graphrag_provenance.model.instants import now
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.rules.chains import Address, Conditions, Question, Reason, Step, hop_stands
from graphrag_provenance.rules.context import AskedClaim, Gathered
from graphrag_provenance.rules.naming import Bearer, Mention, Unresolved, mentions, resolved, settled
from graphrag_provenance.rules.telling import Fact, Passage
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import Visibility, under_one_order
from graphrag_provenance.store.runs import store_state
from graphrag_provenance.store.seeing import may_read
from graphrag_provenance.store.traces import item, traces

MOST_HOPS = 3
_MOST_EDGES = 500
"""Edges that are read for one round of hops; those beyond are counted."""
_MOST_PAIRED = 5
"""Named entities between which chains are looked for."""
_PAGE = 500
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a context is to be about."""

    question: str | None = None
    """A text whose names are looked for."""
    entities: tuple[Address, ...] = ()
    """Entities by id or declared name."""
    claims: tuple[tuple[Address, Address], ...] = ()
    """Claims, whose chains come first."""
    hops: int = 1
    """How far around the entities, 0 to 3."""
    max_hops: int = 4
    """Longest chain."""
    environment: str | None = None
    region: str | None = None
    at: datetime | None = None
    require_current: bool = True

    def __post_init__(self) -> None:
        if self.question is None and not self.entities and not self.claims:
            raise InputError("A context is about something.", hint="Name a question, entities or claims.")
        if not 0 <= self.hops <= MOST_HOPS:
            raise InputError(f"A context goes 0 to {MOST_HOPS} hops around its entities.")
        checked = self.asks(("Any", "a"), ("Any", "b"))  # refuses an instant without a zone, and too many hops
        object.__setattr__(self, "at", checked.at)

    def asks(self, source: Address, target: Address) -> Question:
        """The question whether a chain joins two entities."""
        return Question(source, target, max_hops=self.max_hops, environment=self.environment, region=self.region, at=self.at,
                        require_current=self.require_current)


def gather(
    database: Database, reader: Reader, wanted: Wanted, *, granted: Collection[str] = frozenset(), access: AccessSource | None = None,
) -> Gathered:
    """What there is for a reader: chains of claims and between the entities named, then edges around these, most certain first.

    Raises as `store.traces.traces` does.
    """
    def read(keys: frozenset[str]) -> tuple[Gathered, None]:
        return under_one_order(database, reader, keys, lambda view: _gather(database, reader, view, wanted)), None

    return confirmed(access, reader, granted, read)


def _gather(database: Database, reader: Reader, view: Visibility, wanted: Wanted) -> Gathered:
    named, unresolved = _named(database, view, wanted)
    pairs = list(permutations(named, 2)) if 2 <= len(named) <= _MOST_PAIRED else []
    questions = [wanted.asks(*pair) for pair in (*wanted.claims, *pairs)]
    answers = traces(database, questions, reader, granted=view.granted) if questions else []
    facts = {fact.edge_id: fact for fact in _of_chains(answers)}
    generation = max((answer.generation for answer in answers), default=0)
    around, unread, uncounted = _around(database, view, wanted, named, sorted(facts))
    for fact in around:
        facts.setdefault(fact.edge_id, fact)
    cited = {(one.content["doc"], one.content["chunk"]) for fact in facts.values() for one in fact.step.evidence if one.supports}
    claims = tuple(AskedClaim(answer.question, answer.reason) for answer in answers[: len(wanted.claims)])
    return Gathered(
        tuple(facts.values()), unread, uncounted, _texts(database, view, cited), tuple(named), tuple(unresolved), claims,
        generation or int((store_state(database) or {}).get("head_seq") or 0))


def _named(database: Database, view: Visibility, wanted: Wanted) -> tuple[list[Address], list[Unresolved]]:
    """The entities that a context is about, each once: those given, then those that the question names."""
    given = [Mention(0, 0, normalise_entity_id(name), kind) for kind, name in wanted.entities]
    for one in given:
        if one.type is None or not is_name(one.type) or not one.lookup:
            raise InputError(f"{one.type}:{one.lookup} is not an entity.", hint="Write Type:id, for example System:LEDGER.")
    asked = mentions(wanted.question) if wanted.question is not None else []
    bearers = _bearers(database, view, [*given, *asked])
    found: dict[Address, None] = {}
    unresolved: list[Unresolved] = []
    for number, mention in enumerate(given):
        who = bearers.get(number, ())
        what = settled([(mention, bearer) for bearer in who]) if who else Unresolved(mention.lookup, Reason.UNKNOWN_ENTITY)
        if isinstance(what, Bearer):
            found[what.address] = None
        else:
            unresolved.append(replace(what, name=f"{mention.type}:{mention.lookup}"))
    names, open_ones = resolved(asked, {number - len(given): who for number, who in bearers.items() if number >= len(given)})
    found |= {one.address: None for one in names}
    return list(found), [*unresolved, *open_ones]


def _bearers(database: Database, view: Visibility, asked: Sequence[Mention]) -> dict[int, list[Bearer]]:
    """Number of a mention → the visible entities that bear it."""
    found: dict[int, list[Bearer]] = {}
    keys = [{"number": number, "type": one.type, "lookup": one.lookup} for number, one in enumerate(asked)]
    for start in range(0, len(keys), _PAGE):
        for row in database.read("read.entities_by_key", **view.params(), names=keys[start:start + _PAGE]):
            found.setdefault(row["number"], []).append(
                Bearer(row["type"], row["id"], row["name"], by_id=row["by_id"], guessed=row["guessed"]))
    names = [{"number": number, "lookup": one.lookup, "phrase": _phrase(one.lookup)}
             for number, one in enumerate(asked) if one.type is None and _WORD.search(one.lookup)]
    for start in range(0, len(names), _PAGE):
        for row in database.read("read.entities_by_name", **view.params(), names=names[start:start + _PAGE]):
            found.setdefault(row["number"], []).append(Bearer(row["type"], row["id"], row["name"], exact=row["exact"]))
    return found


def _phrase(name: str) -> str:
    """A full-text query for these words, one after another."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


def _of_chains(answers: Iterable[Trace]) -> Iterable[Fact]:
    for answer in answers:
        for chain in answer.chains:
            names = {(one["tenant"], one["type"], one["id"]): one["name"] for one in chain.entities}
            for step in chain.steps:
                yield Fact(step, names[step.source], names[step.target])


def _around(
    database: Database, view: Visibility, wanted: Wanted, entities: Sequence[Address], told: list[str],
) -> tuple[list[Fact], int, bool]:
    """Edges around entities, nearest first, then most certain; how many were not read, and whether there may be more. `told`: ids of
    edges that are told anyway."""
    asked = Conditions(wanted.environment, wanted.region, wanted.at or now(), wanted.require_current)
    facts: list[Fact] = []
    behind: list[Address] = []
    ahead = list(entities)
    unread, uncounted = 0, False
    for hop in range(wanted.hops):
        if not ahead:
            break
        rows = database.read(
            "read.around", **view.params(), entities=[{"type": kind, "id": name} for kind, name in ahead],
            behind=[list(one) for one in behind], environment=asked.environment, region=asked.region, at=asked.at,
            told=told, require_current=asked.require_current, limit=_MOST_EDGES)
        unread += rows[0]["unread"] if rows else 0
        uncounted = uncounted or (unread > 0 and hop + 1 < wanted.hops)
        new = [fact for fact in map(_fact, rows) if hop_stands(fact.step, asked, view.tenant, view.allowed, view.granted)]
        facts += new
        behind += ahead
        ends = dict.fromkeys(end[1:] for fact in new for end in (fact.step.source, fact.step.target))
        ahead = [one for one in ends if one not in set(behind)]
    return facts, unread, uncounted


def _fact(row: Row) -> Fact:
    source, target = row["source"], row["target"]
    step = Step(
        row["edge"], row["type"], row["relation"], tuple(row["declared"] or ()), _key(source), _key(target), True,
        tuple(map(item, row["evidence"])))
    return Fact(step, source["name"], target["name"])


def _key(node: Any) -> tuple[str, str, str]:
    return node["tenant"], node["type"], node["id"]


def _texts(database: Database, view: Visibility, places: Collection[Passage]) -> dict[Passage, str]:
    """The texts of passages that are readable by themselves."""
    keys = [[view.tenant, *place] for place in sorted(places)]
    rows = [row for start in range(0, len(keys), _PAGE) for row in database.read("quote.texts", keys=keys[start:start + _PAGE])]
    return {(row["key"][1], row["key"][2]): row["text"] for row in rows if row["text"] is not None and may_read(view, row)}
