"""How much one reader may ask (spec 5, HTTP: limits).

Owns: the token bucket a reader, and how many buckets are kept. Leaves to others: what happens to who asks too much (`guard`).
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

_MOST = 10_000


class Buckets:
    """One bucket a key: `burst` requests at once, `per_minute` on average."""

    def __init__(self, per_minute: int, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = per_minute / 60, float(burst), clock
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait(self, key: Hashable) -> int:
        """0: go on, one request is taken. Else the seconds until there is one again, and none is taken."""
        now = self._clock()
        left, since = self._left.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        allowed = left >= 1
        self._left[key] = left - 1 if allowed else left, now
        if len(self._left) > _MOST:
            self._left.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1 - left) / self._rate))
