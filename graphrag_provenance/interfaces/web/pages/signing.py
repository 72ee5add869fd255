"""`/sign-in`, `/sign-out`, `/assets/…`: how a browser gets a session, and what needs none.

Owns: that a form counts only from our own page in the same browser, that a session is always a new one, and that the way back leads to a
page of ours. Leaves to others: what a token proves (`http.identity`), what a session is (`sessions`).
"""

from __future__ import annotations

import re
import secrets
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from graphrag_provenance.errors import InputError, NotFoundError, UnauthenticatedError
from graphrag_provenance.interfaces.http.identity import MOST_TOKEN, Identity
from graphrag_provenance.interfaces.web.assets import ASSETS
from graphrag_provenance.interfaces.web.rendering import HEADERS, page
from graphrag_provenance.interfaces.web.sessions import FORM, SESSION, Sessions, cookie_of, set_cookie

router = APIRouter(include_in_schema=False)
_MOST_FIELDS = 20
_TIE = re.compile(r"[A-Za-z0-9_-]{32}")


@router.get("/assets/{digest}/{name}")
async def asset(request: Request) -> Response:
    """A file of the page."""
    found = ASSETS.answer(request.url.path)
    if found is None:
        raise NotFoundError("There is no such file.")
    return found


@router.get("/sign-in")
async def form(request: Request, next: str = "/") -> Response:
    """The form that takes a token."""
    return _form(request, next)


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """A session for a valid token; else the form again, which does not say what is wrong with the token."""
    given = await _fields(request)
    back, token = given.get("next", "/"), given.get("token", "").strip()
    sessions, identity = _sessions(request), _identity(request)
    if not _ours(request) or not sessions.proved(_cookie(request, FORM), given.get("proof", "")):
        return _form(request, back, "The form was out of date. Please send it again.", 403)
    try:
        if not token or len(token) > MOST_TOKEN or not token.isascii():
            raise UnauthenticatedError("A valid token is needed.")
        await anyio.to_thread.run_sync(identity.reader, token, limiter=request.app.state.doors)
    except UnauthenticatedError:
        return _form(request, back, "This key or token is not valid, or not any more. Ask whoever gave it to you for another one.", 401)
    sessions.end(_cookie(request, SESSION))
    answer = RedirectResponse(_within(back), 303, headers=HEADERS)
    answer.headers.append("Set-Cookie", set_cookie(SESSION, sessions.begin(token), secure=_secure(request)))
    answer.headers.append("Set-Cookie", set_cookie(FORM, "", secure=_secure(request)))
    return answer


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session of this browser."""
    given, session = await _fields(request), _cookie(request, SESSION)
    sessions = _sessions(request)
    if not _ours(request) or not sessions.proved(session, given.get("proof", "")):
        return RedirectResponse("/", 303, headers=HEADERS)
    sessions.end(session)
    answer = RedirectResponse("/sign-in", 303, headers=HEADERS)
    answer.headers.append("Set-Cookie", set_cookie(SESSION, "", secure=_secure(request)))
    return answer


def _form(request: Request, back: str, problem: str | None = None, status: int = 200) -> Response:
    given = _cookie(request, FORM)
    tie = given if _TIE.fullmatch(given) else secrets.token_urlsafe(24)
    answer = page("sign_in.html", request, status, proof=_sessions(request).proof(tie), back=_within(back), problem=problem)
    answer.headers.append("Set-Cookie", set_cookie(FORM, tie, secure=_secure(request)))
    return answer


def _within(back: str) -> str:
    """Where to go after signing in: a path of ours, whatever was asked."""
    parts = urlsplit(back) if back.isprintable() and "\\" not in back else None
    inside = parts is not None and back.startswith("/") and not back.startswith("//") and not parts.netloc and not parts.scheme
    return back if inside else "/"


def _ours(request: Request) -> bool:
    """Whether a browser that says where a form comes from says: from here."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    return site in (None, "same-origin") and (origin is None or urlsplit(origin).netloc == request.headers.get("host"))


async def _fields(request: Request) -> dict[str, str]:
    body = (await request.body()).decode("utf-8", "replace")
    try:
        found = parse_qs(body, max_num_fields=_MOST_FIELDS, keep_blank_values=True)
    except ValueError:
        raise InputError(f"A form has at most {_MOST_FIELDS} fields.") from None
    return {name: values[-1] for name, values in found.items()}


def _cookie(request: Request, name: str) -> str:
    return cookie_of(request.headers.get("cookie", ""), name, secure=_secure(request))


def _secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _sessions(request: Request) -> Sessions:
    found: Sessions = request.app.state.sessions
    return found


def _identity(request: Request) -> Identity:
    found: Identity = request.app.state.identity
    return found
