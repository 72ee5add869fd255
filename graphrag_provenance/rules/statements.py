"""What repeated records mean: merging a record into what the store already holds (spec 1, records; invariants 6 and 7).

Owns: the merge of document, revision, chunk and entity records with the node that stands for them. Policy and access
statements, names and aliases only accumulate. Other fields are *restated*: a later run's value replaces an earlier one;
two different values inside one run leave the greater by canonical JSON, so the order of the input does not matter.
Nodes are plain property maps, exactly as Neo4j stores them. Each returns the new map, equal to the old when nothing changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from graphrag_provenance.model.identifiers import canonical_json, normalise_entity_id, point_id, split_revision
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.model.records import AclRef, ChunkRecord, DocumentRecord, EntityRecord, RevisionRecord, TombstoneRecord
from graphrag_provenance.rules.digests import record_digest
from graphrag_provenance.rules.heads import tombstone
from graphrag_provenance.rules.rejects import Refused, RejectCode

Node = dict[str, Any]
_SYSTEM = re.compile(r"([a-z][a-z0-9_-]{0,15}):(?![/\s])")
CLOCK_SKEW = timedelta(minutes=5)


def comparable(value: object) -> object:
    """A stored value in canonical form: instants as ISO text, tuples as lists."""
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, tuple):
        return list(value)
    return value


def restate(old: Node | None, new: Mapping[str, Any], seq: int) -> Node:
    """The fields that change. `old["stated"]` is the run that stated them last; a field that is None is not stated."""
    said = {name: value for name, value in new.items() if value is not None}
    if old is None or "stated" not in old:
        return {**said, "stated": seq}
    changed = {name: value for name, value in said.items() if comparable(old.get(name)) != comparable(value)}
    if old["stated"] < seq:
        return {**changed, "stated": seq} if changed else {}
    return {name: value for name, value in changed.items() if name not in old or _rank(value) > _rank(old[name])}


def _rank(value: object) -> bytes:
    return canonical_json(comparable(value))


def merge_attributes(old_text: str | None, new: Mapping[str, Any], *, later: bool) -> str | None:
    """Attributes as JSON text, merged key by key by the rule of `restate`."""
    if not new:
        return old_text
    old: dict[str, Any] = json.loads(old_text) if old_text else {}
    for name, value in new.items():
        if name not in old or later or canonical_json(value) > canonical_json(old[name]):
            old[name] = value
    return canonical_json(old).decode()


def union(old: Iterable[str] | None, *new: str | None) -> list[str]:
    """Sorted union of statements; None says nothing."""
    return sorted({*(old or ()), *(item for item in new if item is not None)})


def _acl_key(ref: AclRef | None) -> str | None:
    return None if ref is None else ref.key()


def _attributes(old: Node | None, new: Mapping[str, Any], seq: int) -> str | None:
    return merge_attributes((old or {}).get("attributes"), new, later=(old or {}).get("stated", 0) < seq)


def merge_document(old: Node | None, tenant: str, record: DocumentRecord, seq: int) -> Node:
    """A document record into its node. Raises Refused when the id's prefix and the source type name different systems."""
    prefix = system_prefix(record.doc_id)
    if prefix is not None and not _same_system(prefix, record.source_type):
        raise Refused(RejectCode.REVISION_SELF_CHECK, f"source_type {record.source_type!r} disagrees with the prefix of {record.doc_id!r}")
    base = old or {"tenant": tenant, "doc_id": record.doc_id, "since": seq}
    fields = restate(old, {"title": record.title, "source_type": record.source_type}, seq)
    attributes = _attributes(old, record.attributes, seq)
    if attributes != base.get("attributes"):
        fields |= {"attributes": attributes, "stated": seq}
    return {**base, **fields, "policies": union(base.get("policies"), record.policy), "registered": True}


