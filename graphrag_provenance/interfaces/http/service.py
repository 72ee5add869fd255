"""What the endpoints work with.

Owns: the parts of one service, how an endpoint gets them and its reader, how many are worked on at once, and how each is run
(docs/decisions/0010): a plain function is carried by the task of its request (`store.bridge`), so that it waits without a thread; one that
computes long says so itself, and goes into a thread. Leaves to others: who the reader is (`guard`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.config import Settings
from graphrag_provenance.interfaces.http.identity import refused
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.conflicts import Relations
from graphrag_provenance.store.bridge import Aside, carried
from graphrag_provenance.store.loop import LoopDatabase
from graphrag_provenance.store.recording import RecordingOptions

_WAIT_SECONDS = 5.0
BEARER = HTTPBearer(auto_error=False, description="An API key of this service, or a token of its issuer.")


@dataclass(frozen=True, slots=True)
class Service:
    """One store, served."""

    database: LoopDatabase
    settings: Settings
    access: AccessSource | None = None
    """Who says which live references are open; None: every one is closed."""
    relations: Relations | None = None
    """Declared relations: answers then say what conflicts."""
    turns: anyio.CapacityLimiter = field(init=False)
    """Requests that are worked on at once."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "turns", anyio.CapacityLimiter(self.settings.serve_at_once))
        if self.access is not None:
            object.__setattr__(self, "access", Aside(self.access))


class Asking(APIRoute):
    """An endpoint that asks the store, in its turn."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(path, endpoint if iscoroutinefunction(endpoint) else _carrying(endpoint), **more)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As of any route, in its turn."""
        handle = super().get_route_handler()

        async def in_turn(request: Request) -> Response:
            service: Service = request.app.state.service
            async with service.turns:
                return await handle(request)

        return in_turn


def _carrying(endpoint: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(endpoint)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await carried(partial(endpoint, *args, **kwargs))

    return call


@asynccontextmanager
async def opened(service: Service) -> AsyncIterator[None]:
    """The service on this event loop, until everything is closed."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = service.settings.serve_at_once
    service.database.open_here()
    try:
        yield
    finally:
        await carried(service.database.close)


async def service_of(request: Request) -> Service:
    """The service that a request came to."""
    found: Service = request.app.state.service
    return found


async def reader_of(request: Request, _: Annotated[object, Security(BEARER)]) -> Reader:
    """The reader whose token the guard verified. Raises UnauthenticatedError where it admitted nobody."""
    found = getattr(request.state, "reader", None)
    if not isinstance(found, Reader):
        raise refused()
    return found


async def trace_of(request: Request) -> str:
    """The trace that a request belongs to."""
    return str(request.state.trace_id)


def recording(service: Service, reader: Reader, trace_id: str) -> RecordingOptions:
    """How a request records: in the name of its reader, and with a short wait for another writer."""
    settings = service.settings
    return RecordingOptions(reader.principal, "http", trace_id, settings.lease_seconds, min(settings.wait_seconds, _WAIT_SECONDS))


ServiceOf = Annotated[Service, Depends(service_of)]
ReaderOf = Annotated[Reader, Depends(reader_of)]
TraceOf = Annotated[str, Depends(trace_of)]
