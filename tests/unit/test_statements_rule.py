"""What a repeated record does to the node that stands for it (spec 1, records): what accumulates, what is restated, what is refused."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest

from graphrag_provenance.model.records import ChunkRecord, DocumentRecord, EntityRecord, RevisionRecord, TombstoneRecord
from graphrag_provenance.rules.rejects import Refused, RejectCode
from graphrag_provenance.rules.statements import (
    counts,
    entity_counts,
    merge_attributes,
    merge_chunk,
    merge_document,
    merge_entity,
    merge_revision,
    merge_tombstone,
    node_digest,
    restate,
    union,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ACL = {"system": "wiki", "space": "s", "restriction_id": "1"}


def sha(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def document(**more: Any) -> DocumentRecord:
    return DocumentRecord.model_validate({"kind": "document", "doc_id": "d", "tenant": "T", "source_type": "wiki", "title": "D"} | more)


def revision(**more: Any) -> RevisionRecord:
    stated = {"kind": "revision", "doc": "d@1", "tenant": "T", "effective_at": "2026-01-01T00:00:00Z"} | more
    return RevisionRecord.model_validate(stated, strict=False)


def chunk(text: str = "one", **more: Any) -> ChunkRecord:
    stated = {"kind": "chunk", "doc": "d@1", "chunk": "c", "tenant": "T", "section_path": ["A"], "ordinal": 1,
              "text": text, "content_sha256": sha(text), "chunker_version": "k1"} | more
    return ChunkRecord.model_validate(stated, strict=False)


def entity(**more: Any) -> EntityRecord:
    return EntityRecord.model_validate({"kind": "entity", "type": "System", "id": "A", "tenant": "T", "name": "Alpha"} | more, strict=False)


@pytest.mark.parametrize(("old", "new", "seq", "changed"), [
    (None, {"a": 1, "b": None}, 2, {"a": 1, "stated": 2}),
    ({"since": 1}, {"a": 1}, 2, {"a": 1, "stated": 2}),  # a placeholder: nothing was stated
    ({"a": 1, "stated": 1}, {"a": 1}, 2, {}),
    ({"a": 2, "stated": 1}, {"a": 1}, 2, {"a": 1, "stated": 2}),  # a later run states it anew
    ({"a": 2, "stated": 1}, {"a": None}, 2, {}),
    ({"a": 2, "stated": 2}, {"a": 1}, 2, {}),  # within a run the greater stays
    ({"a": 1, "stated": 2}, {"a": 2}, 2, {"a": 2}),
    ({"stated": 2}, {"a": 1}, 2, {"a": 1}),
    ({"a": ["x"], "stated": 1}, {"a": ("x",)}, 2, {}),
    ({"a": NOW, "stated": 1}, {"a": NOW}, 2, {}),
    ({"a": NOW, "stated": 1}, {"a": NOW.replace(year=2027)}, 2, {"a": NOW.replace(year=2027), "stated": 2}),
])
def test_a_later_run_restates_and_within_a_run_the_greater_stays(
    old: dict[str, Any] | None, new: dict[str, Any], seq: int, changed: dict[str, Any],
) -> None:
    assert restate(old, new, seq) == changed


@pytest.mark.parametrize(("old", "new", "later", "merged"), [
    (None, {}, True, None),
    ('{"a":1}', {}, True, '{"a":1}'),
    (None, {"b": 1, "a": 2}, False, '{"a":2,"b":1}'),
    ('{"a":2}', {"a": 1}, True, '{"a":1}'),
    ('{"a":2}', {"a": 1}, False, '{"a":2}'),
    ('{"a":1}', {"a": 2, "b": 0}, False, '{"a":2,"b":0}'),
])
def test_attributes_are_merged_key_by_key(old: str | None, new: dict[str, Any], later: bool, merged: str | None) -> None:
    assert merge_attributes(old, new, later=later) == merged


def test_statements_only_accumulate() -> None:
    assert union(None, "b", None, "a") == ["a", "b"]
    assert union(["c", "a"], "b") == ["a", "b", "c"]


def test_a_document_is_merged_with_what_is_there() -> None:
    first = merge_document(None, "T", document(policy="internal", attributes={"a": 1}), 1)
    assert first == {"tenant": "T", "doc_id": "d", "since": 1, "title": "D", "source_type": "wiki", "stated": 1, "attributes": '{"a":1}',
                     "policies": ["internal"], "registered": True}
    assert merge_document(first, "T", document(policy="internal", attributes={"a": 1}), 2) == first
    second = merge_document(first, "T", document(title="E", policy="secret", attributes={"a": 0}), 2)
    assert second == first | {"title": "E", "stated": 2, "attributes": '{"a":0}', "policies": ["internal", "secret"]}
    assert merge_document(first, "T", document(attributes={"a": 0}), 1)["attributes"] == '{"a":1}'  # within the run: the greater
    assert merge_document(first | {"head": "d@1"}, "T", document(), 3)["head"] == "d@1"


@pytest.mark.parametrize(("doc_id", "source_type", "agrees"), [
    ("conf:1", "confluence", True), ("confluence:1", "conf", True), ("conf:1", "sharepoint", False), ("plain", "sharepoint", True),
])
def test_a_document_id_and_its_source_type_name_one_system(doc_id: str, source_type: str, agrees: bool) -> None:
    if agrees:
        assert merge_document(None, "T", document(doc_id=doc_id, source_type=source_type), 1)["doc_id"] == doc_id
    else:
        with pytest.raises(Refused) as refused:
            merge_document(None, "T", document(doc_id=doc_id, source_type=source_type), 1)
        assert refused.value.code is RejectCode.REVISION_SELF_CHECK


def test_a_revision_is_merged_with_what_is_there() -> None:
    first = merge_revision(None, "T", revision(policy="internal", acl_ref=ACL), 3, NOW)
    assert (first["since"], first["complete"], first["registered"], first["version"], first["doc_id"]) == (3, False, True, "1", "d")
    assert (first["policies"], len(first["acl"]), first["tenant"], first["doc"]) == (["internal"], 1, "T", "d@1")
    assert merge_revision(first, "T", revision(policy="internal", acl_ref=ACL), 4, NOW) == first
    whole = merge_revision(first, "T", revision(complete=True, policy="secret"), 4, NOW)
    assert whole == first | {"complete": True, "stated": 4, "policies": ["internal", "secret"]}
    assert merge_revision(whole, "T", revision(), 5, NOW)["complete"] is True  # not said again is not taken back
    placeholder = {"tenant": "T", "doc": "d@1", "since": 1, "registered": False, "complete": False}
    assert merge_revision(placeholder, "T", revision(), 4, NOW)["since"] == 4  # it arrives with its record


@pytest.mark.parametrize(("old", "new", "refused"), [
    (None, sha("b"), False), (sha("a"), None, False), (sha("a"), sha("a"), False), (sha("a"), sha("b"), True),
])
def test_a_revision_does_not_change_its_content(old: str | None, new: str | None, refused: bool) -> None:
    stored = merge_revision(None, "T", revision(content_sha256=old), 1, NOW)
    if refused:
        with pytest.raises(Refused) as told:
            merge_revision(stored, "T", revision(content_sha256=new), 2, NOW)
        assert told.value.code is RejectCode.REVISION_MUTATED
    else:
        merge_revision(stored, "T", revision(content_sha256=new), 2, NOW)


def test_a_date_may_be_ahead_by_the_skew_of_clocks_and_no_more() -> None:
    for name in ("effective_at", "ingested_at"):
        merge_revision(None, "T", revision(**{name: "2026-06-01T00:05:00Z"}), 1, NOW)
        with pytest.raises(Refused) as told:
            merge_revision(None, "T", revision(**{name: "2026-06-01T00:05:00.000001Z"}), 1, NOW)
        assert told.value.code is RejectCode.FUTURE_DATE


def test_a_chunk_is_merged_with_what_is_there() -> None:
    first = merge_chunk(None, "T", chunk(policy="internal", acl_ref=ACL), 1)
    assert (first["text"], first["has_text"], first["since"], first["stated"], first["registered"]) == ("one", True, 1, 1, True)
    assert (first["section_path"], first["ordinal"], first["chunker_version"]) == (["A"], 1, "k1")
    assert (first["policies"], len(first["acl"])) == (["internal"], 1)
    assert merge_chunk(first, "T", chunk(policy="internal", acl_ref=ACL), 2) == first
    bare = merge_chunk(None, "T", chunk().model_copy(update={"text": None}), 1)
    assert (bare["has_text"], bare.get("text")) == (False, None)
    told = merge_chunk(bare, "T", chunk(), 2)
    assert (told["has_text"], told["text"]) == (True, "one")
    purged = {name: value for name, value in first.items() if name != "text"} | {"purged": 2}
    again = merge_chunk(purged, "T", chunk(), 3)
    assert "text" not in again, "a text that was purged does not come back"
    assert again["purged"] == 2


@pytest.mark.parametrize(("old", "new", "seq", "text"), [
    ("k1", "k2", 2, "two"), ("k2", "k1", 2, "two"),  # a later run
    ("k1", "k2", 1, "two"), ("k2", "k1", 1, "one"),  # within a run: the greater version
])
def test_another_chunker_states_the_passage_anew(old: str, new: str, seq: int, text: str) -> None:
    first = merge_chunk(None, "T", chunk("one", chunker_version=old, policy="internal"), 1) | {"purged": 1}
    second = merge_chunk(first, "T", chunk("two", chunker_version=new, policy="secret"), seq)
    assert (second["text"], second["content_sha256"], second["has_text"]) == (text, sha(text), True)
    assert ("purged" in second) is (text == "one")
    assert second["policies"] == ["internal", "secret"]


def test_a_chunk_is_what_it_says() -> None:
    with pytest.raises(Refused) as told:
        merge_chunk(None, "T", chunk("one", content_sha256=sha("two")), 1)
    assert told.value.code is RejectCode.CONTENT_HASH_MISMATCH
    with pytest.raises(Refused) as told:
        merge_chunk(merge_chunk(None, "T", chunk("one"), 1), "T", chunk("two"), 2)
    assert told.value.code is RejectCode.CHUNK_MUTATED
    placeholder = {"tenant": "T", "doc": "d@1", "chunk": "c", "since": 1, "registered": False}
    assert merge_chunk(placeholder, "T", chunk("one"), 2)["text"] == "one"


def test_a_tombstone_makes_or_marks_a_document() -> None:
    record = TombstoneRecord.model_validate(
        {"kind": "tombstone", "doc_id": "d", "tenant": "T", "deleted_in_revision": "d@2", "chunk": "c"}, strict=False)
    first = merge_tombstone(None, "T", record, 4)
    assert first == {"tenant": "T", "doc_id": "d", "registered": False, "policies": [], "since": 4, "tombstones": ['["c","d@2"]']}
    assert counts(first)
    assert not counts({"registered": False})
    assert counts({"registered": True})
    assert merge_tombstone(first, "T", record, 5) == first


def test_an_entity_keeps_every_name_and_shows_the_least() -> None:
    first = merge_entity(None, "T", entity(), 1)
    assert first == {"tenant": "T", "type": "System", "id": "A", "since": 1, "names": ["Alpha"], "name": "Alpha", "policies": [],
                     "declared": True}
    second = merge_entity(first, "T", entity(name="Aleph", policy="internal", attributes={"a": 1}), 2)
    assert second == first | {"names": ["Aleph", "Alpha"], "name": "Aleph", "policies": ["internal"], "attributes": '{"a":1}', "stated": 2}
    merged = merge_entity(None, "T", entity(), 1, into="Z")
    assert (merged["id"], merged["names"], merged["name"]) == ("Z", [], "Z")


def test_an_entity_counts_once_it_is_declared_or_merged() -> None:
    assert [entity_counts(one) for one in ({"declared": False}, {"declared": True}, {"declared": False, "merged_into": "Z"})] == [
        False, True, True]
    node = {"tenant": "T", "type": "System", "id": "A", "names": [], "policies": []}
    assert node_digest("entity", node) != node_digest("entity", node | {"merged_into": "Z"}) != node_digest(
        "entity", node | {"merged_into": "Y"})
