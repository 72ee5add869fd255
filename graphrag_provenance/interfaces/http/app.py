"""The application: guard, endpoints, description (spec 5, HTTP).

Owns: how the parts are put together. Leaves to others: each part. Endpoints read through the same code as the command line
(docs/decisions/0010).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio.to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import ProvenanceError
from graphrag_provenance.interfaces.http.failures import on_error, on_http, on_invalid
from graphrag_provenance.interfaces.http.guard import Guard, Limits
from graphrag_provenance.interfaces.http.identity import Identity
from graphrag_provenance.interfaces.http.metrics import Metrics
from graphrag_provenance.interfaces.http.routes import documents, edges, entities, judging, operations, retrievals, runs, tracing
from graphrag_provenance.interfaces.http.service import Service, opened
from graphrag_provenance.interfaces.web import pages
from graphrag_provenance.version import __version__

if TYPE_CHECKING:
    from graphrag_provenance.interfaces.http.spans import Spans

ROUTERS = (tracing.router, edges.router, entities.router, documents.router, judging.router, retrievals.router, runs.router,
           operations.router)


def limits_of(settings: Settings) -> Limits:
    """What the settings allow."""
    return Limits(settings.serve_max_body_bytes, settings.serve_timeout_seconds, settings.serve_at_once + settings.serve_waiting,
                  settings.serve_rate_per_minute, settings.serve_burst)


def spans_for(settings: Settings) -> Spans | None:
    """What makes spans, if the settings ask for them. Raises MissingExtraError."""
    if not settings.serve_otel:
        return None
    from graphrag_provenance.interfaces.http.spans import Spans  # noqa: PLC0415 - an extra, and slow to load

    return Spans()


def create_app(service: Service, identity: Identity, *, public: Collection[str] = ()) -> FastAPI:
    """The service as an ASGI application. `public`: paths besides those of health that need no token.

    Closes the database when it ends.
    """
    settings = service.settings
    spans = spans_for(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with opened(service):
            yield
        if spans is not None:
            await anyio.to_thread.run_sync(spans.close)

    app = FastAPI(
        title="graphrag-provenance", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None,
        summary="Which relations of a graph may be used in an answer, and what proves them.",
        generate_unique_id_function=_operation_id, redirect_slashes=False,
    )
    app.state.service, app.state.metrics = service, Metrics()
    app.add_exception_handler(ProvenanceError, on_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)
    for router in ROUTERS:
        app.include_router(router)
    app.add_middleware(
        Guard, identity=identity, limits=limits_of(settings), metrics=app.state.metrics,
        public=(*operations.PUBLIC, *pages.PUBLIC, *public), locally=operations.LOCALLY, proxied=bool(settings.serve_proxies), spans=spans)
    pages.add_to(app, identity)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name
