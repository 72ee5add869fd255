"""Identifiers: what is a legal name, how ids are normalised, split and derived (spec 1).

Owns: the name pattern of relations and entity types, the versioned id normaliser, `doc@ver`, `Type:id` addresses,
and every derived id. Ids are data: nothing here or elsewhere splits them at any character but the last `@`.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
import uuid
from collections.abc import Sequence
from functools import lru_cache
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
RESERVED_TYPES = frozenset({
    "Alias", "Assertion", "Chunk", "Delta", "Document", "Entity", "Migration", "Past", "RecordedAnswer", "RecordedRetrieval",
    "RecordedStep", "Revision", "Run", "Staged", "Store", "Withheld",
})
RESERVED_RELATIONSHIPS = frozenset({"HAS_REVISION", "HAS_CHUNK", "HAS_RECORDED_STEP", "HOLDS", "EVIDENCED_BY", "NAMES"})
ID_RULE = "nfc-trim-collapse/1"
MAX_ID_BYTES = 2_000
_POINT_NAMESPACE = uuid.UUID("6f2d9a3c-52a4-5e0b-9d6f-3a2b1c0d4e5f")
REVISION_PATTERN = r"^[\s\S]+@[^@]+$"
"""What `split_revision` takes, for JSON Schema."""
_SPACES = re.compile(r"\s+")


@lru_cache(maxsize=4096)
def is_name(text: str) -> bool:
    """Whether `text` may become a label or relationship type."""
    return NAME.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def relationship_type(relation: str) -> str:
    """`depends_on` → `DEPENDS_ON`; `dependsOn` → `DEPENDSON`. Raises ValueError for an illegal or reserved name."""
    if not is_name(relation):
        raise ValueError(f"relation {relation!r} does not match {NAME.pattern}")
    name = relation.upper()
    if name in RESERVED_RELATIONSHIPS:
        raise ValueError(f"relation {relation!r} is reserved by the store")
    return name


@lru_cache(maxsize=4096)
def check_entity_type(entity_type: str) -> str:
    """The type itself. Raises ValueError for an illegal or reserved name."""
    if not is_name(entity_type):
        raise ValueError(f"entity type {entity_type!r} does not match {NAME.pattern}")
    if entity_type in RESERVED_TYPES:
        raise ValueError(f"entity type {entity_type!r} is reserved by the store")
    return entity_type


def normalise_entity_id(text: str) -> str:
    """The canonical entity id by rule `nfc-trim-collapse/1`: NFC, trimmed, inner white space one space, case kept."""
    if text.isascii() and text.isalnum():
        return text
    return _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip()


@lru_cache(maxsize=65536)
def split_revision(revision: str) -> tuple[str, str]:
    """`doc@ver` → (doc id, version), split at the **last** `@`. Raises ValueError when either side is empty."""
    doc_id, _, version = revision.rpartition("@")
    if not doc_id or not version:
        raise ValueError(f"{revision!r} is not doc@version")
    return doc_id, version


def parse_address(address: str) -> tuple[str, str]:
    """`Type:id` → (type, normalised id), split at the first `:`. Raises ValueError with what is wrong."""
    entity_type, _, entity_id = address.partition(":")
    if not is_name(entity_type) or not normalise_entity_id(entity_id):
        raise ValueError(f"{address!r} is not an address; write Type:id, for example System:LEDGER")
    return entity_type, normalise_entity_id(entity_id)


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
# What JSONEncoder makes anew for every value that it encodes takes longer than encoding a small one.
_chunks = c_make_encoder and c_make_encoder(None, _ENCODER.default, encode_basestring, None, ":", ",", True, False, False)


def canonical_text(value: object) -> str:
    """One text for one value: sorted keys, no spaces."""
    return _ENCODER.encode(value) if _chunks is None else "".join(_chunks(value, 0))


def canonical_json(value: object) -> bytes:
    """One byte string for one value of JSON: sorted keys, no spaces, UTF-8; docs/audit.md says it character by character.

    Raises ValueError for NaN, infinities and lone surrogates.
    """
    return canonical_text(value).encode()


def derive_id(prefix: str, parts: Sequence[object]) -> str:
    """A deterministic id over `parts` (unambiguous: the parts are hashed as one JSON array)."""
    return f"{prefix}:{hashlib.sha256(canonical_json(list(parts))).hexdigest()[:32]}"


def point_id(tenant: str, revision: str, chunk: str) -> str:
    """UUIDv5 that joins a chunk to its point in a vector store (spec 3)."""
    return str(uuid.uuid5(_POINT_NAMESPACE, canonical_json([tenant, revision, chunk]).decode()))


def citation(revision: str, chunk: str) -> str:
    """`doc@ver#chunk`, for people; never parsed back."""
    return f"{revision}#{chunk}"
