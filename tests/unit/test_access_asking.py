"""Asking sources: a failing one denies and is reported, a cache keeps its bound, and an answer rests on what is open now."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from graphrag_provenance.access.asking import LiveAccess, ask_check, ask_granted, confirmed
from graphrag_provenance.access.cached import CachedSource
from graphrag_provenance.access.combined import CombinedSource
from graphrag_provenance.access.interface import Decision, Grants
from graphrag_provenance.errors import ConfigurationError, InputError
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.records import AclRef

EARLIER, LATER = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 2, tzinfo=UTC)
READER = Reader("bob", "ACME", frozenset({"public"}))


def key(name: str, system: str = "conf") -> str:
    return AclRef(system=system, space="S", restriction_id=name).key()


A, B, C, OTHER = key("a"), key("b"), key("c"), key("a", "jira")


@dataclass
class Source:
    """A source under test: opens `open_`, changes after each question as `then` says, fails while `fails`."""

    open_: set[str] = field(default_factory=set)
    name: str = "fake"
    fails: Exception | None = None
    trouble: str | None = None
    then: list[set[str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def _say(self, what: str) -> set[str]:
        self.asked.append(what)
        if self.fails is not None:
            raise self.fails
        now = set(self.open_)
        self.open_ = self.then.pop(0) if self.then else self.open_
        return now

    def granted(self, reader: Reader) -> Grants:
        return Grants(self.name, frozenset(self._say("granted")), "t1", trouble=self.trouble)

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        opened = self._say("check")
        denied = {key: "unreachable" if self.trouble else "deleted" for key in refs if key not in opened}
        return Decision(self.name, frozenset(opened) & frozenset(refs), denied, "t2", trouble=self.trouble)


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    structlog.configure()
    with capture_logs() as lines:
        yield lines
    structlog.reset_defaults()


@pytest.mark.parametrize("fails", [ConnectionError("no route to 10.0.0.1"), KeyError("x"), RecursionError(), AssertionError()])
def test_a_source_that_fails_in_any_way_grants_nothing_and_operators_are_told(logged: list[Any], fails: Exception) -> None:
    source = Source({A}, fails=fails)
    grants, decision = ask_granted(source, READER), ask_check(source, READER, [A])
    assert (grants.keys, decision.allowed, dict(decision.denied)) == (set(), set(), {A: "unreachable"})
    assert [(line["log_level"], line["source"]) for line in logged] == [("warning", "fake")] * 2
    assert all("access source unreachable" in line["event"] and type(fails).__name__ in line["message"] for line in logged)


@pytest.mark.parametrize("answer", [None, True, {A}, [A]])
def test_a_source_that_answers_with_something_else_grants_nothing(logged: list[Any], answer: Any) -> None:
    class Odd:
        name = "odd"

        def granted(self, reader: Reader) -> Any:
            return answer

        def check(self, reader: Reader, refs: Collection[str]) -> Any:
            return answer

    assert ask_granted(Odd(), READER).keys == set()
    assert ask_check(Odd(), READER, [A]).allowed == set()
    assert len(logged) == 2


def test_without_a_configured_log_the_message_goes_where_python_logs_go(caplog: pytest.LogCaptureFixture, capsys: Any) -> None:
    structlog.reset_defaults()
    with caplog.at_level(logging.WARNING):
        ask_granted(Source(fails=OSError("down")), READER)
    assert "OSError: down" in caplog.text
    assert capsys.readouterr().out == ""


# --- one read


def shows(*keys: str) -> Any:
    """A read that shows the first of these references that it may use, and says what it rests on."""
    def read(granted: frozenset[str]) -> tuple[str | None, set[str] | None]:
        found = next((one for one in keys if one in granted), None)
        return found, None if found is None else {found}
    return read


def test_an_answer_that_rests_on_nothing_granted_costs_no_second_question() -> None:
    source = Source(set())
    assert confirmed(source, READER, (), shows(A)) is None
    assert confirmed(source, READER, (), lambda keys: ("public", set())) == "public"
    assert source.asked == ["granted", "granted"]


def test_an_answer_is_confirmed_before_it_is_displayed() -> None:
    source = Source({A})
    assert confirmed(source, READER, (), shows(A)) == A
    assert source.asked == ["granted", "check"]


def test_what_was_revoked_in_between_is_not_displayed_and_the_answer_is_made_again_without_it() -> None:
    assert confirmed(Source({A, B}, then=[{B}]), READER, (), shows(A, B)) == B
    assert confirmed(Source({A}, then=[set()]), READER, (), shows(A)) is None


def test_an_answer_that_nothing_was_found_is_made_again_if_a_grant_was_lost_in_between() -> None:
    """Its reason, and what it counts, rest on all that was granted."""
    seen: list[frozenset[str]] = []

    def read(granted: frozenset[str]) -> tuple[str, None]:
        seen.append(granted)
        return ("environment-scope" if A in granted else "no-path"), None

    assert confirmed(Source({A, B}, then=[{B}]), READER, (), read) == "no-path"
    assert seen == [{A, B}, {B}]


def test_a_source_that_keeps_changing_its_mind_ends_with_no_grants() -> None:
    keys = [key(str(number)) for number in range(20)]
    source = Source(set(keys), then=[set(keys[number:]) for number in range(1, 20)])
    rounds: list[int] = []

    def read(granted: frozenset[str]) -> tuple[str | None, set[str]]:
        rounds.append(len(granted))
        first = next((one for one in keys if one in granted), None)
        return first, {first} if first else set()

    assert confirmed(source, READER, (), read) is None
    assert len(rounds) == 5
    assert rounds[-1] == 0


def test_a_source_that_falls_silent_in_between_takes_all_of_its_system_with_it(logged: list[Any]) -> None:
    source = Source({A, B, OTHER})
    live = LiveAccess(source, READER)
    source.trouble, source.open_ = "gone", set()
    assert not live.confirm({A})
    assert live.keys == {OTHER}
    assert [line["message"] for line in logged] == ["gone"]


def test_the_decision_is_on_record() -> None:
    live = LiveAccess(Source({A, B}, then=[{B}]), READER)
    assert not live.confirm({A})
    assert live.confirm({B})
    record = live.record({B, C})
    assert record is not None
    assert record | {"resolved_at": "", "checked_at": ""} == {
        "source": "fake", "token": "t2", "resolved_at": "", "checked_at": "", "stale_at_most_seconds": 0, "unreachable": False,
        "allowed": [B], "denied": [{"reference": A, "reason": "deleted"}]}
    assert record["resolved_at"] <= record["checked_at"]


@dataclass
class Told:
    """A source that says exactly these."""

    grants: list[Grants]
    decisions: list[Decision]
    name: str = "told"
    asked: list[set[str]] = field(default_factory=list)

    def granted(self, reader: Reader) -> Grants:
        return self.grants.pop(0)

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        self.asked.append(set(refs))
        return self.decisions.pop(0)


def test_what_shows_nothing_that_was_granted_needs_no_second_question() -> None:
    source = Told([Grants("told", frozenset({A}))], [])
    assert LiveAccess(source, READER).confirm({B})


def test_a_source_in_order_is_not_reported(logged: list[Any]) -> None:
    source = Source({A})
    ask_check(source, READER, [A])
    ask_granted(source, READER)
    ask_granted(Source(trouble="gone"), READER, report=False)
    ask_check(Source(trouble="gone"), READER, [A], report=False)
    assert logged == []


@pytest.mark.parametrize(("trouble", "why"), [(None, "not-a-reader"), ("gone", "unreachable")])
def test_what_is_lost_between_two_lists_is_on_record_with_its_reason(trouble: str | None, why: str) -> None:
    gone = {key(name) for name in "acdefgh"}
    first = Grants("told", frozenset({B, *gone}), "t1", stale_at_most=3)
    live = LiveAccess(Told([first, Grants("told", frozenset({B, OTHER}), "t2", LATER, 7, trouble)], []), READER)
    assert not live.confirm(None)
    assert live.keys == {B}, "what a source opens meanwhile is no part of this read"
    assert live._decision is not None
    assert live._decision.allowed == {B}
    record = live.record({B, A})
    assert record is not None
    assert (record["token"], record["checked_at"], record["stale_at_most_seconds"]) == ("t2", format_instant(LATER), 7)
    assert (record["unreachable"], record["allowed"]) == (trouble is not None, [B])
    assert record["denied"] == [{"reference": one, "reason": why} for one in sorted(gone)]


def test_the_record_of_a_read_says_how_old_and_how_whole_each_answer_was() -> None:
    silent = LiveAccess(Told([Grants("told", frozenset({A, B, C}), stale_at_most=9, trouble="half of it")], [
        Decision("told", frozenset({A, B, C}), stale_at_most=2)]), READER)
    first = silent.record()
    assert first is not None
    assert (first["unreachable"], first["stale_at_most_seconds"], first["checked_at"], first["allowed"]) == (True, 9, None, [])
    assert silent.confirm({A, B, C})
    second = silent.record({C, A, B})
    assert second is not None
    assert (second["unreachable"], second["stale_at_most_seconds"], second["allowed"]) == (True, 9, sorted((A, B, C)))
    sound = LiveAccess(Told([Grants("told")], []), READER).record()
    assert sound is not None
    assert (sound["unreachable"], sound["stale_at_most_seconds"]) == (False, 0)


def test_a_refusal_without_trouble_takes_only_what_was_refused() -> None:
    live = LiveAccess(Told([Grants("told", frozenset({A, B}))], [Decision("told", frozenset(), {A: "deleted"})]), READER)
    assert not live.confirm({A})
    assert live.keys == {B}


def test_trouble_without_a_refusal_takes_nothing() -> None:
    live = LiveAccess(Told([Grants("told", frozenset({A, B}))], [Decision("told", frozenset({A}), trouble="one of many")]), READER)
    assert live.confirm({A})
    assert live.keys == {A, B}


def test_trouble_takes_what_is_no_reference_too() -> None:
    refused = Decision("told", frozenset(), {"?": "unreachable"}, trouble="gone")
    live = LiveAccess(Told([Grants("told", frozenset({"?", A}))], [refused]), READER)
    assert not live.confirm({"?"})
    assert live.keys == {A}


def test_a_source_without_a_name_is_called_by_its_kind() -> None:
    class Nameless:
        def granted(self, reader: Reader) -> Grants:
            raise OSError("down")

    assert ask_granted(Nameless(), READER, report=False).source == "Nameless"  # type: ignore[arg-type]


def test_a_read_without_a_source_uses_the_keys_it_was_given_and_has_no_record() -> None:
    live = LiveAccess(None, READER, [A])
    assert (live.keys, live.confirm(None), live.record()) == ({A}, True, None)
    with pytest.raises(InputError):
        LiveAccess(Source(), READER, [A])


# --- a cache with a bound


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bound_of_zero_remembers_nothing() -> None:
    source = Source({A})
    cached = CachedSource(source, stale_at_most=0)
    assert cached.granted(READER).keys == {A} == cached.check(READER, [A]).allowed
    source.open_ = set()
    assert cached.granted(READER).keys == set() == cached.check(READER, [A]).allowed
    assert (cached.name, cached.granted(READER).stale_at_most) == ("fake", 0)


def test_within_the_bound_an_answer_is_remembered_and_at_the_bound_it_is_not() -> None:
    source, clock = Source({A}), Clock()
    cached = CachedSource(source, stale_at_most=30, clock=clock)
    assert cached.granted(READER).keys == {A} == cached.check(READER, [A]).allowed
    source.open_ = set()
    clock.now = 29.9
    assert cached.granted(READER).keys == {A} == cached.check(READER, [A]).allowed
    clock.now = 30.0
    assert cached.granted(READER).keys == set() == cached.check(READER, [A]).allowed


def test_a_cache_says_its_bound_and_when_the_answer_was_resolved() -> None:
    cached = CachedSource(Source({A}), stale_at_most=30, clock=Clock())
    first = cached.granted(READER)
    again = cached.granted(READER)
    assert (again.source, again.stale_at_most, again.resolved_at, again.token) == ("fake (at most 30 s old)", 30, first.resolved_at, "t1")
    checked = cached.check(READER, [A])
    assert (checked.stale_at_most, cached.check(READER, [A]).resolved_at) == (30, checked.resolved_at)
    assert cached.check(READER, []).allowed == set()


def test_the_bound_counts_from_before_the_question() -> None:
    source, clock = Source({A}), Clock()

    class Slow(Source):
        def granted(self, reader: Reader) -> Grants:
            said = source.granted(reader)
            clock.now += 10
            return said

    cached = CachedSource(Slow(), stale_at_most=10, clock=clock)
    cached.granted(READER)
    source.open_ = set()
    assert cached.granted(READER).keys == set()


def test_a_failure_is_neither_remembered_nor_answered_from_memory() -> None:
    source, clock = Source(trouble="down"), Clock()
    cached = CachedSource(source, stale_at_most=30, clock=clock)
    assert cached.granted(READER).trouble == "down"
    source.trouble, source.open_ = None, {A}
    assert cached.granted(READER).keys == {A}
    clock.now, source.fails = 31, OSError("down")
    assert ask_granted(cached, READER).keys == set()
    assert ask_check(cached, READER, [A]).allowed == set()


def test_a_partly_failed_check_is_not_remembered() -> None:
    source = Source({A}, trouble="half down")
    cached = CachedSource(source, stale_at_most=30, clock=Clock())
    assert cached.check(READER, [A, B]).allowed == {A}
    source.open_ = set()
    assert cached.check(READER, [A]).allowed == set()


def test_a_no_is_asked_again_and_ends_what_was_granted() -> None:
    source = Source({A})
    cached = CachedSource(source, stale_at_most=30, clock=Clock())
    assert cached.granted(READER).keys == {A}
    source.open_ = set()
    assert dict(cached.check(READER, [A]).denied) == {A: "deleted"}
    assert cached.granted(READER).keys == set()
    source.open_ = {A}
    assert cached.check(READER, [A]).allowed == {A}


def test_what_one_reader_was_granted_is_not_remembered_for_another() -> None:
    class Bobs(Source):
        def granted(self, reader: Reader) -> Grants:
            return Grants("bobs", frozenset({A}) if reader.principal == "bob" and reader.tenant == "ACME" else frozenset())

        def check(self, reader: Reader, refs: Collection[str]) -> Decision:
            return Decision("bobs", frozenset(refs) & self.granted(reader).keys)

    cached = CachedSource(Bobs(), stale_at_most=30, clock=Clock())
    for who, keys in ((READER, {A}), (Reader("ann", "ACME", READER.clearances), set()), (Reader("bob", "B", READER.clearances), set())):
        assert cached.granted(who).keys == keys == cached.check(who, [A]).allowed


def test_a_cache_asks_for_the_rest_only_and_is_as_old_as_its_oldest_answer() -> None:
    clock = Clock()
    source = Told([], [Decision("told", frozenset({A}), token="first", resolved_at=EARLIER),
                       *(Decision("told", frozenset({one}), resolved_at=LATER) for one in (B, C))])
    cached = CachedSource(source, stale_at_most=30, clock=clock)
    clock.now = 100.0
    cached.check(READER, [A])
    assert cached.check(READER, [A, B]).resolved_at == EARLIER
    both = cached.check(READER, [A, B])
    assert (both.allowed, both.resolved_at, both.token) == ({A, B}, EARLIER, "first")
    assert cached.check(READER, [A, B, C]).allowed == {A, B, C}
    assert source.asked == [{A}, {B}, {C}]


def test_a_cache_of_one_answer_holds_one() -> None:
    cached = CachedSource(Source({A}), stale_at_most=30, most=1, clock=Clock())
    assert cached.check(READER, [A]).allowed == {A}
    assert len(cached._kept) == 1


def test_a_cache_holds_no_more_than_it_may() -> None:
    source = Source({A, B, C})
    cached = CachedSource(source, stale_at_most=30, most=2, clock=Clock())
    for ref in (A, B, A, C):  # B was used least recently
        cached.check(READER, [ref])
    assert len(cached._kept) == 2
    source.open_ = set()
    assert cached.check(READER, [A, B, C]).allowed == {A, C}


@pytest.mark.parametrize("bad", [{"stale_at_most": -1}, {"stale_at_most": float("nan")}, {"stale_at_most": float("inf")},
                                 {"stale_at_most": 1, "most": 0}])
def test_a_bound_that_bounds_nothing_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        CachedSource(Source(), **bad)


# --- several sources


def test_each_system_is_decided_by_its_own_source_and_an_unknown_one_is_denied() -> None:
    conf, jira = Source({A, OTHER}, name="c"), Source({B}, name="j")
    both = CombinedSource({"conf": conf, "jira": jira})
    assert both.granted(READER).keys == {A}
    stranger = key("a", "mail")
    decision = both.check(READER, [A, B, OTHER, stranger, "?"])
    assert decision.allowed == {A}
    assert dict(decision.denied) == {B: "deleted", OTHER: "deleted", stranger: "unknown-system", "?": "not-a-reference"}
    assert (decision.source, decision.token) == ("c + j", '{"c": "t2", "j": "t2"}')


def test_one_source_that_fails_leaves_the_others_alone(logged: list[Any]) -> None:
    both = CombinedSource({"conf": Source({A}, name="c"), "jira": Source({OTHER}, name="j", fails=OSError("down"))})
    grants = ask_granted(both, READER)
    assert (grants.keys, grants.trouble) == ({A}, "j: OSError: down")
    decision = ask_check(both, READER, [A, OTHER])
    assert (decision.allowed, dict(decision.denied), decision.trouble) == ({A}, {OTHER: "unreachable"}, "j: OSError: down")
    assert len(logged) == 2


def test_several_sources_are_as_old_as_the_oldest_of_them() -> None:
    def source(name: str, at: datetime, stale: float) -> Told:
        return Told([Grants(name, resolved_at=at, stale_at_most=stale, token="ü")],
                    [Decision(name, resolved_at=at, stale_at_most=stale, token="ü")], name)

    both = CombinedSource({"jira": source("j", LATER, 1), "conf": source("c", EARLIER, 5)})
    for said in (both.granted(READER), both.check(READER, [A, OTHER])):
        assert (said.resolved_at, said.stale_at_most, said.token, said.trouble) == (EARLIER, 5, '{"c": "ü", "j": "ü"}', None)


def test_no_source_opens_nothing() -> None:
    none = CombinedSource({})
    assert (none.name, none.granted(READER).keys) == ("no source", set())
    assert dict(none.check(READER, [A]).denied) == {A: "unknown-system"}


def test_a_source_of_two_systems_is_asked_once() -> None:
    one = Source({A, OTHER})
    assert CombinedSource({"conf": one, "jira": one}).granted(READER).keys == {A, OTHER}
    assert one.asked == ["granted"]
