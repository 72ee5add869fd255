"""Synchronous code on an event loop (extra `serve`; docs/decisions/0010).

Owns: how the store's code, which is written once and plainly, waits without holding a thread. It runs in a greenlet of the task that
called it; where it waits, the greenlet hands what is to be awaited to the task, and goes on with the result, or with the error: a
cancelled task is CancelledError at the place where the code waits. Leaves to others: what is waited for (`loop`).

A lock of threads must not be held while such code waits: the next who wants it would stop the loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar, cast

import anyio.to_thread
from greenlet import getcurrent, greenlet

from graphrag_provenance.access.interface import AccessSource, Decision, Grants
from graphrag_provenance.model.readers import Reader

T = TypeVar("T")


class _Carried(greenlet):
    """A call that is carried by a task."""

    def __init__(self, call: Callable[[], Any]) -> None:
        task = getcurrent()
        super().__init__(call, task)
        self.gr_context = task.gr_context  # the task's context variables: whose trace it is


async def carried(call: Callable[[], T]) -> T:
    """What a plain function returns or raises, on this event loop; where it waits, others go on."""
    greenlet_ = _Carried(call)
    given = greenlet_.switch()
    while not greenlet_.dead:
        try:
            found = await given
        except BaseException as error:  # noqa: BLE001 - it is raised where the code waits
            given = greenlet_.throw(error)
        else:
            given = greenlet_.switch(found)
    return cast(T, given)


def is_carried() -> bool:
    """Whether this code is carried by a task."""
    return isinstance(getcurrent(), _Carried)


def awaited(given: Awaitable[T]) -> T:
    """What an awaitable gives, in code that is carried."""
    current = getcurrent()
    if not isinstance(current, _Carried) or current.parent is None:
        raise RuntimeError("nothing carries this code")
    return cast(T, current.parent.switch(given))


async def aside(call: Callable[[], T]) -> T:
    """What a plain function returns or raises, in a thread: for what computes long. What it asks of the store still goes over the loop."""
    return await anyio.to_thread.run_sync(call)


class Aside:
    """An access source whose waiting holds a thread of its own, and never the loop."""

    def __init__(self, source: AccessSource) -> None:
        self._source = source

    @property
    def name(self) -> str:
        """The source's."""
        return self._source.name

    def granted(self, reader: Reader) -> Grants:
        """As the source."""
        return _elsewhere(lambda: self._source.granted(reader))

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        """As the source."""
        return _elsewhere(lambda: self._source.check(reader, refs))


def _elsewhere(call: Callable[[], T]) -> T:
    return awaited(aside(call)) if is_carried() else call()
