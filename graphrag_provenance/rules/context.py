"""Context for a model: relations with their evidence, within a budget of tokens (spec 5, for GraphRAG frameworks). Pure.

Owns: the words that a model sees, their order, what is left out when the budget is short, and the way from `[n]` in an answer back to
the passages and edges. Leaves to the store: which edges there are for a reader, in which order, and which texts the reader may read.

Rules:
- The budget is a hard bound: the text as a whole is counted, by the counter given, and never counts more.
- Edges come in the order given, whole or not at all. One whose passages do not fit comes without their texts, which is said; the first
  that does not fit even so ends it. How many are left out is said in the text, and stands in `left_out`.
- `[n]` in the text is a citation, always: where a name, title or passage holds such a mark, it is written `(n)`. What comes from the
  graph cannot begin a line of its own.
- An edge is told with the passages in force that support it; replaced ones only where there is no other. How many are not cited is said.
- Nothing names a policy or an access reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.answers import Json, in_order, step_json
from graphrag_provenance.rules.chains import Address, Item, Question, Reason, Step
from graphrag_provenance.rules.naming import Unresolved

CountTokens = Callable[[str], int]
Passage = tuple[str, str]
"""(revision, chunk)"""
_BYTES_A_TOKEN = 3
_MOST_NAMED = 5
_MARK = re.compile(r"\[(\s*\d[\d\s,;–-]*)\]")
_CITED = re.compile(r"\[\s*([0-9]{1,6}(?:\s*[,;]\s*[0-9]{1,6})*)\s*\]")
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def estimated_tokens(text: str) -> int:
    """A token for every three bytes of UTF-8, rounded up: more than the usual tokenizers count in English, about what they count in
    other scripts. Give the counter of your model where it matters."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN)


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
class AskedClaim:
    """A claim that the context was made for, and its answer."""

    question: Question
    reason: Reason | None
    """None: supported."""

    def as_json(self) -> Json:
        """It, as programs read it."""
        ends = {side: dict(zip(("type", "id"), end, strict=True))
                for side, end in (("from", self.question.source), ("to", self.question.target))}
        return {**ends, "state": "supported" if self.reason is None else "unresolved",
                "reason": None if self.reason is None else self.reason.value}


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the store found for a context."""

    facts: tuple[Fact, ...] = ()
    """In the order in which they are to be told."""
    unread: int = 0
    """Edges that were found and not read, because there are too many."""
    uncounted: bool = False
    """There may be more edges than `unread` says."""
    texts: Mapping[Passage, str] | None = None
    """The texts that the reader may read."""
    entities: tuple[Address, ...] = ()
    """The entities that it is about."""
    unresolved: tuple[Unresolved, ...] = ()
    claims: tuple[AskedClaim, ...] = ()
    """Claims that were asked; those that only the pairing of entities suggested are not among them."""
    generation: int = 0


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


@dataclass(frozen=True, slots=True)
class Context:
    """What a model may see, and what it stands on."""

    parts: tuple[Part, ...]
    citations: tuple[Citation, ...]
    budget: int
    tokens: int
    """What the counter says of the text."""
    left_out: int
    """Edges that hold and are not told."""
    uncounted: bool
    """There may be more of them."""
    entities: tuple[Address, ...]
    unresolved: tuple[Unresolved, ...]
    claims: tuple[AskedClaim, ...]
    generation: int

    @property
    def text(self) -> str:
        """The parts, one blank line between them."""
        return _joined(self.parts)

    @property
    def edges(self) -> tuple[Part, ...]:
        """The parts that tell an edge."""
        return tuple(part for part in self.parts if part.edge is not None)

    def cited(self, answer: str) -> tuple[tuple[Citation, ...], tuple[int, ...]]:
        """The citations that an answer made of this context refers to, by number; and the numbers that stand for nothing."""
        numbers = sorted({int(number) for marks in _CITED.findall(answer) for number in re.split(r"[,;]", marks)})
        known = {one.n: one for one in self.citations}
        return tuple(known[n] for n in numbers if n in known), tuple(n for n in numbers if n not in known)

    def as_json(self) -> Json:
        """The context as programs read it."""
        return {
            "schema": 1, "text": self.text, "tokens": self.tokens, "budget": self.budget, "left_out": self.left_out,
            "uncounted": self.uncounted, "generation": self.generation,
            "entities": [{"type": kind, "id": name} for kind, name in self.entities],
            "unresolved": [one.as_json() for one in self.unresolved], "claims": [one.as_json() for one in self.claims],
            "edges": [{**(part.edge or {}), "citations": list(part.citations), "sources_left_out": part.sources_left_out}
                      for part in self.edges],
            "citations": [one.as_json() for one in self.citations]}


def build_context(
    gathered: Gathered, *, budget: int, count_tokens: CountTokens = estimated_tokens, most_sources: int = 3,
) -> Context:
    """The context of what was gathered. `most_sources`: passages cited for one edge; how many more there are is said.

    Raises InputError for a budget that not even an empty text keeps to.
    """
    if most_sources < 1:
        raise InputError("An edge is told with at least one source.", hint="Set most_sources to 1 or more.")
    if (least := count_tokens("")) > budget or budget < 1:
        raise InputError(f"A budget of {budget} tokens holds nothing.", hint=f"Give at least {max(least, 1)}.")
    telling = _Telling(gathered, most_sources)
    parts: list[Part] = []
    shown = _noted(parts, gathered, len(gathered.facts), budget, count_tokens)
    for number, fact in enumerate(gathered.facts):
        left = len(gathered.facts) - number - 1
        for texts in (True, False):
            part, sources = telling.part(fact, texts=texts)
            tried = _noted([*parts, part], gathered, left, budget, count_tokens)
            if tried is not None:
                break
        if tried is None:
            break
        telling.keep(sources)
        parts.append(part)
        shown = tried
    final = tuple(shown or ())
    return Context(
        final, telling.citations(), budget, count_tokens(_joined(final)), len(gathered.facts) - len(parts) + gathered.unread,
        gathered.uncounted, gathered.entities, gathered.unresolved, gathered.claims, gathered.generation)


def _joined(parts: Sequence[Part]) -> str:
    return "\n\n".join(part.text for part in parts)


def _noted(parts: Sequence[Part], gathered: Gathered, left: int, budget: int, count_tokens: CountTokens) -> list[Part] | None:
    """The parts with what must be said of what they lack, at length or else in short; None if that is too much."""
    left += gathered.unread
    for note in dict.fromkeys((_note(gathered, left, short=False), _note(gathered, left, short=True))):
        whole = [*parts, *([Part(note)] if note else [])]
        if count_tokens(_joined(whole)) <= budget:
            return whole
    return None


def _note(gathered: Gathered, left: int, *, short: bool) -> str:
    told = [_unresolved(one, short=short) for one in gathered.unresolved]
    told += [
        f"No chain of evidenced relations joins {_line(':'.join(one.question.source))} and {_line(':'.join(one.question.target))} "
        f"({one.reason.value})." for one in gathered.claims if one.reason is not None]
    if short and len(told) > 1:
        told = [f"{len(told)} names or claims are unresolved."]
    if not gathered.facts and not gathered.unread:
        told.append("No relation was found." if gathered.entities or gathered.claims else "No entity was found.")
    elif left:
        least = "At least " if gathered.uncounted else ""
        told.append(f"{least}{left} more {'relation does' if left == 1 else 'relations do'} not fit here.")
    return "\n".join(told)


def _unresolved(one: Unresolved, *, short: bool) -> str:
    name = f"“{_line(one.name)}”"
    if one.reason is Reason.UNKNOWN_ENTITY:
        return f"{name} is no entity here."
    if one.reason is Reason.ALIAS_GUESSED:
        return f"{name} is unresolved: only a guess says what it names."
    if short:
        return f"{name} is unresolved: it names {len(one.candidates)} entities."
    named = ", ".join(_line(":".join(candidate)) for candidate in one.candidates[:_MOST_NAMED])
    more = len(one.candidates) - _MOST_NAMED
    return f"{name} is unresolved: it names {named}{f' and {more} more' if more > 0 else ''}."


class _Telling:
    """The numbers of passages, as edges are told one after another."""

    def __init__(self, gathered: Gathered, most_sources: int) -> None:
        self._texts = gathered.texts or {}
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
    scope = [f"{name} {_line(step.edge[name])}" for name in ("environment", "region") if step.edge.get(name) is not None]
    shown = step_json(step, auditor=False)["scope"]
    scope += [f"{word} {shown[name]}" for word, name in (("from", "valid_from"), ("until", "valid_to")) if shown[name] is not None]
    where = f" ({', '.join(scope)})" if scope else ""
    return (f"{_end(fact.source_name, step.source)} {_line(step.relation or step.type.lower())} {_end(fact.target_name, step.target)}"
            f"{where}")


def _end(name: str, end: tuple[str, str, str]) -> str:
    address = _line(f"{end[1]}:{end[2]}")
    return address if name == end[2] else f"{_line(name)} ({address})"


def _source(one: Citation, *, withheld_text: bool) -> str:
    where = [one.doc_title, one.doc, " › ".join(one.section_path) or f"passage {one.chunk}", one.url or ""]
    told = f"[{one.n}] " + ", ".join(_line(piece) for piece in where if piece)
    if one.is_stale:
        told += f" (replaced by {_line(one.head_revision)})" if one.head_revision else " (replaced)"
    if withheld_text:
        return told + " (its text does not fit here)"
    if one.text is None or not one.text.strip():
        return told
    return "\n".join([told, *("  " + _line(row) for row in one.text.splitlines() if row.strip())])


def _line(text: Any) -> str:
    """Something of the graph in one line, without a mark that could be taken for a citation."""
    return _MARK.sub(r"(\1)", _BREAKS.sub(" ", str(text)).strip())
