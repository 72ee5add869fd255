"""Every stored query against a real server: what its header says is what the server says (style, stored Cypher).

EXPLAIN without parameters tells everything: which parameters are missing, the columns, the kind of statement, the plan,
and every notification. The store is seeded with one of everything that docs/data-model.md names, so a query that uses
a label, relationship type or property that the document does not know is told by a notification.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neo4j
import pytest
from conftest import Cypher, Server

from graphrag_provenance.queries import Access, Query, all_queries
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.migrations import shipped

NAMES = sorted(all_queries())
SEARCHED = [name for name in NAMES if all_queries()[name].scans is None]
MISSING_PARAMETER = "01N60"
SUCCESS = ("00000", "00001", "02000")
NODES = 500
# Leaves that read nothing of the graph: values, what an outer row gives, procedures and commands.
VALUES = re.compile(r"Argument|EmptyRow|SingleRow|Unwind|Create|ProcedureCall|Show\w+|Terminate\w+")


@dataclass(frozen=True)
class Operator:
    """One step of a plan."""

    name: str
    details: str
    children: tuple[Operator, ...]

    @classmethod
    def of(cls, plan: dict[str, Any]) -> Operator:
        children = tuple(cls.of(child) for child in plan.get("children", ()))
        return cls(plan["operatorType"].partition("@")[0], str(plan["args"].get("Details", "")), children)

    def walk(self) -> Iterator[Operator]:
        yield self
        for child in self.children:
            yield from child.walk()

    def seeks(self) -> bool:
        """Whether it finds nodes or relationships through an index."""
        return any(how in self.name for how in ("IndexSeek", "ElementIdSeek")) or (
            self.name == "MergeUniqueNode" or "db.index.fulltext" in self.details)


@dataclass(frozen=True)
class Explained:
    """What the server says about a stored query."""

    columns: tuple[str, ...]
    kind: str
    missing: frozenset[str]
    notes: tuple[str, ...]
    plan: Operator


def data_model(kind: str) -> dict[str, set[str]]:
    """The tables of docs/data-model.md: each node (or relationship) and its properties."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "data-model.md").read_text(encoding="utf-8")
    table = text[text.index(f"| {kind} |"):].split("\n\n")[0].splitlines()[2:]
    found = {}
    for row in table:
        name, *cells = (cell.strip() for cell in re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", row).strip("|").split("|"))
        words = (re.match(r"\s*([a-z][a-z_0-9]*)", part) for cell in cells for part in cell.split(","))
        found[name.strip("` …").split()[0]] = {word[1] for word in words if word}
    return found


@pytest.fixture(scope="module")
def seeded(database: Database, cypher: Cypher) -> Iterator[None]:
    """A store with some of everything that the data model names, so that plans and notifications are those of use."""
    tenant = f"seed-{uuid.uuid4().hex}"
    nodes, relationships = data_model("node"), data_model("relationship")
    everything = set().union(*nodes.values(), *relationships.values())
    for label, names in (nodes | {"Delta:Withheld": everything | {"tenant"}, "Entity:System": nodes["Entity"]}).items():
        if label != "Store":
            cypher(
                f"UNWIND range(1, $count) AS n CREATE (s:{label}) WITH s, n UNWIND $names AS name "
                "CALL (s, n, name) { SET s[name] = CASE name WHEN 'seq' THEN $base + n WHEN 'tenant' THEN $tenant"
                " ELSE $tenant + $label + toString(n) END } SET s.seeded = $tenant",
                count=1 if label.startswith("Delta:") else NODES, names=sorted(names), label=label, tenant=tenant,
                base=1_000_000_000,
            )
    for pattern in (
        "(a:Document)-[r:HAS_REVISION]->(b:Revision)", "(a:Revision)-[r:HAS_CHUNK]->(b:Chunk)",
        "(a:Assertion)-[r:EVIDENCED_BY]->(b:Chunk)", "(a:Alias)-[r:NAMES]->(b:Entity)",
        "(a:Entity)-[r:DEPENDS_ON]->(b:System)", "(a:RecordedAnswer)-[r:HAS_RECORDED_STEP]->(b:RecordedStep)",
        "(a:Run)-[r:HOLDS]->(b:Staged)",
    ):
        start, _, rest = pattern.partition("-[r")
        kind, _, end = rest.partition("]->")
        names = next((p for name, p in relationships.items() if kind.startswith(f":{name}")), set())
        cypher(
            f"MATCH {start} WHERE a.seeded = $tenant WITH collect(a) AS sources MATCH {end} WHERE b.seeded = $tenant "
            "WITH sources, collect(b) AS targets UNWIND range(0, size(targets) - 1) AS n "
            f"WITH sources[n % size(sources)] AS a, targets[n] AS b CREATE (a)-[r{kind}]->(b) "
            "WITH r UNWIND $names AS name CALL (r, name) { SET r[name] = name }",
            tenant=tenant, names=sorted(names),
        )
    cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    cypher("CALL db.prepareForReplanning(300)")
    yield
    cypher("MATCH (n) WHERE n.seeded = $tenant CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS", tenant=tenant)


@pytest.fixture(scope="module")
def explained(seeded: None, server: Server) -> Iterator[dict[str, Explained]]:
    """EXPLAIN of every stored query, without parameters."""
    auth = (server.connection.username, server.connection.password.get_secret_value())
    with neo4j.GraphDatabase.driver(server.connection.uri, auth=auth, notifications_min_severity="INFORMATION") as driver:
        yield {name: explain(driver, server, text.text) for name, text in all_queries().items()}


def explain(driver: neo4j.Driver, server: Server, text: str) -> Explained:
    with driver.session(database=server.connection.database) as session:
        result = session.run("EXPLAIN " + text)
        columns = tuple(result.keys())
        summary = result.consume()
    notes = [status for status in summary.gql_status_objects if status.gql_status not in SUCCESS]
    missing = [status.status_description for status in notes if status.gql_status == MISSING_PARAMETER]
    assert summary.plan is not None
    return Explained(
        columns,
        summary.query_type or "",
        frozenset(re.findall(r"\$`?(\w+)", " ".join(missing))),
        tuple(status.status_description for status in notes if status.gql_status != MISSING_PARAMETER),
        Operator.of(summary.plan),
    )


def wrong_kind(stored: Query, found: Explained) -> bool:
    """Procedures of the server itself (its version) are of the kind `s`; in a READ session they write nothing."""
    fits = {Access.READ: {"r"}, Access.WRITE: {"w", "rw"}, Access.SCHEMA: {"s"}}[stored.access]
    procedures = stored.access is Access.READ and all(VALUES.fullmatch(op.name) for op in leaves(found.plan))
    return found.kind not in (fits | {"s"} if procedures else fits)


def leaves(plan: Operator) -> list[Operator]:
    return [op for op in plan.walk() if not op.children]


def scans(plan: Operator) -> list[str]:
    return [f"{op.name} {op.details}" for op in plan.walk() if "Scan" in op.name]


def blind_starts(plan: Operator) -> list[str]:
    """Leaves that start from the graph and not from an index."""
    return [f"{op.name} {op.details}" for op in leaves(plan) if not op.seeks() and not VALUES.fullmatch(op.name)]


def products(plan: Operator) -> list[str]:
    """Cartesian products of anything but unique seeks (each gives one row at most)."""
    return [
        f"{op.name} of {', '.join(leaf.name for leaf in leaves(op))}"
        for op in plan.walk()
        if op.name == "CartesianProduct"
        and not all("Unique" in leaf.name or leaf.name == "Argument" for leaf in leaves(op))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_server_misses_exactly_the_parameters_of_the_header(name: str, explained: dict[str, Explained]) -> None:
    assert explained[name].missing == set(all_queries()[name].params)


@pytest.mark.parametrize("name", NAMES)
def test_the_columns_are_those_of_the_header(name: str, explained: dict[str, Explained]) -> None:
    assert explained[name].columns == all_queries()[name].returns


@pytest.mark.parametrize("name", NAMES)
def test_the_kind_of_statement_fits_the_access_of_the_header(name: str, explained: dict[str, Explained]) -> None:
    assert not wrong_kind(all_queries()[name], explained[name]), explained[name].kind


@pytest.mark.parametrize("name", NAMES)
def test_the_server_has_nothing_to_remark(name: str, explained: dict[str, Explained]) -> None:
    assert explained[name].notes == ()


@pytest.mark.parametrize("name", SEARCHED)
def test_the_plan_starts_from_an_index_and_scans_nothing(name: str, explained: dict[str, Explained]) -> None:
    plan = explained[name].plan
    assert (scans(plan), blind_starts(plan), products(plan)) == ([], [], [])


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(SEARCHED)))
def test_a_query_that_may_scan_has_no_index_to_start_from(name: str, explained: dict[str, Explained]) -> None:
    """A header that excuses a scan which the plan does not make is out of date."""
    plan = explained[name].plan
    assert scans(plan) or not any(op.seeks() for op in plan.walk()), plan


