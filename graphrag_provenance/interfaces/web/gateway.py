"""The way from a browser to a reader, and back to a page (spec 5, auditor's page; HTTP, identity).

Owns: which requests are a browser's; that a session's cookie becomes the token it stands for, so that everything behind (`http.guard`)
verifies it anew and holds the same limits; and that every refusal and failure of those requests is a page. A cookie opens pages and
nothing else: not the endpoints for programs, and nothing that writes. What a role would open is, without it, a page that does not exist.
Leaves to others: everything about tokens and limits (`http.guard`), pages.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphrag_provenance.interfaces.web.rendering import page
from graphrag_provenance.interfaces.web.sessions import SESSION, Sessions, cookie_of, set_cookie

PROGRAMS = ("/v1", "/health", "/metrics", "/openapi.json", "/mcp")
"""Where programs ask: no cookie is looked at there."""
PAGES = ("/", "/assets", "/edge", "/entity", "/runs", "/sign-in", "/sign-out", "/suggest", "/trace", "/withheld")
"""Where pages are."""
SUGGESTIONS = "/suggest"
_KEPT_HEADERS = ("x-trace-id", "retry-after", "strict-transport-security", "x-content-type-options", "x-frame-options",
                 "cache-control", "cross-origin-resource-policy")


class Gateway:
    """An application that browsers can use too."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app, self._sessions = app, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or not _from_browser(scope):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        name = cookie_of(headers.get("cookie", ""), SESSION, secure=scope.get("scheme") == "https")
        token = self._sessions.token(name) if name and scope["method"] == "GET" else None
        given = [] if token is None else [(b"authorization", b"Bearer " + token.encode("ascii"))]
        scope = {**scope, "headers": [*scope["headers"], *given], "state": {**(scope.get("state") or {}), "session": name if token else ""}}
        await _Answer(self._sessions, scope, send, name if token else "").run(self._app, receive)


def under(path: str, places: tuple[str, ...]) -> bool:
    """Whether a path is one of these, or lies below one."""
    return any(path == place or (place != "/" and path.startswith(place + "/")) for place in places)


def _from_browser(scope: Scope) -> bool:
    path, headers = scope["path"], Headers(scope=scope)
    if under(path, PROGRAMS) or "authorization" in headers:
        return False
    return under(path, PAGES) or "text/html" in headers.get("accept", "")


class _Answer:
    """The answer to one request: passed on, or made into a page."""

    def __init__(self, sessions: Sessions, scope: Scope, send: Send, session: str) -> None:
        self._sessions, self._scope, self._send = sessions, scope, send
        self._session = session  # whose token was sent; it ends if that is refused
        self._start: Message | None = None
        self._body: list[bytes] = []

    async def run(self, app: ASGIApp, receive: Receive) -> None:
        await app(self._scope, receive, self._take)

    async def _take(self, message: Message) -> None:
        if message["type"] == "http.response.start" and self._a_failure(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        elif message["type"] == "http.response.body":
            self._body.append(message.get("body", b""))
            if not message.get("more_body", False):
                await self._page(self._start)(self._scope, _nothing, self._send)

    def _a_failure(self, message: Message) -> bool:
        kind = Headers(raw=message["headers"]).get("content-type", "")
        return message["status"] >= 400 and kind.startswith("application/json") and self._scope["path"] != SUGGESTIONS

    def _page(self, start: Message) -> Response:
        found: dict[str, Any] = json.loads(b"".join(self._body))["error"]
        status, request = int(start["status"]), Request(self._scope)
        if status == 401:
            answer = self._sign_in()
        elif status == 404 or found["code"] == "access-denied":
            answer = page("absent.html", request, 404)
        else:
            trace_id = Headers(raw=start["headers"]).get("x-trace-id") if status >= 500 else None
            answer = page("failed.html", request, status, message=found["message"], hint=found["hint"], trace_id=trace_id)
        headers = MutableHeaders(raw=answer.raw_headers)
        for name in _KEPT_HEADERS:
            value = Headers(raw=start["headers"]).get(name)
            if value is not None:
                headers[name] = value
        return answer

    def _sign_in(self) -> Response:
        self._sessions.end(self._session)
        path, query = self._scope["path"], self._scope.get("query_string", b"").decode("latin-1")
        wanted = path + (f"?{query}" if query else "")
        target = "/sign-in" if wanted == "/" or self._scope["method"] != "GET" else f"/sign-in?{urlencode({'next': wanted})}"
        answer = RedirectResponse(target, 303)
        if self._session:
            answer.headers.append("Set-Cookie", set_cookie(SESSION, "", secure=self._scope.get("scheme") == "https"))
        return answer


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
