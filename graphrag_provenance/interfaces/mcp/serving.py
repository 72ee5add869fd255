"""How the MCP server is reached: over stdio, or over streamable HTTP behind the guard of the service (spec 5, MCP).

Owns: who asks on each of the two. Over stdio it is one reader for the whole process, named when it starts; over HTTP it is the reader
of each request's token, and a session belongs to nobody, so that none can be taken over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from graphrag_provenance.config import Settings
from graphrag_provenance.interfaces.http.app import limits_of, spans_for
from graphrag_provenance.interfaces.http.failures import Json
from graphrag_provenance.interfaces.http.guard import Guard
from graphrag_provenance.interfaces.http.identity import Identity
from graphrag_provenance.interfaces.http.metrics import Metrics
from graphrag_provenance.interfaces.http.service import Service, opened
from graphrag_provenance.interfaces.mcp.server import create_server
from graphrag_provenance.model.readers import Reader

PATH = "/mcp"


def run_stdio(service: Service, reader: Reader) -> None:
    """Serves one reader over stdin and stdout until stdin ends. Closes the database when it ends."""
    server = create_server(service, lambda _: reader)

    async def serve() -> None:
        async with opened(service), stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def create_mcp_app(service: Service, identity: Identity) -> ASGIApp:
    """The tools over streamable HTTP at `/mcp`, as an ASGI application. Closes the database when it ends."""
    settings = service.settings
    spans = spans_for(settings)
    inner = create_server(service, _reader_of).streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, host=_checked_host(settings),
        max_request_body_size=settings.serve_max_body_bytes)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with opened(service), inner.router.lifespan_context(inner):
            yield
        if spans is not None:
            await anyio.to_thread.run_sync(spans.close)

    app = Starlette(routes=[Route("/health/live", _live), Mount("/", inner)], lifespan=lifespan)
    return Guard(app, identity, limits_of(settings), Metrics(), public=("/health/live",), spans=spans)


def _checked_host(settings: Settings) -> str:
    """On loopback the SDK refuses requests that name another host (DNS rebinding); a proxy passes the outer name on, and checks it."""
    return "" if settings.serve_proxies else settings.serve_host


def _reader_of(request: Any) -> Reader | None:
    found = getattr(request.state, "reader", None) if isinstance(request, Request) else None
    return found if isinstance(found, Reader) else None


async def _live(_: Request) -> Response:
    return Json({"schema": 1, "state": "live"})
