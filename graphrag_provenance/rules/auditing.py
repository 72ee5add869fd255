"""The chain of runs: what was done to it (spec 3, tamper evidence).

Owns: the verdicts about a sequence of run records, as they are hashed (`store.runs.run_json`): changed, missing, duplicated,
and a tail that was cut off. Pure; never raises, whatever the records hold. docs/audit.md writes the format down.

Who is believed: a record that gives its own digest, and whose digest the next run names, is as it was written. Where two
disagree, the later one is believed if it is itself named by what follows it, or by the store's record, or by a head kept outside.
A record that gives its digest only under another number stands at that number: it was renumbered, or is a copy.

Somebody who can write to the store can rewrite all of it consistently. Only a head kept outside finds that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from graphrag_provenance.model.identifiers import canonical_text
from graphrag_provenance.rules.audit_report import Audit, Entry, Fault, Head, Verdict
from graphrag_provenance.rules.digests import RUN_DIGEST_FIELDS, run_digest

RUNNING = "running"
_SEALED = ("digest", "previous", "finished_at", "graph_hash")
_PLACE = frozenset({"seq", "previous", "run_id"})


def audit(entries: Iterable[Entry], store: Mapping[str, Any] | None = None, heads: Sequence[Head] = ()) -> Audit:
    """The verdicts about all entries. `store`: the store's own record; `heads`: what was kept outside."""
    return _Chain(list(entries), store, heads).judge()


