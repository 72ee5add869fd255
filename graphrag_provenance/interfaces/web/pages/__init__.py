"""The pages, one module a subject, and how they are put into the service."""

from __future__ import annotations

import anyio
from fastapi import FastAPI

from graphrag_provenance.interfaces.http.identity import Identity
from graphrag_provenance.interfaces.web.assets import ASSETS
from graphrag_provenance.interfaces.web.gateway import Gateway
from graphrag_provenance.interfaces.web.pages import claims, graph, runs, signing
from graphrag_provenance.interfaces.web.sessions import Sessions

ROUTERS = (signing.router, graph.router, claims.router, runs.router)
_DOORS = 4
"""Sign-ins that are looked at at once."""
PUBLIC = ("/sign-in", "/sign-out", *ASSETS.files)
"""Pages that need no token; the guard has to know them."""


def add_to(app: FastAPI, identity: Identity) -> None:
    """Serve the pages too. Call it after everything that guards the service was added: a browser comes in before that."""
    app.state.sessions, app.state.identity, app.state.doors = Sessions(), identity, anyio.CapacityLimiter(_DOORS)
    for router in ROUTERS:
        app.include_router(router)
    app.add_middleware(Gateway, sessions=app.state.sessions)
