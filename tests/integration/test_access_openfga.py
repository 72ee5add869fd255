"""OpenFGA as a live access source, against a real server (tests/openfga.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import TENANT, Store, cites, edge
from pydantic import SecretStr

from graphrag_provenance.access.combined import CombinedSource
from graphrag_provenance.access.openfga_source import MODEL, OpenFgaSource, connect, key_of, object_of, user_of
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.records import AclRef
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.traces import trace
from tests.openfga import Server, call, free_port, running

MANY = 2_345
pytestmark = pytest.mark.openfga


def key(restriction: str | None, incarnation: str | None = "i1", system: str = "conf", space: str = "FIN") -> str:
    return AclRef(system=system, space=space, restriction_id=restriction, incarnation=incarnation).key()


def may(user: str, ref: str) -> tuple[str, str, str]:
    found = object_of(ref)
    assert found is not None
    return user, "viewer", found


def reader(principal: str = "bob", tenant: str = TENANT) -> Reader:
    return Reader(principal, tenant, frozenset({"public"}))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    patient = ("--listObjects-deadline", "120s", "--request-timeout", "130s")  # the machine may be busy with other tests
    with running(tmp_path_factory.mktemp("openfga") / "log", *patient) as (found, _):
        yield found


@pytest.fixture
def fga(url: str) -> Server:
    return Server(url, MODEL)


def source(fga: Server, **options: Any) -> OpenFgaSource:
    return OpenFgaSource(connect(fga.url, fga.store, fga.model, timeout_seconds=30), **options)


ODD = ["7", "a/b", "a:b", "a#b", "a b", "a%2Fb", "%", "*", "ż", "\U0001f600", "\t", '"', "\\", "\u2028", ".", "..", "@", "x" * 200]


def test_every_reference_and_principal_has_a_name_that_the_server_takes_and_that_is_its_own(fga: Server) -> None:
    refs = [key(name) for name in ODD] + [key("7", name) for name in ODD] + [key("b", "c", system="a"), key("c", "d", space="a/b")]
    refs += [key(None), key("7", "i2"), key("7", system="conf/FIN"), key("7", space="FIN/7")]
    assert len({object_of(ref) for ref in refs}) == len(set(refs))
    assert all(key_of(str(object_of(ref))) == ref for ref in refs)
    for name in ODD:
        fga.tuples("writes", *(may(str(user_of(name)), ref) for ref in sorted(set(refs)) if ref == key(name)))
    for name in ODD:
        who = reader(f"{name}") if name.strip() else None
        if who is not None:
            assert source(fga).granted(who).keys == {key(name)}, name
            assert source(fga).check(who, refs).allowed == {key(name)}, name


@pytest.mark.parametrize("name", [
    "restriction:conf/FIN/7", "restriction:conf/FIN/7/i1/x", "restriction://7/i1", "restriction:conf//7/i1", "restriction:c%6Fnf/FIN/7/i1",
    "restriction:", "", "group:conf/FIN/7/i1",
])
def test_an_object_of_another_form_is_no_reference(name: str) -> None:
    assert key_of(name) is None


def test_what_openfga_cannot_name_is_denied_and_not_asked() -> None:
    long = key("ż" * 60)
    unasked = OpenFgaSource(connect("http://127.0.0.1:9", "01J00000000000000000000000", "01J00000000000000000000000"))
    assert object_of(long) is None
    assert dict(unasked.check(reader(), [long, "?", key("7", None)]).denied) == {
        long: "not-expressible", "?": "not-a-reference", key("7", None): "no-incarnation"}
    assert user_of("x" * 600) is None
    assert unasked.granted(reader("x" * 600)).keys == set()
    assert dict(unasked.check(reader("x" * 600), [key("7")]).denied) == {key("7"): "not-expressible"}


def test_direct_and_nested_groups_grant_and_other_readers_do_not_get_it(fga: Server) -> None:
    fga.tuples("writes", may("user:bob", key("7")), may("group:fin#member", key("8")), ("group:leads#member", "member", "group:fin"),
                  ("user:ann", "member", "group:leads"))
    asked = source(fga)
    assert asked.granted(reader("bob")).keys == {key("7")}
    assert asked.granted(reader("ann")).keys == {key("8")}
    assert asked.granted(reader("group:fin#member")).keys == set()
    decision = asked.check(reader("ann"), [key("7"), key("8"), key("9")])
    assert (decision.allowed, dict(decision.denied)) == ({key("8")}, {key("7"): "not-a-reader", key("9"): "not-a-reader"})


def test_more_than_a_thousand_grants_are_all_listed_and_all_checked(fga: Server) -> None:
    refs = {key(str(number)) for number in range(MANY)}
    fga.tuples("writes", *(may("user:bob", ref) for ref in sorted(refs)))
    capped = call(fga.url, f"/stores/{fga.store}/list-objects", {
        "authorization_model_id": fga.model, "type": "restriction", "relation": "viewer", "user": "user:bob"})
    assert len(capped["objects"]) == 1_000 < MANY  # what an ordinary list would have given
    asked = source(fga, list_deadline_seconds=120)
    grants = asked.granted(reader())
    assert (grants.keys, grants.trouble) == (refs, None)
    decision = asked.check(reader(), refs | {key("stranger")})
    assert (decision.allowed, dict(decision.denied)) == (refs, {key("stranger"): "not-a-reader"})


def test_a_list_that_the_servers_deadline_cuts_is_a_subset_is_told_and_is_completed_from_candidates(tmp_path: Path) -> None:
    with running(tmp_path / "log", "--listObjects-deadline", "1ms") as (address, _):
        fga = Server(address, MODEL)
        refs = {key(str(number)) for number in range(MANY)}
        fga.tuples("writes", *(may("user:bob", ref) for ref in sorted(refs)))
        cut = source(fga, list_deadline_seconds=0.001).granted(reader())
        assert cut.keys < refs  # the server says nothing of it
        assert "may have ended early" in str(cut.trouble)
        whole = source(fga, list_deadline_seconds=0.001, candidates=lambda _: refs | {key("stranger")}).granted(reader())
        assert (whole.keys, whole.trouble) == (refs, None)


def test_the_next_question_after_a_revocation_is_denied_and_a_new_creation_restores_nothing(fga: Server) -> None:
    fga.tuples("writes", may("user:bob", key("7")))
    asked = source(fga)
    assert asked.granted(reader()).keys == {key("7")} == asked.check(reader(), [key("7")]).allowed
    fga.tuples("deletes", may("user:bob", key("7")))
    assert asked.granted(reader()).keys == set() == asked.check(reader(), [key("7")]).allowed
    fga.tuples("writes", may("user:bob", key("7", "i2")))
    assert asked.check(reader(), [key("7")]).allowed == set()
    assert asked.granted(reader()).keys == {key("7", "i2")}


def test_a_reference_without_an_incarnation_opens_only_where_that_is_accepted(fga: Server) -> None:
    fga.tuples("writes", may("user:bob", key("7", None)))
    assert source(fga).granted(reader()).keys == set() == source(fga).check(reader(), [key("7", None)]).allowed
    accepting = source(fga, accept_unbound=True)
    assert accepting.granted(reader()).keys == {key("7", None)} == accepting.check(reader(), [key("7", None)]).allowed


def test_a_store_of_one_tenant_grants_nothing_to_the_readers_of_another(fga: Server) -> None:
    fga.tuples("writes", may("user:bob", key("7")))
    ours = source(fga, tenants=[TENANT])
    assert ours.granted(reader()).keys == {key("7")}
    assert ours.granted(reader(tenant="OTHER")).keys == set()
    assert dict(ours.check(reader(tenant="OTHER"), [key("7")]).denied) == {key("7"): "other-tenant"}


def test_a_decision_names_the_store_the_model_and_the_consistency(fga: Server) -> None:
    for said in (source(fga).granted(reader()), source(fga).check(reader(), [key("7")])):
        assert said.token == f"store={fga.store} model={fga.model} consistency=HIGHER_CONSISTENCY"


NOBODY = "01J00000000000000000000000"


@pytest.mark.parametrize("fault", ["nothing listens", "no such store", "no such model", "no such relation"])
def test_a_server_that_cannot_decide_denies_everything_and_says_why(fga: Server, fault: str) -> None:
    fga.tuples("writes", may("user:bob", key("7")))
    address, store, model = fga.url, fga.store, fga.model
    if fault == "nothing listens":
        address = f"http://127.0.0.1:{free_port()}"
    elif fault == "no such store":
        store = NOBODY
    elif fault == "no such model":
        model = NOBODY
    else:
        model = call(fga.url, f"/stores/{store}/authorization-models", {
            "schema_version": "1.1", "type_definitions": [{"type": "user"}]})["authorization_model_id"]
    asked = OpenFgaSource(connect(address, store, model, api_token=SecretStr("open sesame"), timeout_seconds=10))
    grants, decision = asked.granted(reader()), asked.check(reader(), [key("7")])
    assert (grants.keys, decision.allowed, dict(decision.denied)) == (set(), set(), {key("7"): "unreachable"})
    for trouble in (grants.trouble, decision.trouble):
        assert trouble
        assert "sesame" not in trouble


def test_a_server_that_stops_denies_the_next_question(tmp_path: Path) -> None:
    with running(tmp_path / "log") as (address, process):
        fga = Server(address, MODEL)
        fga.tuples("writes", may("user:bob", key("7")))
        asked = OpenFgaSource(connect(address, fga.store, fga.model, timeout_seconds=10))
        assert asked.granted(reader()).keys == {key("7")}
        process.kill()
        process.wait()
        assert (asked.granted(reader()).keys, asked.check(reader(), [key("7")]).allowed) == (set(), set())


def test_a_trace_follows_the_server_from_grant_to_revocation(
    fga: Server, fresh_database: Database, cypher: Cypher, tmp_path: Path
) -> None:
    ref = {"system": "conf", "space": "FIN", "restriction_id": "7", "incarnation": "i1"}
    Store(fresh_database, cypher, tmp_path).load(
        edge("A:a", "calls", "A:b", cites("d@1#c", policy="public", acl_ref=ref), edge_id="ab"))
    asked = CombinedSource({"conf": source(fga)})
    auditor = Reader("bob", TENANT, frozenset({"public"}), frozenset({Role.READER, Role.AUDITOR}))

    def ask(who: Reader) -> dict[str, Any]:
        audience: Any = "auditor" if who.is_auditor else "reader"
        return trace(fresh_database, Question(("A", "a"), ("A", "b")), who, access=asked, trace_id="0" * 32,
                     audience=audience).as_json(audience)

    never = ask(reader())
    fga.tuples("writes", may("user:bob", key("7")))
    assert ask(reader())["state"] == "supported"
    access = ask(auditor)["access"]
    assert access["allowed"] == [key("7")]
    assert json.loads(access["token"]) == {"openfga": source(fga).granted(reader()).token}
    fga.tuples("deletes", may("user:bob", key("7")))
    assert ask(reader()) == never
