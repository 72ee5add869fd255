"""The store over the driver's own asyncio: the same code, and a statement ends with the request that asked it (docs/decisions/0010)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from conftest import Cypher, Server

from graphrag_provenance.errors import StoreConflictError, StoreError, StoreTimeoutError, StoreUnavailableError
from graphrag_provenance.queries.catalogue import Access, Query
from graphrag_provenance.store.bridge import aside, carried
from graphrag_provenance.store.database import Connection, Database, Transaction
from graphrag_provenance.store.loop import LoopDatabase

T = TypeVar("T")
_MARK = "// store.endless"
ENDLESS = Query("store.endless", "", Access.READ, {}, ("n",), "",
                f"{_MARK}\nUNWIND range(1, 100000000000) AS x WITH x WHERE x < 0 RETURN count(*) AS n")
RUNNING = "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery STARTS WITH $mark RETURN count(*) AS n"


def on_loop(place: Connection, call: Callable[[LoopDatabase], T], **more: Any) -> T:
    """What a plain function makes of the store, on an event loop of its own."""
    async def run() -> T:
        database = LoopDatabase(place, **more)
        try:
            return await carried(lambda: call(database))
        finally:
            await carried(database.close)

    return asyncio.run(run())


def _awaits(cypher: Cypher, number: int) -> bool:
    """Whether so many endless statements run, soon."""
    for _ in range(300):
        if cypher(RUNNING, mark=_MARK)[0]["n"] == number:
            return True
        time.sleep(0.1)
    return False


def test_a_cancelled_task_ends_its_statement_and_the_store_goes_on(server: Server, database: Database, cypher: Cypher) -> None:
    async def run() -> Any:
        store = LoopDatabase(server.connection, read_timeout=120)
        task = asyncio.create_task(carried(lambda: store.read(ENDLESS)))
        assert await aside(lambda: _awaits(cypher, 1))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await aside(lambda: _awaits(cypher, 0))
        rows = await carried(lambda: store.read("store.server"))
        await carried(store.close)
        return rows

    assert asyncio.run(run()) == database.read("store.server")


def test_a_statement_has_its_limit_in_the_database_and_its_error(server: Server) -> None:
    with pytest.raises(StoreTimeoutError):
        on_loop(server.connection, lambda store: store.read(ENDLESS), read_timeout=0.5)


def test_no_server_is_the_same_error() -> None:
    with pytest.raises(StoreUnavailableError, match="No Neo4j answers"):
        on_loop(Connection("bolt://127.0.0.1:1"), lambda store: store.read("store.server"), retry_seconds=0.1)


def test_a_transaction_counts_is_taken_back_and_is_read_afterwards(server: Server, cypher: Cypher, tenant: str) -> None:
    rows = [{"key": [tenant, "d"], "props": {"tenant": tenant, "doc_id": "d"}}]

    def work(tx: Transaction) -> int:
        made = tx.run(CREATE, rows=rows)
        return len(made)

    def through(store: Database) -> tuple[Any, ...]:
        found, writes = store.write(work)
        with pytest.raises(StoreConflictError):
            store.write(lambda tx: _refuse(work(tx)))
        seen = store.read(COUNT, tenant=tenant)[0]["n"]  # by the bookmark of what was written, in a cluster too
        assert store.rehearse(work) == 1
        return found, writes.nodes, writes.properties, seen, store.read(COUNT, tenant=tenant)[0]["n"]

    try:
        assert on_loop(server.connection, through) == (1, 1, 2, 1, 1)
    finally:
        cypher("MATCH (n:LoopTest {tenant: $tenant}) DELETE n", tenant=tenant)


CREATE = Query("store.create", "", Access.WRITE, {}, ("n",), "", "UNWIND $rows AS row CREATE (n:LoopTest) SET n = row.props RETURN n")
COUNT = Query("store.count", "", Access.READ, {}, ("n",), "", "MATCH (n:LoopTest {tenant: $tenant}) RETURN count(n) AS n")


def _refuse(_: int) -> None:
    raise StoreConflictError("no")


def test_a_thread_beside_the_loop_asks_over_it(server: Server, database: Database) -> None:
    async def run() -> Any:
        store = LoopDatabase(server.connection, read_timeout=60)
        store.open_here()
        return await aside(lambda: store.read("store.server")), await carried(store.close)

    assert asyncio.run(run())[0] == database.read("store.server")


def test_what_would_stop_the_loop_is_refused(server: Server) -> None:
    async def run() -> None:
        store = LoopDatabase(server.connection)
        with pytest.raises(StoreError, match="not open"):
            await aside(lambda: store.read("store.server"))
        store.open_here()
        with pytest.raises(RuntimeError, match="carried"):
            store.read("store.server")
        with pytest.raises(StoreError):
            list(store.stream("store.server"))

    asyncio.run(run())
