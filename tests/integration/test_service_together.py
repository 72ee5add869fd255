"""Many readers at once, a store that goes and comes back, and a service that is told to stop (spec 5, HTTP)."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest
from corpus.records import Store
from corpus.service_load import REQUESTS, loaded
from corpus.serving import listening, load, serve_process, service_of
from pydantic import SecretStr

from graphrag_provenance.config import Settings
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Connection, Database
from graphrag_provenance.store.verification import verify

CLAIM = {"from": "System:a", "to": "System:c"}


@pytest.fixture(scope="module")
def connection(emptied: Store) -> Connection:
    load(emptied)
    return emptied.database.connection


def test_readers_who_ask_together_get_what_each_gets_alone(connection: Connection, tmp_path: Path) -> None:
    app, keys, _ = service_of(connection, tmp_path)
    with listening(app) as url:
        seconds, leaks, unanswered = asyncio.run(loaded(url, keys, REQUESTS, clients=12, each=12))
    assert (len(seconds), leaks, unanswered) == (144, 0, 0)


def test_a_service_that_is_told_to_stop_ends_well(connection: Connection, tmp_path: Path) -> None:
    with serve_process(connection, tmp_path, query_timeout_seconds=60, serve_timeout_seconds=60) as (url, keys):
        answer = httpx.post(f"{url}/v1/trace", json=CLAIM, headers={"Authorization": f"Bearer {keys['ann']}"}, timeout=60)
        assert answer.json()["state"] == "supported"
        metrics = httpx.get(f"{url}/metrics", timeout=60)
        assert 'route="/v1/trace",status="200"' in metrics.text
        assert httpx.get(f"{url}/metrics", headers={"X-Forwarded-For": "10.0.0.9"}, timeout=60).status_code == 401


@pytest.fixture
def own(tmp_path: Path) -> Iterator[LocalServer]:
    local = LocalServer(Settings(home=tmp_path / "home"))
    local.start()
    yield local
    local.stop()


def test_while_the_store_is_down_it_is_said_so_and_nothing_is_lost(own: LocalServer, tmp_path: Path) -> None:
    uri, user, password = own.credentials()
    there = Connection(uri, user, SecretStr(password))
    with Database(there, read_timeout=60) as database, neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
        migrations.apply(database)
        plain = lambda text, **params: [dict(row) for row in driver.execute_query(text, params).records]  # noqa: E731
        load(Store(database, plain, tmp_path), other=False)
        app, keys, _ = service_of(there, tmp_path)
        headers = {"Authorization": f"Bearer {keys['ann']}"}
        answer = {"answers": [{"answer_id": "N", "trace_id": "a" * 32, "claims": [{"path": ["ab", "bc-ACME"]}]}]}
        with listening(app) as url, httpx.Client(base_url=url, headers=headers, timeout=300) as client:
            before = client.post("/v1/trace", json=CLAIM).json()
            assert before["state"] == "supported"
            assert client.get("/health/ready").status_code == 200
            run = client.get("/v1/runs/1", headers={"Authorization": f"Bearer {keys['aud']}"}).json()
            assert run["inputs"][0]["name"].endswith(".jsonl")  # there is no other tenant whose files these could be
            own.stop()
            down = [client.post("/v1/trace", json=CLAIM), client.get("/v1/edges"), client.post("/v1/answers", json=answer),
                    client.get("/health/ready")]
            assert [one.status_code for one in down] == [503] * 4
            assert {one.headers["retry-after"] for one in down} == {"5"}
            assert {one.json()["error"]["code"] for one in down} == {"store-unavailable"}
            assert not any(word in one.text for one in down for word in ("bolt", "127.0.0.1", "neo4j"))
            assert client.get("/health/live").status_code == 200
            own.start()
            assert own.credentials()[0] == uri
            assert _recovered(client, before)
            assert client.post("/v1/answers", json=answer).json()["answers"][0]["recorded"] is True
        assert verify(database).ok


def _recovered(client: httpx.Client, before: dict[str, Any]) -> bool:
    """Whether the same answer comes again, by itself and soon."""
    for _ in range(60):
        found = client.post("/v1/trace", json=CLAIM)
        if found.status_code == 200:
            return bool(found.json() | {"trace_id": 0} == before | {"trace_id": 0})
        time.sleep(0.5)
    return False


def test_a_request_that_is_being_worked_on_is_answered_before_a_stop(connection: Connection, tmp_path: Path) -> None:
    found: list[bytes] = []
    body = json.dumps(CLAIM).encode()

    def finish(held: socket.socket, address: tuple[str, int]) -> None:
        """Sends what is missing once nobody new is let in."""
        for _ in range(600):
            try:
                socket.create_connection(address, 5).close()
                time.sleep(0.1)
            except ConnectionError:
                break
        held.sendall(body)
        while part := held.recv(65_536):
            found.append(part)

    with serve_process(connection, tmp_path, query_timeout_seconds=60, serve_timeout_seconds=60) as (url, keys):
        host, _, port = url.removeprefix("http://").partition(":")
        held = socket.create_connection((host, int(port)), 60)
        head = (f"POST /v1/trace HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {keys['ann']}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n")
        held.sendall(head.encode())
        assert held.recv(4096).startswith(b"HTTP/1.1 100")  # it waits for the body
        asking = threading.Thread(target=finish, args=(held, (host, int(port))))
        asking.start()
    asking.join(60)
    held.close()
    assert b"".join(found).startswith(b"HTTP/1.1 200")
    assert b'"state":"supported"' in b"".join(found)
