"""Quote verification as a report (spec 4, quotes).

Owns: which quotes are read, and whose text they are held against. Evidence keeps no words, only a hash and a span; a report file
has the words. Leaves to `rules.quotes` what counts as held.

A reader verifies what the reader may see: evidence of visible edges; passages that are readable by themselves. Text that the
reader may not read is `no-text`, as if the store did not hold it, and is not looked into for a quote that is elsewhere either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import NotFoundError
from graphrag_provenance.model.identifiers import split_revision
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.reports import QuoteReport
from graphrag_provenance.rules.answers import Json, in_order
from graphrag_provenance.rules.quotes import (
    NORMALISER,
    Finding,
    Grade,
    check_hash,
    check_hash_near,
    find_quote,
    find_quote_near,
    pieces,
)
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import Visibility, may_see
from graphrag_provenance.store.seeing import confirmed_read, may_read, shown

_PAGE = 500
_MOST_PIECES = 500_000
"""Pieces of text that one report hashes at most in search of quotes that are not at their span: some seconds."""
Place = tuple[str, str]
Near = Callable[[Sequence[tuple[str, str]]], Finding]


@dataclass(frozen=True, slots=True)
class _Checked:
    """One quote, graded against its own passage, and how to grade it against the rest of the revision too."""

    about: Json
    place: Place
    finding: Finding
    near: Near
    cost: Callable[[Sequence[tuple[str, str]]], int] = lambda _: 0
    """How many pieces of text `near` hashes at most."""


@dataclass(slots=True)
class _Effort:
    """What is left to spend on looking for quotes elsewhere."""

    left: int = _MOST_PIECES
    truncated: bool = False
    """Some quote was not looked for elsewhere: it is plainly absent."""

    def afford(self, cost: int) -> bool:
        """Spend it, if enough is left."""
        if cost > self.left:
            self.truncated = True
            return False
        self.left -= cost
        return True


def verify_edge_quotes(
    database: Database, reader: Reader, edge_id: str, granted: Collection[str] = frozenset(), *, access: AccessSource | None = None,
) -> Json:
    """Grade every active item of evidence of one edge. Raises NotFoundError."""
    def read(view: Visibility) -> tuple[Json, None]:
        rows = database.read("read.edge_show", **view.params(), edge_id=edge_id)
        if not rows or not may_see(view, rows[0]["assertion"]):
            raise NotFoundError(f"There is no edge {edge_id}.", hint="See: gprov edge list.")
        effort = _Effort()
        return _report(_settled(database, view, _of_edges(database, view, rows), effort), effort), None

    return confirmed_read(database, access, reader, granted, read)


def verify_revision_quotes(
    database: Database, reader: Reader, doc: str, granted: Collection[str] = frozenset(), *, access: AccessSource | None = None,
) -> Json:
    """Grade what visible edges cite of one revision. Raises NotFoundError if there is nothing."""
    split_revision(doc)

    def read(view: Visibility) -> tuple[Json, None]:
        rows = database.read("quote.of_revision", **view.params(), doc=doc)
        effort = _Effort()
        checked = _settled(database, view, _of_edges(database, view, rows), effort)
        if not checked:
            raise NotFoundError(f"No edge cites {doc}.", hint="Name a revision, for example POL-17@1.4.")
        return _report(checked, effort), None

    return confirmed_read(database, access, reader, granted, read)


def verify_all_quotes(
    database: Database, reader: Reader, granted: Collection[str] = frozenset(), *, access: AccessSource | None = None,
) -> Json:
    """Grade the evidence of every visible edge. All are counted; only quotes that are not proved are listed."""
    def read(view: Visibility) -> tuple[Json, None]:
        counts: Counter[Grade] = Counter()
        unproved: list[tuple[_Checked, Finding]] = []
        effort = _Effort()
        after = ""
        while rows := database.read("quote.page", **view.params(), after=after, limit=_PAGE):
            after = rows[-1]["assertion"]["edge_id"]
            for one, finding in _settled(database, view, _of_edges(database, view, rows), effort):
                counts[finding.grade] += 1
                if finding.grade.failed:
                    unproved.append((one, finding))
        return _report(unproved, effort, counts), None

    return confirmed_read(database, access, reader, granted, read)


def verify_quotes(
    database: Database, reader: Reader, quotes: Sequence[QuoteReport], granted: Collection[str] = frozenset(), *,
    access: AccessSource | None = None,
) -> Json:
    """Grade quotes whose words are known against the passages that they are said to stand in."""
    def read(view: Visibility) -> tuple[Json, None]:
        texts: dict[Place, str | None] = {}
        for start in range(0, len(quotes), _PAGE):
            texts |= _texts(database, view, {(q.doc, q.chunk) for q in quotes[start:start + _PAGE]}, may_read)
        checked = []
        for number, one in enumerate(quotes, 1):
            text = texts.get((one.doc, one.chunk))
            checked.append(_Checked(
                {"id": one.id or str(number), "doc": one.doc, "chunk": one.chunk}, (one.doc, one.chunk),
                find_quote(one.quote, text), lambda others, one=one, text=text: find_quote_near(one.quote, text, others)))  # type: ignore[misc]
        effort = _Effort()
        return _report(_settled(database, view, checked, effort), effort), None

    return confirmed_read(database, access, reader, granted, read)


def _of_edges(database: Database, view: Visibility, rows: Iterable[Row]) -> list[_Checked]:
    """The visible evidence of visible edges, each item held against its passage."""
    items = [(row["assertion"]["edge_id"], one.content) for row in rows if may_see(view, row["assertion"])
             for one in in_order(shown(view, row))]
    cited = {(content["doc"], content["chunk"]) for _, content in items if content["quote_hash"] is not None}
    # An item that is shown may be held against its passage, also where only the edge's own policy speaks for it.
    texts = _texts(database, view, cited, lambda view, row: set(row["tenants"]) == {view.tenant})
    checked = []
    for edge_id, content in items:
        place = content["doc"], content["chunk"]
        stated, text = content["quote_hash"], texts.get(place)
        span = None if content["span"] is None else (content["span"][0], content["span"][1])
        checked.append(_Checked(
            {"edge_id": edge_id, "doc": place[0], "chunk": place[1], "span": None if span is None else list(span),
             "quote_hash": stated, "polarity": content["polarity"]}, place, check_hash(stated, span, text),
            lambda others, stated=stated, span=span, text=text: check_hash_near(stated, span, text, others),  # type: ignore[misc]
            lambda others, span=span, text=text: 0 if span is None else sum(  # type: ignore[misc]
                pieces(span, one) for one in (text or "", *(other for _, other in others)))))
    return checked


def _texts(
    database: Database, view: Visibility, places: Collection[Place], open_to: Callable[[Visibility, Row], bool],
) -> dict[Place, str | None]:
    """The text of passages, of those that are open."""
    if not places:
        return {}
    rows = database.read("quote.texts", keys=[[view.tenant, *place] for place in sorted(places)])
    return {(row["key"][1], row["key"][2]): row["text"] for row in rows if open_to(view, row)}


def _settled(
    database: Database, view: Visibility, checked: Sequence[_Checked], effort: _Effort,
) -> list[tuple[_Checked, Finding]]:
    """Each with its final grade: what its own passage does not hold is looked for in the rest of the revision."""
    docs = sorted({one.place[0] for one in checked if one.finding.grade in (Grade.ABSENT, Grade.NO_TEXT)})
    others: dict[str, list[tuple[str, str]]] = {}
    for start in range(0, len(docs), _PAGE):
        for row in database.read("quote.revision_texts", tenant=view.tenant, docs=docs[start:start + _PAGE]):
            if may_read(view, row):
                others.setdefault(row["doc"], []).append((row["chunk"], row["text"]))
    settled = []
    for one in checked:
        near = [pair for pair in others.get(one.place[0], ()) if pair[0] != one.place[1]]
        unsettled = one.finding.grade in (Grade.ABSENT, Grade.NO_TEXT) and effort.afford(one.cost(near))
        settled.append((one, one.near(near) if unsettled else one.finding))
    return settled


def _report(checked: Sequence[tuple[_Checked, Finding]], effort: _Effort, counts: Mapping[Grade, int] | None = None) -> Json:
    """The documented JSON. `counts`: of everything graded, where only a part is listed."""
    counted = Counter(finding.grade for _, finding in checked) if counts is None else counts
    return {
        "schema": 1, "normaliser": NORMALISER, "ok": not any(n for grade, n in counted.items() if grade.failed),
        "truncated": effort.truncated, "counts": {grade.value: counted.get(grade, 0) for grade in Grade},
        "quotes": [
            {**one.about, "grade": finding.grade.value, "found_in": finding.chunk,
             "found_at": None if finding.span is None else list(finding.span)}
            for one, finding in checked],
    }