class _Chain:
    def __init__(self, entries: list[Entry], store: Mapping[str, Any] | None, heads: Sequence[Head]) -> None:
        self.entries, self.store, self.heads = entries, store, tuple(heads)
        self.faults: list[Fault] = []
        self.named = {_key(one) for one in (*(e.get("previous") for e in entries), *(h.digest for h in heads), (store or {}).get("digest"))}
        self.open = self._open()
        self.place: dict[int, int | None] = {}
        """Index of an entry → the number under which it gives its digest, or its own."""
        self.sound: set[int] = set()
        """Entries that give their digest at their place."""
        self.copies: set[int] = set()
        self.followed: set[tuple[object, int | None]] = set()
        """What the one after each of the sound says: their digest as its previous, and its number."""

    def say(self, verdict: Verdict, seq: object, message: str, last: int | None = None) -> None:
        number = _number(seq)
        self.faults.append(Fault(verdict, number, number if last is None else last, message))

    def judge(self) -> Audit:
        self._put_in_place()
        chain = self._without_copies()
        written = self.sound - self.copies
        at = {place: i for i in chain if (place := self.place[i]) is not None}
        top = max((place for place, i in at.items() if i in written), default=0)
        self._contents(chain)
        running = None if self.open is None else _number(self.entries[self.open].get("seq"))
        self._gaps(set(at) | ({running} if running else set()), max(top, running or 0))
        self._links(at, running)
        faulty = {fault.seq for fault in self.faults}
        good = [place for place in at if place not in faulty]
        head = None if not good else self.entries[at[max(good)]]
        return Audit(
            len(self.entries), running, None if head is None else Head(max(good), str(head["digest"]), head.get("graph_hash")),
            self.heads, tuple(sorted(self.faults, key=lambda f: (f.seq is None, f.seq, f.verdict, f.message))))

    def _open(self) -> int | None:
        """The run under way: the last one, which holds the store and has nothing that a sealed run has."""
        numbers = [n for e in self.entries if (n := _number(e.get("seq"))) is not None]
        for i, entry in enumerate(self.entries):
            holds = self.store is None or (
                self.store.get("writer") is not None and self.store.get("writer_seq") == entry.get("seq"))
            if (entry.get("status") == RUNNING and holds and _number(entry.get("seq")) == max(numbers, default=None)
                    and all(entry.get(name) is None for name in _SEALED)):
                return i
        return None

    def _put_in_place(self) -> None:
        """Find for every entry the number under which it gives its digest, walking the chain from its beginning."""
        waiting: dict[object, list[int]] = {}
        after: list[tuple[object, int]] = [(_key(None), 1)]
        for i, entry in enumerate(self.entries):
            number = self.place[i] = _number(entry.get("seq"))
            if number is not None and _gives(entry, number):
                after.append(self._sound(i, number))
            else:
                waiting.setdefault(_key(entry.get("previous")), []).append(i)
        while after:
            digest, number = after.pop()
            for i in waiting.get(digest, ()):
                if i not in self.sound and _gives(self.entries[i], number):
                    after.append(self._sound(i, number))

    def _sound(self, i: int, number: int) -> tuple[object, int]:
        """Take an entry for one that gives its digest under a number; gives what the one after it says."""
        self.place[i] = number
        self.sound.add(i)
        said = _key(self.entries[i].get("digest")), number + 1
        self.followed.add(said)
        return said

    def _without_copies(self) -> list[int]:
        """The entries but those that repeat another one and hold no place of their own; says which do repeat one."""
        copies = self.copies
        placed: set[int] = set()
        kept = [i for i in range(len(self.entries)) if i != self.open]
        keys: tuple[tuple[str, Callable[[int], object]], ...] = (
            ("number", lambda i: self.place[i]), ("run_id", lambda i: _key(self.entries[i].get("run_id"))),
            ("content", lambda i: _content(self.entries[i])),
        )
        for name, key in keys:
            groups: dict[object, list[int]] = {}
            for i in kept:
                if i not in copies and key(i) is not None:
                    groups.setdefault(key(i), []).append(i)
            for group in groups.values():
                original = max(group, key=self._standing)
                for i in group:
                    if i != original and (name == "number" or not self._in_its_place(i, original)):
                        copies.add(i)
                        self._copy(i, original, name)
                        if name != "number" and i in self.sound:
                            placed.add(i)
        return [i for i in kept if i not in copies or i in placed]

    def _copy(self, i: int, original: int, name: str) -> None:
        seq, first = self.entries[i].get("seq"), self.place[original]
        if _number(seq) == first:
            self.say(Verdict.DUPLICATED, seq, "two entries have this number")
        else:
            alike = {"number": "everything", "run_id": "run_id", "content": "everything but its run_id"}[name]
            self.say(Verdict.DUPLICATED, seq, f"the entry repeats run {first}: {alike} is the same")

    def _in_its_place(self, i: int, original: int) -> bool:
        """Whether an entry that looks like another one is rather one that was made to: others still know it where it stands."""
        entry, digest = self.entries[i], _key(self.entries[i].get("digest"))
        if i in self.sound:
            return False
        return (_key(entry.get("previous")), self.place[i]) in self.followed or (
            digest in self.named and digest != _key(self.entries[original].get("digest")))

    def _standing(self, i: int) -> tuple[bool, bool, bool, float]:
        """Which of several is the original: the one that gives its digest where it stands, and that others name."""
        entry = self.entries[i]
        own = i in self.sound and self.place[i] == _number(entry.get("seq"))
        return own, i in self.sound, _key(entry.get("digest")) in self.named, -(_number(entry.get("seq")) or float("inf"))

    def _contents(self, chain: list[int]) -> None:
        for i in chain:
            entry = self.entries[i]
            if i not in self.sound:
                unended = entry.get("status") == RUNNING
                self.say(Verdict.CHANGED, entry.get("seq"), "it has not ended, and is not the run under way" if unended
                         else "its record does not give its digest")
            elif self.place[i] != _number(entry.get("seq")):
                self.say(Verdict.CHANGED, self.place[i], f"its number was changed to {entry.get('seq')}")

    def _gaps(self, there: set[int], top: int) -> None:
        """Say which numbers no entry has, up to the greatest that the chain, the store or a head names."""
        claimed = {} if self.store is None else {"the store's record": _number(self.store.get("head_seq")) or 0}
        if self.heads:
            claimed["the head kept outside"] = max(head.seq for head in self.heads)
        end = max(top, *claimed.values(), 0)
        expected = 1
        for number in sorted(n for n in there if 1 <= n <= end):
            if number > expected:
                self.say(Verdict.MISSING, expected, _gap(expected, number - 1), number - 1)
            expected = number + 1
        if expected <= end:
            who = next(name for name, number in claimed.items() if number == end)
            self.say(Verdict.CUT, expected, f"{_gap(expected, end)} at the end; {who} names run {end}", end)

    def _links(self, at: Mapping[int, int], running: int | None) -> None:
        """Hold each entry against what the next one, the store and the heads say its digest is, from the end to the beginning."""
        doubted: set[int] = set()
        for number in sorted(at, reverse=True):
            if at[number] not in self.sound or at[number] in self.copies:
                doubted.add(number)  # already said
                continue
            told = self._told(number, at, doubted, running)
            if told is not None:
                doubted.add(number)
                self.say(Verdict.CHANGED, number, told)
        if any(head.seq == running for head in self.heads):
            self.say(Verdict.CHANGED, running, "it has not ended, but had when the head kept outside was taken")
        if self.store is not None and self.entries and _number(self.store.get("head_seq")) is None:
            self.say(Verdict.CHANGED, None, "the store's record is gone, or names no run")

    def _told(self, number: int, at: Mapping[int, int], doubted: set[int], running: int | None) -> str | None:
        """What speaks against a record that gives its digest; None when nothing does."""
        entry = self.entries[at[number]]
        digest = entry.get("digest")
        heads = [head for head in self.heads if head.seq == number]
        if any(head.digest != digest for head in heads):
            return "the head kept outside names another digest: it, or the chain up to it, was written anew"
        if any(head.graph_hash not in (None, entry.get("graph_hash")) for head in heads):
            return "the head kept outside names another graph hash"
        if any(h.seq == number - 1 and (e := at.get(h.seq)) is not None and self.entries[e].get("digest") == h.digest
               and entry.get("previous") != h.digest for h in self.heads):
            return "it does not follow the run that the head kept outside names"
        after = at.get(number + 1)
        if after is not None and number + 1 not in doubted and self.entries[after].get("previous") != digest:
            return f"run {number + 1} names another digest for it"
        if number == 1 and entry.get("previous") is not None:
            return "it is the first run and names one before it"
        store = self.store or {}
        last = _number(store.get("head_seq"))
        if last is None:
            return None
        if number > last:
            return f"the store's record names run {last} as the last"
        if (number == last - (running == last) and store.get("digest") != digest
                and not any(n > last and i in self.sound for n, i in at.items())):
            if not heads:
                return "the store's record names another digest for the last run"
            self.say(Verdict.CHANGED, None, f"the store's record names another digest than that of run {number}")
        return None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _key(value: object) -> str | None:
    return None if value is None else repr(value)


def _content(entry: Entry) -> str | None:
    """What no two runs share: all of it but number, place and run_id. None for a run that has not ended."""
    if entry.get("started_at") is None or entry.get("finished_at") is None:
        return None
    try:
        return canonical_text({name: entry.get(name) for name in RUN_DIGEST_FIELDS if name not in _PLACE})
    except (TypeError, ValueError, RecursionError):
        return None


def _gives(entry: Entry, seq: object) -> bool:
    """Whether the record gives its digest under this number."""
    try:
        return entry.get("digest") == run_digest({**entry, "seq": seq})
    except (TypeError, ValueError, RecursionError):
        return False  # something in it has no canonical form, so it was never hashed


def _gap(first: int, last: int) -> str:
    return "the run is missing" if first == last else f"the runs {first} to {last} are missing"
