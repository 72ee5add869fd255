"""From a line to a record, or to the reason why not (spec 1, "What bad input gets").

Owns: the checks that need one line only: encoding, JSON, kind, fields, tenant. Each line is checked alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import jiter
from pydantic import ValidationError

from graphrag_provenance.ingest.sources import Line
from graphrag_provenance.model.identifiers import normalise_entity_id
from graphrag_provenance.model.records import (
    RECORD_ADAPTERS,
    AnyRecord,
    EdgeRecord,
)
from graphrag_provenance.notation import line_fault, problem
from graphrag_provenance.rules.rejects import Refused, RejectCode

_SHOWN = 3
LINE_CODES = frozenset({RejectCode.LINE_TOO_LONG, RejectCode.NOT_JSON, RejectCode.NOT_UTF8, RejectCode.DUPLICATE_KEY,
                        RejectCode.NOT_AN_OBJECT, RejectCode.UNKNOWN_KIND})
"""Codes of `parse_line`: a line with one of them has no kind."""


_EDGE = re.compile(rb'\s*\{\s*"kind"\s*:\s*"edge"\s*,')
_OTHER = re.compile(rb'\s*\{\s*"kind"\s*:\s*"(?:document|revision|chunk|entity|tombstone)"\s*,')


def surely_edge(line: Line) -> bool:
    """Whether the line begins like an edge, so that the first pass need not parse it (the second one does)."""
    return _EDGE.match(line.data) is not None


def surely_no_edge(line: Line) -> bool:
    """Whether the line begins like another kind, so that the second pass need not parse it (the first one did)."""
    return _OTHER.match(line.data) is not None


def parse_line(line: Line) -> dict[str, Any]:
    """The JSON object of a line. Raises Refused for what is not one JSON object with a known kind."""
    value = parse_object(line)
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in RECORD_ADAPTERS:
        raise Refused(RejectCode.UNKNOWN_KIND, f"kind is {kind!r}; known kinds: {', '.join(RECORD_ADAPTERS)}")
    return value


def parse_object(line: Line) -> dict[str, Any]:
    """The JSON object of a line, whatever it says. Raises Refused for what is not one JSON object."""
    if line.too_long:
        raise Refused(RejectCode.LINE_TOO_LONG, f"the line has {line.too_long} bytes; the setting max_line_bytes allows fewer")
    try:
        value = jiter.from_json(line.data, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise _not_json(line.data, error) from None
    if not isinstance(value, dict):
        raise Refused(RejectCode.NOT_AN_OBJECT, f"a line is one JSON object, not {_json_type(value)}")
    return value


def record_key(value: Mapping[str, Any], default: str | None) -> tuple[str, ...] | None:
    """The key of the node that a record is about, if the record names it plainly; None: only full validation can tell."""
    kind = value["kind"]
    if kind == "edge":
        access = value.get("access")
        parts = [(access.get("tenant") if isinstance(access, dict) else None) or default, value.get("edge_id")]
    else:
        parts = [value.get("tenant") or default, *(value.get(name) for name in _KEYS[kind])]
    if not all(isinstance(part, str) for part in parts):
        return None
    key = tuple(str(part) for part in parts)
    return (*key[:2], normalise_entity_id(key[2])) if kind == "entity" else key


_KEYS = {"document": ("doc_id",), "revision": ("doc",), "chunk": ("doc", "chunk"), "entity": ("type", "id"),
         "tombstone": ("doc_id", "chunk")}


def _not_json(data: bytes, fault: ValueError) -> Refused:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Refused(RejectCode.NOT_UTF8, f"byte {error.start + 1} of the line is not UTF-8; write the file as UTF-8")
    code = RejectCode.DUPLICATE_KEY if "duplicate key" in str(fault).lower() else RejectCode.NOT_JSON
    return Refused(code, line_fault(fault))


def _json_type(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def parse_record(kind: str, data: bytes) -> AnyRecord:
    """The record of a line whose kind is known. Raises Refused with the fields at fault."""
    try:
        return RECORD_ADAPTERS[kind].validate_json(data)  # type: ignore[return-value]
    except ValidationError as error:
        raise _refused(kind, error) from None


def _refused(kind: str, error: ValidationError) -> Refused:
    problems = error.errors(include_url=False)
    code = RejectCode.INVALID_FIELD
    if kind == "edge":
        for one in problems:
            if one["loc"] == ("evidence",):
                empty = one["type"] in ("too_short", "missing") or one.get("input") is None
                code = RejectCode.NO_EVIDENCE if empty else RejectCode.EVIDENCE_NOT_A_LIST
        problems.sort(key=lambda one: one["loc"] != ("evidence",))  # what the code is about comes first
    parts = [f"{'.'.join(str(p) for p in one['loc']) or kind}: {problem(one)}" for one in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        parts.append(f"and {len(problems) - _SHOWN} more")
    return Refused(code, "; ".join(parts))


def tenant_of(record: AnyRecord, default: str | None) -> str:
    """The tenant of a record. Raises Refused when none is named, or when the parts of an edge name different ones."""
    stated = record.access.tenant if isinstance(record, EdgeRecord) else record.tenant
    tenant = stated or default
    if tenant is None:
        raise Refused(RejectCode.TENANT_MISSING, "the record names no tenant and --tenant was not given")
    if isinstance(record, EdgeRecord):
        _same_tenant(record, tenant)
    return tenant


def _same_tenant(record: EdgeRecord, tenant: str) -> None:
    for place, part in (("source", record.source), ("target", record.target)):
        if part.tenant is not None and part.tenant != tenant:
            raise Refused(RejectCode.TENANT_MISMATCH, f"{place} is of tenant {part.tenant!r}, the edge of {tenant!r}")
    for number, item in enumerate(record.evidence):
        if item.tenant is not None and item.tenant != tenant:
            raise Refused(RejectCode.TENANT_MISMATCH, f"evidence.{number} is of tenant {item.tenant!r}, the edge of {tenant!r}")
