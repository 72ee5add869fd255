"""Numbers as people write them into a field or an address.

Owns: what is one. Leaves to others: what is said of one that is none (`pages`).
"""

from __future__ import annotations

MOST_RUN = 2**53


def whole(text: str, most: int = MOST_RUN) -> int | None:
    """The whole number, 0 or more, that a text is; None for anything else, and for more than `most`."""
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 18) or int(text) > most:
        return None
    return int(text)
