"""The tools as a client of the official SDK meets them, over memory, stdio and HTTP (spec 5, MCP)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from corpus.records import Store
from corpus.serving import READERS, listening, load, settings_of
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from graphrag_provenance.interfaces.http.identity import identity_for
from graphrag_provenance.interfaces.http.service import Service, opened
from graphrag_provenance.interfaces.mcp.server import create_server
from graphrag_provenance.interfaces.mcp.serving import create_mcp_app
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.reports import AnswerReport
from graphrag_provenance.store.answers import record_answers
from graphrag_provenance.store.database import Connection
from graphrag_provenance.store.loop import LoopDatabase

CALLS: dict[str, dict[str, Any]] = {
    "find_entities": {"text": "ACME"}, "show_entity": {"address": "System:b"}, "trace_claim": {"from": "System:a", "to": "System:c"},
    "trace_claims": {"claims": [{"id": "1", "from": "System:a", "to": "System:c"}, {"from": "System:a", "to": "System:d"}]},
    "show_edge": {"id": "bc-ACME"}, "edge_history": {"id": "bc-ACME"}, "list_edges": {"limit": 10}, "show_document": {"id": "d"},
    "compare_revisions": {"id": "d", "before": "1", "after": "2"},
    "check_gate": {"entries": [{"sentence": "A calls B.", "edges": ["ab"]}]}, "show_answer": {"id": "N"},
}
Make = Callable[[], Service]
"""A service belongs to one event loop: each test makes its own."""
HIDDEN = ("internal", "secret", "pubilc", "odd-ACME", "cd-ACME", "OTHER", "withheld")


@pytest.fixture(scope="module")
def connection(emptied: Store) -> Connection:
    load(emptied)
    report = {"answer_id": "N", "trace_id": "a" * 32, "claims": [{"text": "So.", "path": ["ab", "bc-ACME"]}]}
    record_answers(emptied.database, READERS["ann"], [AnswerReport.model_validate(report)])
    return emptied.database.connection


@pytest.fixture(scope="module")
def service(connection: Connection, tmp_path_factory: pytest.TempPathFactory) -> Make:
    settings, _ = settings_of(tmp_path_factory.mktemp("keys"))
    return lambda: Service(LoopDatabase(connection, read_timeout=120, retry_seconds=2), settings)


def told(result: Any) -> str:
    return "".join(part.text for part in result.content)


def calls(service: Make, who: Reader | None, asked: Iterable[tuple[str, dict[str, Any]]]) -> list[tuple[str, Any]]:
    """The results of some calls, each with its tool."""
    async def run() -> list[tuple[str, Any]]:
        made = service()
        async with opened(made), Client(create_server(made, lambda _: who)) as client:
            return [(name, await client.call_tool(name, arguments)) for name, arguments in asked]

    return asyncio.run(run())


def call(service: Make, who: Reader | None, name: str, arguments: dict[str, Any]) -> Any:
    return calls(service, who, [(name, arguments)])[0][1]


async def every_tool(client: Client) -> dict[str, Any]:
    listed = (await client.list_tools()).tools
    assert {tool.name for tool in listed} == set(CALLS)
    for tool in listed:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert len(tool.description or "") > 80
        assert tool.input_schema["additionalProperties"] is False
        names = str(tool.input_schema).lower()
        assert not any(word in names for word in ("cypher", "'tenant'", "'clearance", "'roles'", "'principal'", "'granted'"))
    return {name: await client.call_tool(name, arguments) for name, arguments in CALLS.items()}


def checked(found: dict[str, Any]) -> None:
    """What ann, cleared for internal, gets from every tool."""
    for name, result in found.items():
        assert not result.is_error, (name, told(result))
        assert json.loads(told(result)) == result.structured_content
        assert not any(word in told(result) for word in HIDDEN), name
    trace = found["trace_claim"].structured_content
    assert (trace["state"], [one["n"] for one in trace["citations"]]) == ("supported", [1, 2, 3])
    assert [one["state"] for one in found["trace_claims"].structured_content["answers"]] == ["supported", "unresolved"]


def test_every_tool_is_listed_and_answers_with_citations_and_no_policy_names(service: Make) -> None:
    async def run() -> None:
        made = service()
        async with opened(made), Client(create_server(made, lambda _: READERS["ann"])) as client:
            checked(await every_tool(client))

    asyncio.run(run())


def test_an_auditor_too_is_answered_like_a_plain_reader(service: Make) -> None:
    for name, result in calls(service, READERS["aud"], CALLS.items()):
        assert not any(word in told(result) for word in ("internal", "pubilc", '"policies"', '"acl"', '"reasons": ["unk', "odd-ACME")), name
    assert call(service, READERS["aud"], "show_edge", {"id": "odd-ACME"}).is_error
    assert told(call(service, READERS["aud"], "show_edge", {"id": "cd-ACME"})).startswith('{"schema"')


SMUGGLED: list[dict[str, Any]] = [
    {"tenant": "OTHER"}, {"clearance": ["secret"]}, {"clearances": ["secret"]}, {"roles": ["auditor"]}, {"reader": {"tenant": "OTHER"}},
    {"principal": "aud"}, {"granted": ["x"]}, {"cypher": "MATCH (n) RETURN n"}, {"query": "MATCH (n) RETURN n"}, {"audience": "auditor"},
    {"_meta": {"tenant": "OTHER"}}, {"allowed": ["secret"]}, {"role": "operator"},
]


@pytest.mark.parametrize("more", SMUGGLED, ids=[next(iter(one)) for one in SMUGGLED])
def test_what_is_smuggled_into_a_call_gets_nothing(service: Make, more: dict[str, Any]) -> None:
    for name, result in calls(service, READERS["bob"], [(name, arguments | more) for name, arguments in CALLS.items()]):
        assert result.is_error, name
        assert told(result).startswith("input:")
        assert not any(word in told(result) for word in HIDDEN)


@pytest.mark.parametrize("text", [
    "' OR 1=1 RETURN n //", "*", "*:*", "secret OR tenant:OTHER", "\\", "a~", "x\u0000y", "System:d\"})", "${tenant}", "/.*/",
])
def test_cypher_and_query_languages_in_arguments_are_only_words(service: Make, text: str) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("find_entities", {"text": text}), ("show_edge", {"id": text}), ("show_document", {"id": text}), ("show_answer", {"id": text}),
        ("show_entity", {"address": f"System:{text}"}), ("trace_claim", {"from": f"System:{text}", "to": "System:d"})]
    for name, result in calls(service, READERS["ann"], asked):
        answer = told(result).replace(text, "")
        assert not any(word in answer for word in (*HIDDEN, "Neo4j", "SyntaxError", "Traceback")), (name, answer)


def test_errors_help(service: Make) -> None:
    assert told(call(service, READERS["ann"], "trace_claim", {"from": "nothing", "to": "System:b"})).startswith("input: from: ")
    assert "trace_claim takes: " in told(call(service, READERS["ann"], "trace_claim", {}))
    assert told(call(service, READERS["ann"], "show_edge", {"id": "no"})) == "not-found: There is no edge no."
    assert "There is no such tool. There are: find_entities, " in told(call(service, READERS["ann"], "run_cypher", {"query": "x"}))
    unknown = told(call(service, READERS["odd"], "list_edges", {}))
    assert unknown.startswith("unknown-clearance:")
    assert not any(word in unknown for word in ("pubilc", "internal", "secret"))


def test_nobody_gets_nothing(service: Make) -> None:
    for name, result in calls(service, None, CALLS.items()):
        assert told(result).startswith("unauthenticated:"), name


def test_over_stdio_the_reader_is_the_one_of_the_options(connection: Connection, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_"))}
    program = StdioServerParameters(
        command=sys.executable, cwd=str(tmp_path),
        args=["-m", "graphrag_provenance.interfaces.cli", "mcp", "--tenant", "ACME", "--clearance", "internal"],
        env=kept | {"NEO4J_URI": connection.uri, "NEO4J_USERNAME": connection.username,
                    "NEO4J_PASSWORD": connection.password.get_secret_value(), "GRAPHRAG_PROVENANCE_QUERY_TIMEOUT_SECONDS": "60"})

    async def run() -> None:
        async with Client(stdio_client(program)) as client:
            checked(await every_tool(client))

    asyncio.run(run())


@pytest.fixture(scope="module")
def over_http(connection: Connection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    settings, keys = settings_of(tmp_path_factory.mktemp("keys"))
    service = Service(LoopDatabase(connection, read_timeout=120, retry_seconds=2), settings)
    with listening(create_mcp_app(service, identity_for(settings))) as url:
        yield url, keys


def with_key(url: str, key: str, work: Callable[[Client], Awaitable[Any]], mode: Any = "auto") -> Any:
    async def run() -> Any:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http, \
                Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http_the_reader_is_the_one_of_the_token(over_http: tuple[str, dict[str, str]], mode: str) -> None:
    url, keys = over_http
    checked(with_key(url, keys["ann"], every_tool, mode))

    async def trace(client: Client) -> Any:
        return (await client.call_tool("trace_claim", CALLS["trace_claim"])).structured_content

    edges = {who: [step["edge_id"] for path in with_key(url, keys[who], trace, mode)["paths"] for step in path["steps"]]
             for who in ("ann", "bob", "eve")}
    assert edges == {"ann": ["ab", "bc-ACME"], "bob": [], "eve": ["ab", "bc-OTHER"]}


def test_over_http_nothing_is_said_without_a_token(over_http: tuple[str, dict[str, str]]) -> None:
    url, keys = over_http
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    with httpx2.Client(base_url=url, timeout=60, headers={"Accept": "application/json, text/event-stream"}) as client:
        answers = [client.post("/mcp", json=asked, headers=headers) for headers in (
            {}, {"Authorization": "Bearer x"}, {"Authorization": f"Bearer {keys['ann']}x"}, {"Mcp-Session-Id": "1"})]
        answers += [client.get("/mcp"), client.delete("/mcp"), client.get("/absent")]
        assert {one.status_code for one in answers} == {401}
        assert len({one.content for one in answers}) == 1
        rebound = client.post("/mcp", json=asked, headers={"Authorization": f"Bearer {keys['ann']}", "Host": "evil.example.org"})
        assert rebound.status_code in (403, 421)
        assert client.get("/health/live").status_code == 200


def test_behind_a_proxy_the_outer_host_is_served(connection: Connection, tmp_path: Path) -> None:
    settings, keys = settings_of(tmp_path, serve_proxies=("127.0.0.1",))
    with listening(create_mcp_app(Service(LoopDatabase(connection), settings), identity_for(settings))) as url:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {"Authorization": f"Bearer {keys['ann']}", "Host": "outer.example.org", "Accept": "application/json, text/event-stream"}
        assert httpx2.post(f"{url}/mcp", json=asked, headers=headers, timeout=60).status_code not in (401, 403, 421)
