"""Identifiers: legal names, the id rule, revisions, addresses and derived ids (spec 1)."""

from __future__ import annotations

import re
import uuid

import pytest

from graphrag_provenance.model.identifiers import (
    RESERVED_RELATIONSHIPS,
    RESERVED_TYPES,
    canonical_json,
    check_entity_type,
    citation,
    derive_id,
    is_name,
    normalise_entity_id,
    parse_address,
    point_id,
    relationship_type,
    split_revision,
)
from graphrag_provenance.queries import all_queries
from graphrag_provenance.store.migrations import shipped

INJECTION = "OWNS`]->() DETACH DELETE n //"


@pytest.mark.parametrize(("text", "legal"), [
    ("a", True), ("System", True), ("depends_on", True), ("A1_", True), ("a" * 64, True),
    ("", False), ("a" * 65, False), ("1a", False), ("_a", False), ("a-b", False), ("a b", False), ("a\n", False),
    ("é", False), ("a`b", False), (INJECTION, False),
])
def test_names(text: str, legal: bool) -> None:
    assert is_name(text) is legal


@pytest.mark.parametrize(("relation", "name"), [
    ("depends_on", "DEPENDS_ON"), ("dependsOn", "DEPENDSON"), ("P17", "P17"), ("OWNS", "OWNS"),
])
def test_a_relation_becomes_a_relationship_type(relation: str, name: str) -> None:
    assert relationship_type(relation) == name


@pytest.mark.parametrize("relation", [INJECTION, "", "a b", *sorted(RESERVED_RELATIONSHIPS), "evidenced_by", "Has_Chunk"])
def test_an_illegal_or_reserved_relation_is_refused(relation: str) -> None:
    with pytest.raises(ValueError, match=r"does not match|reserved"):
        relationship_type(relation)


@pytest.mark.parametrize("entity_type", [INJECTION, "", "a b", *sorted(RESERVED_TYPES)])
def test_an_illegal_or_reserved_entity_type_is_refused(entity_type: str) -> None:
    with pytest.raises(ValueError, match=r"does not match|reserved"):
        check_entity_type(entity_type)


def test_a_type_is_kept_as_it_is_written() -> None:
    assert check_entity_type("System") == "System"


def test_every_label_and_relationship_type_that_the_store_uses_is_reserved() -> None:
    texts = [q.text for q in all_queries().values()] + [s for m in shipped() for s in m.statements]
    code = "\n".join(re.sub(r"//[^\n]*|'[^'\n]*'", "", text) for text in texts)
    nodes = re.findall(r"\(\s*\w*((?:\s*:\s*[A-Za-z]\w*)+)", code)
    labels = {label for chain in nodes for label in re.findall(r"\w+", chain)}
    labels |= set(re.findall(r"\b(?:SET|REMOVE)\s+\w+:([A-Z]\w*)", code))
    types = {name for chain in re.findall(r"\[\s*\w*\s*:\s*([A-Z_|]+)", code) for name in chain.split("|")}
    assert {"Store", "Run", "Withheld", "Delta"} <= labels
    assert labels <= RESERVED_TYPES
    assert types <= RESERVED_RELATIONSHIPS


@pytest.mark.parametrize(("text", "canonical"), [
    ("SYS_A", "SYS_A"),
    ("  SYS  A \t", "SYS A"),
    ("a\u00a0b\u2003\nc", "a b c"),
    ("Z\u0307u\u0142awski", "\u017bu\u0142awski"),  # decomposed and composed are one id
    ("\u017bu\u0142awski", "\u017bu\u0142awski"),
    ("\u212b", "\u00c5"),  # a letter that is another one in NFC
    ("electrons", "electrons"),
    ("Electrons", "Electrons"),  # case is kept
    ("ﬁ", "ﬁ"),  # NFC, not NFKC
    ("a<SEP>b,c|d@e#f'\");", "a<SEP>b,c|d@e#f'\");"),
    (INJECTION, INJECTION),
    (" ", ""),
])
def test_the_id_rule(text: str, canonical: str) -> None:
    assert normalise_entity_id(text) == canonical


@pytest.mark.parametrize(("revision", "doc_id", "version"), [
    ("POL-17@1.4", "POL-17", "1.4"),
    ("conf:112458@v9", "conf:112458", "v9"),
    ("a@b@1", "a@b", "1"),
    ("@@1", "@", "1"),
    ("a<SEP>b,c|d#e@1#2", "a<SEP>b,c|d#e", "1#2"),
])
def test_a_revision_is_split_at_the_last_at(revision: str, doc_id: str, version: str) -> None:
    assert split_revision(revision) == (doc_id, version)


@pytest.mark.parametrize("revision", ["", "@", "d1", "d1@", "@1"])
def test_a_revision_has_two_sides(revision: str) -> None:
    with pytest.raises(ValueError, match="is not doc@version"):
        split_revision(revision)


@pytest.mark.parametrize(("address", "parts"), [
    ("System:LEDGER", ("System", "LEDGER")),
    ("System:a:b", ("System", "a:b")),
    ("System: a  b ", ("System", "a b")),
])
def test_addresses(address: str, parts: tuple[str, str]) -> None:
    assert parse_address(address) == parts


@pytest.mark.parametrize("address", ["", "LEDGER", ":LEDGER", "System:", "System: ", "my system:LEDGER", "`:x"])
def test_a_malformed_address_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(ValueError, match="write Type:id"):
        parse_address(address)


def test_canonical_json_is_one_text_for_one_value() -> None:
    assert canonical_json({"b": [1, "ż"], "a": None}) == '{"a":null,"b":[1,"ż"]}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


def test_derived_ids_are_pinned_because_stores_hold_them() -> None:
    assert derive_id("E", ["ACME", "owns", None]) == "E:46ac31a8cf1db0c26cb99bd46201b772"
    assert point_id("ACME", "POL-17@1.4", "c-0291") == "bf74ef91-52ff-50e2-b63d-8c5b9b882830"
    assert uuid.UUID(point_id("a", "b@1", "c")).version == 5


def test_a_point_is_one_of_tenant_revision_and_chunk() -> None:
    names = [("a", "b@1", "c"), ("ab", "@1", "c"), ("a", "b@1c", ""), ("b", "b@1", "c"), ("a", "b@1", "d")]
    assert len({point_id(*name) for name in names}) == len(names)


def test_a_citation_is_for_people() -> None:
    assert citation("POL-17@1.4", "c-0291") == "POL-17@1.4#c-0291"
