"""The files of the page: one style sheet, one script, one icon; none from elsewhere.

Owns: their addresses, which carry a hash of their content, so that a browser may keep them for ever.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from starlette.responses import Response

_TYPES = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}
_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}


@dataclass(frozen=True, slots=True)
class Assets:
    """Address → (content, media type), and the address of each file."""

    files: dict[str, tuple[bytes, str]]
    css: str
    js: str
    icon: str

    def answer(self, path: str) -> Response | None:
        """The file of an address; None for one that there is not."""
        found = self.files.get(path)
        return None if found is None else Response(found[0], media_type=found[1], headers=_HEADERS)


def _read() -> Assets:
    folder = files("graphrag_provenance.interfaces.web") / "assets"
    held: dict[str, tuple[bytes, str]] = {}
    paths: dict[str, str] = {}
    for name, kind in _TYPES.items():
        content = (folder / name).read_bytes()
        paths[name] = f"/assets/{hashlib.sha256(content).hexdigest()[:16]}/{name}"
        held[paths[name]] = content, kind
    return Assets(held, paths["page.css"], paths["page.js"], paths["icon.svg"])


ASSETS = _read()
"""What is shipped."""
