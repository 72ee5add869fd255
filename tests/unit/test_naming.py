"""Which entities a text names: the longest name wins, and a name that stands for no single entity stands for none."""

from __future__ import annotations

import unicodedata

import pytest

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.chains import Reason
from graphrag_provenance.rules.naming import Bearer, Mention, mentions, resolved

API = Bearer("System", "checkout-api", "Checkout API")
SHOP = Bearer("System", "checkout", "Checkout")
BORNE: dict[str, list[Bearer]] = {
    "Checkout API": [API], "checkout-api": [API], "Checkout": [SHOP], "POL-31": [Bearer("Policy", "POL-31", "Postings")],
    "Billing": [Bearer("System", "billing", "Billing"), Bearer("Team", "billing", "Billing")],
    "Till": [Bearer("System", "till", "T", guessed=True)],
    "Cash": [Bearer("System", "cash", "Cash"), Bearer("Team", "c", "C", guessed=True)],
    "ions": [Bearer("X", "ions", "ions"), Bearer("X", "Ions", "Ions", exact=False)],
    "IONS": [Bearer("X", "ions", "ions", exact=False), Bearer("X", "Ions", "Ions", exact=False)],
    "checkout": [Bearer("System", "checkout", "Checkout", exact=False)],
    'a "b" <SEP> c': [Bearer("X", "q", "Q")], "Żuławski": [Bearer("X", "z", "Z")],
}


def named(text: str) -> tuple[list[str], list[tuple[str, Reason]]]:
    asked = mentions(text)
    bearers = {number: [one for one in BORNE.get(mention.lookup, []) if mention.type in (None, one.type)]
               for number, mention in enumerate(asked)}
    found, unresolved = resolved(asked, bearers)
    return [one.id for one in found], [(one.name, one.reason) for one in unresolved]


@pytest.mark.parametrize(("text", "found"), [
    ("Does the Checkout API rest on POL-31?", ["checkout-api", "POL-31"]),
    ("Is POL-31, as Checkout API's policy, in force?", ["POL-31", "checkout-api"]),
    ("Checkout is not (Checkout API).", ["checkout", "checkout-api"]),
    ("System:checkout-api and Team:checkout-api", ["checkout-api"]),
    ("Checkout API, again: checkout-api!", ["checkout-api"]),
    ("what does checkout do", ["checkout"]),
    ("ions", ["ions"]),
    ('who is a "b" <SEP> c, then?', ["q"]),
    (unicodedata.normalize("NFD", "Where is Żuławski?"), ["z"]),
    ("who   \n is  Checkout\tAPI", ["checkout-api"]),
    ("Cash", ["cash"]),
    ("nothing here", []),
    ("", []),
    ("?! …", []),
])
def test_names_stand_for_entities_in_the_order_of_the_text(text: str, found: list[str]) -> None:
    assert named(text) == (found, [])


@pytest.mark.parametrize(("text", "unresolved"), [
    ("Who runs Billing?", [("Billing", Reason.ENTITY_JOIN)]),
    ("Who runs the Till?", [("Till", Reason.ALIAS_GUESSED)]),
    ("IONS", [("IONS", Reason.ENTITY_JOIN)]),
    ("Billing, Billing and Till", [("Billing", Reason.ENTITY_JOIN), ("Till", Reason.ALIAS_GUESSED)]),
])
def test_a_name_that_stands_for_no_single_entity_stands_for_none(text: str, unresolved: list[tuple[str, Reason]]) -> None:
    assert named(text) == ([], unresolved)


def test_an_ambiguous_name_says_who_bears_it_and_an_address_decides() -> None:
    asked = mentions("Billing")
    _, (one,) = resolved(asked, {0: BORNE["Billing"]})
    assert one.as_json() == {"name": "Billing", "reason": "entity-join", "candidates": [
        {"type": "System", "id": "billing"}, {"type": "Team", "id": "billing"}]}
    address = Mention(0, 1, "billing", "Team")
    found, unresolved = resolved([address], {0: [Bearer("Team", "billing", "Billing", by_id=True), Bearer("Team", "other", "billing")]})
    assert ([one.address for one in found], unresolved) == ([("Team", "billing")], [])


def test_a_text_of_too_many_words_is_refused_and_not_cut() -> None:
    assert mentions("w " * 200)
    with pytest.raises(InputError, match="200 words"):
        mentions("w " * 201)
