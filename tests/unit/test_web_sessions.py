"""A session lasts as long as it should and no longer; a cookie and a form prove what they should and no more (spec 5)."""

from __future__ import annotations

import pytest

from graphrag_provenance.interfaces.web import sessions as web_sessions
from graphrag_provenance.interfaces.web.pages.signing import _within
from graphrag_provenance.interfaces.web.rendering import fitting, outside, seen
from graphrag_provenance.interfaces.web.sessions import IDLE_SECONDS, LASTS_SECONDS, SESSION, Sessions, cookie_of, set_cookie


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_gives_back_its_token_until_it_ends() -> None:
    clock = Clock()
    open_ = Sessions(clock=clock)
    name, other = open_.begin("token"), open_.begin("token")
    assert name != other
    assert open_.token(name) == "token"
    assert open_.token(name + "x") is None
    open_.end(name)
    assert open_.token(name) is None
    assert open_.token(other) == "token"


def test_a_session_that_is_not_used_ends() -> None:
    clock = Clock()
    open_ = Sessions(clock=clock)
    name = open_.begin("token")
    clock.now += IDLE_SECONDS - 1
    assert open_.token(name) == "token"
    clock.now += IDLE_SECONDS
    assert open_.token(name) is None
    clock.now = 0
    assert open_.token(name) is None, "it does not come back"


def test_a_session_that_is_used_all_the_time_ends_too() -> None:
    clock = Clock()
    open_ = Sessions(clock=clock)
    name = open_.begin("token")
    for _ in range(LASTS_SECONDS // 1_800 - 1):
        clock.now += 1_800
        assert open_.token(name) == "token"
    clock.now += 1_800
    assert open_.token(name) is None


def test_the_oldest_session_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_sessions, "MOST_SESSIONS", 2)
    open_ = Sessions()
    first, second = open_.begin("1"), open_.begin("2")
    open_.token(first)
    third = open_.begin("3")
    assert [open_.token(one) for one in (first, second, third)] == ["1", None, "3"]


def test_a_form_is_proved_for_one_browser_and_one_process() -> None:
    one, other = Sessions(), Sessions()
    assert one.proved("cookie", one.proof("cookie"))
    assert not one.proved("another", one.proof("cookie"))
    assert not other.proved("cookie", one.proof("cookie"))
    assert not one.proved("", one.proof(""))
    assert not one.proved("cookie", "\udcff")


def test_a_cookie_is_for_this_host_and_no_script() -> None:
    assert set_cookie(SESSION, "v", secure=False) == "gprov_session=v; Path=/; HttpOnly; SameSite=Strict"
    assert set_cookie(SESSION, "v", secure=True) == "__Host-gprov_session=v; Path=/; HttpOnly; SameSite=Strict; Secure"
    assert "Max-Age=0" in set_cookie(SESSION, "", secure=True)


@pytest.mark.parametrize(("header", "value"), [
    ("gprov_session=a", "a"), ("x=1; gprov_session=a; y=2", "a"), ("", ""), ("gprov_session=a; gprov_session=b", ""),
    ("gprov_sessions=a", ""), ("__Host-gprov_session=a", ""),
])
def test_a_cookie_is_read_if_it_is_there_once(header: str, value: str) -> None:
    assert cookie_of(header, SESSION, secure=False) == value


@pytest.mark.parametrize(("asked", "gone"), [
    ("/edge?id=E%3A1", "/edge?id=E%3A1"), ("/", "/"), ("//evil.example", "/"), ("/\\evil.example", "/"), ("https://evil.example/", "/"),
    ("javascript:alert(1)", "/"), ("", "/"), ("/a\nb", "/"), ("/\t/evil.example", "/"), ("///evil.example", "/"),
])
def test_signing_in_leads_to_a_page_of_ours(asked: str, gone: str) -> None:
    assert _within(asked) == gone


@pytest.mark.parametrize(("text", "shown"), [
    ("plain", "plain"), ("a\u202eb", "a⟨U+202E⟩b"), ("a\u0000b", "a⟨U+0000⟩b"), ("a\u200bb", "a⟨U+200B⟩b"), ("a\ud800b", "a⟨U+D800⟩b"),
    ("a\tb", "a b"), ("می‌خواهم", "می‌خواهم"), ("Żuławski", "Żuławski"), ("<SEP>", "<SEP>"), ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
])
def test_nothing_on_a_page_is_invisible(text: str, shown: str) -> None:
    assert seen(text) == shown


@pytest.mark.parametrize(("url", "link"), [
    ("https://wiki.acme.example/a", True), ("http://wiki/a", True), ("javascript:alert(1)", False), ("data:text/html,x", False),
    ("//wiki/a", False), ("wiki/a", False), (None, False), ("https://", False), ("http://[", False), ("JAVASCRIPT:x", False),
])
def test_only_an_address_of_the_web_becomes_a_link(url: str | None, link: bool) -> None:
    assert (outside(url) == url) if link else outside(url) is None


@pytest.mark.parametrize(("text", "columns", "shown"), [
    ("short", 10, "short"), ("checkout-service-eu", 10, "checko…-eu"), ("漢字漢字漢字漢字", 9, "漢字…字"), ("", 5, ""),
])
def test_a_long_name_keeps_its_end(text: str, columns: int, shown: str) -> None:
    assert fitting(text, columns) == shown
