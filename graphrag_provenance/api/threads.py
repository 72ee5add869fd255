"""The store for asyncio (spec 5, Python).

Owns: that a call runs in a thread of its own pool, what a cancelled call leaves behind (nothing), and that every method of `Store` is
here with the same arguments and the same answer.

Why threads and not the driver's own asyncio: connections of that driver belong to the event loop in which they were opened, so a
store kept across two `asyncio.run` would hand out connections of a loop that is gone. And every answer is several statements under
one order of policies with checks between them; there is one such code, and it is the synchronous one. A thread waits for the
network, which costs little beside the network.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from graphrag_provenance.api.store import Store
from graphrag_provenance.errors import StoreError

P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(method: Callable[Concatenate[Store, P], T]) -> Callable[Concatenate[AsyncStore, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def call(self: AsyncStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(partial(method, self._store, *args, **kwargs))

    return call


def _opening(make: Callable[P, Store]) -> Callable[Concatenate[type[AsyncStore], P], Coroutine[Any, Any, AsyncStore]]:
    @wraps(getattr(make, "__func__", make))  # with its `cls`, so that the signature is told right
    async def call(cls: type[AsyncStore], /, *args: P.args, **kwargs: P.kwargs) -> AsyncStore:
        opening = asyncio.get_running_loop().run_in_executor(None, partial(make, *args, **kwargs))
        try:
            return cls(await asyncio.shield(opening))
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unused)
            raise

    return call


class AsyncStore:
    """An open store whose methods are awaited. Make one with `await AsyncStore.open(…)`, which takes what `Store.open` takes, or of a
    store: `AsyncStore(store)`. Close it, or use it in an `async with` block.

    It belongs to no event loop: the same one serves several `asyncio.run`, and several threads. At most `at_once` calls run together;
    others wait for their turn.

    A call that is cancelled before its turn does not begin. One that has begun ends by itself, within the time limit of a read, gives
    its connection back, and its answer is dropped; a load is completed. `close` waits for such calls, so none is left behind.
    """

    def __init__(self, store: Store, *, at_once: int = 8) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="graphrag-provenance")
        self._closed = False

    open = classmethod(_opening(Store.open))

    async def __aenter__(self) -> AsyncStore:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for the calls that run, then close every connection. Closing it again does nothing."""
        await asyncio.get_running_loop().run_in_executor(None, self._end)

    def _end(self) -> None:
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._store.close()

    async def _run(self, call: Callable[[], T]) -> T:
        if self._closed:
            raise StoreError("The store is closed.", hint="Open it again.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, call)

    trace = _in_thread(Store.trace)
    traces = _in_thread(Store.traces)
    context = _in_thread(Store.context)
    gate = _in_thread(Store.gate)
    record_answer = _in_thread(Store.record_answer)
    answer = _in_thread(Store.answer)
    impact = _in_thread(Store.impact)
    record_retrieval = _in_thread(Store.record_retrieval)
    retrieval = _in_thread(Store.retrieval)
    edge = _in_thread(Store.edge)
    edge_history = _in_thread(Store.edge_history)
    edges = _in_thread(Store.edges)
    find_entities = _in_thread(Store.find_entities)
    entity = _in_thread(Store.entity)
    ingest = _in_thread(Store.ingest)
    verify = _in_thread(Store.verify)
    runs = _in_thread(Store.runs)
    run = _in_thread(Store.run)


def _close_unused(opening: asyncio.Future[Store]) -> None:
    """A store that nobody waits for any more."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
