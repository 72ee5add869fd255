"""Whether two large sets of relationships are one, without holding either (spec 1, invariant 3).

Owns: the comparison of the relationships that should exist with those that do. A first reading adds up what is expected and
subtracts what is found, by buckets of the key; if every bucket is zero the two are equal. Only buckets that are not zero are
read again, so memory follows the damage, not the store. The summands are keyed by a secret of this verification: nobody can
prepare a relationship that cancels another one.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from graphrag_provenance.rules.invariants import Findings, Invariant

_BUCKETS = 4096


def fact(kind: str, source: list[Any], target: list[Any], properties: Mapping[str, Any]) -> bytes:
    """All of one relationship, as bytes to compare inside one verification; `source` and `target` are [tenant, type, id]."""
    return _bytes([kind, source, target, sorted(properties.items())])


def _bytes(value: object) -> bytes:
    # Python's own notation: as unambiguous as JSON here, it takes any value that somebody may have put there, in half the time.
    return repr(value).encode("utf-8", "backslashreplace")


class Balance:
    """The first reading: sums by bucket."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._sums = [0] * _BUCKETS

    def expect(self, tenant: object, edge_id: object, relationship: bytes) -> None:
        """A relationship that should exist."""
        self._sums[_bucket(tenant, edge_id)] += self._summand(relationship)

    def find(self, tenant: object, edge_id: object, relationship: bytes) -> None:
        """A relationship that does exist."""
        self._sums[_bucket(tenant, edge_id)] -= self._summand(relationship)

    def _summand(self, relationship: bytes) -> int:
        return int.from_bytes(hashlib.blake2b(relationship, digest_size=32, key=self._secret).digest(), "little")

    def unequal(self) -> frozenset[int]:
        """The buckets to read again."""
        return frozenset(number for number, total in enumerate(self._sums) if total)


class Comparison:
    """The second reading: what is in some buckets, item by item."""

    def __init__(self, buckets: Collection[int]) -> None:
        self._buckets = buckets
        self._expected: dict[bytes, tuple[object, str, bytes]] = {}
        self._found: dict[bytes, list[tuple[object, str, bytes]]] = {}

    def expect(self, tenant: object, edge_id: object, relationship: bytes) -> None:
        """A relationship that should exist."""
        if _bucket(tenant, edge_id) in self._buckets:
            self._expected[_bytes([tenant, edge_id])] = (tenant, str(edge_id), relationship)

    def find(self, tenant: object, edge_id: object, relationship: bytes, described: str) -> None:
        """A relationship that does exist; `described` stands for one that names no edge."""
        if _bucket(tenant, edge_id) in self._buckets:
            name = edge_id if isinstance(edge_id, str) else described
            self._found.setdefault(_bytes([tenant, edge_id]), []).append((tenant, name, relationship))

    def report(self, findings: Findings) -> None:
        """Say what is missing, too much, unfounded or different."""
        for key, (tenant, edge_id, expected) in self._expected.items():
            found = Counter(relationship for _, _, relationship in self._found.get(key, ()))
            if not found:
                findings.add(Invariant.RELATIONSHIP_MISSING, "published, without its typed relationship", tenant, edge_id)
            if found.total() > 1:
                findings.add(Invariant.RELATIONSHIP_DUPLICATE, "published, with more than one typed relationship", tenant, edge_id)
            if set(found) - {expected}:
                findings.add(Invariant.RELATIONSHIP_DIFFERS,
                             "type, ends or properties of the relationship are not those of the edge", tenant, edge_id)
        for key, unfounded in self._found.items():
            if key not in self._expected:
                for tenant, name, _ in unfounded:
                    findings.add(Invariant.RELATIONSHIP_UNFOUNDED, "a relationship without a published edge", tenant, name)


def _bucket(tenant: object, edge_id: object) -> int:
    return zlib.crc32(_bytes((tenant, edge_id))) % _BUCKETS