def merge_revision(old: Node | None, tenant: str, record: RevisionRecord, seq: int, now: datetime) -> Node:
    """A revision record into its node. Raises Refused for a mutated, self-contradicting or future revision."""
    check_revision(record, now)
    if old and old.get("content_sha256") and record.content_sha256 and old["content_sha256"] != record.content_sha256:
        raise Refused(RejectCode.REVISION_MUTATED,
                      f"revision {record.doc!r} is stored with {old['content_sha256']}, now it says {record.content_sha256}")
    doc_id, version = split_revision(record.doc)
    fields = restate(old, {
        "effective_at": record.effective_at, "supersedes": record.supersedes, "source_url": record.source_url,
        "ingested_at": record.ingested_at, "content_sha256": record.content_sha256,
        "complete": True if record.complete else None,
    }, seq)
    base = old or {"tenant": tenant, "doc": record.doc, "doc_id": doc_id, "version": version, "since": seq, "complete": False}
    arrival = {} if old and old.get("registered") else {"since": seq}
    return {
        **base, **arrival, **fields,
        "policies": union(base.get("policies"), record.policy),
        "acl": union(base.get("acl"), _acl_key(record.acl_ref)),
        "registered": True,
    }


def merge_chunk(old: Node | None, tenant: str, record: ChunkRecord, seq: int) -> Node:
    """A chunk record into its node. Raises Refused for a hash that is not the text's, or a silently changed chunk.
    A text that was purged (`has_text` says that there was one) does not come back with a record that states it again."""
    if record.text is not None:
        actual = "sha256:" + hashlib.sha256(record.text.encode()).hexdigest()
        if actual != record.content_sha256:
            raise Refused(RejectCode.CONTENT_HASH_MISMATCH,
                          f"content_sha256 of chunk {record.chunk!r} is not the hash of its text ({actual})")
    if (old and old.get("registered") and old["content_sha256"] != record.content_sha256
            and old["chunker_version"] == record.chunker_version):
        raise Refused(RejectCode.CHUNK_MUTATED,
                      f"chunk {record.chunk!r} of {record.doc!r} is stored with {old['content_sha256']}, "
                      f"now it says {record.content_sha256}")
    base: Node = old or {"tenant": tenant, "doc": record.doc, "chunk": record.chunk, "since": seq}
    passage = {
        "section_path": list(record.section_path), "ordinal": record.ordinal, "chunker_version": record.chunker_version,
        "content_sha256": record.content_sha256,
    }
    if old and old.get("registered") and old["content_sha256"] != record.content_sha256:
        wins = old["stated"] < seq or _rank([record.chunker_version, record.content_sha256]) > _rank(
            [old["chunker_version"], old["content_sha256"]])
        if wins:  # another passage, cut by another chunker: that an earlier text was purged says nothing of it
            base = {name: value for name, value in base.items() if name != "purged"}
        fields = {**passage, "text": record.text, "has_text": record.text is not None, "stated": seq} if wins else {}
    else:
        fields = restate(old, passage, seq)
        if record.text is not None and not base.get("has_text"):
            fields |= {"text": record.text, "has_text": True}
    return {
        "has_text": False, "point_id": point_id(tenant, record.doc, record.chunk), **base, **fields,
        "policies": union(base.get("policies"), record.policy),
        "acl": union(base.get("acl"), _acl_key(record.acl_ref)),
        "registered": True,
    }


def merge_tombstone(old: Node | None, tenant: str, record: TombstoneRecord, seq: int) -> Node:
    """A tombstone into the node of its document."""
    base = old or {"tenant": tenant, "doc_id": record.doc_id, "registered": False, "policies": [], "since": seq}
    return {**base, "tombstones": union(base.get("tombstones"), tombstone(record.chunk, record.deleted_in_revision))}


