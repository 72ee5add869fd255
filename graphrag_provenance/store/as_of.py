"""Traces over the graph as it was after an earlier run (spec 3, as-of).

Owns: how that graph is walked. Relationships show only the present, so a search expands entity by entity: the relationships that
have not changed since, and the past versions of the others, found by the index on their ends. Three clocks are kept apart:
`as_of` decides which edges, evidence, heads and names there are; the question's instant decides what is valid; access is decided
now. An edge is walked only if the reader may see it as it was *and* as it is: by its policies then, by those it has now, and by
all that is said now about the evidence it had then.

Cost: a round trip a hop for each set of conditions that reaches new entities, and one for the versions of what they cite. At most
5,000 edges of an entity are walked, then the answer is `truncated`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import NotFoundError, StoreConflictError
from graphrag_provenance.model.identifiers import canonical_text, relationship_type, split_revision
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.queries import query
from graphrag_provenance.rules.answers import Audience, Json, Trace, extractors, in_order, item_json
from graphrag_provenance.rules.chains import Address, Chain, Conditions, Item, Question, Reason, Step, hop_holds, hop_visible
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.lookups import edge_json, most_rows
from graphrag_provenance.store.readers import Views, Visibility, may_see
from graphrag_provenance.store.seeing import confirmed_read, references_of, shown
from graphrag_provenance.store.together import Ask, Search
from graphrag_provenance.store.traces import TraceSearch, item, traces

Versions = dict[tuple[str, str], dict[str, Any] | None]
"""(kind, key) → what a record was, or None where it has not changed since."""
_MOST_EDGES = 5_000
_MOST_WALKS = 200_000
_MOST_RELOADS = 3
_PAGE = 500


def traces_as_of(
    database: Database, questions: Sequence[Question], reader: Reader, seq: int, *, granted: Collection[str] = frozenset(),
    access: AccessSource | None = None, audience: Audience = "reader",
) -> list[Trace]:
    """What `traces` says, of the graph as it was after run `seq`. Raises NotFoundError for a run that is not there or has not ended,
    and as `traces` does. The chains that an auditor is told were rejected are those the auditor may see."""
    _require_ended(database, seq)
    return traces(database, questions, reader, granted=granted, access=access, audience=audience,
                  searching=lambda views, question: _PastSearch(views, question, seq))


def edge_as_of(
    database: Database, reader: Reader, edge_id: str, seq: int, granted: Collection[str] = frozenset(), *,
    access: AccessSource | None = None,
) -> Json:
    """What `edge_show` says of a published edge, of the graph as it was after run `seq`. Raises NotFoundError."""
    _require_ended(database, seq)

    def read(view: Visibility) -> tuple[Json, set[str]]:
        for row, items in _edges_then(database, view, [edge_id], seq):
            return {
                "schema": 1, "generation": seq, **edge_json(row["assertion"], reader),
                "extracted_by": extractors(one.content for one in items), "evidence": [item_json(one) for one in in_order(items)],
            }, references_of(row["assertion"], items)
        raise NotFoundError(f"There was no edge {edge_id} after run {seq}.", hint="See: gprov edge history.")

    return confirmed_read(database, access, reader, granted, read)


def edges_as_of(
    database: Database, reader: Reader, seq: int, limit: int = 100, after: str | None = None, granted: Collection[str] = frozenset(), *,
    access: AccessSource | None = None,
) -> list[Json]:
    """What `edge_list` says, of the graph as it was after run `seq`. Reads on until `limit` visible edges are found. Raises InputError."""
    _require_ended(database, seq)
    size = most_rows(limit)

    def read(view: Visibility) -> tuple[list[Json], set[str]]:
        found: list[Json] = []
        references: set[str] = set()
        last = after or ""
        while page := [row["edge_id"] for row in database.read("edge.page", tenant=view.tenant, after=last, limit=_PAGE)]:
            last = page[-1]
            rows = sorted(_edges_then(database, view, page, seq), key=lambda one: str(one[0]["assertion"]["edge_id"]))
            for row, items in rows[:size - len(found)]:
                found.append(edge_json(row["assertion"], reader))
                references |= references_of(row["assertion"], items)
            if len(found) == size:
                break
        return found, references

    return confirmed_read(database, access, reader, granted, read)


def _edges_then(database: Database, view: Visibility, edge_ids: Sequence[str], seq: int) -> list[tuple[Row, list[Item]]]:
    """Those of some edges that were published after run `seq`, with their evidence then, and that the reader may see now, as they were
    and as they are."""
    asked = [{"edge_id": edge_id, "key": canonical_text([view.tenant, edge_id])} for edge_id in edge_ids]
    rows = [row for row in database.read("history.edges", **view.params(), edges=asked, seq=seq) if may_see(view, row["assertion"])]
    cited = list(dict.fromkeys(key for row in rows for one in row["evidence"] for key in _cited(view.tenant, one)))
    versions: Versions = dict.fromkeys(cited)
    questions = [{"kind": kind, "key": key, "seq": seq, "number": number} for number, (kind, key) in enumerate(cited)]
    for past in database.read("history.versions", questions=questions) if questions else ():
        versions[cited[past["number"]]] = past["past"]
    found = []
    for row in rows:
        then = {**row, "evidence": [_then(view.tenant, one, versions) for one in row["evidence"]]}
        items = shown(view, then)
        if len(items) == len(then["evidence"]):  # else something is said today of what it rested on that this reader may not see
            found.append((then, items))
    return found


def _require_ended(database: Database, seq: int) -> None:
    rows = database.read("run.by_seq", seq=seq)
    if not rows or rows[0]["run"]["status"] == "running":
        raise NotFoundError(f"There is no ended run {seq}.", hint="See: gprov run list.")


class _OrderChanged(Exception):
    """The order of policies is not the one that the view was made by."""


class _PastSearch(TraceSearch):
    """One question about the graph after a run. Remembers the edges of every entity it has reached."""

    def __init__(self, views: Views, question: Question, seq: int) -> None:
        super().__init__(views, question)
        self._seq = self.generation = seq
        self._edges: dict[Address, list[Step]] = {}
        self._versions: Versions = {}
        self._entities: dict[Address, Row | None] = {}

    def _ask(self, wanted: Sequence[Conditions]) -> Search[list[Row]]:
        for _ in range(_MOST_RELOADS):
            self._left -= 1
            try:
                return (yield from self._walk(wanted))
            except _OrderChanged:
                self._view = self._views.after(self._view)
                self._edges.clear()
        raise StoreConflictError("The policy order changes while it is read.", hint="Ask again when the policy run has ended.")

    def _walk(self, wanted: Sequence[Conditions]) -> Search[list[Row]]:
        source, target = self._ends
        yield from self._expand([source, target])
        visible = []
        for end in self._ends:
            visible.append(bool(self._edges[end]) or (yield from self._open(end)))
        rows: list[Row] = []
        for asked in wanted:
            chain = (yield from self._shortest(asked)) if source != target else None
            rows.append({"chains": [] if chain is None else [chain], "source_visible": visible[0], "target_visible": visible[1]})
        return rows

    def _found(self, row: Row) -> Chain | None:
        return row["chains"][0] if row["chains"] else None

    def _any(self, wanted: Sequence[Conditions]) -> Search[list[Chain | None]]:
        return [None for _ in wanted]
        yield  # a search is a generator

    def _expand(self, places: Iterable[Address]) -> Search[None]:
        """Read the edges of entities that were not reached before."""
        new = [place for place in dict.fromkeys(places) if place not in self._edges]
        if not new:
            return
        params = self._view.params()
        rows = yield Ask(query("history.neighbours"), "questions", [
            {**params, "type": kind, "id": name, "seq": self._seq} for kind, name in new])
        if rows and rows[0]["policies_hash"] != self._view.policies_hash:
            raise _OrderChanged
        rows = [row for row in rows if row["edge"] is not None]
        yield from self._remember((kind, key) for row in rows for one in row["evidence"] for kind, key in _cited(self._view.tenant, one))
        found: dict[Address, list[Step]] = {place: [] for place in new}
        for row in rows:
            place = new[row["number"]]
            if len(found[place]) == _MOST_EDGES:
                self.truncated = True
                continue
            step = self._step(row, place)
            if hop_visible(step, self._view.tenant, self._view.allowed, self._view.granted):  # else it makes no end known either
                found[place].append(step)
        self._edges |= found

    def _remember(self, keys: Iterable[tuple[str, str]]) -> Search[None]:
        """Read what records were, where they changed since."""
        new = [key for key in dict.fromkeys(keys) if key not in self._versions]
        if new:
            rows = yield Ask(query("history.versions"), "questions", [
                {"kind": kind, "key": key, "seq": self._seq} for kind, key in new])
            self._versions |= dict.fromkeys(new)
            self._versions |= {new[row["number"]]: row["past"] for row in rows}

    def _step(self, row: Row, place: Address) -> Step:
        source, target = row["source"], row["target"]
        evidence = tuple(item(_then(self._view.tenant, one, self._versions)) for one in row["evidence"])
        return Step(
            row["edge"], relationship_type(row["relation"]), row["relation"],
            tuple(row["declared"] or ()), (source["tenant"], source["type"], source["id"]),
            (target["tenant"], target["type"], target["id"]), (source["type"], source["id"]) == place, evidence)

    def _open(self, place: Address) -> Search[bool]:
        """Whether an entity that had no visible edge was there, and is visible by itself."""
        yield from self._name([place])
        entity = self._entities[place]
        return entity is not None and bool(entity["policies"]) and self._view.allowed.issuperset(entity["policies"])

    def _name(self, places: Iterable[Address]) -> Search[None]:
        new = [place for place in dict.fromkeys(places) if place not in self._entities]
        if not new:
            return
        tenant = self._view.tenant
        keys = [("entity", canonical_text([tenant, *place])) for place in new]
        yield from self._remember(keys)
        rows = yield Ask(query("history.entities"), "questions", [{"tenant": tenant, "type": kind, "id": name} for kind, name in new])
        self._entities |= dict.fromkeys(new)
        for row in rows:
            place, entity = new[row["number"]], row["entity"]
            was = self._versions[keys[row["number"]]]
            if was is not None or entity["since"] <= self._seq:
                self._entities[place] = {**entity, "name": (was or entity)["name"]}

    def _shortest(self, asked: Conditions) -> Search[Chain | None]:
        """A shortest chain whose hops all hold under the conditions, over what was then."""
        source, target = self._ends
        paths: list[tuple[tuple[Address, ...], tuple[Step, ...]]] = [((source,), ())]
        reached, walks = {source}, 0
        for hop in range(1, self.question.hops + 1):
            yield from self._expand(places[-1] for places, _ in paths)
            longer = []
            for places, steps in paths:
                for step in self._edges[places[-1]]:
                    walks += 1
                    there = _other(step)
                    if self.question.sequence:
                        if any(step.edge["edge_id"] == one.edge["edge_id"] for one in steps):
                            continue
                    elif there in reached:
                        continue
                    if not hop_holds(step, self.question, hop, asked, self._view.tenant, self._view.allowed, self._view.granted):
                        continue
                    if there == target and hop == self._last(hop):
                        return (yield from self._chain((*places, there), (*steps, step)))
                    reached.add(there)
                    longer.append(((*places, there), (*steps, step)))
                if walks > _MOST_WALKS:
                    self.truncated = True
                    return None
            paths = longer
        return None

    def _last(self, hop: int) -> int:
        return len(self.question.sequence) or hop

    def _chain(self, places: Sequence[Address], steps: Sequence[Step]) -> Search[Chain]:
        yield from self._name(places)
        tenant = self._view.tenant
        named = [(self._entities[place] or {}).get("name", place[1]) for place in places]
        return Chain(tuple({"tenant": tenant, "type": kind, "id": id_, "name": name} for (kind, id_), name in zip(
            places, named, strict=True)), tuple(steps))

    def _resolve(self, row: Row) -> Search[Reason | None]:
        sides = [number for number, seen in enumerate((row["source_visible"], row["target_visible"])) if not seen]
        found = yield Ask(query("history.names"), "questions", [
            {"tenant": self._view.tenant, "type": self._ends[side][0], "lookup": self._ends[side][1], "seq": self._seq}
            for side in sides])
        yield from self._expand((self._ends[sides[r["number"]]][0], r["id"]) for r in found)
        visible: list[Row] = []
        for one in found:
            place = (self._ends[sides[one["number"]]][0], one["id"])
            if self._edges[place] or (yield from self._open(place)):
                visible.append(one)
        rows: dict[tuple[int, str], bool] = {}
        for one in visible:
            key = (one["number"], one["id"])
            rows[key] = rows.get(key, True) and one["method"] == "guess"
        return self._take(sides, [{"number": n, "id": name, "guessed": guessed} for (n, name), guessed in rows.items()])


def _cited(tenant: str, one: Row) -> tuple[tuple[str, str], tuple[str, str], tuple[str, str]]:
    """Kinds and keys of the document, revision and chunk of a citation."""
    doc, chunk = one["doc"], one["chunk"]
    return (("document", canonical_text([tenant, split_revision(doc)[0]])), ("revision", canonical_text([tenant, doc])),
            ("chunk", canonical_text([tenant, doc, chunk])))


def _then(tenant: str, one: Row, versions: Versions) -> Row:
    """A citation with what its passage, revision and document were. What is said about access stays what is said now."""
    document, revision, chunk = (versions.get(key) for key in _cited(tenant, one))
    was = dict(one)
    if document is not None:
        was |= {"title": document.get("title") or one["doc_id"], "head": document.get("head")}
    if revision is not None:
        was["url"] = revision.get("source_url")
    if chunk is not None:
        was["section_path"] = chunk.get("section_path")
    return was


def _other(step: Step) -> Address:
    end = step.target if step.forward else step.source
    return end[1], end[2]
