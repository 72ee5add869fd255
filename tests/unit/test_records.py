"""What a record may say, and what each kind of bad input gets (spec 1)."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from graphrag_provenance.model.identifiers import MAX_ID_BYTES, RESERVED_TYPES
from graphrag_provenance.model.records import (
    RECORD_ADAPTERS,
    RECORD_KINDS,
    EdgeRecord,
    Polarity,
    Record,
    record_schema,
)

# Verbatim from the specification, the three dots of the hash included.
STANDARD = """
{"kind":"edge","edge_id":"E:dep:SYS_A->SYS_B","relation":"depends_on",
 "source":{"type":"System","id":"SYS_A"},"target":{"type":"System","id":"SYS_B"},
 "evidence":[{"doc":"POL-17@1.4","chunk":"c-0291","quote_hash":"sha256:…","span":[120,214],"policy":"internal"},
             {"doc":"RUNBOOK@2.1","chunk":"c-1044"}],
 "access":{"policy":"internal","tenant":"ACME"},
 "scope":{"environment":"production","region":"eu-west","valid_from":"2026-01-01T00:00:00Z","valid_to":null},
 "extracted_by":{"pipeline":"graph/etl","version":"2026.01"},"confidence":0.87}
"""
INJECTION = "OWNS`]->() DETACH DELETE n //"
HASH = "sha256:" + "0" * 64
MINIMAL: dict[str, dict[str, Any]] = {
    "edge": {
        "kind": "edge", "relation": "owns",
        "source": {"type": "Team", "id": "A"}, "target": {"type": "Team", "id": "B"},
        "evidence": [{"doc": "d1@1", "chunk": "c1"}],
    },
    "document": {"kind": "document", "doc_id": "d1", "title": "D", "source_type": "wiki"},
    "revision": {"kind": "revision", "doc": "d1@1", "effective_at": "2026-01-01T00:00:00Z"},
    "chunk": {
        "kind": "chunk", "doc": "d1@1", "chunk": "c1", "ordinal": 0, "content_sha256": HASH, "chunker_version": "1",
    },
    "entity": {"kind": "entity", "type": "Team", "id": "A", "name": "A"},
    "tombstone": {"kind": "tombstone", "doc_id": "d1", "deleted_in_revision": "d1@2"},
}
ALIAS = {"alias": "Team A", "method": "guess", "linker": "l", "linker_version": "1"}
REF = {"system": "conf", "space": "OPS"}


def read(kind: str, value: object) -> Record:
    return RECORD_ADAPTERS[kind].validate_json(json.dumps(value))


def changed(kind: str, path: str, value: object) -> dict[str, Any]:
    """The minimal record of a kind with the value at `path` (dots, numbers for list places) set."""
    record = deepcopy(MINIMAL[kind])
    *parents, last = path.split(".")
    place: Any = record
    for step in parents:
        place = place[int(step)] if step.isdigit() else place.setdefault(step, {})
    place[last] = value
    return record


def edge(value: object) -> EdgeRecord:
    record = read("edge", value)
    assert isinstance(record, EdgeRecord)
    return record


def test_the_standard_record_loads_verbatim() -> None:
    record = edge(json.loads(STANDARD))
    assert record.edge_id == "E:dep:SYS_A->SYS_B"
    assert [(e.doc, e.chunk, e.span, e.policy) for e in record.evidence] == [
        ("POL-17@1.4", "c-0291", (120, 214), "internal"),
        ("RUNBOOK@2.1", "c-1044", None, None),
    ]
    assert record.evidence[0].polarity is Polarity.SUPPORTS
    assert record.access.tenant == "ACME"
    assert record.scope.valid_from is not None
    assert record.scope.valid_to is None
    assert record.confidence == 0.87


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_the_minimal_record_of_each_kind_loads_from_text_and_from_values(kind: str) -> None:
    assert read(kind, MINIMAL[kind]) == RECORD_ADAPTERS[kind].validate_python(MINIMAL[kind])


def test_a_span_loads_from_a_list_of_python_too() -> None:
    record = changed("edge", "evidence.0.span", [0, 1])
    assert RECORD_ADAPTERS["edge"].validate_python(record) == read("edge", record)


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_every_required_field_is_required_and_no_other_is_taken(kind: str) -> None:
    for name in MINIMAL[kind]:
        with pytest.raises(ValidationError, match="Field required"):
            read(kind, {k: v for k, v in MINIMAL[kind].items() if k != name})
    with pytest.raises(ValidationError, match="Extra inputs"):
        read(kind, MINIMAL[kind] | {"polices": "internal"})


REFUSED: list[tuple[str, str, object, str]] = [
    ("edge", "evidence", "d1@1#c1", "valid (list|array)"),
    ("edge", "evidence", "u1,u2", "valid (list|array)"),
    ("edge", "evidence", [], "at least 1 item"),
    ("edge", "evidence", None, "valid (list|array)"),
    ("edge", "evidence", ["u1,u2"], "object|valid dictionary"),
    ("edge", "evidence", {"doc": "d1@1", "chunk": "c1"}, "valid (list|array)"),
    ("edge", "evidence.0.polices", "internal", "Extra inputs"),
    ("edge", "evidence.0.confidence", 1.2, "less than or equal to 1"),
    ("edge", "evidence.0.confidence", -0.1, "greater than or equal to 0"),
    ("edge", "evidence.0.confidence", "0.8", "valid number"),
    ("edge", "evidence.0.confidence", True, "valid number"),
    ("edge", "evidence.0.confidence", float("nan"), "finite"),
    ("edge", "evidence.0.confidence", float("inf"), "finite|less than"),
    ("edge", "confidence", 1.2, "less than or equal to 1"),
    ("edge", "confidence", "0.8", "valid number"),
    ("edge", "confidence", float("nan"), "finite"),
    ("edge", "evidence.0.span", [2, 1], "start < end"),
    ("edge", "evidence.0.span", [1, 1], "start < end"),
    ("edge", "evidence.0.span", [-1, 1], "greater than or equal to 0"),
    ("edge", "evidence.0.span", [False, True], "valid integer"),
    ("edge", "evidence.0.span", [0.0, 1.0], "valid integer"),
    ("edge", "evidence.0.span", ["0", "1"], "valid integer"),
    ("edge", "evidence.0.span", [0], "Field required"),
    ("edge", "evidence.0.span", [0, 1, 2], "at most 2"),
    ("edge", "evidence.0.span", [0, 2**63], "less than"),
    ("edge", "evidence.0.polarity", "denies", "'supports' or 'refutes'"),
    ("edge", "evidence.0.quote_hash", "44e9ff", "pattern"),
    ("edge", "evidence.0.doc", "d1", "not doc@version"),
    ("edge", "evidence.0.doc", "@1", "not doc@version"),
    ("edge", "evidence.0.doc", "d1@", "not doc@version"),
    ("edge", "evidence.0.chunk", "", "at least 1 character"),
    ("edge", "evidence.0.chunk", 7, "valid string"),
    ("edge", "evidence.0.acl_ref", {"system": "conf"}, "Field required"),
    ("edge", "relation", INJECTION, "does not match"),
    ("edge", "relation", "", "does not match"),
    ("edge", "relation", "depends on", "does not match"),
    ("edge", "relation", "depends_on\n", "does not match"),
    ("edge", "relation", "dépend", "does not match"),
    ("edge", "relation", "1st", "does not match"),
    ("edge", "relation", "a" * 65, "does not match"),
    ("edge", "relation", "evidenced_by", "reserved"),
    ("edge", "relation", "Names", "reserved"),
    ("edge", "source.type", INJECTION, "does not match"),
    ("edge", "target.type", "Assertion", "reserved"),
    ("edge", "source.id", " \u00a0\t", "blank"),
    ("edge", "source.id", "\u0958" * 600, "longer than"),  # in NFC, of which the index holds it
    ("edge", "source.id", "", "at least 1 character"),
    ("edge", "edge_id", "x" * (MAX_ID_BYTES + 1), "longer than"),
    ("edge", "edge_id", "ż" * (MAX_ID_BYTES // 2 + 1), "longer than"),
    ("edge", "access", None, "object|valid dictionary"),
    ("edge", "access.tenant", " ", "blank"),
    ("edge", "access.tenant", "", "at least 1 character"),
    ("edge", "scope.valid_from", "2026-01-01T00:00:00", "no time zone"),
    ("edge", "scope.valid_from", "2026-01-01", "no time of day"),
    ("edge", "scope.valid_from", "2026-01-01T00:00:00.1234567Z", "finer than a microsecond"),
    ("edge", "scope.valid_from", 1767225600, "ISO 8601"),
    ("edge", "scope", {"valid_from": "2026-01-01T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}, "before valid_to"),
    ("edge", "scope", {"valid_from": "2026-01-02T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}, "before valid_to"),
    ("edge", "attributes", {"nested": {"a": 1}}, "attributes"),
    ("edge", "attributes", {"mixed": [1, "a"]}, "attributes"),
    ("edge", "attributes", {"none": None}, "attributes"),
    ("edge", "attributes", {"big": 2**63}, "attributes"),
    ("edge", "attributes", {"big": [1.5, 2**63]}, "attributes"),
    ("edge", "attributes", {"inexact": [1.5, 2**53 + 1]}, "attributes"),
    ("edge", "attributes", {"nan": float("nan")}, "attributes"),
    ("edge", "attributes", {"": 1}, "attributes"),
    ("document", "doc_id", 17, "valid string"),
    ("document", "kind", "revision", "'document'"),
    ("revision", "effective_at", "2026-01-01T00:00:00", "no time zone"),
    ("revision", "supersedes", "d2@0", "another document"),
    ("revision", "supersedes", "d1@1", "supersede itself"),
    ("revision", "complete", 1, "valid boolean"),
    ("revision", "complete", "true", "valid boolean"),
    ("revision", "content_sha256", "sha256:" + "0" * 63, "pattern"),
    ("revision", "content_sha256", HASH + "\n", "pattern"),
    ("chunk", "ordinal", True, "valid integer"),
    ("chunk", "ordinal", -1, "greater than or equal"),
    ("chunk", "ordinal", 2**63, "less than"),
    ("chunk", "ordinal", "0", "valid integer"),
    ("chunk", "section_path", "1 Purpose", "valid (list|array)"),
    ("entity", "type", INJECTION, "does not match"),
    ("entity", "aliases", ["Team A"], "object|valid dictionary"),
    ("entity", "aliases", [ALIAS | {"method": "fuzzy"}], "'exact', 'declared' or 'guess'"),
    ("tombstone", "deleted_in_revision", "d1", "not doc@version"),
]


@pytest.mark.parametrize(("kind", "path", "value", "message"), REFUSED)
@pytest.mark.parametrize("form", ["text", "values"])
def test_bad_input_is_refused(kind: str, path: str, value: object, message: str, form: str) -> None:
    record = changed(kind, path, value)
    load = read if form == "text" else lambda kind, value: RECORD_ADAPTERS[kind].validate_python(value)
    with pytest.raises(ValidationError, match=message):
        load(kind, record)


LONE = "\ud800"  # a lone surrogate: JSON can write it, UTF-8 and the database cannot


@pytest.mark.parametrize(("kind", "path", "value"), [
    ("edge", "edge_id", LONE), ("edge", "source.id", LONE), ("edge", "evidence.0.doc", LONE + "@1"),
    ("edge", "evidence.0.chunk", LONE), ("edge", "evidence.0.policy", LONE), ("edge", "evidence.0.policy", [LONE]),
    ("edge", "access.tenant", LONE), ("edge", "scope.region", LONE), ("edge", "attributes", {"a": LONE}),
    ("edge", "attributes", {"a": [LONE]}), ("edge", "attributes", {LONE: 1}), ("document", "title", LONE),
    ("chunk", "text", LONE), ("chunk", "section_path", [LONE]), ("entity", "name", LONE),
])
def test_a_lone_surrogate_is_refused_everywhere(kind: str, path: str, value: object) -> None:
    record = changed(kind, path, value)
    with pytest.raises(ValidationError):
        read(kind, record)
    with pytest.raises(ValidationError, match=r"unicode|surrogate"):
        RECORD_ADAPTERS[kind].validate_python(record)


@pytest.mark.parametrize("name", sorted(RESERVED_TYPES))
def test_a_label_of_the_store_is_not_an_entity_type(name: str) -> None:
    with pytest.raises(ValidationError, match="reserved"):
        read("entity", changed("entity", "type", name))


ACCEPTED: list[tuple[str, str, object, object]] = [
    ("entity", "name", INJECTION, INJECTION),
    ("entity", "id", INJECTION, INJECTION),
    ("edge", "evidence.0.doc", "a<SEP>b,c|d@e#f'\");@1", "a<SEP>b,c|d@e#f'\");@1"),
    ("edge", "evidence.0.chunk", "\u0000", "\u0000"),
    ("edge", "evidence.0.polarity", "refutes", Polarity.REFUTES),
    ("edge", "evidence.0.confidence", 1, 1.0),
    ("edge", "confidence", 0, 0.0),
    ("edge", "relation", "a" * 64, "a" * 64),
    ("edge", "edge_id", "x" * MAX_ID_BYTES, "x" * MAX_ID_BYTES),
    ("edge", "attributes", {"a": 1, "b": 1.5, "c": True, "d": ["x"], "e": []}, None),
    ("edge", "attributes.a", [1.5, 2, 2**53], [1.5, 2.0, 2.0**53]),
    ("edge", "scope.valid_to", "2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
    ("revision", "supersedes", "d1@0", "d1@0"),
]


@pytest.mark.parametrize(("kind", "path", "value", "kept"), ACCEPTED)
def test_good_input_is_kept_as_it_is(kind: str, path: str, value: object, kept: object) -> None:
    place: Any = read(kind, changed(kind, path, value))
    for step in path.split("."):
        place = place[int(step)] if step.isdigit() else place[step] if isinstance(place, dict) else getattr(place, step)
    assert place == (value if kept is None else kept)
    assert type(place) is type(value if kept is None else kept)


def test_attributes_keep_the_type_they_were_written_with() -> None:
    written = {"int": 1, "float": 1.0, "bool": True, "ints": [1, 2], "floats": [1.0, 2.5], "bools": [True]}
    record = edge(changed("edge", "attributes", written))
    assert json.dumps(record.attributes) == json.dumps(written)


def test_three_hundred_evidence_items_are_three_hundred_evidence_items() -> None:
    items = [{"doc": f"d{n}@1", "chunk": "c"} for n in range(300)]
    assert len(edge(changed("edge", "evidence", items)).evidence) == 300


def test_minus_zero_is_zero() -> None:
    assert str(edge(changed("edge", "evidence.0.confidence", -0.0)).evidence[0].confidence) == "0.0"


# What a policy statement becomes. None is the one that says nothing; all others are looked up in the policy file.
STATEMENTS: list[tuple[object, str]] = [
    ("internal", "internal"),
    ("", ""),
    ("PUBLIC ", "PUBLIC "),
    ("pubilc", "pubilc"),
    (None, ""),
    ([], " []"),
    (["internal"], ' ["internal"]'),
    (1, " 1"),
    (True, " true"),
    ({"policy": "internal", "else": 1}, ' {"else": 1, "policy": "internal"}'),
]
SPEAKING = [
    ("edge", "evidence.0.policy"), ("edge", "access.policy"), ("document", "policy"), ("revision", "policy"),
    ("chunk", "policy"), ("entity", "policy"),
]


def _statement(record: Any, path: str) -> object:
    for step in path.split("."):
        record = record[int(step)] if step.isdigit() else getattr(record, step)
    return record


@pytest.mark.parametrize(("kind", "path"), SPEAKING)
@pytest.mark.parametrize(("written", "kept"), STATEMENTS)
def test_a_policy_that_is_written_is_a_statement_whatever_it_says(
    kind: str, path: str, written: object, kept: str
) -> None:
    assert _statement(read(kind, changed(kind, path, written)), path) == kept


@pytest.mark.parametrize(("kind", "path"), SPEAKING)
def test_only_an_absent_policy_says_nothing(kind: str, path: str) -> None:
    assert _statement(read(kind, MINIMAL[kind]), path) is None


def test_records_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        edge(MINIMAL["edge"]).relation = "x"


def test_reference_keys_tell_every_two_references_apart() -> None:
    fields = ("system", "space", "restriction_id", "incarnation")
    values: list[tuple[str | None, ...]] = [
        ("a", "b", None, None), ("a", "b", "c", None), ("a", "b", None, "c"), ("a", 'b","c', None, None),
        ("a", "null", None, None),
    ]
    keys = set()
    for value in values:
        ref = {name: part for name, part in zip(fields, value, strict=True) if part is not None}
        stored = edge(changed("edge", "evidence.0.acl_ref", ref)).evidence[0].acl_ref
        assert stored is not None
        assert json.loads(stored.key()) == list(value)
        keys.add(stored.key())
    assert len(keys) == len(values)


# JSON Schema: a checker for the words that our schemas use, and no others.
WORDS = {
    "$schema", "$defs", "$ref", "title", "description", "default", "examples", "format", "type", "const", "enum",
    "anyOf", "properties", "required", "additionalProperties", "propertyNames", "maxProperties", "items", "prefixItems",
    "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMaximum",
}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}


def subschemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = [schema]
    for word in ("items", "propertyNames", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            found += subschemas(schema[word])
    for inner in (*schema.get("anyOf", ()), *schema.get("prefixItems", ())):
        found += subschemas(inner)
    for word in ("properties", "$defs"):
        for inner in schema.get(word, {}).values():
            found += subschemas(inner)
    return found


def agrees(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether `value` is valid: enough of Draft 2020-12 for the words that decide the cases below."""
    if "$ref" in schema:
        return agrees(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    if "anyOf" in schema and not any(agrees(value, inner, root) for inner in schema["anyOf"]):
        return False
    if "type" in schema:
        fits = isinstance(value, TYPES[schema["type"]]) and (not isinstance(value, bool) or schema["type"] == "boolean")
        if not fits:
            return False
    if value != schema.get("const", value) or value not in schema.get("enum", [value]):
        return False
    if isinstance(value, str):
        return len(value) >= schema.get("minLength", 0)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if isinstance(value, list):
        places = [*schema.get("prefixItems", ()), *[schema.get("items", {})] * len(value)]
        return schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)) and all(
            agrees(item, inner, root) for item, inner in zip(value, places, strict=False)
        )
    if isinstance(value, dict):
        known = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        return set(schema.get("required", ())) <= set(value) and all(
            agrees(item, known[name], root) if name in known
            else rest if isinstance(rest, bool) else agrees(item, rest, root)
            for name, item in value.items()
        )
    return True


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_the_schema_is_draft_2020_12_and_uses_only_words_that_we_check(kind: str) -> None:
    schema = record_schema(kind)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["properties"]["kind"]["const"] == kind
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema
    for part in subschemas(schema):
        assert set(part) <= WORDS
        assert part.get("type", "null") in TYPES
        assert "$ref" not in part or part["$ref"].removeprefix("#/$defs/") in schema["$defs"]


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_every_field_of_every_object_is_documented_and_closed_in_the_schema(kind: str) -> None:
    schema = record_schema(kind)
    for part in [schema, *schema.get("$defs", {}).values()]:
        assert part.get("description"), part["title"]
        if part["type"] == "object":
            assert part["additionalProperties"] is False
            for name, field in part["properties"].items():
                assert field.get("description"), f"{part['title']}.{name}"


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_the_schema_takes_the_minimal_record_and_misses_each_required_field(kind: str) -> None:
    schema = record_schema(kind)
    assert agrees(MINIMAL[kind], schema, schema)
    assert set(schema["required"]) == set(MINIMAL[kind])


