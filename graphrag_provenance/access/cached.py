"""Remembering what a source said, for a stated time.

Owns: the bound on age and on number. Only what was open is remembered; a failure, or a no, is asked for again. A bound of
zero remembers nothing. Within the bound a revocation may not count yet: that is what the bound states.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from threading import Lock

from graphrag_provenance.access.interface import AccessSource, Decision, Grants
from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.model.readers import Reader

_Key = tuple[Reader, str | None]


class CachedSource:
    """Another source, with answers at most `stale_at_most` seconds old and at most `most` of them kept."""

    def __init__(
        self, source: AccessSource, *, stale_at_most: float, most: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not (math.isfinite(stale_at_most) and stale_at_most >= 0):
            raise ConfigurationError("A staleness bound is a number of seconds, 0 or more.", hint="0 remembers nothing.")
        if most < 1:
            raise ConfigurationError("A cache holds at least one answer.", hint="To remember nothing, set the bound to 0 seconds.")
        self._source, self._bound, self._most, self._clock = source, stale_at_most, most, clock
        self._kept: OrderedDict[_Key, tuple[float, Grants | Decision]] = OrderedDict()
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The source's name, and the bound."""
        return f"{self._source.name} (at most {self._bound:g} s old)" if self._bound else self._source.name

    def granted(self, reader: Reader) -> Grants:
        """What the source granted within the bound, or grants now."""
        found = self._recall((reader, None))
        if isinstance(found, Grants):
            return found
        asked = self._clock()  # before the question: the answer may be older than its arrival
        said = self._source.granted(reader)
        said = Grants(self.name, said.keys, said.token, said.resolved_at, said.stale_at_most + self._bound, said.trouble)
        if said.trouble is None:
            self._keep((reader, None), asked, said)
        return said

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        """What the source allowed within the bound; the rest is asked now, and a no also ends what was granted."""
        kept = {key: found for key in refs if isinstance(found := self._recall((reader, key)), Decision)}
        rest = frozenset(refs) - kept.keys()
        if not rest:
            oldest = min(kept.values(), key=lambda one: one.resolved_at, default=Decision(self.name, stale_at_most=self._bound))
            return Decision(self.name, frozenset(kept), {}, oldest.token, oldest.resolved_at, oldest.stale_at_most)
        asked = self._clock()
        said = self._source.check(reader, rest)
        allowed, bound = said.allowed & rest, said.stale_at_most + self._bound
        if said.trouble is None:
            for key in allowed:
                self._keep((reader, key), asked, Decision(
                    self.name, frozenset({key}), {}, said.token, said.resolved_at, bound))
        if len(allowed) < len(rest):
            with self._lock:
                self._kept.pop((reader, None), None)
        return Decision(
            self.name, allowed | kept.keys(), said.denied, said.token,
            min([said.resolved_at, *(one.resolved_at for one in kept.values())]), bound, said.trouble)

    def _recall(self, key: _Key) -> Grants | Decision | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            if not 0 <= self._clock() - found[0] < self._bound:
                del self._kept[key]
                return None
            self._kept.move_to_end(key)
            return found[1]

    def _keep(self, key: _Key, asked: float, said: Grants | Decision) -> None:
        if not self._bound:
            return
        with self._lock:
            self._kept[key] = (asked, said)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