def indexes() -> dict[str, str]:
    """Each index or constraint of the migrations with how plans name it: `Label(property, property)`."""
    found = {}
    for migration in shipped():
        for statement in migration.statements:
            name, label = re.findall(r"(?:INDEX|CONSTRAINT) (\w+) IF NOT EXISTS FOR \(n:(\w+)\)", statement)[0]
            properties = re.findall(r"\bn\.(\w+)", statement)
            found[name] = name if "FULLTEXT" in statement else f"{label}({', '.join(properties)})"
    return found


@pytest.mark.parametrize(("name", "pattern"), indexes().items())
def test_every_index_is_used_by_some_stored_query(name: str, pattern: str, explained: dict[str, Explained]) -> None:
    users = [
        query for query, found in explained.items()
        for op in found.plan.walk() if op.seeks() and (pattern in op.details or f"'{pattern}'" in all_queries()[query].text)
    ]
    assert users, f"no stored query uses {pattern}"


# Controls: the checks above find what they look for.


@pytest.fixture(scope="module")
def control(explained: dict[str, Explained], server: Server) -> Iterator[Any]:
    auth = (server.connection.username, server.connection.password.get_secret_value())
    with neo4j.GraphDatabase.driver(server.connection.uri, auth=auth, notifications_min_severity="INFORMATION") as driver:
        yield lambda text: explain(driver, server, text)


