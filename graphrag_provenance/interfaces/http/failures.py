"""How an error leaves the service: one body for all, and a status (spec 5, errors as JSON).

Owns: which status each error has, when it is worth trying again, and what a caller may read of it: of the store and its place, of the
issuer's keys and of the order of policies, nothing. The whole sentence goes to the operators' log. Leaves to others: the sentences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_provenance import errors
from graphrag_provenance.events import report
from graphrag_provenance.notation import problem

RETRY_SECONDS = 5
_STATUS: tuple[tuple[type[errors.ProvenanceError], int], ...] = (
    (errors.UnauthenticatedError, 401), (errors.AccessDeniedError, 403), (errors.UnknownClearanceError, 403),
    (errors.NotFoundError, 404), (errors.InputError, 422), (errors.StoreConflictError, 409), (errors.StoreTimeoutError, 504),
    (errors.StoreError, 503), (errors.IdentityUnavailableError, 503), (errors.ProvenanceError, 500),
)
_TOLD: Mapping[int, tuple[str, str]] = {
    403: ("This is not for this reader.", "Ask whoever gave out the token."),
    500: ("The service failed.", "Tell the operators the trace id of this answer."),
    503: ("The service cannot answer now.", "Try again in a few seconds."),
    504: ("That took too long.", "Ask for less: fewer hops, a relation, a scope, fewer claims."),
}
_BY_STATUS = {404: "not-found", 405: "method", 408: "timeout", 413: "too-large", 429: "too-many", 431: "too-large"}


class Json(JSONResponse):
    """A body of JSON, written as the command line writes it but for the line breaks."""

    def render(self, content: Any) -> bytes:
        """Its bytes."""
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "replace")


def failure(status: int, code: str, message: str, hint: str | None = None, headers: Mapping[str, str] | None = None) -> Json:
    """An error as programs read it."""
    more = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}
    return Json({"schema": 1, "error": {"code": code, "message": message, "hint": hint}}, status, headers={**more, **(headers or {})})


def told(error: errors.ProvenanceError) -> tuple[int, str, str | None]:
    """Status, sentence and advice of one of our errors, as a caller may read them; the whole of it goes to the operators."""
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    if status >= 500 or isinstance(error, errors.UnknownClearanceError):
        report("error", "a request failed", code=error.code, message=str(error))
        return status, *_TOLD[status]
    hint = error.hint
    if hint is not None and ("gprov " in hint or "--" in hint):  # advice for the command line
        hint = None
    return status, error.message, hint


def failure_of(error: errors.ProvenanceError) -> Json:
    """The answer to one of our errors."""
    status, message, hint = told(error)
    return failure(status, error.code, message, hint, {"WWW-Authenticate": "Bearer"} if status == 401 else None)


async def on_error(_: Request, error: Exception) -> Response:
    """Handler of our errors."""
    assert isinstance(error, errors.ProvenanceError)
    return failure_of(error)


async def on_invalid(_: Request, error: Exception) -> Response:
    """Handler of requests that do not fit their description."""
    assert isinstance(error, RequestValidationError)
    first: Mapping[str, Any] = error.errors()[0]
    return failure(422, "input", f"{_place(first['loc'])}: {problem(first)}.", "The description of every request: /openapi.json.")


async def on_http(_: Request, error: Exception) -> Response:
    """Handler of what the framework itself refuses: no such path, no such method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 400:  # a body that is no text
        return failure(422, "input", "The body is no JSON in UTF-8.")
    message = {404: "There is no such path.", 405: "This path has no such method."}.get(error.status_code, f"{error.detail}.")
    return failure(error.status_code, _BY_STATUS.get(error.status_code, "http"), message, None, error.headers)


def _place(parts: Sequence[Any]) -> str:
    return ".".join(str(part)[:100] for part in parts)
