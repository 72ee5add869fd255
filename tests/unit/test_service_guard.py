"""What every request passes before anything looks at it: identity, rate, size, time (spec 5, HTTP: limits)."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import structlog
from corpus import serving
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import ConfigurationError, UnauthenticatedError
from graphrag_provenance.interfaces.http.guard import Guard, Limits
from graphrag_provenance.interfaces.http.identity import refused
from graphrag_provenance.interfaces.http.limits import Buckets
from graphrag_provenance.interfaces.http.metrics import Metrics
from graphrag_provenance.interfaces.http.running import check_exposure, listening
from graphrag_provenance.interfaces.http.spans import Spans
from graphrag_provenance.model.readers import Reader


class Known:
    """Tokens that are names."""

    def reader(self, token: str) -> Reader:
        if token not in ("ann", "bob"):
            raise refused()
        return Reader(token, "T", frozenset())


RELEASE = threading.Event()


async def echo(request: Request) -> Response:
    return JSONResponse({"reader": request.state.reader.principal, "bytes": len(await request.body())})


def slow(_: Request) -> Response:
    RELEASE.wait(20)
    return PlainTextResponse("late")


class Waits:
    """An endpoint that waits until it is told what became of it."""

    def __init__(self) -> None:
        self.began, self.ended = threading.Event(), threading.Event()
        self.how = ""

    async def __call__(self, request: Request) -> Response:
        self.began.set()
        try:
            await asyncio.sleep(60)
        except BaseException as error:
            self.how = type(error).__name__
            self.ended.set()
            raise
        return PlainTextResponse("late")

    def guard(self, metrics: Metrics | None = None, **limits: Any) -> Guard:
        app = Starlette(routes=[Route("/wait", self.of), Route("/open", self.of), Route("/echo", echo)])
        return Guard(app, Known(), Limits(**limits), metrics or Metrics(), public=["/open"])

    async def of(self, request: Request) -> Response:
        return await self(request)


async def broken(*_: Any) -> None:
    raise RuntimeError("the password is hunter2")


def guarded(metrics: Metrics | None = None, spans: Spans | None = None, **limits: Any) -> Guard:
    app = Starlette(routes=[Route("/echo", echo, methods=["GET", "POST"]), Route("/slow", slow),
                            Route("/open", lambda _: PlainTextResponse("open")), Route("/near", lambda _: PlainTextResponse("near"))])
    return Guard(app, Known(), Limits(**{"burst": 1000, **limits}), metrics or Metrics(), public=["/open"], locally=["/near"],
                 spans=spans)


def ask(guard: Any, path: str, *, token: str | None = "ann", method: str = "GET", client: str = "127.0.0.1", **more: Any) -> httpx.Response:
    async def run() -> httpx.Response:
        transport = httpx.ASGITransport(guard, client=(client, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as asking:
            headers = {**({} if token is None else {"Authorization": f"Bearer {token}"}), **more.pop("headers", {})}
            return await asking.request(method, path, headers=headers, **more)

    return asyncio.run(run())


def code(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["code"])


def test_the_reader_is_the_one_of_the_token() -> None:
    assert ask(guarded(), "/echo").json()["reader"] == "ann"
    assert ask(guarded(), "/echo", token="bob").json()["reader"] == "bob"
    assert ask(guarded(), "/echo", token="eve").status_code == 401


def test_an_identity_that_fails_lets_nobody_in() -> None:
    class Failing:
        def reader(self, token: str) -> Reader:
            raise RuntimeError(token)

    answer = ask(Guard(broken, Failing(), Limits(), Metrics()), "/echo")
    assert (answer.status_code, answer.text) == (401, ask(guarded(), "/echo", token=None).text)


def test_only_public_paths_are_open_and_local_ones_from_here() -> None:
    assert ask(guarded(), "/open", token=None).text == "open"
    assert ask(guarded(), "/open/", token=None).status_code == 401
    assert ask(guarded(), "/near", token=None).text == "near"
    assert ask(guarded(), "/near", token=None, client="10.0.0.7").status_code == 401
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"):
        assert ask(guarded(), "/near", token=None, headers={header: "127.0.0.1"}).status_code == 401
    assert ask(guarded(), "/near", token="eve").status_code == 401


def test_a_long_body_is_refused_announced_or_not() -> None:
    guard = guarded(body_bytes=1000)
    assert ask(guard, "/echo", method="POST", content=b"x" * 1000).json()["bytes"] == 1000
    assert ask(guard, "/echo", method="POST", content=b"x" * 1001).status_code == 413

    async def parts() -> Any:
        for _ in range(11):
            yield b"x" * 100

    assert code(ask(guard, "/echo", method="POST", content=parts())) == "too-large"


def test_a_reader_who_asks_too_often_waits_and_others_do_not() -> None:
    guard = guarded(burst=3, per_minute=60)
    assert [ask(guard, "/echo").status_code for _ in range(4)] == [200, 200, 200, 429]
    refusal = ask(guard, "/echo")
    assert 1 <= int(refusal.headers["retry-after"]) <= 2
    assert ask(guard, "/echo", token="bob").status_code == 200


def test_a_bucket_fills_again_and_no_fuller_than_it_was() -> None:
    now = [0.0]
    buckets = Buckets(60, 2, clock=lambda: now[0])
    assert [buckets.wait("a") for _ in range(3)] == [0, 0, 1]
    now[0] = 1.0
    assert [buckets.wait("a") for _ in range(2)] == [0, 1]
    now[0] = 1000.0
    assert [buckets.wait("a") for _ in range(3)] == [0, 0, 1]


@contextmanager
def held() -> Iterator[None]:
    RELEASE.clear()
    try:
        yield
    finally:
        RELEASE.set()


def test_what_takes_too_long_is_told_at_once_and_keeps_its_place() -> None:
    guard = guarded(seconds=0.2, at_once=2)

    async def run() -> tuple[list[int], float, int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://here") as asking:
            headers = {"Authorization": "Bearer ann"}
            began = time.perf_counter()
            first = await asyncio.gather(*(asking.get("/slow", headers=headers) for _ in range(2)))
            took = time.perf_counter() - began
            third = await asking.get("/slow", headers=headers)
            RELEASE.set()
            while guard._working[True]:
                await asyncio.sleep(0.01)
            last = await asking.get("/echo", headers=headers)
            return [*(one.status_code for one in first), third.status_code], took, last.status_code

    with held():
        statuses, took, last = asyncio.run(run())
    assert statuses == [504, 504, 503]  # the first two still hold both places
    assert took < 5
    assert last == 200


def test_what_takes_too_long_is_cancelled() -> None:
    waits = Waits()
    with serving.listening(waits.guard(seconds=0.2)) as url:
        assert httpx.get(f"{url}/wait", headers={"Authorization": "Bearer ann"}, timeout=20).status_code == 504
        assert (waits.ended.wait(20), waits.how) == (True, "CancelledError")


def test_who_leaves_is_not_worked_for_any_more() -> None:
    waits, metrics = Waits(), Metrics()
    guard = waits.guard(metrics)
    with serving.listening(guard) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), 20) as caller:
            caller.sendall(b"GET /wait HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ann\r\n\r\n")
            assert waits.began.wait(20)
            assert not waits.ended.is_set()
        assert (waits.ended.wait(20), waits.how) == (True, "CancelledError")
        assert httpx.get(f"{url}/echo", headers={"Authorization": "Bearer ann"}, timeout=20).json()["reader"] == "ann"
    assert 'gprov_http_requests_total{method="GET",route="/wait",status="499"} 1.0' in metrics.text().decode()


def test_nobody_takes_the_place_of_a_reader() -> None:
    waits = Waits()
    guard = waits.guard(at_once=1)

    async def run() -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url="http://here") as asking:
            first = asyncio.create_task(asking.get("/open"))
            while not waits.began.is_set():
                await asyncio.sleep(0.01)
            found = [await asking.get("/open"), await asking.get("/echo", headers={"Authorization": "Bearer ann"})]
            first.cancel()
            return [one.status_code for one in found]

    assert asyncio.run(run()) == [503, 200]


def test_a_failure_says_nothing_of_itself() -> None:
    answer = ask(Guard(broken, Known(), Limits(), Metrics()), "/")
    assert answer.status_code == 500
    assert code(answer) == "unexpected"
    assert "hunter2" not in answer.text


def test_what_is_no_http_is_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(guarded()({"type": "websocket", "path": "/echo", "headers": []}, None, send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_the_log_and_the_counters_name_no_id_no_token_and_no_question() -> None:
    lines: list[Any] = []
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, lambda _, __, event: lines.append(event) or "x"],
                        logger_factory=structlog.PrintLoggerFactory(open("/dev/null", "w", encoding="utf-8")))  # noqa: SIM115
    metrics = Metrics()
    guard = guarded(metrics)
    ask(guard, "/echo?id=E-secret", method="POST", content=b"private words", headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})
    ask(guard, "/private/path", token="secret-token")
    told = str(lines) + metrics.text().decode()
    assert lines[0]["trace_id"] == "a" * 32
    assert (lines[0]["route"], lines[0]["principal"], lines[0]["status"]) == ("/echo", "ann", 200)
    assert lines[1]["status"] == 401
    assert not any(word in told for word in ("E-secret", "private", "secret-token", "Bearer"))


def test_a_request_is_a_span_in_the_callers_trace_that_says_nothing_of_what_was_asked() -> None:
    kept = InMemorySpanExporter()
    guard = guarded(spans=Spans(SimpleSpanProcessor(kept)))
    answer = ask(guard, "/echo?id=E-secret", headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})
    alone = ask(guard, "/private/path", token=None)
    first, second = kept.get_finished_spans()
    assert (first.name, first.context.trace_id) == ("GET /echo", int("a" * 32, 16))
    assert answer.headers["x-trace-id"] == "a" * 32
    assert alone.headers["x-trace-id"] == f"{second.context.trace_id:032x}"
    assert second.attributes["http.response.status_code"] == 401
    assert not any(word in str(kept.get_finished_spans()[0].to_json()) + second.to_json() for word in ("secret", "private", "ann"))


@pytest.mark.parametrize(("more", "warns"), [
    ({}, False), ({"serve_host": "::1"}, False), ({"serve_host": "localhost"}, False), ({"serve_host": "0.0.0.0"}, True),
    ({"serve_host": "10.0.0.1"}, True), ({"serve_host": "example.org"}, True),
    ({"serve_host": "0.0.0.0", "serve_proxies": ("10.0.0.1",)}, False),
])
def test_a_service_that_others_reach_without_tls_is_warned_of(more: dict[str, Any], warns: bool) -> None:
    said: list[str] = []
    check_exposure(Settings(**more), said.append)
    assert bool(said) is warns


def test_a_connection_sends_small_answers_at_once() -> None:
    found: list[int] = []

    async def run() -> None:
        with listening(Settings(serve_port=0)) as listener:
            server = await asyncio.start_server(lambda _, writer: found.append(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)), sock=listener)
            _, writer = await asyncio.open_connection(*listener.getsockname())
            while not found:
                await asyncio.sleep(0.01)
            writer.close()
            server.close()

    asyncio.run(run())
    assert found[0] != 0


def test_half_a_tls_setting_is_refused(tmp_path: Any) -> None:
    with pytest.raises(ConfigurationError, match="both"):
        check_exposure(Settings(serve_tls_key=tmp_path / "k"), print)


def test_refusing_is_the_same_whatever_is_wrong() -> None:
    texts = {ask(guarded(), path, token=token, method=method).text
             for path in ("/echo", "/absent") for token in (None, "eve") for method in ("GET", "DELETE")}
    assert len(texts) == 1
    assert isinstance(refused(), UnauthenticatedError)


