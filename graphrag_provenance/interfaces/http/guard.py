"""What every request passes before anything looks at it (spec 5, HTTP: identity, limits, trace context).

Owns, in this order: the trace id; who asks, from the Authorization header alone (a path that is not public is closed without); how often;
how much; how long; and after it the headers that protect a browser, the access log and the counters. The log names a path as the service
declares it and never what was asked, nor the token.

A request that takes too long is answered 504 at once, and its work is cancelled, as is that of a caller who has gone: the server ends the
statement. What runs in a thread cannot be cancelled (a recording is completed, or not begun): it keeps its place among those that are
worked on until it ends, so that slow questions cannot pile up. Who is nobody has places of its own, and takes none from readers.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Collection, Mapping, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import anyio.to_thread
import structlog
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphrag_provenance.errors import ProvenanceError, UnauthenticatedError
from graphrag_provenance.events import report
from graphrag_provenance.interfaces.http.failures import failure, failure_of
from graphrag_provenance.interfaces.http.identity import Identity, bearer, refused
from graphrag_provenance.interfaces.http.limits import Buckets
from graphrag_provenance.interfaces.http.metrics import Metrics
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.trace_context import parse_trace_id

_HEADERS = {
    b"x-content-type-options": b"nosniff", b"x-frame-options": b"DENY", b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store", b"cross-origin-resource-policy": b"same-origin",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
}
"""Set where an answer does not set its own."""
_GONE = 499
"""The status, in the log and the counters, of a request whose caller went away before the answer."""
_DOORS = 8
"""Tokens that are looked at at once."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request, and one reader, may take."""

    body_bytes: int = 1_048_576
    seconds: float = 30.0
    at_once: int = 80
    per_minute: int = 600
    burst: int = 60


class RequestSpan(Protocol):
    """A span that is open while its request is worked on (`spans`)."""

    @property
    def trace_id(self) -> str:
        """The trace it is part of."""
        ...

    def end(self, route: str, status: int) -> None:
        """What became of the request."""
        ...


class SpanMaker(Protocol):
    """What makes spans (`spans`)."""

    def request(self, method: str, traceparent: str | None) -> AbstractContextManager[RequestSpan]:
        """The span of one request."""
        ...


class Guard:
    """An application behind all of this. `public`: paths that need no token. `locally`: paths that need none from this machine itself."""

    def __init__(
        self, app: ASGIApp, identity: Identity, limits: Limits, metrics: Metrics, *, public: Collection[str] = (),
        locally: Collection[str] = (), proxied: bool = False, spans: SpanMaker | None = None,
    ) -> None:
        self._app, self._identity, self._limits, self._metrics = app, identity, limits, metrics
        self._public, self._locally = frozenset(public), frozenset(() if proxied else locally)
        self._spans = spans
        self._buckets = Buckets(limits.per_minute, limits.burst)
        self._doors: anyio.CapacityLimiter | None = None
        self._working: dict[bool, set[asyncio.Task[None]]] = {True: set(), False: set()}  # of readers, and of nobody

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await _Exchange(self, scope, send).run(receive)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def admit(self, scope: Scope, headers: Mapping[bytes, list[bytes]]) -> Reader | None:
        """Who asks; None on a path that anybody may ask. Raises UnauthenticatedError, or IdentityUnavailableError."""
        path = scope["path"]
        given = headers.get(b"authorization", [])
        if path in self._public or (path in self._locally and not given and _from_here(scope, headers)):
            return None
        if len(given) != 1:
            raise refused()
        if self._doors is None:
            self._doors = anyio.CapacityLimiter(_DOORS)
        return await anyio.to_thread.run_sync(self._identity.reader, bearer(given[0]), limiter=self._doors)


