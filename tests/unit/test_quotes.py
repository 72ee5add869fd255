"""What counts as a quote from a passage: the normaliser, the grades, and numbers that were changed (spec 4, quotes)."""

from __future__ import annotations

import hashlib
import sys

import pytest

from graphrag_provenance.rules.quotes import (
    ODD_DIGITS,
    Grade,
    check_hash,
    check_hash_near,
    find_quote,
    find_quote_near,
    normalise,
    odd_digits,
    quote_hash,
    sha256_of,
)

TEXT = 'The limit is 1,120 days — “with notice” — and 10² m² in EU\u2009\u2011\u2009West.\nIt is not 5.5 % but −5 %.'


@pytest.mark.parametrize(("written", "plain"), [
    ("a\u2009b\u00a0c\r\n d", "a b c d"), ("x\u2010\u2011\u2012\u2013\u2014\u2212y", "x------y"),
    ("‘a’ “b” «c» `d`", "'a' \"b\" \"c\" 'd'"),
    ("\ufb01ne Ｆｕｌｌ １２", "fine Full 12"), ("co\u00adop\u200b", "coop"), ("m² ½ cup", "m2 1⁄2 cup"), ("10² 1½ ①②", "10² 1½ ①②"),
    ("  Case Stays. ", "Case Stays."), ("e\u0301", "é"), ("…", "..."), ("", ""),
])  # fmt: skip
def test_the_normaliser_folds_typesetting_and_nothing_else(written: str, plain: str) -> None:
    assert normalise(written) == plain
    assert normalise(plain) == plain


def test_the_quote_hash_is_that_of_the_normalised_quote() -> None:
    assert quote_hash(" a\u2011b ") == quote_hash("a-b") == "sha256:" + hashlib.sha256(b"a-b").hexdigest()
    assert quote_hash("a b") != quote_hash("A b")


def test_every_character_that_hides_a_digit_is_known() -> None:
    assert odd_digits(range(sys.maxunicode + 1)) == ODD_DIGITS


@pytest.mark.parametrize(("quote", "grade"), [
    ("The limit is 1,120 days", Grade.EXACT),
    ("The limit is 1,120 days - \"with notice\"", Grade.NORMALISED),
    ("in EU - West. It is", Grade.NORMALISED),  # field report 20: U+2009, U+2011
    ("The limit is 1,121 days", Grade.ABSENT),  # field report 20: one number changed
    ("The limit is 1,12", Grade.ABSENT), ("The limit is 1", Grade.ABSENT), ("120 days", Grade.ABSENT), (",120 days", Grade.ABSENT),
    ("and 10", Grade.ABSENT), ("and 102 m", Grade.ABSENT), ("10² m2 in", Grade.NORMALISED),
    (".5 %", Grade.ABSENT), ("5 %", Grade.ABSENT), ("not 5.5 %", Grade.EXACT), ("-5 %", Grade.NORMALISED),
    ("the limit is", Grade.ABSENT), ("limit … days", Grade.ABSENT), ("", Grade.ABSENT), (" \u2009", Grade.ABSENT),
])  # fmt: skip
def test_a_quote_is_one_piece_of_its_passage_and_cuts_no_number(quote: str, grade: Grade) -> None:
    assert find_quote(quote, TEXT).grade is grade


def test_a_later_whole_occurrence_counts_though_an_earlier_one_cuts_a_number() -> None:
    assert find_quote("12 days", "112 days, or 12 days").span == (13, 20)


@pytest.mark.parametrize(("text", "grade", "chunk"), [
    ("nothing", Grade.QUOTE_NOT_IN_CHUNK, "c2"), (None, Grade.QUOTE_NOT_IN_CHUNK, "c2"), ("the quote", Grade.EXACT, None),
])
def test_a_quote_found_only_in_another_chunk_says_where(text: str | None, grade: Grade, chunk: str | None) -> None:
    found = find_quote_near("the quote", text, [("c1", "no"), ("c2", "here is the quote")])
    assert (found.grade, found.chunk) == (grade, chunk)
    assert find_quote_near("the quote", text, [("c1", "no")]).grade is {None: Grade.NO_TEXT, "nothing": Grade.ABSENT}.get(text, grade)


PIECE = TEXT[13:27]


@pytest.mark.parametrize(("stated", "span", "text", "grade"), [
    (sha256_of(PIECE), (13, 27), TEXT, Grade.EXACT),
    (quote_hash("EU - West"), (TEXT.index("EU"), TEXT.index(".\n")), TEXT, Grade.NORMALISED),
    (sha256_of(TEXT[14:27]), (13, 27), TEXT, Grade.ABSENT),
    (sha256_of(TEXT[15:27]), (15, 27), TEXT, Grade.ABSENT),  # the span begins inside the number
    (sha256_of(TEXT[13:]), (13, 10_000), TEXT, Grade.ABSENT),  # the span ends past the text
    (quote_hash(""), (12, 13), TEXT, Grade.ABSENT),
    ("sha256:…", (13, 27), TEXT, Grade.ABSENT),
    (None, (13, 27), TEXT, Grade.NO_QUOTE), (sha256_of(PIECE), None, TEXT, Grade.NO_SPAN),
    (sha256_of(PIECE), (13, 27), None, Grade.NO_TEXT),
])  # fmt: skip
def test_a_hash_is_held_against_the_passage_at_its_span(
    stated: str | None, span: tuple[int, int] | None, text: str | None, grade: Grade) -> None:
    assert check_hash(stated, span, text).grade is grade


def test_a_hash_off_its_span_is_absent_and_says_where_it_is() -> None:
    moved = check_hash_near(sha256_of(PIECE), (0, 14), TEXT, [])
    assert (moved.grade, moved.chunk, moved.span) == (Grade.ABSENT, None, (13, 27))
    elsewhere = check_hash_near(sha256_of(PIECE), (0, 14), "another text, long enough", [("c2", TEXT)])
    assert (elsewhere.grade, elsewhere.chunk, elsewhere.span) == (Grade.QUOTE_NOT_IN_CHUNK, "c2", (13, 27))
    assert check_hash_near(sha256_of("other, 14 char"), (0, 14), TEXT, [("c2", TEXT)]).grade is Grade.ABSENT


def test_what_is_proved_and_what_is_a_finding() -> None:
    assert [grade for grade in Grade if grade.proved] == [Grade.EXACT, Grade.NORMALISED]
    assert [grade for grade in Grade if not grade.failed] == [Grade.EXACT, Grade.NORMALISED, Grade.NO_QUOTE]