def merge_entity(old: Node | None, tenant: str, record: EntityRecord, seq: int, *, into: str | None = None) -> Node:
    """An entity record into its node: names accumulate, the least one is shown. `into`: the id of the entity that the one of the
    record was merged into; then the name is an alias, and not counted here."""
    entity_id = normalise_entity_id(record.id) if into is None else into
    base = old or {"tenant": tenant, "type": record.type, "id": entity_id, "since": seq}
    names = union(base.get("names"), record.name if into is None else None)
    attributes = _attributes(old, record.attributes, seq)
    stated = {} if attributes == base.get("attributes") else {"attributes": attributes, "stated": seq}
    return {**base, **stated, "names": names, "name": min(names, default=entity_id), "policies": union(base.get("policies"), record.policy),
            "declared": True}


def system_prefix(doc_id: str) -> str | None:
    """The source system that a document id begins with (`conf:112458` → `conf`), or None: a title or URL has none."""
    match = _SYSTEM.match(doc_id)
    return match[1] if match else None


def _same_system(one: str, other: str) -> bool:
    """Whether two names mean one system: equal, or one abbreviates the other (`conf`, `confluence`)."""
    return one.startswith(other) or other.startswith(one)


def _names(url: str, version: str) -> bool:
    """Whether an address names a version: a number counts only whole, so neither v1 in v10 nor 2 in 112458."""
    before = r"(?<!\d)(?<!\d\.)" if version[0].isdigit() else ""
    after = r"(?!\d|\.\d)" if version[-1].isdigit() else ""
    return re.search(before + re.escape(version) + after, url) is not None


def check_revision(record: RevisionRecord, now: datetime) -> None:
    """The self-check of a revision (spec 3). Raises Refused naming the pair that disagrees."""
    doc_id, version = split_revision(record.doc)
    prefix = system_prefix(doc_id)
    if prefix is not None and record.acl_ref is not None and not _same_system(prefix, record.acl_ref.system):
        raise Refused(RejectCode.REVISION_SELF_CHECK,
                      f"acl_ref.system {record.acl_ref.system!r} disagrees with the prefix of {record.doc!r}")
    if record.source_url is not None and not _names(record.source_url, version):
        raise Refused(RejectCode.REVISION_SELF_CHECK,
                      f"source_url {record.source_url!r} does not name version {version!r} of {record.doc!r}")
    for name, instant in (("effective_at", record.effective_at), ("ingested_at", record.ingested_at)):
        if instant is not None and instant > now + CLOCK_SKEW:
            raise Refused(RejectCode.FUTURE_DATE, f"{name} {format_instant(instant)} lies in the future")


_CONTENT = {
    "document": ("tenant", "doc_id", "title", "source_type", "policies", "attributes", "head", "tombstones"),
    "revision": ("tenant", "doc", "effective_at", "supersedes", "source_url", "acl", "policies", "content_sha256",
                 "ingested_at", "complete"),
    "chunk": ("tenant", "doc", "chunk", "section_path", "ordinal", "content_sha256", "has_text", "chunker_version", "acl", "policies"),
    "entity": ("tenant", "type", "id", "names", "policies", "attributes"),
    "alias": ("tenant", "type", "id", "alias", "method", "linker", "linker_version"),
}


def counts(node: Mapping[str, Any]) -> bool:
    """Whether a document, revision or chunk is part of the graph hash: once a record is about it."""
    return bool(node["registered"]) or bool(node.get("tombstones"))


def entity_counts(node: Mapping[str, Any]) -> bool:
    """Whether an entity is part of the graph hash: once a record is about it, or it was merged into another one."""
    declared: bool = node["declared"]
    return declared or node.get("merged_into") is not None


def node_digest(kind: str, node: Node) -> bytes:
    """The digest of a declared document, revision, chunk, entity or alias: over its content, never over run numbers; that of a
    merged entity says into which one."""
    if node.get("merged_into") is not None:
        return record_digest("merged-entity", [node[name] for name in ("tenant", "type", "id", "merged_into")])
    return record_digest(kind, [comparable(node.get(name)) for name in _CONTENT[kind]])
