"""The standard records: the JSON that enters the store (spec 1, "The standard record").

Owns: field names, types and limits of every record kind, and the JSON Schema generated from them. Records are frozen,
unknown fields are errors, and no field is guessed or converted. Leaves to `rules`: what a record means.
"""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)

from graphrag_provenance.model.identifiers import (
    MAX_ID_BYTES,
    REVISION_PATTERN,
    canonical_json,
    check_entity_type,
    normalise_entity_id,
    relationship_type,
    split_revision,
)
from graphrag_provenance.model.instants import parse_instant


class Polarity(StrEnum):
    """What an evidence item says about its edge."""

    SUPPORTS = "supports"
    REFUTES = "refutes"


class AliasMethod(StrEnum):
    """How an alias was linked to its entity; a guess never completes a chain."""

    EXACT = "exact"
    DECLARED = "declared"
    GUESS = "guess"


def _instant(value: object) -> datetime:
    if isinstance(value, str):
        return parse_instant(value)
    raise ValueError("write a date-time as an ISO 8601 string with a time zone")


def _sized(value: str) -> str:
    if len(value) > MAX_ID_BYTES // 4 and len(value.encode()) > MAX_ID_BYTES:
        raise ValueError(f"longer than {MAX_ID_BYTES} bytes")
    return value


@lru_cache(maxsize=65536)
def _not_blank(value: str) -> str:
    canonical = normalise_entity_id(value)
    if not canonical:
        raise ValueError("is blank")
    _sized(canonical)  # it becomes the index key, and NFC can make text longer
    return _sized(value)


@lru_cache(maxsize=65536)
def _revision(value: str) -> str:
    split_revision(value)
    return _sized(value)


@lru_cache(maxsize=4096)
def _relation(value: str) -> str:
    relationship_type(value)
    return value


def _statement(value: object) -> str:
    """A policy statement as written. Null and non-strings are statements too: unknown ones, which fail closed.

    A non-string gets a leading space, which no policy name has: the number 1 is not the policy named "1".
    """
    if isinstance(value, str):
        return value
    return "" if value is None else " " + json.dumps(value, sort_keys=True, ensure_ascii=False)


def _positive_zero(value: float) -> float:
    return value + 0.0  # equal values must have equal digests, and -0.0 == 0.0


def _exact_float(value: object) -> object:
    if isinstance(value, int) and abs(value) > 2**53:
        raise ValueError("an integer of this size cannot be kept exactly")
    return value


def _no_default(schema: dict[str, Any]) -> None:
    del schema["default"]  # absent and null differ: a schema that says "default: null" would invite writing null


Instant = Annotated[
    datetime,
    BeforeValidator(_instant, json_schema_input_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
# Any text that UTF-8 can write. Pydantic looks for lone surrogates only where a string has a constraint.
Unicode = Annotated[str, Field(min_length=0)]
Identifier = Annotated[str, Field(min_length=1), AfterValidator(_sized)]
EntityId = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
EntityType = Annotated[str, AfterValidator(check_entity_type)]
RevisionId = Annotated[Unicode, AfterValidator(_revision), Field(json_schema_extra={"pattern": REVISION_PATTERN})]
Relation = Annotated[str, AfterValidator(_relation)]
Tenant = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
PolicyStatement = Annotated[
    Unicode | None,
    BeforeValidator(_statement, json_schema_input_type=Any),
    Field(json_schema_extra=_no_default, examples=["internal"]),
]
Sha256 = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
QuoteHash = Annotated[str, Field(pattern=r"^sha256:\S+$", max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=4_000)]
Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Position = Annotated[int, Field(ge=0, lt=2**63)]
Number = Annotated[float, BeforeValidator(_exact_float, json_schema_input_type=float)]
Attribute = bool | Int64 | Number | Unicode | list[bool] | list[Int64] | list[Number] | list[Unicode]
Attributes = Annotated[dict[Annotated[str, Field(min_length=1, max_length=200)], Attribute], Field(max_length=200)]
Confidence = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), AfterValidator(_positive_zero)]


