"""How a page is made: templates, safe text, addresses, headers.

Owns: that everything a source wrote is escaped, that characters which are not to be seen or turn the direction of text are shown as
what they are, and what a browser may do with a page (the content security policy). Leaves to others: what is on it (`pages`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from graphrag_provenance.interfaces.web.assets import ASSETS
from graphrag_provenance.interfaces.web.sessions import Sessions
from graphrag_provenance.interfaces.wording import CHANGES, DIFFERS, GRADES, REASONS, WITHHELD
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.version import __version__

CSP = ("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
       "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
HEADERS = {"Content-Security-Policy": CSP, "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
           "Cross-Origin-Opener-Policy": "same-origin", "Referrer-Policy": "same-origin"}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_KEPT = {"\u200c", "\u200d"}  # joiners: words of some languages need them
_WIDE = {"W", "F"}


def seen(text: str) -> str:
    """A text of one line in which nothing is invisible: controls and marks of direction stand as ⟨U+202E⟩."""
    if text.isprintable():
        return text
    return "".join(_mark(character) for character in " ".join(text.splitlines()))


def _mark(character: str) -> str:
    if character == "\t":
        return " "
    if unicodedata.category(character) in _HIDDEN and character not in _KEPT:
        return f"⟨U+{ord(character):04X}⟩"
    return character


def address(path: str, **query: Any) -> str:
    """A link within the page; what is None or empty is left out."""
    pairs = [(name.rstrip("_"), value) for name, value in query.items() if value not in (None, "", False)]
    return f"{path}?{urlencode(pairs, doseq=True, errors='replace')}" if pairs else path


def entity_address(entity: Mapping[str, Any]) -> str:
    """`Type:id`."""
    return f"{entity['type']}:{entity['id']}"


def outside(url: str | None) -> str | None:
    """A link to a source, if it is one that a browser may follow."""
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return None
    return url if parts.scheme in ("http", "https") and parts.netloc else None


def instant(text: str | None) -> str:
    """An instant for people, to the second."""
    return "unknown" if not text else f"{text[:10]} {text[11:19]} UTC"


def fitting(text: str, columns: int) -> str:
    """A text that is no wider than so many columns: its end stays, since that is where ids differ."""
    text = seen(text)
    if _columns(text) <= columns:
        return text
    tail = columns // 3
    start, end = text, text
    while _columns(start) > columns - tail - 1:
        start = start[:-1]
    while _columns(end) > tail:
        end = end[1:]
    return f"{start}…{end}"


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in _WIDE else 0 if unicodedata.combining(c) else 1 for c in text)


def withheld_reason(text: str) -> tuple[str, str, str]:
    """(code, what it means, what it is about) of a reason as stored, `unknown-policy: pubilc`."""
    code, _, about = text.partition(": ")
    return code, WITHHELD.get(code, "see the documentation of this reason"), about


def _finalize(value: Any) -> Any:
    return seen(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_ENVIRONMENT = Environment(
    loader=PackageLoader("graphrag_provenance.interfaces.web"), autoescape=True, undefined=StrictUndefined, finalize=_finalize,
    trim_blocks=True, lstrip_blocks=True)
_ENVIRONMENT.globals.update(
    address=address, entity_address=entity_address, outside=outside, withheld_reason=withheld_reason, version=__version__,
    REASONS=REASONS, GRADES=GRADES, CHANGES=CHANGES, DIFFERS=DIFFERS, css=ASSETS.css, js=ASSETS.js, icon=ASSETS.icon)
_ENVIRONMENT.filters.update(instant=instant, fitting=fitting)


def page(template: str, request: Request, status: int = 200, headers: Mapping[str, str] | None = None, **shown: Any) -> HTMLResponse:
    """A page for the reader of a request. Its menu has what the reader's roles open, and nothing else."""
    reader: Reader | None = getattr(request.state, "reader", None)
    session: str = getattr(request.state, "session", "")
    sessions: Sessions = request.app.state.sessions
    roles = frozenset() if reader is None else reader.roles
    text = _ENVIRONMENT.get_template(template).render(
        reader=reader, auditor=Role.AUDITOR in roles, sees_runs=bool(roles & {Role.AUDITOR, Role.OPERATOR}),
        here=request.url.path, leaving=sessions.proof(session) if session else None, **shown)
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers={**HEADERS, **(headers or {})})
