"""Which records a node has already taken in: what makes a repeated load cheap (spec 1, invariant 6).

Owns: the fingerprint of an input line and the list of them that a node keeps. A record whose fingerprint is on the list
changes nothing and needs no validation. The list is an optimisation that fails safe: it is emptied whenever what a record
stated may no longer hold, and a record that is not on it is merged in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

SIZE = 16
_KEPT = 64


def salt(*conditions: object) -> bytes:
    """A key over everything besides the line that decides how it is read (default tenant, declared relations …)."""
    return blake2b(repr(conditions).encode("utf-8", "surrogatepass"), digest_size=32).digest()


def fingerprint(line: bytes, key: bytes) -> bytes:
    """16 bytes that stand for one input line read under `key`."""
    return blake2b(line, digest_size=SIZE, key=key).digest()


def holds(records: bytes | None, wanted: bytes) -> bool:
    """Whether a node's list names a fingerprint (at a multiple of its size, never across two)."""
    if records is None:
        return False
    at = records.find(wanted)
    while at >= 0 and at % SIZE:
        at = records.find(wanted, at + 1)
    return at >= 0


def joined(*lists: bytes | None) -> bytes:
    """The list of a node that took in what others had taken in."""
    return b"".join(one or b"" for one in lists)[-_KEPT * SIZE:]


def noted(old: Mapping[str, Any] | None, new: dict[str, Any], taken: bytes, *, changed: bool | None = None) -> dict[str, Any]:
    """`new` with the record's fingerprint on its list; `old` itself when the record changed nothing (`changed`: whether it did,
    where the node alone does not tell). A record that restated a field starts the list anew, since an earlier one, seen again,
    would state the field back."""
    if old is not None and not (new != old if changed is None else changed):
        return dict(old)
    if old is None or old.get("stated") != new.get("stated") or not old.get("records"):
        return {**new, "records": taken}
    kept: bytes = old["records"]
    return {**new, "records": kept if holds(kept, taken) else (kept + taken)[-_KEPT * SIZE:]}
