"""How an edge and its sources read to a model (spec 5, for GraphRAG frameworks). Pure.

Owns: the words, and the numbers of passages. Leaves to `rules.context` which edges are told, and the budget.

Rules:
- `[n]` in the text is a citation, always: where a name, title or passage holds such a mark, it is written `(n)`. What comes from the
  graph cannot begin a line of its own.
- An edge is told with the passages in force that support it; replaced ones only where there is no other. How many are not cited is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphrag_provenance.rules.answers import Json, in_order, step_json
from graphrag_provenance.rules.chains import Item, Step

Passage = tuple[str, str]
"""(revision, chunk)"""
_MARK = re.compile(r"\[(\s*\d[\d\s,;–-]*)\]")
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Fact:
    """An edge that may be told, with the names of its ends."""

    step: Step
    source_name: str
    target_name: str

    @property
    def edge_id(self) -> str:
        """Id of the edge."""
        return str(self.step.edge["edge_id"])


@dataclass(frozen=True, slots=True)
class Citation:
    """What an `[n]` stands for: a passage, and the evidence there of the edges told."""

    n: int
    doc: str
    """Revision, exactly as stored."""
    chunk: str
    doc_title: str
    section_path: tuple[str, ...]
    url: str | None
    head_revision: str | None
    is_stale: bool
    evidence: tuple[Json, ...]
    """For each edge that rests on it: edge_id, span, quote_hash."""
    text: str | None
    """The passage, exactly as stored, if the context shows it."""

    def as_json(self) -> Json:
        """It, as programs read it."""
        return {
            "n": self.n, "doc": self.doc, "chunk": self.chunk, "doc_title": self.doc_title, "section_path": list(self.section_path),
            "section": " › ".join(self.section_path) or None, "url": self.url, "head_revision": self.head_revision,
            "is_stale": self.is_stale, "evidence": [dict(one) for one in self.evidence], "text": self.text}


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the text: one edge with the sources that it is the first to need, or what the context does not hold."""

    text: str
    edge: Json | None = None
    """The edge as traces show it, with `source_name` and `target_name`; None: a note."""
    citations: tuple[int, ...] = ()
    """The marks of the edge."""
    sources_left_out: int = 0
    """Supporting passages that are not cited."""


class Telling:
    """The numbers of passages, as edges are told one after another."""

    def __init__(self, texts: Mapping[Passage, str], most_sources: int) -> None:
        self._texts = texts
        self._most = most_sources
        self._cited: dict[Passage, Citation] = {}

    def part(self, fact: Fact, *, texts: bool) -> tuple[Part, list[Citation]]:
        """An edge in words, with the sources that nobody needed before."""
        passages = _passages(fact)
        current = [place for place, items in passages.items() if not items[0].stale]
        chosen = (current or list(passages))[: self._most]
        fresh = [place for place in chosen if place not in self._cited]
        sources = []
        for place in chosen:
            evidence = tuple(_evidence(fact, one) for one in passages[place])
            known = self._cited.get(place)
            sources.append(replace(known, evidence=(*known.evidence, *evidence)) if known is not None else _citation(
                len(self._cited) + fresh.index(place) + 1, passages[place][0], evidence, self._texts.get(place) if texts else None))
        new = [one for one in sources if (one.doc, one.chunk) not in self._cited]
        lost = len(passages) - len(sources)
        more = f" and {lost} more {'source' if lost == 1 else 'sources'}" if lost else ""
        lines = [f"{_sentence(fact)} {''.join(f'[{one.n}]' for one in sources)}{more}"]
        lines += [_source(one, withheld_text=not texts and (one.doc, one.chunk) in self._texts) for one in new]
        edge = {**step_json(fact.step, auditor=False), "source_name": fact.source_name, "target_name": fact.target_name}
        del edge["forward"]
        return Part("\n".join(lines), edge, tuple(one.n for one in sources), lost), sources

    def keep(self, sources: Sequence[Citation]) -> None:
        """An edge is told: its sources have their numbers from here on."""
        self._cited |= {(one.doc, one.chunk): one for one in sources}

    def citations(self) -> tuple[Citation, ...]:
        """The sources of all edges told so far, by number."""
        return tuple(sorted(self._cited.values(), key=lambda one: one.n))


def _passages(fact: Fact) -> dict[Passage, list[Item]]:
    """The passages that support an edge, current ones first, each with its items."""
    found: dict[Passage, list[Item]] = {}
    for one in in_order(one for one in fact.step.evidence if one.supports):
        found.setdefault((one.content["doc"], one.content["chunk"]), []).append(one)
    return found


def _evidence(fact: Fact, one: Item) -> Json:
    span = one.content["span"]
    return {"edge_id": fact.edge_id, "span": None if span is None else list(span), "quote_hash": one.content["quote_hash"]}


def _citation(n: int, one: Item, evidence: tuple[Json, ...], text: str | None) -> Citation:
    what = one.content
    return Citation(n, what["doc"], what["chunk"], what["title"], tuple(what["section_path"] or ()), what["url"], what["head"], one.stale,
                    evidence, text)


def _sentence(fact: Fact) -> str:
    step = fact.step
    scope = [f"{name} {line(step.edge[name])}" for name in ("environment", "region") if step.edge.get(name) is not None]
    shown = step_json(step, auditor=False)["scope"]
    scope += [f"{word} {shown[name]}" for word, name in (("from", "valid_from"), ("until", "valid_to")) if shown[name] is not None]
    where = f" ({', '.join(scope)})" if scope else ""
    return (f"{_end(fact.source_name, step.source)} {line(step.relation or step.type.lower())} {_end(fact.target_name, step.target)}"
            f"{where}")


def _end(name: str, end: tuple[str, str, str]) -> str:
    address = line(f"{end[1]}:{end[2]}")
    return address if name == end[2] else f"{line(name)} ({address})"


def _source(one: Citation, *, withheld_text: bool) -> str:
    where = [one.doc_title, one.doc, " › ".join(one.section_path) or f"passage {one.chunk}", one.url or ""]
    told = f"[{one.n}] " + ", ".join(line(piece) for piece in where if piece)
    if one.is_stale:
        told += f" (replaced by {line(one.head_revision)})" if one.head_revision else " (replaced)"
    if withheld_text:
        return told + " (its text does not fit here)"
    if one.text is None or not one.text.strip():
        return told
    return "\n".join([told, *("  " + line(row) for row in one.text.splitlines() if row.strip())])


def line(text: Any) -> str:
    """Something of the graph in one line, without a mark that could be taken for a citation."""
    return _MARK.sub(r"(\1)", _BREAKS.sub(" ", str(text)).strip())
