"""Digests: the canonical form of a state, the graph hash and the run digest (spec 1, invariants 5-8; spec 3, runs).

Owns: what is hashed and how. The graph hash is a homomorphic multiset hash (AdHash, Bellare-Micciancio 1997): each
record's 32-byte digest is expanded by SHAKE128 to 4,096 bits and the expansions are summed modulo 2^4096, so order does
not matter, a change costs one subtraction and one addition, and the best known attack (generalised birthday) costs
about 2^128. What is published is `sha256:` of the sum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from graphrag_provenance.model.identifiers import canonical_json

HASH_BYTES = 512
_MODULUS = 1 << (HASH_BYTES * 8)
EMPTY_SUM = bytes(HASH_BYTES)


def record_digest(kind: str, content: object) -> bytes:
    """32 bytes over one record's canonical content."""
    return hashlib.sha256(canonical_json([kind, content])).digest()


def expand(digest: bytes) -> int:
    """A record digest as a summand."""
    return int.from_bytes(hashlib.shake_128(digest).digest(HASH_BYTES), "little")


class MultisetHash:
    """A running sum over record digests. `add` and `remove` commute; the same multiset gives the same sum."""

    __slots__ = ("_sum",)

    def __init__(self, start: bytes = EMPTY_SUM) -> None:
        if len(start) != HASH_BYTES:
            raise ValueError(f"a multiset hash has {HASH_BYTES} bytes, not {len(start)}")
        self._sum = int.from_bytes(start, "little")

    def add(self, digest: bytes) -> None:
        """Count one record in."""
        self._sum += expand(digest)

    def remove(self, digest: bytes) -> None:
        """Count one record out."""
        self._sum -= expand(digest)

    def combine(self, other: MultisetHash) -> None:
        """Add everything `other` counted."""
        self._sum += other._sum

    def to_bytes(self) -> bytes:
        """The sum, 512 bytes, little-endian."""
        self._sum %= _MODULUS
        return self._sum.to_bytes(HASH_BYTES, "little")

    def graph_hash(self) -> str:
        """`sha256:` of the sum: what people compare."""
        return graph_hash(self.to_bytes())


def graph_hash(total: bytes) -> str:
    """`sha256:` of a stored sum."""
    return "sha256:" + hashlib.sha256(total).hexdigest()


def multiset(digests: Iterable[bytes]) -> MultisetHash:
    """The hash of a multiset of record digests."""
    total = MultisetHash()
    for digest in digests:
        total.add(digest)
    return total


RUN_DIGEST_FIELDS = (
    "seq", "run_id", "trace_id", "actor", "kind", "pipeline", "version", "started_at", "finished_at", "status",
    "counts", "inputs", "resumes", "policies_hash", "graph_hash", "previous",
)


def run_digest(run: Mapping[str, object]) -> str:
    """`sha256:` over the canonical JSON of RUN_DIGEST_FIELDS, the previous run's digest among them."""
    return "sha256:" + hashlib.sha256(canonical_json({name: run.get(name) for name in RUN_DIGEST_FIELDS})).hexdigest()
