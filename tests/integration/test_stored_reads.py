"""Each stored read refuses by itself what only the assertion, only the relationship, or only the entity forbids.

In a sound store the two records of an edge say the same, and one guard stands in for the other. Here they disagree, and what is asked
is the query alone, without the check behind it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from corpus.records import TENANT, Store, cites, edge, entity

from graphrag_provenance.errors import NotFoundError
from graphrag_provenance.queries import catalogue
from graphrag_provenance.rules.context import Gathered
from graphrag_provenance.rules.gate import Facts
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.rules.relations import Relation
from graphrag_provenance.store import answers, gate, surroundings
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.lookups import edge_history, edge_list, edge_show, entity_show, run_list
from graphrag_provenance.store.page_lookups import evidence_tallies
from graphrag_provenance.store.quotes import verify_edge_quotes, verify_revision_quotes
from graphrag_provenance.store.readers import visibility
from tests.corpus.worlds import reader

FAULTS = {
    "policy": "SET x.policies = ['internal', 'hr']", "no_policy": "SET x.policies = []", "lost_policies": "REMOVE x.policies",
    "reference": "SET x.acl = ['OPS', 'FIN']", "lost_references": "REMOVE x.acl"}
ASSERTIONS = [f"assertion_{fault}" for fault in FAULTS]
RELATIONSHIPS = [f"relationship_{fault}" for fault in (*FAULTS, "tenant")]
EDGES = ["sound", *ASSERTIONS, *RELATIONSHIPS]
"""Each leads from the hub to an entity of its name, and cites a passage of its own, which nothing declares."""
ALONE = {"cleared": ["internal"], "not_cleared": ["internal", "hr"], "unsaid": []}
"""Entities without an edge, and their policies."""
HOLDS = {"environment": "production", "region": "eu", "valid_from": "2026-03-01T00:00:00Z", "valid_to": "2026-03-01T00:00:01Z"}
SCOPES = {
    "holds": HOLDS, "anywhere": {}, "elsewhere": HOLDS | {"environment": "staging"}, "abroad": HOLDS | {"region": "us"},
    "not_yet": HOLDS | {"valid_from": "2026-03-01T00:00:00.000001Z"},
    "no_longer": HOLDS | {"valid_from": "2026-01-01T00:00:00Z", "valid_to": "2026-03-01T00:00:00Z"}}
"""Edges of another hub."""


@pytest.fixture(scope="module")
def store(emptied: Store) -> Database:
    linked = {"method": "declared", "linker": "l", "linker_version": "1"}
    emptied.load(
        *(edge("Thing:hub", "calls", f"Thing:{name}", cites(f"{name}@1#c", policy="internal"), edge_id=name) for name in EDGES),
        *(edge("Thing:scoped", "calls", f"Thing:{name}", cites("s@1#c", policy="internal"), edge_id=name, scope=scope)
          for name, scope in SCOPES.items()),
        *(entity(f"Thing:{name}", aliases=[{"alias": f"alias of {name}", **linked}]) for name in (*EDGES, *ALONE)))
    for fault, damage in FAULTS.items():
        emptied.cypher(f"MATCH (x:Assertion {{edge_id: $id}}) {damage}", id=f"assertion_{fault}")
    for fault, damage in {**FAULTS, "tenant": "SET x.tenant = 'other'"}.items():
        emptied.cypher(f"MATCH (:Entity)-[x {{edge_id: $id}}]->(:Entity) {damage}", id=f"relationship_{fault}")
    for name, policies in ALONE.items():
        emptied.cypher("MATCH (x:Entity {id: $id}) SET x.policies = $policies", id=name, policies=policies)
    emptied.cypher("MATCH (c:Chunk) SET c.point_id = c.doc")
    emptied.cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    return emptied.database


HUB = {"type": "Thing", "id": "hub"}
ANYWHERE = {"environment": None, "region": None, "at": None, "require_current": True}
PAGE = {"after": "", "limit": 100}
Given, Shows = Callable[[str], dict[str, Any]], Callable[[list[dict[str, Any]], str], Any]


def row(rows: list[dict[str, Any]], name: str) -> bool:
    return bool(rows)


def known(rows: list[dict[str, Any]], name: str) -> bool:
    return bool(rows[0]["passage"]["known"])


def listed(column: str) -> Shows:
    return lambda rows, name: name in [one[column]["edge_id"] for one in rows]


# By what a query looks at: what it is given for a name, and what in its rows shows that name.
Asked = dict[str, tuple[Given, Shows]]
BY_ASSERTION: Asked = {
    "read.edge_tallies": (lambda name: {"edge_ids": [name]}, row),
    "read.gate_edges": (lambda name: {"edges": [{"number": 0, "edge_id": name}]}, row),
    "read.gate_passages": (
        lambda name: {"passages": [{"number": 0, "doc": f"{name}@1", "chunk": "c"}]}, lambda rows, name: rows[0]["edges"]),
    "quote.page": (lambda name: PAGE, listed("assertion")),
    "quote.of_revision": (lambda name: {"doc": f"{name}@1"}, row),
    "retrieval.by_key": (lambda name: {"keys": [[TENANT, f"{name}@1", "c"]]}, known),
    "retrieval.by_point": (lambda name: {"points": [f"{name}@1"]}, known),
}
BY_RELATIONSHIP: Asked = {
    "read.edge_show": (lambda name: {"edge_id": name}, row),
    "read.edge_history": (lambda name: {"edge_id": name}, row),
    "answer.edges": (lambda name: {"edge_ids": [name]}, row),
    "read.document_citations": (lambda name: {"docs": [f"{name}@1"]}, lambda rows, name: rows[0]["visible"]),
    "read.around": (lambda name: {"entities": [HUB], "behind": [], "told": [], **ANYWHERE, "limit": 100}, listed("edge")),
    "read.rivals": (lambda name: {"ends": [{"number": 0, **HUB, "relation": "CALLS"}]}, listed("edge")),
}
BY_BOTH: Asked = {"read.edge_list": (lambda name: PAGE, listed("assertion"))}
BY_ENTITY: Asked = {
    "read.entities_by_key": (lambda name: {"names": [{"number": 0, "type": None, "lookup": f"alias of {name}"}]}, row),
    "read.entities_by_name": (lambda name: {"names": [{"number": 0, "lookup": name, "phrase": f'"{name}"'}]}, row),
    "read.entity_alias": (lambda name: {"lookup": f"alias of {name}"}, row),
    "read.entity_aliases": (lambda name: {"entities": [["Thing", name]]}, row),
    "read.entity_find": (lambda name: {"words": f'"{name}"', "exact": name, "limit": 10}, row),
    "read.entity_show": (lambda name: {"type": "Thing", "id": name, "limit": 10}, row),
}
READS = (*BY_ASSERTION, *BY_RELATIONSHIP, *BY_BOTH, *BY_ENTITY)
OPENED = [
    *((query, *asked, ["sound", *RELATIONSHIPS], EDGES) for query, asked in BY_ASSERTION.items()),
    *((query, *asked, ["sound", *ASSERTIONS], EDGES) for query, asked in BY_RELATIONSHIP.items()),
    *((query, *asked, ["sound"], EDGES) for query, asked in BY_BOTH.items()),
    *((query, *asked, ["sound", *ASSERTIONS, "cleared"], [*EDGES, *ALONE]) for query, asked in BY_ENTITY.items()),
]


@pytest.mark.parametrize(("query", "given", "shows", "opened", "every"), OPENED, ids=[one[0] for one in OPENED])
def test_each_stored_read_refuses_by_itself(
    store: Database, query: str, given: Given, shows: Shows, opened: list[str], every: list[str],
) -> None:
    rows = {name: store.read(query, tenant=TENANT, allowed=["internal"], granted=["OPS"], **given(name)) for name in every}
    assert [name for name in every if shows(rows[name], name)] == opened


def test_an_entity_shows_and_counts_the_edges_that_their_relationships_open(store: Database) -> None:
    (shown,) = store.read("read.entity_show", tenant=TENANT, allowed=["internal"], granted=["OPS"], **HUB, limit=100)
    opened = ["sound", *ASSERTIONS]
    assert sorted(one["edge"]["edge_id"] for one in shown["edges"]) == sorted(opened)
    assert [one["edges"] for one in shown["counts"]] == [len(opened)]


def test_of_a_run_that_could_write_for_one_tenant_alone_everything_is_told(store: Database) -> None:
    (run,) = run_list(store, reader(TENANT, operator=True), limit=1)
    assert {"inputs", "counts"} <= run.keys()


GUARD = re.compile(r"\b(policy IN \$allowed|reference IN \$granted|size\(\w+\.policies\) > 0|r\.tenant = \$tenant)")


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored reads without what they ask of policies, references and the tenant of a relationship."""
    stored = catalogue.all_queries()
    for query in READS:
        text = GUARD.sub("true", stored[query].text)
        assert text != stored[query].text
        monkeypatch.setitem(stored, query, replace(stored[query], text=text))