@pytest.mark.parametrize("text", [
    "MATCH (n) RETURN n", "MATCH (n:Chunk) RETURN n", "MATCH ()-[r:HAS_CHUNK]->() RETURN r",
    "MATCH (n:Entity) WHERE n.name = $name RETURN n",
    "MATCH (n:Assertion) WHERE $id IS NULL OR n.edge_id = $id RETURN n",
])
def test_a_scan_is_found(text: str, control: Any) -> None:
    plan = control(text).plan
    assert scans(plan)
    assert blind_starts(plan)


def test_a_cartesian_product_is_found(control: Any) -> None:
    text = "MATCH (a:Alias {tenant: $t, lookup: $a}), (b:Alias {tenant: $t, lookup: $b}) RETURN a, b"
    assert products(control(text).plan)
    unique = "MATCH (a:Run {seq: $a}), (b:Run {seq: $b}) RETURN a, b"
    assert products(control(unique).plan) == []


def test_a_misspelt_property_label_or_relationship_type_is_found(control: Any) -> None:
    for text in ("MATCH (n:Run {seq: $a}) RETURN n.tracce_id", "MATCH (n:Rum {seq: 1}) RETURN n",
                 "MATCH (n:Run {seq: 1})-[:HAS_CHUNKS]->() RETURN n"):
        assert control(text).notes


def test_the_product_explains_a_query_too(database: Database) -> None:
    assert database.explain("store.migrations").plan is not None
