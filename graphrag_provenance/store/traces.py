"""Tracing a claim through the graph (spec 4, trace; spec 2, reading).

Owns: which stored queries a question needs and in which order. Usually one round trip: ends, chain and evidence come
together. Only a question that stays open costs more: one look-up if a name is not an id, and one statement that asks the
same question again without one condition at a time, over the edges the reader may see, to say why. Many questions go
together: each statement carries all that is asked of it at that moment (`together`), so `traces` takes no more round trips than
its most laborious question.

The order of policies may change between two reads: each answer carries its hash, and an answer read under another order
than the reader's clearances were closed by is thrown away and asked for again.

Coherence: where the question names no environment (region) and the chain found mixes two, each of the values found is
tried as if it had been named, and then the rest of the graph without them; the shortest coherent chain wins. At most
_MOST_SEARCHES searches; past that the answer is `truncated`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphrag_provenance.access.asking import LiveAccess
from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import StoreConflictError, StoreTimeoutError
from graphrag_provenance.model.identifiers import relationship_type
from graphrag_provenance.model.instants import now, parse_instant
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.queries import query
from graphrag_provenance.queries.bounds import bounded
from graphrag_provenance.rules.answers import Audience, Rejected, Trace
from graphrag_provenance.rules.chains import (
    ANYTHING,
    CONDITIONS,
    Address,
    Chain,
    Conditions,
    Failure,
    Item,
    Question,
    Reason,
    Step,
    conditions,
    failures,
    mixed,
    one_after_another,
    reason_of,
    stated,
    without_each,
)
from graphrag_provenance.rules.conflicts import Place, Relations
from graphrag_provenance.store.conflicts import rivals_of
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import Views, require_role
from graphrag_provenance.store.together import Ask, Search, answer_together

_MOST_SEARCHES = 24
_MOST_RELOADS = 3


def trace(
    database: Database, question: Question, reader: Reader, *, granted: Collection[str] = frozenset(),
    access: AccessSource | None = None, trace_id: str | None = None, audience: Audience = "reader",
    relations: Relations | None = None,
) -> Trace:
    """The answer to one question for one reader.

    `access`: the live source, asked before the search and again about what is to be shown; if it took something back, the
    question is asked again without that. Or `granted`: the keys that the caller found open. `relations`: declared relations; with
    them the answer says which visible edges conflict with its steps.

    Raises AccessDeniedError for the auditor's view without that role, UnknownClearanceError for an unknown clearance, and
    StoreError when the store cannot be read; a search that runs out of time is an answer with `truncated`.
    """
    answer = traces(database, [question], reader, granted=granted, access=access, audience=audience, relations=relations)[0]
    return answer if trace_id is None else replace(answer, trace_id=trace_id)


def traces(
    database: Database, questions: Sequence[Question], reader: Reader, *, granted: Collection[str] = frozenset(),
    access: AccessSource | None = None, audience: Audience = "reader", relations: Relations | None = None,
    searching: Callable[[Views, Question], TraceSearch] | None = None,
) -> list[Trace]:
    """The answers to many questions for one reader, in order: what `trace` says to each, in one round trip a kind of statement.

    `access` decides once for all of them: what it takes back before they are shown, none of them rests on. `searching`: what
    searches for a chain (default: the present graph). Raises as `trace`.
    """
    if audience == "auditor":
        require_role(reader, Role.AUDITOR, action="The auditor's view")
    live = LiveAccess(access, reader, granted)
    while True:
        views = Views(database, reader, live.keys)
        searches = [(searching or TraceSearch)(views, question) for question in questions]
        found = answer_together(database, [search.in_time(audit=audience == "auditor") for search in searches])
        rivals = answer_together(
            database, [rivals_of(views, () if one is None else map(Place.of, one.steps), relations or {}) for _, one, _ in found])
        rests_on = [
            None if chain is None else _references(chain).union(*(other.edge["acl"] for _, other in beside))
            for (_, chain, _), beside in zip(found, rivals, strict=True)]
        shown: set[str] = set().union(*(keys for keys in rests_on if keys is not None))
        if (None not in rests_on or live.confirm(None)) and (all(keys is None for keys in rests_on) or live.confirm(shown)):
            break
    return [
        Trace(
            search.question, secrets.token_hex(16), reason, search.generation, () if chain is None else (chain,),
            search.truncated, rejected, live.record(keys or ()) if audience == "auditor" else None,
            None if relations is None else tuple(one for one, _ in beside))
        for search, (reason, chain, rejected), keys, beside in zip(searches, found, rests_on, rivals, strict=True)
    ]


def _references(chain: Chain) -> frozenset[str]:
    """The live references that a chain stands under."""
    return frozenset(
        key for step in chain.steps for keys in (step.edge["acl"], *(item.references for item in step.evidence)) for key in keys)


Found = tuple[Reason | None, Chain | None, tuple[Rejected, ...]]
Find = Callable[[Sequence[Conditions]], Search[list[Chain | None]]]


class TraceSearch:
    """One question being answered: its ends, what was read so far and the budget left."""

    def __init__(self, views: Views, question: Question) -> None:
        self.question = question
        self._views, self._view = views, views.now
        self._ends: tuple[Address, Address] = (question.source, question.target)
        self._left = _MOST_SEARCHES
        self.generation = 0
        self.truncated = False

    def in_time(self, *, audit: bool) -> Search[Found]:
        """The answer; `truncated` where a statement ran out of time."""
        try:
            return (yield from self.answer(audit=audit))
        except StoreTimeoutError:
            self.truncated = True
            return Reason.NO_PATH, None, ()

    def answer(self, *, audit: bool) -> Search[Found]:
        """Yields the statements that one question needs asked; returns the answer, or why there is none."""
        asked = conditions(self.question, now())
        row = (yield from self._ask([asked]))[0]
        if not (row["source_visible"] and row["target_visible"]):
            unknown = yield from self._resolve(row)
            if unknown is not None:
                hidden = (yield from self._hidden(asked)) if audit else ()
                return (Reason.ACCESS if _only_access(hidden) else unknown), None, hidden
            row = (yield from self._ask([asked]))[0]
        chain = yield from self._coherent(asked, self._sound(row, asked))
        if chain is not None:
            return None, chain, ()
        reason, candidates = yield from self._why(asked)
        if not audit:
            return reason, None, ()
        hidden = yield from self._hidden(asked)
        return (Reason.ACCESS if _only_access(hidden) else reason), None, (*candidates, *hidden)

    def _ask(self, wanted: Sequence[Conditions]) -> Search[list[Row]]:
        """One round trip: a row for each set of conditions."""
        for _ in range(_MOST_RELOADS):
            self._left -= 1
            rows = yield Ask(
                bounded(f"path.{self._form}", self.question.hops), "questions", [self._parameters(one) for one in wanted])
            if rows[0]["policies_hash"] == self._view.policies_hash:
                self.generation = rows[0]["generation"] or 0
                return rows
            self._view = self._views.after(self._view)
        raise StoreConflictError("The policy order changes while it is read.", hint="Ask again when the policy run has ended.")

    @property
    def _form(self) -> str:
        if self.question.sequence:
            return "sequence" if self.question.directed else "sequence_undirected"
        return "directed" if self.question.directed else "undirected"

    def _parameters(self, asked: Conditions) -> dict[str, Any]:
        (source_type, source_id), (target_type, target_id) = self._ends
        question = self.question
        return {
            **self._view.params(),
            "source_type": source_type, "source_id": source_id, "target_type": target_type, "target_id": target_id,
            "types": [relationship_type(name) for name in question.relations] or None,
            "sequence": [relationship_type(name) for name in question.sequence],
            "environment": asked.environment, "region": asked.region,
            "at": None if asked.at is None else asked.at.isoformat(),  # as text: the driver takes 50 µs to encode an instant
            "require_current": asked.require_current, "allow_disputed": asked.allow_disputed,
            "not_environments": list(asked.not_environments) or None, "not_regions": list(asked.not_regions) or None,
        }

    def _failures(self, chain: Chain, asked: Conditions, *, unproved: bool = False) -> tuple[Failure, ...]:
        view = self._view
        return failures(chain, self.question, asked, view.tenant, view.allowed, view.granted, ends=self._ends, unproved=unproved)

    def _found(self, row: Row) -> Chain | None:
        return _chain(row)

    def _sound(self, row: Row, asked: Conditions) -> Chain | None:
        """The chain of a row, if the second check agrees that it holds under these conditions."""
        chain = self._found(row)
        return chain if chain is not None and not self._failures(chain, asked) else None

    def _resolve(self, row: Row) -> Search[Reason | None]:
        """Names that are not visible ids → ids, over aliases; the reason if that fails."""
        sides = [number for number, seen in enumerate((row["source_visible"], row["target_visible"])) if not seen]
        found = yield Ask(
            query("path.aliases"), "ends", [{"type": self._ends[side][0], "lookup": self._ends[side][1]} for side in sides],
            self._view)
        return self._take(sides, found)

    def _take(self, sides: Sequence[int], found: Sequence[Row]) -> Reason | None:
        """Take the ids that names led to as the ends; the reason if some name led to none, or to more than one."""
        ends, reasons = list(self._ends), set()
        for place, side in enumerate(sides):
            certain = [r["id"] for r in found if r["number"] == place and not r["guessed"]]
            if len(certain) == 1:
                ends[side] = (ends[side][0], certain[0])
            elif certain:
                reasons.add(Reason.ENTITY_JOIN)
            else:
                reasons.add(Reason.ALIAS_GUESSED if any(r["number"] == place for r in found) else Reason.UNKNOWN_ENTITY)
        self._ends = (ends[0], ends[1])
        return next((reason for reason in Reason if reason in reasons), None)

    def _visible(self, wanted: Sequence[Conditions]) -> Search[list[Chain | None]]:
        """A sound chain, if there is one, over edges that the reader may see, for each set of conditions."""
        rows = yield from self._ask(wanted)
        return [self._sound(row, one) for row, one in zip(rows, wanted, strict=True)]

    def _any(self, wanted: Sequence[Conditions]) -> Search[list[Chain | None]]:
        """For auditors: a candidate chain, if there is one, over all edges, for each set of conditions; without its evidence."""
        self._left -= 1
        rows = yield Ask(
            bounded(f"path.audit_{self._form}", self.question.hops), "questions", [self._parameters(one) for one in wanted])
        return [_chain(row) for row in rows]

    def _coherent(
        self, asked: Conditions, chain: Chain | None, waived: Collection[Reason] = (), *, find: Find | None = None,
    ) -> Search[Chain | None]:
        """The chain itself if its hops agree on where they hold (but for a scope that is waived), else the shortest that does."""
        scope = None if chain is None else mixed(chain, waived)
        if chain is None or scope is None:
            return chain
        values = stated(chain, scope)
        if scope is Reason.ENVIRONMENT:
            tries = [replace(asked, environment=v) for v in values]
            tries.append(replace(asked, not_environments=(*asked.not_environments, *values)))
        else:
            tries = [replace(asked, region=v) for v in values]
            tries.append(replace(asked, not_regions=(*asked.not_regions, *values)))
        if self._left <= 0:
            self.truncated = True
            return None
        chains = yield from (find or self._visible)(tries)
        found = []
        for one, other in zip(tries, chains, strict=True):
            found.append((yield from self._coherent(one, other, waived, find=find)))
        return min((one for one in found if one is not None), key=lambda one: len(one.steps), default=None)

    def _why(self, asked: Conditions) -> Search[tuple[Reason, tuple[Rejected, ...]]]:
        """The reason, and the candidate chains with the hops at which they fail."""
        each = without_each(asked)
        wanted = [*each.values(), ANYTHING]
        chains = yield from self._visible(wanted)
        distinct = {tuple(s.edge["edge_id"] for s in c.steps): c for c in chains if c is not None}
        candidates = tuple(Rejected(c, self._rejections(c, asked)) for c in distinct.values())
        if chains[-1] is None:
            return Reason.NO_PATH, candidates
        alone = {}
        for (reason, one), chain in zip(each.items(), chains, strict=False):
            alone[reason] = (yield from self._coherent(one, chain, (reason,))) is not None
        if any(alone.values()):
            return reason_of(alone, {}), candidates
        steps = one_after_another(asked)
        applied = {}
        for (reason, one), chain in zip(steps.items(), (yield from self._visible(list(steps.values()))), strict=True):
            applied[reason] = (yield from self._coherent(one, chain, CONDITIONS[CONDITIONS.index(reason) + 1:])) is not None
        return reason_of(alone, applied), candidates

    def _rejections(self, chain: Chain, asked: Conditions, *, unproved: bool = False) -> tuple[Failure, ...]:
        scope = mixed(chain)
        whole = (Failure(0, None, scope),) if scope else ()
        return (*self._failures(chain, asked, unproved=unproved), *whole)

    def _hidden(self, asked: Conditions) -> Search[tuple[Rejected, ...]]:
        """For auditors: candidate chains over edges that the reader may not see, without their evidence."""
        shortest, anything = yield from self._any((asked, ANYTHING))
        found = (shortest, anything, (yield from self._coherent(asked, shortest, find=self._any)))
        distinct = {tuple(s.edge["edge_id"] for s in c.steps): c for c in found if c is not None}
        rejected = (Rejected(c, self._rejections(c, asked, unproved=True)) for c in distinct.values())
        return tuple(r for r in rejected if any(f.constraint == Reason.ACCESS for f in r.failures))


def _only_access(hidden: Sequence[Rejected]) -> bool:
    return any(all(f.constraint == Reason.ACCESS for f in one.failures) for one in hidden)


def _chain(row: Row) -> Chain | None:
    if not row["chains"]:
        return None
    found = row["chains"][0]
    runs = {run["seq"]: {**run, "at": parse_instant(run["at"])} for run in row.get("runs", ())}
    return Chain(tuple(found["entities"]), tuple(_step(step, runs) for step in found["steps"]))


def _step(row: Row, runs: Mapping[int, Row]) -> Step:
    source, target = row["source"], row["target"]
    return Step(
        row["edge"], row["type"], row["relation"], tuple(row["declared"] or ()),
        (source["tenant"], source["type"], source["id"]), (target["tenant"], target["type"], target["id"]), row["forward"],
        tuple(item({**one, "run": runs.get(one["since"])}) for one in row["evidence"]))


def item(row: Row) -> Item:
    """One evidence item as the stored queries return it."""
    own, reference = row["policy"], row["reference"]
    return Item(
        row, (*row["statements"], *(() if own is None else (own,))),
        (*row["references"], *(() if reference is None else (reference,))), frozenset(row["tenants"]))
