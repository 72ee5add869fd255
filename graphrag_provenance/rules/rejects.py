"""Why a record is refused: the reason codes and their meaning (spec 1, "What bad input gets").

Owns: the enum and the reject value. A reject is a finding, not an error: the rest of the input loads.
"""

from __future__ import annotations

from enum import StrEnum


class RejectCode(StrEnum):
    """Stable code of a refused record."""

    NOT_UTF8 = "not-utf8"
    """The line is not UTF-8 text."""
    LINE_TOO_LONG = "line-too-long"
    """The line is longer than the setting `max_line_bytes`."""
    NOT_JSON = "not-json"
    """The line is not one JSON value (cut off, NaN, a lone surrogate, a NUL byte)."""
    DUPLICATE_KEY = "duplicate-key"
    """An object names a key twice; which of the two was meant is not guessed."""
    NOT_AN_OBJECT = "not-an-object"
    """The line is JSON, but no object."""
    UNKNOWN_KIND = "unknown-kind"
    """`kind` is missing or not one of the record kinds."""
    SOURCE_ROW = "source-row"
    """A row of a pipeline's input file cannot be read as the declared format: too few or too many fields, an open quote."""
    INVALID_FIELD = "invalid-field"
    """A field is missing, unknown, of the wrong type or out of range."""
    NO_EVIDENCE = "no-evidence"
    """The edge has an empty or missing evidence list."""
    EVIDENCE_NOT_A_LIST = "evidence-not-a-list"
    """`evidence` is a string or another single value; joined strings are not split."""
    TENANT_MISSING = "tenant-missing"
    """Neither the record nor `--tenant` names a tenant."""
    TENANT_MISMATCH = "tenant-mismatch"
    """Edge, endpoints and evidence sources do not belong to one tenant."""
    EDGE_ID_CONFLICT = "edge-id-conflict"
    """The edge id already names another relation, other endpoints or another scope."""
    SCOPE_REQUIRED = "scope-required"
    """The relation requires a scope field that the edge does not state."""
    RELATION_DOMAIN = "relation-domain"
    """The relation is not declared between these entity types."""
    UNREGISTERED_SOURCE = "unregistered-source"
    """`require_registered_sources` is on and no record declares the cited chunk."""
    QUOTE_ABSENT = "quote-absent"
    """`--verify-quotes strict`: the passage does not hold the quote at the span that the evidence names."""
    QUOTE_UNVERIFIABLE = "quote-unverifiable"
    """`--verify-quotes strict`: the evidence states a quote, but no span, or the store has no text of the passage."""
    REVISION_MUTATED = "revision-mutated"
    """The same revision id with another content hash: an id that does not move with the text proves nothing."""
    CHUNK_MUTATED = "chunk-mutated"
    """The same chunk, cut by the same chunker version, with another content hash."""
    CONTENT_HASH_MISMATCH = "content-hash-mismatch"
    """`content_sha256` is not the hash of `text`."""
    REVISION_SELF_CHECK = "revision-self-check"
    """Two fields of a revision that must agree do not (the message names the pair)."""
    FUTURE_DATE = "future-date"
    """`effective_at` or `ingested_at` lies in the future: the state cannot be in force, or the clock is wrong."""


class Refused(Exception):
    """Raised inside the rules when one record must be refused; the loader turns it into a reject line."""

    def __init__(self, code: RejectCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
