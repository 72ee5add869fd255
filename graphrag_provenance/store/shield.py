"""Ctrl-C between statements, never inside one.

Owns: one rule. A KeyboardInterrupt in the middle of the driver leaves a connection with half an answer in the pool, or with a
transaction that was opened for reading, and the statement that gets it next (the one that seals the run) fails. So an interrupt waits
until the statement has ended, whatever it is (`store.links` sees to that), or several with what is remembered of them; a second one
does not.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


def uninterrupted(call: Callable[[], T]) -> T:
    """What `call` returns or raises; a KeyboardInterrupt that arrives meanwhile is raised once `call` has ended, and what it is part of
    that holds interrupts, too."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before) or hasattr(before, "holds"):
        return call()
    held: list[tuple[int, FrameType | None]] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append((number, frame))
        if len(held) > 1:
            before(number, frame)

    hold.holds = True  # type: ignore[attr-defined]
    signal.signal(signal.SIGINT, hold)
    try:
        return call()
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])
