"""The load option `--verify-quotes` (spec 4, quotes).

Owns: what a mode does with an evidence item whose quote is not proved by the text that the store holds. A record is taken whole
or not at all: one unproved quote refuses the edge. Evidence that states no quote claims none, and passes.
Leaves to `rules.quotes` what counts as proved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from graphrag_provenance.model.identifiers import citation
from graphrag_provenance.model.records import ChunkRecord
from graphrag_provenance.rules.edges import Edge
from graphrag_provenance.rules.quotes import NORMALISER, Grade, check_hash
from graphrag_provenance.rules.rejects import RejectCode
from graphrag_provenance.store.counting import Reject
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.sources import Item


class QuoteMode(StrEnum):
    """What is done about quotes."""

    OFF = "off"
    """Nothing is checked."""
    WARN = "warn"
    """Every quote is graded and counted; all records load."""
    STRICT = "strict"
    """As warn, and a record with a quote that is not proved is refused."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the mode adds to the conditions under which a line was read: a line taken in unchecked is no repetition."""
        return () if self is QuoteMode.OFF else (self.value, NORMALISER)


class QuoteCheck:
    """Grades the quotes of edges, a batch in one round trip. Safe to share between threads once the sources are stored."""

    def __init__(self, database: Database, mode: QuoteMode, *, dry: bool) -> None:
        self._database, self._mode = database, mode
        self._unwritten: dict[tuple[str, str, str], str] | None = {} if dry and mode is not QuoteMode.OFF else None

    def remember(self, items: Iterable[Item]) -> None:
        """In a dry run: the text of passages that would be stored by now."""
        if self._unwritten is not None:
            for item in items:
                record = item.record
                if isinstance(record, ChunkRecord) and record.text is not None:
                    self.know((item.tenant, record.doc, record.chunk), record.text)

    def unwritten(self, passage: tuple[str, ...]) -> str | None:
        """In a dry run: the text of a passage that would be stored by now."""
        return (self._unwritten or {}).get((passage[0], passage[1], passage[2]))

    def know(self, passage: tuple[str, ...], text: str) -> None:
        """In a dry run: a passage that would be stored by now has this text."""
        if self._unwritten is not None:
            self._unwritten[(passage[0], passage[1], passage[2])] = text

    def sift(self, edges: Sequence[Edge]) -> tuple[list[Edge], list[Reject], Counter[str]]:
        """The edges to load, the refused ones, and how many quotes have which grade."""
        grades: Counter[str] = Counter()
        if self._mode is QuoteMode.OFF or not edges:
            return list(edges), [], grades
        texts = self._texts(edges)
        kept: list[Edge] = []
        refused: list[Reject] = []
        for edge in edges:
            fault: tuple[RejectCode, str] | None = None
            for number, item in enumerate(edge.citations):
                grade = check_hash(item.quote_hash, item.span, texts.get((edge.tenant, item.doc, item.chunk))).grade
                grades[grade.value] += 1
                if grade.failed and fault is None:
                    code = RejectCode.QUOTE_ABSENT if grade is Grade.ABSENT else RejectCode.QUOTE_UNVERIFIABLE
                    fault = code, f"evidence.{number}: the quote in {citation(item.doc, item.chunk)} is not proved: {grade.value}"
            if fault is not None and self._mode is QuoteMode.STRICT:
                refused.append(Reject(edge.file, edge.line, *fault, edge.raw))
            else:
                kept.append(edge)
        return kept, refused, grades

    def _texts(self, edges: Sequence[Edge]) -> dict[tuple[str, str, str], str | None]:
        keys = {(edge.tenant, item.doc, item.chunk) for edge in edges for item in edge.citations if item.quote_hash is not None}
        if not keys:
            return {}
        rows = self._database.lookup("quote.texts", keys=[list(key) for key in sorted(keys)])
        stored: dict[tuple[str, str, str], str | None] = {(r["key"][0], r["key"][1], r["key"][2]): r["text"] for r in rows}
        return stored | (self._unwritten or {})