def told(look: Callable[..., Any], store: Database, names: list[str]) -> set[str]:
    """Those of some edges or passages that a look-up shows."""
    seen = set()
    for name in names:
        with contextlib.suppress(NotFoundError):
            look(store, WHO, name)
            seen.add(name)
    return seen


def facts(store: Database) -> Facts:
    passages = [{"doc": f"{name}@1", "chunk": "c"} for name in EDGES]
    ledger = Ledger.model_validate({"entries": [{"sentence": "s", "edges": EDGES, "passages": passages}]})
    return gate._facts(store, visibility(store, WHO), WHO, ledger, {"CALLS": Relation(single_valued=True)})


WHO = reader(TENANT, "internal")
CHECKED: dict[str, tuple[list[str], Callable[[Database], Iterable[str]]]] = {
    "edge_show": (ASSERTIONS, lambda store: told(edge_show, store, EDGES)),
    "edge_history": (ASSERTIONS, lambda store: told(edge_history, store, EDGES)),
    "edge_list": (ASSERTIONS, lambda store: [one["edge_id"] for one in edge_list(store, WHO)]),
    "tallies": (ASSERTIONS, lambda store: evidence_tallies(store, WHO, EDGES)),
    "answers": (ASSERTIONS, lambda store: answers._edges(store, visibility(store, WHO), EDGES)),
    "quotes of an edge": (ASSERTIONS, lambda store: told(verify_edge_quotes, store, EDGES)),
    "quotes of a revision": (ASSERTIONS, lambda store: (
        one.removesuffix("@1") for one in told(verify_revision_quotes, store, [f"{name}@1" for name in EDGES]))),
    "gate: edges": (ASSERTIONS, lambda store: facts(store).edges),
    "gate: passages": (ASSERTIONS, lambda store: [doc.removesuffix("@1") for doc, _ in facts(store).passages]),
    "gate: rivals": (RELATIONSHIPS, lambda store: [*facts(store).edges["sound"].rivals, "sound"]),
    "entity_show": (RELATIONSHIPS, lambda store: [one["edge_id"] for one in entity_show(store, WHO, ("Thing", "hub"))["edges"]]),
    "context": (RELATIONSHIPS, lambda store: [
        one.edge_id for one in surroundings.gather(store, WHO, surroundings.Wanted(entities=(("Thing", "hub"),))).facts]),
}


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("look", CHECKED)
def test_what_a_query_lets_through_is_refused_once_more(store: Database, look: str) -> None:
    closed, seen = CHECKED[look]
    found = {*seen(store)}
    assert "sound" in found
    assert len(found) > 1  # the query did let through what it would not
    assert not found & {*closed}


