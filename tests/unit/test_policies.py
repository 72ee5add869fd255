"""The policy file, the order it declares and the join over it (spec 2, writing)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import PolicyLattice, lattice, parse_policies

ORDER = {
    "public": [], "internal": ["public"], "confidential": ["internal"], "restricted": ["confidential"],
    "hr": ["internal"], "legal": ["internal"],
}


@pytest.fixture(scope="module")
def policies() -> PolicyLattice:
    return lattice(ORDER)


@pytest.mark.parametrize(("name", "covered"), [
    ("public", {"public"}),
    ("internal", {"public", "internal"}),
    ("restricted", {"public", "internal", "confidential", "restricted"}),
    ("hr", {"public", "internal", "hr"}),
])
def test_a_clearance_covers_every_policy_below_it(policies: PolicyLattice, name: str, covered: set[str]) -> None:
    assert policies.below[name] == policies.covers([name]) == covered


@pytest.mark.parametrize(("names", "joined"), [
    ([], ()),
    (["public"], ("public",)),
    (["public", "public"], ("public",)),
    (["public", "internal"], ("internal",)),
    (["public", "restricted", "internal"], ("restricted",)),
    (["hr", "legal"], ("hr", "legal")),
    (["legal", "public", "hr", "internal"], ("hr", "legal")),
    (["restricted", "hr"], ("hr", "restricted")),
])
def test_the_join_is_the_set_of_maximal_policies(
    policies: PolicyLattice, names: list[str], joined: tuple[str, ...]
) -> None:
    assert policies.join(names) == joined


@pytest.mark.parametrize("names", [["pubilc"], ["public", "pubilc"], ["pubilc", "public"], [""], ["PUBLIC"]])
def test_an_unknown_policy_has_no_place_in_a_join(policies: PolicyLattice, names: list[str]) -> None:
    with pytest.raises(KeyError):
        policies.join(names)


@pytest.mark.parametrize(("clearances", "needed", "permitted"), [
    (["internal"], ["public"], True),
    (["internal"], ["internal"], True),
    (["internal"], ["confidential"], False),
    (["hr"], ["hr", "legal"], False),
    (["hr", "legal"], ["hr", "legal"], True),
    (["restricted"], ["hr"], False),
    (["restricted"], [], False),
    ([], ["public"], False),
    ([], [], False),
    (["restricted"], ["pubilc"], False),
])
def test_a_reader_needs_every_policy_and_something_under_none_is_for_nobody(
    policies: PolicyLattice, clearances: list[str], needed: list[str], permitted: bool
) -> None:
    assert policies.permits(policies.covers(clearances), needed) is permitted


@pytest.mark.parametrize("name", ["pubilc", "", "Public", "public "])
def test_an_unknown_clearance_is_a_usage_error_that_lists_the_known_ones(policies: PolicyLattice, name: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        policies.covers(["public", name])
    assert repr(name) in str(raised.value)
    assert "confidential, hr, internal, legal, public, restricted" in str(raised.value)


@pytest.mark.parametrize("name", ["", " ", "PUBLIC", "public ", "pubilc", " 1"])
def test_names_are_known_letter_for_letter(policies: PolicyLattice, name: str) -> None:
    assert not policies.knows(name)
    assert policies.knows("public")


FILES: list[tuple[str, str]] = [
    ("", "policies: Field required"),
    ("[policies]", "names no policy"),
    ("policies = 3", "policies: Input should be"),
    ("policies = ['public']", "policies: Input should be"),
    ("[policies]\npublic = 'all'", "policies.public: Input should be"),
    ("[policies.a]\nabove = 'b'\n[policies.b]", "policies.a.above: Input should be a valid list"),
    ("[policies.a]\nabove = [1]", "policies.a.above.0"),
    ("[policies.a]\nabvoe = ['b']\n[policies.b]", "policies.a.abvoe: unknown field"),
    ("[policies.a]\nabove = ['b']", "'a' is above 'b', which is not defined"),
    ("[policies.a]\nabove = ['a ']", "'a' is above 'a ', which is not defined"),
    ("[policies.a]\nabove = ['a']", "cycle: a above a"),
    ("[policies.a]\nabove=['b']\n[policies.b]\nabove=['c']\n[policies.c]\nabove=['a']\n[policies.d]", "form a cycle"),
    ("[policies.a]\n[policies.a]", "not valid TOML"),
    ("[policies.a]\nabove = []\nabove = []", "not valid TOML"),
    ("[policies.'']", "'' is blank or has space around it"),
    ("[policies.' ']", "' ' is blank or has space around it"),
    ("[policies.'a ']", "'a ' is blank or has space around it"),
    ("[policies.\"a\\u00a0\"]", "blank or has space around it"),
    ("schema = 2\n[policies.a]", "schema 2 is not supported"),
    ("schema = '1'\n[policies.a]", "schema: Input should be a valid integer"),
    ("schema = true\n[policies.a]", "schema: Input should be a valid integer"),
    ("schema_version = 1\n[policies.a]", "schema_version: unknown field"),
    ("default = 'a'\n[policies.a]", "default: unknown field"),
    ("[policies.a", "not valid TOML"),
]


@pytest.mark.parametrize(("text", "message"), FILES)
def test_a_wrong_policy_file_is_refused_with_its_name_and_the_place(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_policies(text, "team.toml")
    assert "team.toml" in str(raised.value)
    assert message in str(raised.value)


def test_a_cycle_is_told_in_the_direction_of_above() -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_policies("[policies.a]\nabove=['b']\n[policies.b]\nabove=['c']\n[policies.c]\nabove=['a']")
    chain = str(raised.value).split("cycle: ")[1].rstrip(".").split(" above ")
    assert chain[0] == chain[-1]
    assert {f"{high}{low}" for high, low in pairwise(chain)} == {"ab", "bc", "ca"}


def test_the_shipped_files_are_what_the_specification_says() -> None:
    shipped = parse_policies(etl_path("policies.toml").read_text(encoding="utf-8"))
    assert shipped.as_json() == {name: ORDER[name] for name in sorted(shipped.names)}
    assert shipped.names == ["confidential", "internal", "public", "restricted"]
    sample = parse_policies(etl_path("samples", "payments", "policies.toml").read_text(encoding="utf-8"))
    assert sample.as_json() == {name: ORDER[name] for name in sorted(ORDER)}


def test_the_hash_is_of_the_order_and_of_nothing_else() -> None:
    base = parse_policies("[policies.a]\n[policies.b]\nabove=['a']\n[policies.c]\nabove=['b']").hash
    same = "# note\n[policies.c]\nabove=['b','a','b']\n[policies.b]\ndescription='x'\nabove=['a']\n[policies.a]"
    assert parse_policies("schema = 1\n" + same).hash == base
    assert base.startswith("sha256:")
    for other in ("[policies.a]\n[policies.b]\n[policies.c]\nabove=['b']",
                  "[policies.a]\n[policies.b]\nabove=['a']\n[policies.c]\nabove=['a']",
                  "[policies.a]\n[policies.b]\nabove=['a']\n[policies.C]\nabove=['b']"):
        assert parse_policies(other).hash != base


def test_what_the_store_keeps_makes_the_same_lattice_again(policies: PolicyLattice) -> None:
    again = lattice(policies.as_json())
    assert again.below == policies.below
    assert again.hash == policies.hash


def test_a_long_chain_is_no_trouble() -> None:
    chain = {f"p{n:04}": [f"p{n - 1:04}"] if n else [] for n in range(3000)}
    assert lattice(chain).join(chain) == ("p2999",)