class Record(BaseModel):
    """Base of all records: frozen, strict, no unknown field."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        revalidate_instances="never",
    )


class AclRef(Record):
    """A pointer into a live access source; resolved when something is read, never copied (spec 2)."""

    system: Identifier
    """The system that decides, for example `conf`."""
    space: Identifier
    """The space, project or folder inside that system."""
    restriction_id: Identifier | None = None
    """The restriction inside the space."""
    incarnation: Identifier | None = None
    """Stamp of this incarnation of the restriction, so that one created again under the same id grants nothing."""

    def key(self) -> str:
        """One unambiguous string: the JSON array of the four fields."""
        return canonical_json([self.system, self.space, self.restriction_id, self.incarnation]).decode()


class ExtractedBy(Record):
    """Who extracted a statement."""

    pipeline: Identifier
    """Name of the extracting pipeline."""
    version: Identifier
    """Its version."""


class EntityRef(Record):
    """An end of an edge."""

    type: EntityType
    """Entity type; becomes a label."""
    id: EntityId
    """Canonical id inside the tenant (normalised by the declared rule)."""
    tenant: Tenant | None = None
    """If stated, must equal the edge's tenant."""


class Evidence(Record):
    """One citation: where in which revision a relation is stated or refuted."""

    doc: RevisionId
    """The revision cited, `doc@ver`."""
    chunk: Identifier
    """Chunk id inside that revision."""
    quote_hash: QuoteHash | None = None
    """`sha256:` over the normalised quote."""
    span: Annotated[tuple[Position, Position], Field(strict=False)] | None = None
    """Half-open character range of the quote in the chunk's text."""
    policy: PolicyStatement = None
    """The item's own policy statement. Absent: says nothing. Null or unknown: the edge is withheld."""
    acl_ref: AclRef | None = None
    """Live access reference of this item."""
    polarity: Annotated[Polarity, Field(strict=False)] = Polarity.SUPPORTS
    """Whether the passage supports or refutes the edge."""
    confidence: Confidence | None = None
    """Confidence of the extraction, 0 to 1."""
    extracted_by: ExtractedBy | None = None
    """Who extracted it; default: the edge's `extracted_by`."""
    tenant: Tenant | None = None
    """If stated, must equal the edge's tenant."""

    @model_validator(mode="after")
    def _span_in_order(self) -> Evidence:
        if self.span is not None and self.span[0] >= self.span[1]:
            raise ValueError("span must be [start, end) with start < end")
        return self


class Access(Record):
    """Declared access of an edge: can only make it stricter than its evidence."""

    policy: PolicyStatement = None
    """Declared policy. Absent: the evidence alone decides."""
    tenant: Tenant | None = None
    """The edge's tenant."""


class Scope(Record):
    """Where and when an edge holds; an absent field holds for every value of it."""

    environment: Identifier | None = None
    """For example `production`."""
    region: Identifier | None = None
    """For example `eu-west`."""
    valid_from: Instant | None = None
    """Start of validity (included)."""
    valid_to: Instant | None = None
    """End of validity (excluded)."""

    @model_validator(mode="after")
    def _in_order(self) -> Scope:
        if self.valid_from is not None and self.valid_to is not None and self.valid_from >= self.valid_to:
            raise ValueError("valid_from must be before valid_to")
        return self


_NO_ACCESS = Access()
_EVERYWHERE = Scope()


class EdgeRecord(Record):
    """A typed, directed relation with its evidence."""

    kind: Literal["edge"]
    """Always `edge`."""
    edge_id: Identifier | None = None
    """Names one (tenant, relation, source, target, scope); derived when absent."""
    relation: Relation
    """Relation name; `depends_on` becomes the relationship type `DEPENDS_ON`."""
    source: EntityRef
    """Where the edge starts."""
    target: EntityRef
    """Where the edge ends."""
    evidence: Annotated[list[Evidence], Field(min_length=1)]
    """All citations; never a string, never empty, never cut."""
    access: Access = Field(default_factory=lambda: _NO_ACCESS)
    """Declared policy and tenant."""
    scope: Scope = Field(default_factory=lambda: _EVERYWHERE)
    """Where and when it holds."""
    extracted_by: ExtractedBy | None = None
    """Shorthand for the same statement on each evidence item that has none."""
    confidence: Confidence | None = None
    """Shorthand for the same statement on each evidence item that has none."""
    attributes: Attributes = Field(default_factory=dict)
    """Stored and returned, never interpreted."""


class DocumentRecord(Record):
    """A source under the id of its source system."""

    kind: Literal["document"]
    """Always `document`."""
    doc_id: Identifier
    """Id in the source system."""
    title: Text
    """Title, for people."""
    source_type: Identifier
    """Kind of source system, for example `confluence`."""
    tenant: Tenant | None = None
    """Tenant; default: `ingest --tenant`."""
    policy: PolicyStatement = None
    """Policy statement about every revision."""
    attributes: Attributes = Field(default_factory=dict)
    """Stored and returned, never interpreted."""