@pytest.mark.parametrize(("asked", "left_out"), [
    ({}, []), ({"environment": "production"}, ["elsewhere"]), ({"region": "eu"}, ["abroad"]),
    ({"at": datetime(2026, 3, 1, tzinfo=UTC)}, ["not_yet", "no_longer"])])
def test_what_is_around_holds_under_the_conditions(store: Database, asked: dict[str, Any], left_out: list[str]) -> None:
    given = {"entities": [{"type": "Thing", "id": "scoped"}], "behind": [], "told": [], **ANYWHERE, **asked, "limit": 100}
    rows = store.read("read.around", tenant=TENANT, allowed=["internal"], granted=[], **given)
    assert {row["edge"]["edge_id"] for row in rows} == SCOPES.keys() - {*left_out}


def test_a_context_is_of_the_instant_asked_for_or_of_now(store: Database) -> None:
    def gathered(**more: Any) -> Gathered:
        return surroundings.gather(store, WHO, surroundings.Wanted(**{"entities": (("Thing", "scoped"),)} | more))

    at = gathered(at=datetime(2026, 3, 1, tzinfo=UTC))
    assert {one.edge_id for one in at.facts} == SCOPES.keys() - {"not_yet", "no_longer"}
    assert [one.edge_id for one in gathered().facts] == ["anywhere"]
    assert at.generation == run_list(store, limit=1)[0]["seq"]
    assert gathered(question="sound", hops=0).entities == (("Thing", "scoped"), ("Thing", "sound"))
