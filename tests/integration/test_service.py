"""The store over HTTP: who asks is what the token says, and the answer is the command line's (spec 5, HTTP)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from corpus.records import Store
from corpus.serving import READERS, Served, load, serving
from pydantic import TypeAdapter

from graphrag_provenance.errors import AccessDeniedError, NotFoundError, ProvenanceError
from graphrag_provenance.interfaces.http.shapes.answers import (
    ExplainedRetrievals,
    GateAnswer,
    ImpactAnswer,
    RecordedAnswer,
    Recording,
    RetrievalRecording,
)
from graphrag_provenance.interfaces.http.shapes.claims import TraceAnswer
from graphrag_provenance.interfaces.http.shapes.documents import DocumentAnswer, DocumentDiff
from graphrag_provenance.interfaces.http.shapes.graph import (
    EdgeAnswer,
    EdgeHistory,
    Edges,
    Entities,
    EntityAnswer,
    Explanation,
    RunAnswer,
    RunDiff,
    Runs,
)
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.ledger import Ledger
from graphrag_provenance.store import lookups
from graphrag_provenance.store.answers import answer_impact, show_answer
from graphrag_provenance.store.as_of import edge_as_of
from graphrag_provenance.store.documents import doc_diff, doc_show
from graphrag_provenance.store.explaining import explain_policy
from graphrag_provenance.store.gate import gate
from graphrag_provenance.store.retrievals import explain_retrieval
from graphrag_provenance.store.run_diff import run_diff
from graphrag_provenance.store.traces import trace

CLAIM = {"from": "System:a", "to": "System:c"}


@pytest.fixture(scope="module")
def store(emptied: Store) -> Store:
    load(emptied)
    return emptied


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


def _record(name: str, *edges: str) -> dict[str, Any]:
    return {"answer_id": name, "trace_id": "a" * 32, "claims": [{"text": f"{name} said", "path": list(edges)}]}


RETRIEVAL = {"retrievals": [{"trace_id": "d" * 32, "retriever": "R", "k": 4, "filter": {"kind": "rule"}, "passages": [
    {"id": "d@1#c", "score": 0.5}, {"doc": "p@1", "chunk": "c"}, {"id": "s@1#c"}, {"id": "x@1#c"}]}]}
EDGE, DIFF = {"id": "bc-ACME"}, {"id": "d", "before": "1", "after": "2"}
LEDGER = {"entries": [{"sentence": "A calls B.", "edges": ["ab", "bc-ACME", "absent"]}]}
READS: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("/v1/edge", EDGE, EdgeAnswer, lambda d, r: lookups.edge_show(d, r, "bc-ACME")),
    ("/v1/edge", EDGE | {"as_of": 2}, EdgeAnswer, lambda d, r: edge_as_of(d, r, "bc-ACME", 2)),
    ("/v1/edge/history", EDGE, EdgeHistory, lambda d, r: lookups.edge_history(d, r, "bc-ACME")),
    ("/v1/edge/policy", EDGE, Explanation, lambda d, r: explain_policy(d, r, "bc-ACME").as_json()),
    ("/v1/edges", {"limit": 2}, Edges, lambda d, r: _page("edges", lookups.edge_list(d, r, limit=2), 2)),
    ("/v1/edges", {"after": "ab"}, Edges, lambda d, r: _page("edges", lookups.edge_list(d, r, after="ab"), 100)),
    ("/v1/edges/withheld", {}, Edges, lambda d, r: _page("edges", lookups.edge_list(d, r, withheld=True), 100)),
    ("/v1/entities", {"text": "ACME"}, Entities, lambda d, r: _page("entities", lookups.entity_find(d, r, "ACME"), 20)),
    ("/v1/entity", {"address": "System:b"}, EntityAnswer, lambda d, r: lookups.entity_show(d, r, ("System", "b"))),
    ("/v1/document", {"id": "d"}, DocumentAnswer, lambda d, r: doc_show(d, r, "d")),
    ("/v1/document", {"id": "d@1"}, DocumentAnswer, lambda d, r: doc_show(d, r, "d@1")),
    ("/v1/document/diff", DIFF, DocumentDiff, lambda d, r: doc_diff(d, r, "d@1", "d@2")),
    ("/v1/answer", {"id": "N1"}, RecordedAnswer, lambda d, r: show_answer(d, r, "N1")),
    ("/v1/answer", {"id": "N2"}, RecordedAnswer, lambda d, r: show_answer(d, r, "N2")),
    ("/v1/answers/impact", {}, ImpactAnswer, lambda d, r: answer_impact(d, r)),
    ("/v1/runs", {"limit": 1}, Runs, lambda d, r: _page("runs", lookups.run_list(d, r, limit=1), 1)),
    ("/v1/runs/1", {}, RunAnswer, lambda d, r: lookups.run_show(d, 1, r)),
    ("/v1/runs/diff", {"before": 0, "after": 2, "limit": 2}, RunDiff, lambda d, r: run_diff(d, r, 0, 2, limit=2)),
    ("/v1/runs/diff", {"before": 2, "after": 10**6}, RunDiff, lambda d, r: run_diff(d, r, 2, 10**6)),
    ("/v1/retrieval", {"trace_id": "d" * 32}, ExplainedRetrievals, lambda d, r: explain_retrieval(d, r, "d" * 32)),
]
MISSING = {NotFoundError: 404, AccessDeniedError: 403}


def _page(name: str, rows: list[Any], limit: int) -> dict[str, Any]:
    return {"schema": 1, name: rows, "truncated": len(rows) == limit}


@pytest.fixture(scope="module")
def recorded(served: Served) -> Served:
    """Two answers recorded over HTTP: one on what ann sees, one on what only the auditor sees."""
    made = served.post("ann", "/v1/answers", {"answers": [_record("N1", "ab", "bc-ACME")]})
    assert made.status_code == 200, made.text
    TypeAdapter(Recording).validate_json(made.content, strict=True)
    assert made.json()["answers"][0]["recorded"] is True
    assert served.post("aud", "/v1/answers", {"answers": [_record("N2", "cd-ACME")]}).status_code == 200
    made = served.post("ann", "/v1/retrievals", RETRIEVAL)
    assert made.status_code == 200, made.text
    TypeAdapter(RetrievalRecording).validate_json(made.content, strict=True)
    return served


@pytest.mark.parametrize("number", range(len(READS)), ids=[f"{path}-{n}" for n, (path, *_) in enumerate(READS)])
@pytest.mark.parametrize("who", ["ann", "bob", "aud", "eve"])
def test_every_read_is_the_one_of_the_command_line_for_the_same_reader(recorded: Served, store: Store, who: str, number: int) -> None:
    path, params, shape, direct = READS[number]
    answer = recorded.get(who, path, **params)
    refused: ProvenanceError | None = None
    wanted: Any = None
    try:
        wanted = json.loads(json.dumps(direct(store.database, READERS[who]), default=str))
    except (NotFoundError, AccessDeniedError) as error:
        refused = error
    if refused is not None:
        assert (answer.status_code, answer.json()["error"]["message"]) == (MISSING[type(refused)], refused.message)
    else:
        assert answer.status_code == 200, answer.text
        assert answer.json() == wanted
        TypeAdapter(shape).validate_json(answer.content, strict=True)


@pytest.mark.parametrize(("who", "audience"), [("ann", "reader"), ("aud", "auditor"), ("bob", "reader")])
def test_answers_to_claims_and_ledgers_have_their_shape(recorded: Served, who: str, audience: str) -> None:
    for claim in (CLAIM, {"from": "System:a", "to": "System:d"}, CLAIM | {"as_of": 2}):
        TypeAdapter(TraceAnswer).validate_json(recorded.post(who, "/v1/trace", claim | {"audience": audience}).content, strict=True)
    judged = recorded.post(who, "/v1/gate", LEDGER)
    TypeAdapter(GateAnswer).validate_json(judged.content, strict=True)
    assert judged.json() == gate(recorded.app.state.service.database, Ledger.model_validate(LEDGER), READERS[who]).as_json()


def test_what_a_reader_may_not_see_is_answered_like_what_does_not_exist(recorded: Served) -> None:
    for path, hidden, absent in (
        ("/v1/edge", {"id": "cd-ACME"}, {"id": "no-ACME"}), ("/v1/edge/history", {"id": "odd-ACME"}, {"id": "not-ACME"}),
        ("/v1/document", {"id": "s@1"}, {"id": "x@1"}), ("/v1/document/diff", DIFF | {"id": "s"}, DIFF | {"id": "x"}),
        ("/v1/entity", {"address": "System:d"}, {"address": "System:x"}), ("/v1/edge", {"id": "bc-OTHER"}, {"id": "bc-NOONE"}),
    ):
        answers = [recorded.get("ann", path, **params) for params in (hidden, absent)]
        names = [next(iter(params.values())) for params in (hidden, absent)]
        assert [one.status_code for one in answers] == [404, 404]
        assert answers[0].text.replace(f" {names[0]}", " NAME") == answers[1].text.replace(f" {names[1]}", " NAME")
        assert _headers(answers[0]) == _headers(answers[1])
    assert recorded.get("ann", "/v1/entities", text="secret").json()["entities"] == []


def _headers(answer: Any) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in ("x-trace-id", "content-length")}


@pytest.mark.parametrize("more", [
    {"tenant": "OTHER"}, {"clearance": "secret"}, {"role": "auditor"}, {"reader": "aud"}, {"principal": "aud"},
])
def test_an_address_cannot_say_who_asks(recorded: Served, more: dict[str, str]) -> None:
    for path, params, _, _ in READS:
        assert recorded.get("bob", path, **params, **more).status_code == 422


def test_withheld_edges_runs_and_impact_need_a_role(recorded: Served) -> None:
    for path, params in (("/v1/edges/withheld", {}), ("/v1/runs", {}), ("/v1/runs/1", {}), ("/v1/answers/impact", {}),
                         ("/v1/edge/policy", {"id": "ab"}), ("/v1/runs/diff", {"before": 1, "after": 2})):
        assert recorded.get("ann", path, **params).status_code == 403, path
        assert recorded.get("aud", path, **params).status_code == 200, path
    reasons = recorded.get("aud", "/v1/edges/withheld").json()["edges"][0]["reasons"]
    assert reasons == ["unknown-policy: pubilc"]


def test_recording_again_writes_nothing_and_otherwise_is_refused(recorded: Served) -> None:
    runs = len(recorded.get("aud", "/v1/runs").json()["runs"])
    again = recorded.post("ann", "/v1/answers", {"answers": [_record("N1", "ab", "bc-ACME")]})
    assert (again.status_code, again.json()["answers"][0]["recorded"], again.json()["run"]) == (200, False, None)
    other = recorded.post("ann", "/v1/answers", {"answers": [_record("N1", "ab")]})
    hidden, absent = (recorded.post("ann", "/v1/answers", {"answers": [_record("N3", name)]}) for name in ("cd-ACME", "no-ACME"))
    assert [one.status_code for one in (other, hidden, absent)] == [409, 409, 409]
    assert hidden.text.replace("cd-ACME", "no-ACME") == absent.text
    assert len(recorded.get("aud", "/v1/runs").json()["runs"]) == runs


def test_a_retrieval_tells_of_hidden_passages_what_it_tells_of_absent_ones(recorded: Served) -> None:
    def rows(who: str) -> list[Any]:
        (found,) = recorded.get(who, "/v1/retrieval", trace_id="d" * 32).json()["retrievals"]
        assert (found["principal"], found["filter"]) == ("ann", {"kind": "rule"} if who in ("ann", "aud") else None)
        return [{name: value for name, value in row.items() if name not in ("rank", "id")} for row in found["passages"]]

    ann, bob = rows("ann"), rows("bob")
    assert [row["user_may_read"] for row in ann] == [True, True, False, False]
    assert [row["user_may_read"] for row in bob] == [False, True, False, False]
    assert ann[2] == ann[3]  # a secret passage, and one that no record has
    assert bob[2] == bob[3]
    absent = [recorded.get(who, "/v1/retrieval", trace_id=name * 32) for who, name in (("eve", "d"), ("eve", "e"))]
    assert [one.status_code for one in absent] == [404, 404]
    assert absent[0].text.replace("d" * 32, "T") == absent[1].text.replace("e" * 32, "T")
    again = recorded.post("ann", "/v1/retrievals", RETRIEVAL).json()
    assert (again["run"], again["retrievals"][0]["recorded"]) == (None, False)


def test_what_was_read_for_other_tenants_is_told_to_nobody(recorded: Served, store: Store) -> None:
    for answer in (recorded.get("aud", "/v1/runs"), *(recorded.get("aud", f"/v1/runs/{seq}") for seq in (1, 2))):
        assert answer.status_code == 200
        assert not any(word in answer.text for word in ('"inputs"', '"counts"', ".jsonl"))
    assert lookups.run_show(store.database, 2)["inputs"][0]["name"].endswith(".jsonl")  # who has the store's credentials


def test_two_runs_that_do_not_fit_are_told_so(recorded: Served) -> None:
    assert recorded.get("aud", "/v1/runs/diff", before=2, after=1).status_code == 409
    assert recorded.get("ann", "/v1/runs/diff", before=2, after=1).status_code == 403  # first of all, who asks
    future = RETRIEVAL | {"retrievals": [RETRIEVAL["retrievals"][0] | {"generation": 10**6}]}
    assert recorded.post("ann", "/v1/retrievals", future).status_code == 409


def test_a_recording_is_written_in_the_name_of_the_reader(recorded: Served) -> None:
    assert recorded.get("ann", "/v1/answer", id="N1").json()["recorded"]["principal"] == "ann"
    run = recorded.get("ann", "/v1/answer", id="N1").json()["recorded"]["run"]
    assert recorded.get("aud", f"/v1/runs/{run}").json()["actor"] == "ann"
