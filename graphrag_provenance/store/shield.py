"""Ctrl-C between statements, never inside one.

Owns: one rule. A KeyboardInterrupt in the middle of the driver leaves a connection with half an answer in the pool, and the
statement that gets it next (the one that seals the run) fails. So the main thread waits while another one talks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def uninterrupted(call: Callable[[], T]) -> T:
    """What `call` returns or raises; a KeyboardInterrupt is raised once `call` has ended."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="store") as pool:
        return pool.submit(call).result()
