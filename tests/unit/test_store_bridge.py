"""Synchronous code on an event loop: how it waits, fails, is cancelled, and stays out of the loop's way (docs/decisions/0010)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection
from contextvars import ContextVar

import pytest

from graphrag_provenance.access.interface import Decision, Grants
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.store.bridge import Aside, aside, awaited, carried, is_carried

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")
ANN = Reader("ann", "T", frozenset())


async def soon(value: str) -> str:
    await asyncio.sleep(0)
    return value


def test_plain_code_waits_where_it_stands_and_others_go_on() -> None:
    told: list[str] = []

    def work(name: str) -> str:
        for step in "12":
            told.append(f"{awaited(soon(name))}{step} for {WHO.get()}")
        return name

    async def of(name: str) -> str:
        WHO.set(name)
        return await carried(lambda: work(name))

    async def both() -> list[str]:
        return await asyncio.gather(of("a"), of("b"))

    assert asyncio.run(both()) == ["a", "b"]
    assert told == ["a1 for a", "b1 for b", "a2 for a", "b2 for b"]  # in turns, each with its own context


def test_what_waiting_raises_is_raised_where_the_code_waits() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("there")

    def work() -> str:
        try:
            awaited(fails())
        except KeyError as error:
            return f"caught {error}, then {awaited(soon('more'))}"
        return "nothing"

    assert asyncio.run(carried(work)) == "caught 'there', then more"
    with pytest.raises(KeyError):
        asyncio.run(carried(lambda: awaited(fails())))


def test_a_cancelled_task_ends_the_code_where_it_waits() -> None:
    ended: list[str] = []

    def work() -> None:
        try:
            awaited(asyncio.sleep(3600))
        except BaseException as error:
            ended.append(type(error).__name__)
            raise

    async def run() -> None:
        task = asyncio.create_task(carried(work))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert ended == ["CancelledError"]


def test_a_carried_call_may_carry_another() -> None:
    async def inner() -> str:
        return await carried(lambda: awaited(soon("inner")))

    assert asyncio.run(carried(lambda: awaited(inner()) + awaited(soon(" outer")))) == "inner outer"


def test_what_nothing_carries_cannot_wait() -> None:
    given = soon("x")
    assert not is_carried()
    with pytest.raises(RuntimeError):
        awaited(given)
    given.close()
    assert asyncio.run(aside(is_carried)) is False


class Slow:
    """A source that answers when it is let."""

    name = "slow"

    def __init__(self) -> None:
        self.go, self.threads = threading.Event(), set[int]()

    def granted(self, reader: Reader) -> Grants:
        self.threads.add(threading.get_ident())
        assert self.go.wait(20)
        return Grants("slow", frozenset({"k"}))

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        return Decision("slow", frozenset(refs))


def test_an_access_source_that_waits_does_not_hold_the_loop() -> None:
    source = Slow()
    beside = Aside(source)

    async def run() -> Grants:
        asked = asyncio.create_task(carried(lambda: beside.granted(ANN)))
        while not source.threads:  # the loop goes on while the source waits
            await asyncio.sleep(0.001)
        source.go.set()
        return await asked

    assert asyncio.run(run()).keys == {"k"}
    assert threading.get_ident() not in source.threads
    assert beside.granted(ANN).keys == beside.check(ANN, {"k"}).allowed == {"k"}  # and without a loop, as it is