class RevisionRecord(Record):
    """One exact state of a document."""

    kind: Literal["revision"]
    """Always `revision`."""
    doc: RevisionId
    """`doc@ver`."""
    tenant: Tenant | None = None
    """Tenant; default: `ingest --tenant`."""
    effective_at: Instant
    """From when this state is in force."""
    supersedes: RevisionId | None = None
    """The revision it replaces."""
    source_url: Text | None = None
    """Address of exactly this revision in its source system."""
    acl_ref: AclRef | None = None
    """Live access reference."""
    policy: PolicyStatement = None
    """Policy statement about every chunk."""
    content_sha256: Sha256 | None = None
    """Hash of the whole content."""
    ingested_at: Instant | None = None
    """When the connector read it."""
    complete: bool = False
    """Whether this file holds all that was extracted from the revision."""

    @model_validator(mode="after")
    def _same_document(self) -> RevisionRecord:
        if self.supersedes is not None:
            if self.supersedes == self.doc:
                raise ValueError("a revision cannot supersede itself")
            if split_revision(self.supersedes)[0] != split_revision(self.doc)[0]:
                raise ValueError(f"supersedes {self.supersedes!r} is a revision of another document")
        return self


class ChunkRecord(Record):
    """A passage of one revision."""

    kind: Literal["chunk"]
    """Always `chunk`."""
    doc: RevisionId
    """The revision, `doc@ver`."""
    chunk: Identifier
    """Chunk id, unique inside its revision."""
    tenant: Tenant | None = None
    """Tenant; default: `ingest --tenant`."""
    section_path: list[Unicode] = Field(default_factory=list)
    """Headings above the passage, outermost first."""
    ordinal: Position
    """Position in the revision, from 0."""
    text: Unicode | None = None
    """The passage; may stay outside the store."""
    content_sha256: Sha256
    """Hash of the passage's UTF-8 text."""
    chunker_version: Identifier
    """Version of the chunker that cut it."""
    policy: PolicyStatement = None
    """Policy statement about this passage."""
    acl_ref: AclRef | None = None
    """Live access reference."""


class Alias(Record):
    """Another name of an entity, and how it was linked."""

    alias: EntityId
    """The other name."""
    method: Annotated[AliasMethod, Field(strict=False)]
    """`exact`, `declared` or `guess`."""
    linker: Identifier
    """Who linked it."""
    linker_version: Identifier
    """Version of the linker."""


class EntityRecord(Record):
    """A typed thing with a canonical id inside a tenant; seen again, it adds names and aliases."""

    kind: Literal["entity"]
    """Always `entity`."""
    type: EntityType
    """Entity type; becomes a label."""
    id: EntityId
    """Canonical id."""
    name: Text
    """Name, for people."""
    tenant: Tenant | None = None
    """Tenant; default: `ingest --tenant`."""
    aliases: list[Alias] = Field(default_factory=list)
    """Other names."""
    policy: PolicyStatement = None
    """If declared and cleared, the entity is visible without a visible edge."""
    attributes: Attributes = Field(default_factory=dict)
    """Stored and returned, never interpreted."""


class TombstoneRecord(Record):
    """A document or chunk was deliberately removed from its source."""

    kind: Literal["tombstone"]
    """Always `tombstone`."""
    doc_id: Identifier
    """The document."""
    tenant: Tenant | None = None
    """Tenant; default: `ingest --tenant`."""
    chunk: Identifier | None = None
    """The chunk; absent: the whole document."""
    deleted_in_revision: RevisionId
    """The revision in which it is gone."""

    @model_validator(mode="after")
    def _same_document(self) -> TombstoneRecord:
        if split_revision(self.deleted_in_revision)[0] != self.doc_id:
            raise ValueError(f"deleted_in_revision {self.deleted_in_revision!r} is a revision of another document")
        return self


AnyRecord = EdgeRecord | DocumentRecord | RevisionRecord | ChunkRecord | EntityRecord | TombstoneRecord
RECORD_KINDS: dict[str, type[Record]] = {
    "edge": EdgeRecord,
    "document": DocumentRecord,
    "revision": RevisionRecord,
    "chunk": ChunkRecord,
    "entity": EntityRecord,
    "tombstone": TombstoneRecord,
}
RECORD_ADAPTERS: dict[str, TypeAdapter[Record]] = {kind: TypeAdapter(model) for kind, model in RECORD_KINDS.items()}


def record_schema(kind: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of one record kind. Raises KeyError for an unknown kind."""
    schema = RECORD_KINDS[kind].model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
