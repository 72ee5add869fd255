"""What the endpoints work with.

Owns: the parts of one service, and how an endpoint gets them and its reader. Leaves to others: who the reader is (`guard`).
The three that give parts of a request are coroutines: a plain function would cost a change of threads each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.config import Settings
from graphrag_provenance.interfaces.http.identity import refused
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.conflicts import Relations
from graphrag_provenance.store.database import Database

BEARER = HTTPBearer(auto_error=False, description="An API key of this service, or a token of its issuer.")


@dataclass(frozen=True, slots=True)
class Service:
    """One store, served."""

    database: Database
    settings: Settings
    access: AccessSource | None = None
    """Who says which live references are open; None: every one is closed."""
    relations: Relations | None = None
    """Declared relations: answers then say what conflicts."""


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


ServiceOf = Annotated[Service, Depends(service_of)]
ReaderOf = Annotated[Reader, Depends(reader_of)]
TraceOf = Annotated[str, Depends(trace_of)]
