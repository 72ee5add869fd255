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
    pieces,
    quote_hash,
    sha256_of,
)

TEXT = 'The limit is 1,120 days — “with notice” — and 10² m² in EU\u2009\u2011\u2009West.\nIt is not 5.5 % but −5 %.'


@pytest.mark.parametrize(("written", "plain"), [
    ("a\u2009b\u00a0c\r\n d", "a b c d"), ("x\u2010\u2011\u2012\u2013\u2014\u2212y", "x------y"),
    ("‘a’ “b” «c» `d`", "'a' \"b\" \"c\" 'd'"),
    ("\ufb01ne Ｆｕｌｌ １２", "fine Full 12"), ("co\u00adop\u200b", "coop"), ("m² ½ cup", "m2 1⁄2 cup"), ("10² 1½ ①②", "10² 1½ ①②"),
    ("`a` 1", "'a' 1"), ("  Case Stays. ", "Case Stays."), ("e\u0301", "é"), ("…", "..."), ("", ""),
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


@pytest.mark.parametrize(("quote", "text", "grade"), [
    ("12", "12", Grade.EXACT), ("12", "so 12", Grade.EXACT), ("12 so", "12 so 3", Grade.EXACT),
    ("3", "12..34", Grade.ABSENT), ("12", "12..34", Grade.EXACT),  # two numbers side by side, of which one is cut
])
def test_the_edges_of_a_text_cut_nothing_and_numbers_side_by_side_are_two(quote: str, text: str, grade: Grade) -> None:
    assert find_quote(quote, text).grade is grade


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
    (sha256_of(TEXT[13:16]), (13, 16), TEXT, Grade.ABSENT),  # the span ends inside it
    (sha256_of(TEXT[-5:]), (len(TEXT) - 5, len(TEXT)), TEXT, Grade.EXACT),
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


@pytest.mark.parametrize(("text", "others", "grade", "span"), [
    ("so it is: the quote", [], Grade.ABSENT, (10, 19)), ("the quote it is", [], Grade.ABSENT, (0, 9)),
    ("nothing of the kind", [("c1", "the"), ("c2", "it is the quote")], Grade.QUOTE_NOT_IN_CHUNK, (6, 15)),
    (None, [("c2", "the quote it is")], Grade.QUOTE_NOT_IN_CHUNK, (0, 9)), (None, [], Grade.NO_TEXT, None),
    ("see the quote", [("c2", "the quote")], Grade.EXACT, None),
])
def test_a_hash_is_looked_for_from_the_first_to_the_last_place(
    text: str | None, others: list[tuple[str, str]], grade: Grade, span: tuple[int, int] | None) -> None:
    found = check_hash_near(sha256_of("the quote"), (4, 13), text, others)
    assert (found.grade, found.span) == (grade, span)


def test_without_a_hash_or_a_span_nothing_is_looked_for() -> None:
    assert check_hash_near(None, (4, 13), "see the quote", []).grade is Grade.NO_QUOTE
    for text, grade in (("the quote", Grade.NO_SPAN), (None, Grade.NO_TEXT)):
        assert check_hash_near(sha256_of("the quote"), None, text, [("c2", "the quote")]).grade is grade


@pytest.mark.parametrize(("span", "text", "count"), [
    ((0, 3), "abc", 1), ((2, 4), "abcde", 4), ((5, 6), "abc", 3), ((0, 4), "abc", 0), ((0, 9), "abc", 0), ((1, 2), "", 0)])
def test_pieces_are_counted_by_their_length(span: tuple[int, int], text: str, count: int) -> None:
    assert pieces(span, text) == count


def test_what_is_proved_and_what_is_a_finding() -> None:
    assert [grade for grade in Grade if grade.proved] == [Grade.EXACT, Grade.NORMALISED]
    assert [grade for grade in Grade if not grade.failed] == [Grade.EXACT, Grade.NORMALISED, Grade.NO_QUOTE]
