"""Statements over the driver's own asyncio (extra `serve`; spec 5, HTTP: async driver; docs/decisions/0010).

Owns: that whoever asks waits without holding the event loop: code carried by a task (`bridge`) lets the task await the answer, and a
thread waits for the loop to have it. A task that is cancelled while it waits closes the connection, and the server ends the statement.
Leaves to others: everything that is asked (`database`), which is the same as over blocking sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeVar

import neo4j
from neo4j import AsyncGraphDatabase

from graphrag_provenance.errors import StoreError
from graphrag_provenance.store.bridge import awaited, carried, is_carried
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.links import Answer, Asked, Connection, Send, driver_options, session_options

T = TypeVar("T")


class OnLoop:
    """One event loop, on which every statement is sent: the one it is first used on."""

    def __init__(self, connection: Connection, retry_seconds: float) -> None:
        self._connection, self._retry_seconds = connection, retry_seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._driver: neo4j.AsyncDriver | None = None
        self._bookmarks = AsyncGraphDatabase.bookmark_manager()

    def open_here(self) -> None:
        """Belong to the running loop, so that threads find it."""
        running = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = running
        elif self._loop is not running:
            raise RuntimeError("a store belongs to one event loop")

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if is_carried():
            self.open_here()
            return awaited(work)
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise StoreError("The store is not open.", hint="Open it on an event loop.")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        work.close()
        raise RuntimeError("code on the event loop has to be carried, or it would stop the loop")

    def _session(self, *, writes: bool, noting: bool = False) -> neo4j.AsyncSession:
        if self._driver is None:
            self._driver = AsyncGraphDatabase.driver(**driver_options(self._connection, self._retry_seconds))
        return self._driver.session(bookmark_manager=self._bookmarks, **session_options(self._connection, writes=writes, noting=noting))

    def verify(self) -> None:
        """As `Link`."""
        async def verified() -> None:
            self._session(writes=False)
            assert self._driver is not None
            await self._driver.verify_connectivity()

        self._wait(verified())

    def close(self) -> None:
        """As `Link`."""
        async def closed() -> None:
            if self._driver is not None:
                await self._driver.close()

        if self._loop is not None:
            self._wait(closed())

    def ask(self, asked: Asked, params: Mapping[str, Any], *, writes: bool = False, noting: bool = False) -> Answer:
        """As `Link`."""
        async def answered() -> Answer:
            async with self._session(writes=writes, noting=noting) as session:
                return await _all(await session.run(asked, dict(params)))

        return self._wait(answered())

    def stream(self, asked: Asked, params: Mapping[str, Any]) -> Iterator[neo4j.Record]:
        """Refused: what reads a whole store is not for a service."""
        raise StoreError("A whole store is not read here.", hint="Use the command line.")

    def transact(
        self, work: Callable[[Send], T], *, writes: bool, timeout: float | None, metadata: Mapping[str, str] | None = None,
    ) -> T:
        """As `Link`. `work` is carried by the task of the transaction, whoever asked for it."""
        async def attempt(tx: neo4j.AsyncManagedTransaction) -> T:
            async def sent(asked: Asked, params: Mapping[str, Any]) -> Answer:
                return await _all(await tx.run(asked, dict(params)))

            return await carried(lambda: work(lambda asked, params: awaited(sent(asked, params))))

        unit = neo4j.unit_of_work(timeout=timeout, metadata=dict(metadata or {}))(attempt)

        async def transacted() -> T:
            async with self._session(writes=writes) as session:
                result: T = await (session.execute_write if writes else session.execute_read)(unit)
                return result

        return self._wait(transacted())


class LoopDatabase(Database):
    """The store on an event loop: for code that is carried by a task of that loop, and for threads beside it."""

    def __init__(self, connection: Connection, *, read_timeout: float = 10.0, retry_seconds: float = 30.0) -> None:
        loops: list[OnLoop] = []

        def link(connection: Connection, retry_seconds: float) -> OnLoop:
            loops.append(OnLoop(connection, retry_seconds))
            return loops[0]

        super().__init__(connection, read_timeout=read_timeout, retry_seconds=retry_seconds, link=link)
        self._on = loops[0]

    def open_here(self) -> None:
        """Belong to the running event loop."""
        self._on.open_here()


async def _all(result: neo4j.AsyncResult) -> Answer:
    return [record async for record in result], await result.consume()
