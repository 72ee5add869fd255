"""Identifiers hold any characters and come back exactly (spec 1, keys are unambiguous)."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import assume, example, given
from hypothesis import strategies as st

from graphrag_provenance.model.identifiers import (
    canonical_json,
    derive_id,
    is_name,
    normalise_entity_id,
    parse_address,
    point_id,
    relationship_type,
    split_revision,
)

# Any text that UTF-8 can write, with the characters that other tools split at made frequent.
TRICKY = st.sampled_from(["<SEP>", ",", "|", "@", "#", "'", '"', ")", ";", ":", "\\", " ", "\u00a0", "\0", "[", "]", "`"])
ANY = st.lists(TRICKY | st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=6).map("".join)
NONEMPTY = ANY.filter(bool)


@given(ANY)
@example("a \u0308")
@example("\u2000\u0301")
@example("\u1100\u1161 \u11a8")
@example("\u212b")
def test_the_id_rule_is_idempotent_and_gives_one_spelling(text: str) -> None:
    once = normalise_entity_id(text)
    assert normalise_entity_id(once) == once
    assert normalise_entity_id(unicodedata.normalize("NFD", text)) == once
    assert normalise_entity_id(f"  {text}\t") == once
    assert unicodedata.is_normalized("NFC", once)
    assert once == once.strip()


@given(ANY)
def test_the_id_rule_keeps_everything_but_white_space(text: str) -> None:
    kept = "".join(unicodedata.normalize("NFC", text).split())
    assert "".join(normalise_entity_id(text).split()) == kept


@given(NONEMPTY, NONEMPTY.filter(lambda version: "@" not in version))
def test_a_revision_gives_back_its_document_and_version(doc_id: str, version: str) -> None:
    assert split_revision(f"{doc_id}@{version}") == (doc_id, version)


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,63}", fullmatch=True), ANY)
def test_an_address_gives_back_its_type_and_id(entity_type: str, text: str) -> None:
    entity_id = normalise_entity_id(text)
    assume(entity_id)
    assert parse_address(f"{entity_type}:{entity_id}") == (entity_type, entity_id)
    assert parse_address(f"{entity_type}:{text}") == (entity_type, entity_id)


PARTS = st.lists(st.none() | ANY | st.integers() | st.booleans() | st.lists(ANY, max_size=2), max_size=4)


@given(PARTS, PARTS)
@example(["a", "b"], ["ab"])
@example(["a,b"], ["a", "b"])
@example(['a","b'], ["a", "b"])
@example([""], [])
@example([None], ["null"])
@example([1], ["1"])
@example([True], [1])
@example([["a"], "b"], [["a", "b"]])
@example(["é"], ["e\u0301"])
def test_derived_ids_are_equal_exactly_when_the_parts_are(one: list[object], other: list[object]) -> None:
    assert (derive_id("E", one) == derive_id("E", other)) == (repr(one) == repr(other))


@given(ANY, st.integers(0, 20), st.integers(0, 20))
def test_the_same_text_split_elsewhere_is_another_id(text: str, here: int, there: int) -> None:
    one, other = (text[:here], text[here:]), (text[:there], text[there:])
    assert (derive_id("E", one) == derive_id("E", other)) == (one == other)
    assert (point_id("t", *one) == point_id("t", *other)) == (one == other)


@given(st.dictionaries(ANY, ANY | st.integers() | st.none(), max_size=4))
def test_canonical_json_loses_nothing_and_ignores_the_order_of_keys(value: dict[str, object]) -> None:
    assert json.loads(canonical_json(value)) == value
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@given(ANY)
def test_what_is_a_name_is_safe_between_backticks_and_without(text: str) -> None:
    if is_name(text):
        assert text.isascii()
        assert text.replace("_", "").isalnum()
        assert len(text) <= 64
        assert relationship_type(text).replace("_", "").isalnum()