def test_the_schema_takes_the_standard_record() -> None:
    schema = record_schema("edge")
    assert agrees(json.loads(STANDARD), schema, schema)


@pytest.mark.parametrize(("kind", "path", "value"), [
    ("edge", "evidence", "u1,u2"), ("edge", "evidence", []), ("edge", "evidence.0.polices", "internal"),
    ("edge", "evidence.0.confidence", 1.2), ("edge", "evidence.0.confidence", "0.8"),
    ("edge", "evidence.0.confidence", True), ("edge", "evidence.0.span", [0]), ("edge", "evidence.0.span", [-1, 1]),
    ("edge", "evidence.0.polarity", "denies"), ("edge", "scope.valid_from", 1), ("edge", "attributes", {"a": {"b": 1}}),
    ("chunk", "ordinal", "0"), ("entity", "aliases", [ALIAS | {"method": "fuzzy"}]), ("revision", "complete", 1),
    ("document", "acl_ref", REF),
])
def test_the_schema_refuses_what_the_model_refuses(kind: str, path: str, value: object) -> None:
    schema, record = record_schema(kind), changed(kind, path, value)
    assert not agrees(record, schema, schema)
    with pytest.raises(ValidationError):
        read(kind, record)


@pytest.mark.parametrize(("kind", "path"), SPEAKING)
@pytest.mark.parametrize("written", [written for written, _ in STATEMENTS])
def test_the_schema_takes_any_policy_statement_and_suggests_no_null(kind: str, path: str, written: object) -> None:
    schema = record_schema(kind)
    assert agrees(changed(kind, path, written), schema, schema)
    for part in subschemas(schema):
        policy = part.get("properties", {}).get("policy")
        assert policy is None or "default" not in policy
    assert "access" not in schema["properties"] or "default" not in schema["properties"]["access"]


def test_there_is_no_schema_of_an_unknown_kind() -> None:
    with pytest.raises(KeyError):
        record_schema("edges")
