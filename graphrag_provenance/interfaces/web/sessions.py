"""Who is signed in: a browser's cookie stands for a token (spec 5, HTTP: identity).

Owns: what a session is, how long it lasts, and the proof that a form came from our own page. The cookie is an opaque random id; the token
stays in this process, is known here under the hash of the id, and is verified anew at every request (`gateway`). A restart signs everybody
out. Leaves to others: what a token proves (`http.identity`).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

LASTS_SECONDS = 8 * 3600
"""How long a session lasts at most."""
IDLE_SECONDS = 3600
"""How long a session lasts without a request."""
MOST_SESSIONS = 10_000
SESSION = "gprov_session"
FORM = "gprov_form"
"""The cookie that ties a form to the browser it was sent to."""


@dataclass(frozen=True, slots=True)
class Session:
    """One signed-in browser."""

    token: str
    until: float
    seen: float


class Sessions:
    """The sessions of one process; the oldest goes where there are too many."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._secret = secrets.token_bytes(32)

    def begin(self, token: str) -> str:
        """A new session for a verified token; its id."""
        name, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._open[_hashed(name)] = Session(token, now + LASTS_SECONDS, now)
            while len(self._open) > MOST_SESSIONS:
                self._open.popitem(last=False)
        return name

    def token(self, name: str) -> str | None:
        """The token of a session that is still open, and from now on used again; else None."""
        key, now = _hashed(name), self._clock()
        with self._lock:
            found = self._open.pop(key, None)
            if found is None or now >= found.until or now >= found.seen + IDLE_SECONDS:
                return None
            self._open[key] = Session(found.token, found.until, now)
            return found.token

    def end(self, name: str) -> None:
        """Forget a session."""
        with self._lock:
            self._open.pop(_hashed(name), None)

    def proof(self, cookie: str) -> str:
        """What a form carries to prove that this process made it for the browser with that cookie."""
        return hmac.new(self._secret, cookie.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def proved(self, cookie: str, given: str) -> bool:
        """Whether a form carries that proof."""
        return bool(cookie) and hmac.compare_digest(self.proof(cookie).encode(), given.encode("utf-8", "surrogatepass"))


def cookie_of(header: str, name: str, *, secure: bool) -> str:
    """The value of a cookie in a Cookie header; empty for none, or for one that is there twice."""
    wanted = cookie_name(name, secure=secure)
    if sum(part.strip().partition("=")[0] == wanted for part in header.split(";")) != 1:
        return ""
    try:
        found = SimpleCookie(header).get(wanted)
    except CookieError:
        return ""
    return "" if found is None else found.value


def set_cookie(name: str, value: str, *, secure: bool) -> str:
    """The Set-Cookie header that sets (or, for an empty value, removes) a cookie: for this host alone, never for scripts."""
    parts = [f"{cookie_name(name, secure=secure)}={value}", "Path=/", "HttpOnly", "SameSite=Strict"]
    return "; ".join([*parts, *(["Secure"] if secure else []), *([] if value else ["Max-Age=0"])])


def cookie_name(name: str, *, secure: bool) -> str:
    """`__Host-…` behind TLS, which a browser accepts only as set above."""
    return f"__Host-{name}" if secure else name


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
