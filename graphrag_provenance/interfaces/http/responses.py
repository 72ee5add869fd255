"""How an endpoint is declared: its answer, and every way in which it may fail (spec 5, OpenAPI).

Owns: which failures an endpoint may have, in the description. Leaves to others: what makes them (`failures`, `guard`).
"""

from __future__ import annotations

from typing import Any

from graphrag_provenance.interfaces.http.failures import Json
from graphrag_provenance.interfaces.http.shapes.base import Failure

_RETRY = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "string"}}}
_FAILURES: dict[int, dict[str, Any]] = {
    401: {"description": "No valid token.", "headers": {"WWW-Authenticate": {"schema": {"type": "string"}}}},
    403: {"description": "The reader lacks a role, or its clearances are unknown to the store."},
    404: {"description": "There is no such thing, or the reader may not see it: the same answer."},
    408: {"description": "The body did not arrive in time."},
    409: {"description": "Somebody else writes, what is to be written differs from what is recorded, or two things asked do not fit."},
    413: {"description": "The body is too long."},
    422: {"description": "The request does not fit its description, or asks for what cannot be asked."},
    429: {"description": "The reader asks too often.", "headers": _RETRY},
    500: {"description": "The service failed."},
    503: {"description": "The store, or what proves tokens, does not answer, or too much is going on.", "headers": _RETRY},
    504: {"description": "It took too long."},
}
_ALWAYS = (401, 403, 408, 413, 422, 429, 500, 503, 504)


def answers(shape: Any, *also: int, of: str = "The answer.") -> dict[str, Any]:
    """What a route decorator takes: the shape of the answer, and the failures besides those that every endpoint may have."""
    failures = {status: {**_FAILURES[status], "model": Failure} for status in sorted({*_ALWAYS, *also})}
    return {"response_class": Json, "responses": {200: {"model": shape, "description": of}, **failures}}