class _Exchange:
    """One request and its answer."""

    def __init__(self, guard: Guard, scope: Scope, send: Send) -> None:
        self._guard, self._scope, self._send = guard, scope, send
        self._headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            self._headers.setdefault(name.lower(), []).append(value)
        self._trace_id = _trace_id(self._headers.get(b"traceparent", []))
        self._method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._status: int | None = None
        self._closed = False  # answered in the place of the work
        self._cancel = anyio.CancelScope()
        self._reader: Reader | None = None

    async def run(self, receive: Receive) -> None:
        began = time.perf_counter()
        with nullcontext() if self._guard._spans is None else self._guard._spans.request(self._method, self._parent()) as span:
            if span is not None:
                self._trace_id = span.trace_id
            try:
                await self._run(receive)
            finally:
                self._tell(time.perf_counter() - began)
                if span is not None:
                    span.end(self._route(), self._status or 0)

    async def _run(self, receive: Receive) -> None:
        state: MutableMapping[str, Any] = self._scope.setdefault("state", {})
        state["trace_id"], state["reader"] = self._trace_id, None
        with structlog.contextvars.bound_contextvars(trace_id=self._trace_id):
            refusal = await self._refusal(state)
            if refusal is None:
                await self._pass(receive)
            else:
                await self._answer(refusal)

    async def _refusal(self, state: MutableMapping[str, Any]) -> Response | None:
        guard, limits = self._guard, self._guard._limits
        try:
            self._reader = state["reader"] = await guard.admit(self._scope, self._headers)
        except UnauthenticatedError as error:
            guard._metrics.refused("unauthenticated")
            return failure_of(error)
        except ProvenanceError as error:
            guard._metrics.refused("identity-unavailable")
            return failure_of(error)
        except Exception as error:  # noqa: BLE001 - what cannot be told who it is, is nobody
            report("error", "a token could not be looked at", kind=type(error).__name__, exc_info=True)
            return failure_of(refused())
        if self._reader is not None:
            wait = guard._buckets.wait((self._reader.tenant, self._reader.principal))
            if wait:
                guard._metrics.refused("rate")
                return failure(429, "too-many", "This reader asks too often.", f"Wait {wait} s.", {"Retry-After": str(wait)})
        if len(guard._working[self._reader is not None]) >= limits.at_once:
            guard._metrics.refused("busy")
            return failure(503, "busy", "Too many requests are being worked on.", "Try again in a few seconds.")
        return None

    async def _pass(self, receive: Receive) -> None:
        limits = self._guard._limits
        try:
            with anyio.fail_after(limits.seconds):
                body = await _body(receive, self._headers, limits.body_bytes)
        except TimeoutError:
            await self._answer(failure(408, "timeout", "The body of the request did not arrive in time."))
            return
        if body is None:
            self._guard._metrics.refused("size")
            await self._answer(failure(413, "too-large", f"A request has at most {limits.body_bytes:,} bytes.", "Ask in several requests."))
            return
        gone = asyncio.create_task(_gone(receive))
        work = asyncio.create_task(self._work(_replayed(body, gone)))
        working = self._guard._working[self._reader is not None]
        working.add(work)
        self._tell_working()
        work.add_done_callback(working.discard)
        work.add_done_callback(lambda _: self._tell_working())
        try:
            await asyncio.wait({work, gone}, timeout=limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and self._status is not None and not gone.done():  # the answer is on its way; a stream may take its time
                await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return
            self._closed = True
            if gone.done():
                self._status = self._status or _GONE
            else:
                self._guard._metrics.refused("time")
                await self._answer(failure(504, "timeout", "That took too long.",
                                           "Ask for less: fewer hops, a relation, a scope, fewer claims."))
        finally:
            self._cancel.cancel()
            gone.cancel()

    def _tell_working(self) -> None:
        self._guard._metrics.in_flight.set(sum(map(len, self._guard._working.values())))

    async def _work(self, receive: Receive) -> None:
        try:
            with self._cancel:
                await self._guard._app(self._scope, receive, self._sent_by_work)
        except Exception as error:  # noqa: BLE001 - the last place where anything is caught
            report("error", "a request failed unexpectedly", kind=type(error).__name__, exc_info=True)
            if self._status is None and not self._closed:
                await self._answer(failure(500, "unexpected", "The service failed.", "Tell the operators the trace id of this answer."))

    async def _answer(self, response: Response) -> None:
        await response(self._scope, _nothing, self._sent)

    async def _sent_by_work(self, message: Message) -> None:
        if not self._closed:
            await self._sent(message)

    async def _sent(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message = {**message, "headers": self._protected(message.get("headers", ()))}
        await self._send(message)

    def _protected(self, given: Collection[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        names = {name.lower() for name, _ in given}
        more = {**_HEADERS, b"x-trace-id": self._trace_id.encode()}
        if self._scope.get("scheme") == "https":
            more[b"strict-transport-security"] = b"max-age=31536000"
        return [*given, *((name, value) for name, value in more.items() if name not in names)]

    def _route(self) -> str:
        return getattr(self._scope.get("route"), "path", None) or "other"

    def _parent(self) -> str | None:
        given = self._headers.get(b"traceparent", [])
        return given[0].decode("latin-1") if len(given) == 1 else None

    def _tell(self, seconds: float) -> None:
        route, status = self._route(), self._status or 0
        self._guard._metrics.answered(self._method, route, status, seconds)
        who = {} if self._reader is None else {"tenant": self._reader.tenant, "principal": self._reader.principal}
        report("info", "request", method=self._method, route=route, status=status, milliseconds=round(seconds * 1000, 1),
               trace_id=self._trace_id, **who)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _trace_id(given: list[bytes]) -> str:
    """The caller's trace, or a new one where it names none that is well-formed (W3C: start again)."""
    try:
        (text,) = given
        found = parse_trace_id(text.decode("latin-1"))
    except ValueError:
        found = secrets.token_hex(16)
    return found


def _from_here(scope: Scope, headers: Mapping[bytes, list[bytes]]) -> bool:
    """Whether a request comes from this machine itself, and not through a proxy on it."""
    client = scope.get("client")
    forwarded = any(name in headers for name in (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via"))
    return client is not None and client[0] in ("127.0.0.1", "::1") and not forwarded


async def _body(receive: Receive, headers: Mapping[bytes, list[bytes]], most: int) -> bytes | None:
    """The whole body; None if it is too long."""
    announced = headers.get(b"content-length", [b"0"])[0]
    if announced.isdigit() and int(announced) > most:
        return None
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > most:
            return None
    return b"".join(parts)


async def _gone(receive: Receive) -> None:
    """Ends when the caller has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _replayed(body: bytes, gone: asyncio.Task[None]) -> Receive:
    """A `receive` that gives the body, and then that the caller has gone."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            await asyncio.wait({gone})
            return {"type": "http.disconnect"}
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
