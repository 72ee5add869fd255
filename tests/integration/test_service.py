"""The store over HTTP: who asks is what the token says, and the answer is the command line's (spec 5, HTTP)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import Store
from corpus.serving import READERS, Served, load, serving

from graphrag_provenance.rules.chains import Question
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.traces import trace

CLAIM = {"from": "System:a", "to": "System:c"}


@pytest.fixture(scope="module")
def store(server: Any, database: Database, cypher: Cypher, tmp_path_factory: pytest.TempPathFactory) -> Store:
    if not server.disposable:
        pytest.skip("the server is not ours to empty")
    cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
    made = Store(database, cypher, tmp_path_factory.mktemp("served"))
    load(made)
    return made


@pytest.fixture(scope="module")
def served(store: Store, server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(server.connection, tmp_path_factory.mktemp("keys")) as found:
        yield found


def test_a_trace_is_the_one_of_the_command_line(served: Served, store: Store) -> None:
    answer = served.post("ann", "/v1/trace", CLAIM)
    direct = trace(store.database, Question(("System", "a"), ("System", "c")), READERS["ann"]).as_json()
    assert answer.status_code == 200
    assert direct["state"] == "supported"
    assert answer.json() | {"trace_id": 0} == direct | {"trace_id": 0}
    assert answer.json()["trace_id"] == answer.headers["x-trace-id"]


@pytest.mark.parametrize("header", [
    None, "", "Bearer", "Bearer ", "Bearer x", "Basic YW5uOmFubg==", "bearer gprov_000000000000_x", "Bearer gprov__", "Bearer a.b.c",
    "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.",
])
def test_without_a_valid_token_everything_is_the_same_refusal(served: Served, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    found = [served.client.request(method, path, headers=headers, content=b"{not json" if method == "POST" else None) for method, path in (
        ("POST", "/v1/trace"), ("GET", "/v1/trace"), ("GET", "/v1/absent"), ("GET", "/absent"), ("OPTIONS", "/v1/trace"))]
    assert {one.status_code for one in found} == {401}
    assert {one.headers["www-authenticate"] for one in found} == {"Bearer"}
    assert len({one.content for one in found}) == 1


@pytest.mark.parametrize("more", [
    {"tenant": "OTHER"}, {"clearance": ["secret"]}, {"clearances": ["secret"]}, {"roles": ["auditor"]}, {"principal": "aud"},
    {"reader": {"tenant": "OTHER"}}, {"granted": ["x"]},
])
def test_a_body_cannot_say_who_asks(served: Served, more: dict[str, Any]) -> None:
    answer = served.post("bob", "/v1/trace", CLAIM | more)
    assert answer.status_code == 422
    assert "secret" not in answer.text


@pytest.mark.parametrize("header", ["X-Tenant", "X-Clearance", "X-Roles", "X-Forwarded-User", "X-Principal"])
def test_a_header_cannot_say_who_asks(served: Served, header: str) -> None:
    plain = served.post("bob", "/v1/trace", CLAIM).json()
    widened = served.client.post("/v1/trace", json=CLAIM, headers=served.headers("bob") | {header: "OTHER"}).json()
    assert widened | {"trace_id": 0} == plain | {"trace_id": 0}
    assert plain["state"] == "unresolved"


def test_two_authorization_headers_are_none(served: Served) -> None:
    pairs = [("Authorization", served.headers(who)["Authorization"]) for who in ("ann", "aud")]
    assert served.client.post("/v1/trace", json=CLAIM, headers=pairs).status_code == 401


def test_the_auditors_view_needs_the_role(served: Served) -> None:
    asked = CLAIM | {"audience": "auditor"}
    refused, told = served.post("ann", "/v1/trace", asked), served.post("aud", "/v1/trace", asked)
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "access-denied"
    assert told.json()["policies"] == ["internal", "public"]


def test_a_clearance_that_the_store_does_not_know_sees_nothing_and_learns_no_name(served: Served) -> None:
    answer = served.post("odd", "/v1/trace", CLAIM)
    assert answer.status_code == 403
    assert not any(name in answer.text for name in ("pubilc", "internal", "secret", "legal"))


def test_readers_of_two_tenants_see_their_own(served: Served) -> None:
    edges = {who: [step["edge_id"] for path in served.post(who, "/v1/trace", CLAIM).json()["paths"] for step in path["steps"]]
             for who in ("ann", "eve", "bob")}
    assert edges == {"ann": ["ab", "bc-ACME"], "eve": ["ab", "bc-OTHER"], "bob": []}


def test_the_callers_trace_is_carried_on(served: Served) -> None:
    given = "0af7651916cd43dd8448eb211c80319c"
    headers = served.headers("ann") | {"traceparent": f"00-{given}-b7ad6b7169203331-01"}
    answer = served.client.post("/v1/trace", json=CLAIM, headers=headers)
    assert answer.json()["trace_id"] == answer.headers["x-trace-id"] == given
    malformed = served.client.post("/v1/trace", json=CLAIM, headers=served.headers("ann") | {"traceparent": "00-x"})
    assert len(malformed.json()["trace_id"]) == 32


def test_many_claims_are_answered_in_order(served: Served) -> None:
    claims = [{"id": "one", **CLAIM}, {"id": "two", "from": "System:a", "to": "System:b"}, {"from": "System:a", "to": "System:x"}]
    answer = served.post("ann", "/v1/traces", {"claims": claims}).json()
    assert [(one["id"], one["state"]) for one in answer["answers"]] == [("one", "supported"), ("two", "supported"), ("", "unresolved")]


def test_health_needs_no_token_and_counters_no_token_from_here(served: Served) -> None:
    assert served.client.get("/health/live").json() == {"schema": 1, "state": "live"}
    assert served.client.get("/health/ready").json() == {"schema": 1, "state": "ready"}
    assert served.client.get("/metrics").status_code == 401  # the test's client has no address
    assert served.get("ann", "/metrics").status_code == 403
    counted = served.get("aud", "/metrics")
    assert 'gprov_http_requests_total{method="POST",route="/v1/trace",status="200"}' in counted.text
    assert not any(word in counted.text for word in ("ACME", "ann", "System"))


def test_what_protects_a_browser_is_on_every_answer(served: Served) -> None:
    for answer in (served.client.get("/absent"), served.get("ann", "/absent"), served.post("ann", "/v1/trace", CLAIM)):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers
    assert served.get("ann", "/absent").json()["error"]["code"] == "not-found"
