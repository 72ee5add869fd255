"""Asking a source on behalf of one read: before the answer is assembled, and again before it is displayed.

Owns: that a failing source denies and is reported, and that an answer is displayed only if everything it rests on is still
open. If something is not, the answer is made again without it, so that it is the answer of a store that does not hold it;
it is never cut. Leaves to the store: what an answer rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from graphrag_provenance.access.interface import AccessSource, Decision, Grants, Refusal, reference, told, unreachable
from graphrag_provenance.errors import InputError
from graphrag_provenance.events import report
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.model.readers import Reader

_MOST_ROUNDS = 4
Found = TypeVar("Found")


def ask_granted(source: AccessSource, reader: Reader, *, report: bool = True) -> Grants:
    """What a source grants. Whatever goes wrong in it grants nothing and is reported to operators."""
    try:
        grants = source.granted(reader)
        if not isinstance(grants, Grants):
            raise TypeError(f"granted() returned {type(grants).__name__}")
    except Exception as error:  # noqa: BLE001 - any failure of a source means no
        grants = Grants(_name(source), trouble=told(error))
    if report and grants.trouble is not None:
        _report(grants.source, grants.trouble)
    return grants


def ask_check(source: AccessSource, reader: Reader, refs: Collection[str], *, report: bool = True) -> Decision:
    """What a source says about references. Whatever goes wrong in it denies them all and is reported to operators."""
    try:
        decision = source.check(reader, refs)
        if not isinstance(decision, Decision):
            raise TypeError(f"check() returned {type(decision).__name__}")
    except Exception as error:  # noqa: BLE001 - any failure of a source means no
        decision = unreachable(_name(source), refs, told(error))
    if report and decision.trouble is not None:
        _report(decision.source, decision.trouble)
    return decision


class LiveAccess:
    """One read's dealings with a source. Without a source, the keys that the caller resolved are all there is.

    Raises InputError for both a source and keys: it would be unclear who decides.
    """

    def __init__(self, source: AccessSource | None, reader: Reader, granted: Collection[str] = frozenset()) -> None:
        if source is not None and granted:
            raise InputError("A read takes granted references or an access source, not both.")
        self._source, self._reader = source, reader
        self._grants = None if source is None else ask_granted(source, reader)
        self._decision: Decision | None = None
        self._denied: dict[str, str] = {}
        self._rounds = 0
        self.keys: frozenset[str] = frozenset(granted) if self._grants is None else self._grants.keys

    def confirm(self, rests_on: Collection[str] | None) -> bool:
        """Whether an answer made with `keys` may be displayed. False: `keys` became fewer, make it again.

        `rests_on`: the references of everything the answer shows; None: it rests on all that was granted, for example
        because it says that something was not found, or counts.
        """
        if self._source is None or not self.keys:
            return True
        lost = self._lost_grants() if rests_on is None else self._refused(self.keys & frozenset(rests_on))
        self._rounds += bool(lost)
        # A source that keeps changing its mind ends with no grants at all, and those need no confirmation.
        self.keys = frozenset() if self._rounds >= _MOST_ROUNDS else self.keys - lost
        return not lost

    def _lost_grants(self) -> frozenset[str]:
        assert self._source is not None
        again = ask_granted(self._source, self._reader)
        lost = self.keys - again.keys
        why = Refusal.UNREACHABLE if again.trouble is not None else Refusal.NOT_A_READER
        self._denied |= dict.fromkeys(lost, why)
        self._decision = Decision(
            again.source, self.keys & again.keys, dict.fromkeys(lost, why), again.token, again.resolved_at, again.stale_at_most,
            again.trouble)
        return lost

    def _refused(self, needed: frozenset[str]) -> frozenset[str]:
        assert self._source is not None
        if not needed:
            return frozenset()
        self._decision = ask_check(self._source, self._reader, needed)
        lost = needed - self._decision.allowed
        self._denied |= {key: self._decision.denied.get(key, Refusal.NOT_A_READER) for key in lost}
        if self._decision.trouble is not None:  # the rest of a system that fell silent is no better known
            silent = {_system(key) for key in lost}
            lost = frozenset(key for key in self.keys if _system(key) in silent)
        return lost

    def record(self, rests_on: Collection[str] = ()) -> dict[str, Any] | None:
        """The decision as an auditor's trace holds it; None without a source. `rests_on`: what the displayed answer shows."""
        if self._grants is None:
            return None
        grants, decision = self._grants, self._decision
        shown = sorted(self.keys & frozenset(rests_on))
        return {
            "source": grants.source,
            "token": grants.token if decision is None else decision.token,
            "resolved_at": format_instant(grants.resolved_at),
            "checked_at": None if decision is None else format_instant(decision.resolved_at),
            "stale_at_most_seconds": max(grants.stale_at_most, 0.0 if decision is None else decision.stale_at_most),
            "unreachable": grants.trouble is not None or (decision is not None and decision.trouble is not None),
            "allowed": shown,
            "denied": [{"reference": key, "reason": str(why)} for key, why in sorted(self._denied.items())],
        }


def confirmed(
    source: AccessSource | None, reader: Reader, granted: Collection[str],
    read: Callable[[frozenset[str]], tuple[Found, Collection[str] | None]],
) -> Found:
    """What `read` finds with the references open now, made again until all it rests on is open at the moment of display.

    `read` returns what it found and what that rests on (as in `LiveAccess.confirm`).
    """
    live = LiveAccess(source, reader, granted)
    while True:
        found, rests_on = read(live.keys)
        if live.confirm(rests_on):
            return found


def _name(source: object) -> str:
    try:
        return str(source.name)  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - a source that cannot even say its name
        return type(source).__name__


def _system(key: str) -> str | None:
    found = reference(key)
    return None if found is None else found.system


def _report(source: str, message: str) -> None:
    report("warning", "access source unreachable: what it guards is denied", source=source, message=message)
