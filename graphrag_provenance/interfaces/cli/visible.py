"""Text on a terminal: what a source or a file wrote never moves the cursor, changes colours or makes a line of its own.

Owns: which characters are shown as escapes. Light, since every command loads it.
"""

from __future__ import annotations

import unicodedata

_KEPT = {"\t": " "}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def visible(text: str) -> str:
    """The text as one line; control, direction and other invisible characters are shown as escapes."""
    return text if text.isprintable() else "".join(_shown(character) for character in text)


def visible_lines(text: str) -> str:
    """The same of each line of a text of ours that has several."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _shown(character: str) -> str:
    if character in _KEPT:
        return _KEPT[character]
    if unicodedata.category(character) in _HIDDEN and character != "\u200d":
        return character.encode("unicode_escape").decode("ascii")
    return character
