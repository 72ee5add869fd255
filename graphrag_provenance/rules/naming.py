"""Which entities a text names (spec 5, for GraphRAG frameworks). Pure.

Owns: which words of a text may be a name, and when a name stands for one entity. Leaves to the store: who bears a name, of the entities
that the reader may see.

Rule: a name is a run of up to 8 words that is, as a whole, the id, a name or an alias of an entity, or its address `Type:id`. A longer
name wins over one inside of it. Names are compared as they are written; where nobody bears one as written, ids and names without regard to
case. A name that several entities bear, or that only a guess ties to one, stands for none: nothing is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.identifiers import normalise_entity_id, parse_address
from graphrag_provenance.rules.chains import Address, Reason

MOST_WORDS = 200
"""Words of a text in which names are looked for."""
_LONGEST_NAME = 8
_AROUND = ".,;:!?…\"'`´“”„‘’«»‹›()[]{}<>*_"


@dataclass(frozen=True, slots=True)
class Mention:
    """Some words of a text that may be a name."""

    first: int
    """Number of the first word."""
    after: int
    """Number of the word behind the last."""
    lookup: str
    """The name, normalised as ids and aliases are."""
    type: str | None = None
    """The type that an address states."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """An entity that bears a name."""

    type: str
    id: str
    name: str
    by_id: bool = False
    """The name is its address."""
    exact: bool = True
    """As written; else only without regard to case."""
    guessed: bool = False
    """Only a guess ties the name to it."""

    @property
    def address(self) -> Address:
        """(type, id)"""
        return self.type, self.id


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A name that stands for no single entity, and why."""

    name: str
    reason: Reason
    candidates: tuple[Address, ...] = ()
    """Who bears it, of those that the reader may see."""

    def as_json(self) -> dict[str, Any]:
        """It, as programs read it."""
        return {"name": self.name, "reason": self.reason.value,
                "candidates": [{"type": kind, "id": name} for kind, name in self.candidates]}


def mentions(text: str) -> list[Mention]:
    """Every run of words that may be a name. Raises InputError for a text of more than 200 words: nothing of it is passed over."""
    words = normalise_entity_id(text).split(" ")
    if len(words) > MOST_WORDS:
        raise InputError(f"Names are looked for in at most {MOST_WORDS} words, and the text has {len(words)}.",
                         hint="Ask a shorter question, or name the entities.")
    found: dict[Mention, None] = {}
    for first in range(len(words)):
        for after in range(first + 1, min(first + _LONGEST_NAME, len(words)) + 1):
            written = " ".join(words[first:after])
            for form in (written, written.strip(_AROUND), written.strip(_AROUND).removesuffix("'s").removesuffix("’s")):
                found |= {one: None for one in _readings(first, after, form)}
    return list(found)


def _readings(first: int, after: int, form: str) -> Iterable[Mention]:
    if not form:
        return
    yield Mention(first, after, form)
    try:
        kind, name = parse_address(form)
    except ValueError:
        return
    yield Mention(first, after, name, kind)


def resolved(asked: Sequence[Mention], bearers: Mapping[int, Sequence[Bearer]]) -> tuple[list[Bearer], list[Unresolved]]:
    """The entities that a text names, in its order, and the names that stand for none. `bearers`: number of a mention → who bears it."""
    taken: list[tuple[Mention, Bearer | Unresolved]] = []
    by_words: dict[tuple[int, int], list[tuple[Mention, Bearer]]] = {}
    for number, mention in enumerate(asked):
        for one in bearers.get(number, ()):
            by_words.setdefault((mention.first, mention.after), []).append((mention, one))
    for first, after in sorted(by_words, key=lambda place: (place[0] - place[1], place[0])):
        if not any(mention.first < after and first < mention.after for mention, _ in taken):
            taken.append((by_words[first, after][0][0], settled(by_words[first, after])))
    found: dict[Address, Bearer] = {}
    unresolved: dict[Unresolved, None] = {}
    for _, what in sorted(taken, key=lambda pair: pair[0].first):
        if isinstance(what, Bearer):
            found.setdefault(what.address, what)
        else:
            unresolved[what] = None
    return list(found.values()), list(unresolved)


def settled(candidates: Sequence[tuple[Mention, Bearer]]) -> Bearer | Unresolved:
    """The one entity that some words stand for, or why there is none. Raises IndexError without candidates."""
    name = candidates[0][0].lookup
    sure = [one for _, one in candidates if not one.guessed]
    for better in ([one for one in sure if one.by_id], [one for one in sure if one.exact], sure):
        bearers = {one.address: one for one in better}
        if len(bearers) == 1:
            return next(iter(bearers.values()))
        if bearers:
            return Unresolved(name, Reason.ENTITY_JOIN, tuple(sorted(bearers)))
    return Unresolved(name, Reason.ALIAS_GUESSED, tuple(sorted({one.address for _, one in candidates})))
