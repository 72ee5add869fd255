"""Stored Cypher: the header is a contract, and its errors name file and line (style, stored Cypher)."""

from __future__ import annotations

from importlib.resources.abc import Traversable

import pytest

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.queries import Access, all_queries, parse_query, query
from graphrag_provenance.resources import resource_root

PLACE = "cypher/path/trace.cypher"
GOOD = """\
// path.trace — shortest visible paths between two entities
// Anything else in the head is prose: access by prose is none.
// access: read
// plan: scan — a handful of nodes
// param tenant: string
// param allowed: list<string>
// returns nodes, steps

MATCH (n:Entity {tenant: $tenant}) // not $this; nor "that"
WHERE n.name <> '$quoted; //' AND n.`$odd` IS NULL AND n.policy IN $allowed /* nor
$this; */
RETURN n AS nodes, $allowed AS steps;
"""


def test_a_good_file_is_read() -> None:
    found = parse_query("path.trace", GOOD, PLACE)
    assert found.name == "path.trace"
    assert found.description == "shortest visible paths between two entities"
    assert found.access is Access.READ
    assert found.params == {"tenant": "string", "allowed": "list<string>"}
    assert found.returns == ("nodes", "steps")
    assert found.scans == "a handful of nodes"
    assert found.text == GOOD


def test_a_file_need_not_scan_nor_take_nor_return_anything() -> None:
    found = parse_query("store.touch", "// store.touch — nothing\n// access: write\nCREATE (:Run)", PLACE)
    assert (found.scans, found.params, found.returns) == (None, {}, ())


def but(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


WRONG: list[tuple[str, str, str]] = [
    (but("path.trace", "path.trail"), ":1:", "the first line must be"),
    (but("— shortest visible paths between two entities", ""), ":1:", "the first line must be"),
    (but("// path.trace — shortest", "/* path.trace — shortest"), ":1:", "lacks a title"),
    (but("// access: read\n", ""), ":1:", "lacks a title or"),
    (but("access: read", "access: admin"), ":3:", "read, write, schema"),
    (but("access: read", "access:"), ":3:", "read, write, schema"),
    (but("plan: scan — a handful of nodes", "plan: scan"), ":4:", "the reason"),
    (but("plan: scan — a handful of nodes", "plan: seek — always"), ":4:", "the reason"),
    (but("param tenant: string", "param tenant"), ":5:", "write 'param name: type'"),
    (but("param tenant: string", "param : string"), ":5:", "write 'param name: type'"),
    (but("param allowed", "param tenant"), ":6:", "each name once"),
    (but("param tenant", "param tenants"), ":9:", "$tenant is not declared"),
    (but("returns nodes, steps", "param more: string"), ":7:", "more is declared but not used"),
    (but("AND n.policy IN $allowed", "AND n.policy IN $alowed"), ":10:", "$alowed is not declared"),
    (but("AS steps;", "AS steps; MATCH (n) RETURN n"), ":12:", "one statement"),
    (GOOD[: GOOD.index("MATCH")].replace("param", "Param"), ":", "one statement"),
    ("", ":1:", "lacks a title"),
]


@pytest.mark.parametrize(("source", "line", "message"), WRONG)
def test_a_wrong_file_is_refused_at_its_line(source: str, line: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_query("path.trace", source, PLACE)
    assert str(raised.value).startswith(PLACE + line)
    assert message in str(raised.value)


def test_a_parameter_in_a_comment_or_a_string_is_not_used() -> None:
    hidden = GOOD[: GOOD.index("MATCH")] + "RETURN $tenant AS nodes, '$allowed' AS steps // $allowed\n"
    with pytest.raises(ConfigurationError, match=r":6: parameter allowed is declared but not used"):
        parse_query("path.trace", hidden, PLACE)


def test_an_unknown_query_is_told_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"no stored query .path\.trail."):
        query("path.trail")
    assert query("store.server") is all_queries()["store.server"]


def test_every_file_is_a_query_under_the_name_of_its_path_except_migrations() -> None:
    def names(folder: Traversable, prefix: str) -> set[str]:
        found = set()
        for child in folder.iterdir():
            if child.is_dir():
                found |= names(child, f"{prefix}{child.name}.")
            else:
                assert child.name.endswith(".cypher"), child.name
                found.add(prefix + child.name.removesuffix(".cypher"))
        return found

    assert {name for name in names(resource_root("cypher"), "") if not name.startswith("schema.")} == set(all_queries())
