"""Many clients of several readers on one service: how long answers take, and whether any reader ever gets another's.

`PYTHONPATH=tests python -m corpus.service_load` starts a Neo4j and a service of its own, asks with 64 clients, and prints the times.
Every answer is compared with what the reader gets alone; a difference is a leak, and the number of those is printed too. An answer that
nobody got (503, 504) is none, and is counted by itself. Patience is long: on a busy machine answers are late, and that is what is measured.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import neo4j
from pydantic import SecretStr

from corpus.records import Store
from corpus.serving import load, serve_process
from graphrag_provenance.config import load_settings
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Connection, Database

Request = tuple[str, str, Any]
"""Method, path, and parameters or body."""
PATIENCE = 600.0
"""Seconds that a client waits for an answer."""
_MASKED = {"trace_id": ""}
REQUESTS: tuple[Request, ...] = (
    ("POST", "/v1/trace", {"from": "System:a", "to": "System:c"}), ("POST", "/v1/trace", {"from": "System:a", "to": "System:d"}),
    ("GET", "/v1/edges", {}), ("GET", "/v1/edge", {"id": "ab"}), ("GET", "/v1/edge", {"id": "bc-ACME"}),
    ("GET", "/v1/edge/history", {"id": "bc-OTHER"}), ("GET", "/v1/entity", {"address": "System:b"}),
    ("GET", "/v1/entities", {"text": "OTHER"}), ("GET", "/v1/document", {"id": "d"}),
    ("POST", "/v1/gate", {"entries": [{"sentence": "So it is.", "edges": ["ab", "bc-ACME", "cd-ACME", "bc-OTHER"]}]}),
)
"""Each is answered differently to different readers."""


async def _once(client: httpx.AsyncClient, key: str, request: Request) -> tuple[int, Any, float]:
    method, path, said = request
    headers = {"Authorization": f"Bearer {key}"}
    began = time.perf_counter()
    if method == "GET":
        answer = await client.get(path, params=said, headers=headers)
    else:
        answer = await client.post(path, content=json.dumps(said), headers={**headers, "Content-Type": "application/json"})
    return answer.status_code, answer.json() | _MASKED, time.perf_counter() - began


async def expected(url: str, keys: Mapping[str, str], requests: Sequence[Request]) -> dict[tuple[str, int], tuple[int, Any]]:
    """What each reader gets when nobody else asks."""
    found: dict[tuple[str, int], tuple[int, Any]] = {}
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
        for (who, key), (number, request) in itertools.product(keys.items(), enumerate(requests)):
            status, body, _ = await _once(client, key, request)
            found[who, number] = status, body
    return found


async def loaded(
    url: str, keys: Mapping[str, str], requests: Sequence[Request], *, clients: int, each: int, seed: int = 1,
) -> tuple[list[float], int, int]:
    """The seconds of every answer, how many differed from what the reader gets alone, and how many were none."""
    alone = await expected(url, keys, requests)
    for number, request in enumerate(requests):
        if len({json.dumps(alone[who, number], sort_keys=True) for who in keys}) < 2:
            raise ValueError(f"every reader gets the same to {request}: a leak would not show")
    seconds: list[float] = []
    leaks = unanswered = 0

    async def client_of(number: int) -> None:
        nonlocal leaks, unanswered
        chosen = random.Random(seed * 1000 + number)
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            for _ in range(each):
                who, asked = chosen.choice(sorted(keys)), chosen.randrange(len(requests))
                status, body, took = await _once(client, keys[who], requests[asked])
                seconds.append(took)
                unanswered += status in (503, 504)
                leaks += status not in (503, 504) and (status, body) != alone[who, asked]

    await asyncio.gather(*(client_of(number) for number in range(clients)))
    return seconds, leaks, unanswered


def told(seconds: Sequence[float], leaks: int, unanswered: int, clients: int, wall: float) -> str:
    """The measurement in one line."""
    ranks = statistics.quantiles(seconds, n=100)
    return (f"{clients} clients, {len(seconds):,} requests, {len(seconds) / wall:,.0f} a second: p50 {ranks[49] * 1000:.0f} ms, "
            f"p95 {ranks[94] * 1000:.0f} ms, p99 {ranks[98] * 1000:.0f} ms; {leaks} answers that were another reader's, "
            f"{unanswered} that were none; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


def main(clients: int = 64, each: int = 30) -> None:
    """A server, a service and its clients on this machine."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        local = LocalServer(load_settings(home=folder / "home", workspace=folder))
        local.start("load")
        try:
            uri, user, password = local.credentials()
            connection = Connection(uri, user, SecretStr(password))
            with Database(connection, read_timeout=120) as database, neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
                migrations.apply(database)
                load(Store(database, lambda text, **params: [dict(row) for row in driver.execute_query(text, params).records], folder))
            with serve_process(connection, folder, query_timeout_seconds=PATIENCE, serve_timeout_seconds=PATIENCE) as (url, keys):
                asyncio.run(loaded(url, keys, REQUESTS, clients=8, each=20))  # warm
                began = time.perf_counter()
                seconds, leaks, unanswered = asyncio.run(loaded(url, keys, REQUESTS, clients=clients, each=each))
                sys.stdout.write(told(seconds, leaks, unanswered, clients, time.perf_counter() - began) + "\n")
        finally:
            local.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
