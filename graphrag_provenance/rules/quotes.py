"""Quotes: what a quote hash is, and whether a passage holds the quote (spec 4, quotes).

Owns: the versioned normaliser, the hash over its result, the grades, and how a quote is looked for. Pure.

The normaliser `nfkc-dash-quote-space/1` makes one text of what differs only in how it is typeset: NFKC; every dash a hyphen;
every quotation mark a plain one; invisible joiners and soft hyphens gone; white space one space, trimmed. Case, words, digits
and punctuation stay. One exception from NFKC keeps numbers what they are: a raised, lowered, circled or broken digit beside
another digit is left alone, since 10² is not 102 and 1½ is not 11/2.

A quote is held where it stands as one piece. It is not held where that piece would begin or end inside a number: "12 days" is
not a quote from "a limit of 112 days". So a changed number is always absent.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

NORMALISER = "nfkc-dash-quote-space/1"
Span = tuple[int, int]


class Grade(StrEnum):
    """What a check of one quote found."""

    EXACT = "exact"
    """The passage holds it, character for character."""
    NORMALISED = "normalised"
    """The passage holds it after both went through the normaliser."""
    ABSENT = "absent"
    """The passage does not hold it, or not at the span that the evidence names."""
    QUOTE_NOT_IN_CHUNK = "quote-not-in-chunk"
    """The passage cited does not hold it; another one of the same revision does."""
    NO_TEXT = "no-text"
    """The store holds no text of the passage that this reader may read."""
    NO_SPAN = "no-span"
    """Only a hash is known and no span: which part of the passage to hash is unknown, so nothing is proved."""
    NO_QUOTE = "no-quote"
    """The evidence states no quote: there is nothing to check."""

    @property
    def proved(self) -> bool:
        """Whether the passage holds the quote."""
        return self in (Grade.EXACT, Grade.NORMALISED)

    @property
    def failed(self) -> bool:
        """Whether there is a quote that could not be proved."""
        return not self.proved and self is not Grade.NO_QUOTE


@dataclass(frozen=True, slots=True)
class Finding:
    """The grade of one quote, and where it was found instead where it is not held as cited."""

    grade: Grade
    chunk: str | None = None
    """The other chunk of the same revision that holds it."""
    span: Span | None = None
    """Where it stands: [start, end) in characters of the chunk's text, if that is known."""


_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe31\ufe32\ufe58\ufe63\uff0d"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032\u2035\u2039\u203a\u00b4\u02bc\u02b9\uff07\uff40`"
_DOUBLE = "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u301d\u301e\u301f\uff02"
_GONE = "\u00ad\u200b\u2060\ufeff"
_PLAIN = str.maketrans(dict.fromkeys(_DASHES, "-") | dict.fromkeys(_SINGLE, "'") | dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_GONE))
_SPACES = re.compile(r"\s+")


def odd_digits(codes: Iterable[int]) -> str:
    """Those of some characters that are no digit but become, or contain, one under NFKC."""
    found = (chr(code) for code in codes if unicodedata.decomposition(chr(code)).startswith("<"))
    return "".join(one for one in found if not one.isdecimal() and any(c.isdecimal() for c in unicodedata.normalize("NFKC", one)))


ODD_DIGITS = odd_digits((*range(0x80, 0x3400), *range(0x1F100, 0x1F200)))
"""All of them; Unicode has none elsewhere."""
_ODD = re.escape(ODD_DIGITS)
_KEPT = re.compile(rf"((?<=\d)[{_ODD}]+|[{_ODD}]+(?=\d)|[{_ODD}]{{2,}})")
_NUMBER = re.compile(rf"(?:(?<![\w)])[-+\u2212])?[\d{_ODD}]+(?:[.,'\u2019][\d{_ODD}]+)*")
_BESIDE = re.compile(rf"[\d{_ODD}.,'\u2019+\u2212-]")


def normalise(text: str) -> str:
    """The text by the rule NORMALISER. Normalising twice changes nothing more."""
    if text.isascii() and "`" not in text:
        return " ".join(text.split())
    parts = _KEPT.split(text.translate(_PLAIN))
    folded = "".join(part if place % 2 else unicodedata.normalize("NFKC", part).translate(_PLAIN) for place, part in enumerate(parts))
    return _SPACES.sub(" ", folded).strip()


