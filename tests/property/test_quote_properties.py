"""Laws of the normaliser and of the grades, over any text."""

from __future__ import annotations

from hypothesis import assume, example, given
from hypothesis import strategies as st

from graphrag_provenance.rules.quotes import Grade, check_hash, find_quote, normalise, quote_hash, sha256_of

ODD = "ab 0129.,-+−²½①’“\u2009\u2011\u00a0\u00ad\u0301"
TEXTS = st.text(st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"])), max_size=40)


@given(TEXTS)
@example("\u2034\u1fef\u0149")
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_cut_from_between_other_words_is_held_exactly(before: str, quote: str, after: str) -> None:
    assume(quote.strip())
    text = f"{before} | {quote} | {after}"
    start = len(before) + 3
    assert find_quote(quote, text).grade is Grade.EXACT
    assert check_hash(sha256_of(quote), (start, start + len(quote)), text).grade is Grade.EXACT
    assert check_hash(quote_hash(quote), (start, start + len(quote)), text).grade.proved


@given(TEXTS, TEXTS)
def test_a_quote_is_held_after_normalising_or_before_but_never_less_than_its_normal_form(quote: str, text: str) -> None:
    if find_quote(quote, text).grade is Grade.NORMALISED:
        assert normalise(quote) in normalise(text)
        assert find_quote(normalise(quote), normalise(text)).grade is Grade.EXACT


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.sampled_from(["{} days", "in {}", "the {} th", "{}"]))
def test_a_changed_number_is_absent(one: int, other: int, around: str) -> None:
    assume(one != other)
    assert find_quote(around.format(one), "so: " + around.format(other) + " (end)").grade is Grade.ABSENT
