"""Context for a model: relations with their evidence, within a budget of tokens (spec 5, for GraphRAG frameworks). Pure.

Owns: what a model sees, what is left out when the budget is short, how that is said, and the way from `[n]` in an answer back to the
passages and edges. Leaves to the store: which edges there are for a reader, in which order, and which texts the reader may read; to
`rules.telling` how an edge and its sources read.

Rules:
- The budget is a hard bound: the text as a whole is counted, by the counter given, and never counts more.
- Edges come in the order given, whole or not at all. One whose passages do not fit comes without their texts, which is said; the first
  that does not fit even so ends it. How many are left out is said in the text, and stands in `left_out`.
- Nothing names a policy or an access reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.answers import Json
from graphrag_provenance.rules.chains import Address, Question, Reason
from graphrag_provenance.rules.naming import Unresolved
from graphrag_provenance.rules.telling import Citation, Fact, Part, Passage, Telling, line

CountTokens = Callable[[str], int]
_BYTES_A_TOKEN = 3
_MOST_NAMED = 5
_CITED = re.compile(r"\[\s*([0-9]{1,6}(?:\s*[,;]\s*[0-9]{1,6})*)\s*\]")


def estimated_tokens(text: str) -> int:
    """A token for every three bytes of UTF-8, rounded up: more than the usual tokenizers count in English, about what they count in
    other scripts. Give the counter of your model where it matters."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN)


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
            "edges": [{**part.edge, "citations": list(part.citations), "sources_left_out": part.sources_left_out}
                      for part in self.parts if part.edge is not None],
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
    telling = Telling(gathered.texts or {}, most_sources)
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
        f"No chain of evidenced relations joins {line(':'.join(one.question.source))} and {line(':'.join(one.question.target))} "
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
    name = f"“{line(one.name)}”"
    if one.reason is Reason.UNKNOWN_ENTITY:
        return f"{name} is no entity here."
    if one.reason is Reason.ALIAS_GUESSED:
        return f"{name} is unresolved: only a guess says what it names."
    if short:
        return f"{name} is unresolved: it names {len(one.candidates)} entities."
    named = ", ".join(line(":".join(candidate)) for candidate in one.candidates[:_MOST_NAMED])
    more = len(one.candidates) - _MOST_NAMED
    return f"{name} is unresolved: it names {named}{f' and {more} more' if more > 0 else ''}."