def sha256_of(text: str) -> str:
    """`sha256:` of a text as it stands."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def quote_hash(quote: str) -> str:
    """The quote hash that evidence states: `sha256:` of the normalised quote."""
    return sha256_of(normalise(quote))


def places(quote: str, text: str) -> Iterator[Span]:
    """Where a text holds a quote character for character, without cutting a number. A blank quote stands nowhere."""
    start = text.find(quote) if quote.strip() else -1
    while start >= 0:
        end = start + len(quote)
        if not _cuts_number(text, start) and not _cuts_number(text, end):
            yield start, end
        start = text.find(quote, start + 1)


def _cuts_number(text: str, at: int) -> bool:
    """Whether a position lies inside a number of the text."""
    if not 0 < at < len(text) or not _BESIDE.match(text[at - 1]) or not _BESIDE.match(text[at]):
        return False
    start, end = at, at
    while start > 0 and _BESIDE.match(text[start - 1]):
        start -= 1
    while end < len(text) and _BESIDE.match(text[end]):
        end += 1
    return any(found.start() < at < found.end() for found in _NUMBER.finditer(text, start, end))


def find_quote(quote: str, text: str | None) -> Finding:
    """Grade a quote whose words are known against the passage it cites."""
    if text is None:
        return Finding(Grade.NO_TEXT)
    exact = next(places(quote, text), None)
    if exact is not None:
        return Finding(Grade.EXACT, span=exact)
    folded = next(places(normalise(quote), _normal_passage(text)), None)
    return Finding(Grade.ABSENT if folded is None else Grade.NORMALISED)


_normal_passage = lru_cache(maxsize=512)(normalise)
"""One passage is searched for many quotes."""


def find_quote_near(quote: str, text: str | None, others: Sequence[tuple[str, str]]) -> Finding:
    """As `find_quote`; a quote that is absent is also looked for in `others`, the (chunk, text) pairs of the same revision."""
    found = find_quote(quote, text)
    if found.grade in (Grade.ABSENT, Grade.NO_TEXT):
        for chunk, other in others:
            elsewhere = find_quote(quote, other)
            if elsewhere.grade.proved:
                return Finding(Grade.QUOTE_NOT_IN_CHUNK, chunk, elsewhere.span)
    return found


def check_hash(stated: str | None, span: Span | None, text: str | None) -> Finding:
    """Grade evidence that keeps only the hash of its quote: the hash of the passage at the span, as it stands or normalised."""
    if stated is None:
        return Finding(Grade.NO_QUOTE)
    if text is None:
        return Finding(Grade.NO_TEXT)
    if span is None:
        return Finding(Grade.NO_SPAN)
    return Finding(_slice_grade(stated, span, text))


def check_hash_near(stated: str | None, span: Span | None, text: str | None, others: Sequence[tuple[str, str]]) -> Finding:
    """As `check_hash`; a quote that is not at its span is also looked for elsewhere in the passage and in `others`, by hashing
    every piece that is as long as the span. A piece of another length cannot be found: its words are not known."""
    found = check_hash(stated, span, text)
    if stated is None or span is None or found.grade not in (Grade.ABSENT, Grade.NO_TEXT):
        return found
    here = None if text is None else _window(stated, span[1] - span[0], text)
    if here is not None:
        return Finding(Grade.ABSENT, span=here)
    for chunk, other in others:
        there = _window(stated, span[1] - span[0], other)
        if there is not None:
            return Finding(Grade.QUOTE_NOT_IN_CHUNK, chunk, there)
    return found


def _slice_grade(stated: str, span: Span, text: str) -> Grade:
    start, end = span
    piece = text[start:end]
    if end > len(text) or not piece.strip() or _cuts_number(text, start) or _cuts_number(text, end):
        return Grade.ABSENT
    if sha256_of(piece) == stated:
        return Grade.EXACT
    return Grade.NORMALISED if quote_hash(piece) == stated else Grade.ABSENT


def pieces(span: Span, text: str) -> int:
    """How many pieces of a text are as long as a span: what looking for a hash in it costs."""
    return max(0, len(text) - (span[1] - span[0]) + 1)


def _window(stated: str, size: int, text: str) -> Span | None:
    return next(((start, start + size) for start in range(len(text) - size + 1)
                 if _slice_grade(stated, (start, start + size), text).proved), None)
