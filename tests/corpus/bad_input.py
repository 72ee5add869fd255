"""Input that is wrong in one way each, and the code that each must get (spec 1, "What bad input gets")."""

from __future__ import annotations

import json
from typing import Any

from corpus.records import Record, chunk, cites, document, edge, entity, revision

GOOD = edge("System:A", "owns", "System:B", cites("d1@1#c1", policy="public"))


def line(record: Record, **changed: Any) -> bytes:
    return json.dumps(record | changed).encode()


def spliced(before: bytes, after: bytes, record: Record = GOOD) -> bytes:
    """The record's JSON with one piece of text replaced."""
    text = json.dumps(record, separators=(",", ":")).encode()
    assert before in text
    return text.replace(before, after, 1)


def evidence(**changed: Any) -> bytes:
    return line(GOOD, evidence=[cites("d1@1#c1", policy="public") | changed])


CONFIDENT = GOOD | {"confidence": 0.5}
LONG = 3_000
BAD: dict[str, tuple[bytes, str]] = {
    "broken JSON": (b'{"kind":"edge",', "not-json"),
    "cut off inside a string": (line(GOOD)[:-20], "not-json"),
    "two objects on a line": (line(GOOD) + line(GOOD), "not-json"),
    "a comment": (b"// " + line(GOOD), "not-json"),
    "single quotes": (b"{'kind':'edge'}", "not-json"),
    "a raw NUL byte in a string": (spliced(b'"System"', b'"Sys\0tem"'), "not-json"),
    "a raw NUL byte between fields": (spliced(b'"kind":', b'\0"kind":'), "not-json"),
    "only NUL bytes": (b"\0" * 64, "not-json"),
    "a raw control character": (spliced(b'"A"', b'"A\x1f"'), "not-json"),
    "NaN": (spliced(b"0.5", b"NaN", CONFIDENT), "not-json"),
    "Infinity": (spliced(b"0.5", b"Infinity", CONFIDENT), "not-json"),
    "minus Infinity": (spliced(b"0.5", b"-Infinity", CONFIDENT), "not-json"),
    "a lone high surrogate": (spliced(b'"A"', b'"A\\ud800"'), "not-json"),
    "a lone low surrogate": (spliced(b'"A"', b'"\\udc00A"'), "not-json"),
    "surrogates in the wrong order": (spliced(b'"A"', b'"\\udc00\\ud800"'), "not-json"),
    "a lone surrogate in a policy": (spliced(b'"public"', b'"\\ud800"'), "not-json"),
    "a surrogate written as UTF-8": (spliced(b'"A"', b'"\xed\xa0\x80"'), "not-utf8"),
    "10,000 levels of lists": (b"[" * 10_000 + b"]" * 10_000, "not-json"),
    "10,000 levels of objects": (b'{"kind":"edge","attributes":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001, "not-json"),
    "an unclosed nest": (b'{"a":' * 10_000, "not-json"),
    "an integer of 10,000 digits": (spliced(b"0.5", b"1" * 10_000, CONFIDENT), "not-json"),
    "a key twice": (spliced(b'"kind":', b'"kind":"edge","kind":'), "duplicate-key"),
    "a nested key twice": (spliced(b'"policy":', b'"policy":"secret","policy":'), "duplicate-key"),
    "a nested key twice in an end": (spliced(b'"id":"A"', b'"id":"A","id":"A"'), "duplicate-key"),
    "Latin-1": (spliced(b'"A"', b'"M\xfcnchen"'), "not-utf8"),
    "an overlong encoding": (spliced(b'"A"', b'"\xc0\xaf"'), "not-utf8"),
    "a cut-off character": (spliced(b'"A"', b'"\xe2\x82"'), "not-utf8"),
    "UTF-16 with a mark": (json.dumps(GOOD).encode("utf-16"), "not-utf8"),
    "UTF-16 without a mark": (json.dumps(GOOD).encode("utf-16-le"), "not-json"),
    "a byte-order mark inside the file": (b"\xef\xbb\xbf" + line(GOOD), "not-json"),
    "a list": (b"[1]", "not-an-object"),
    "a string": (b'"edge"', "not-an-object"),
    "null": (b"null", "not-an-object"),
    "a number": (b"17", "not-an-object"),
    "no kind": (b"{}", "unknown-kind"),
    "an unknown kind": (line(GOOD, kind="Edge"), "unknown-kind"),
    "a kind that is a list": (line(GOOD, kind=["edge"]), "unknown-kind"),
    "confidence 1.2": (line(GOOD, confidence=1.2), "invalid-field"),
    'confidence "0.8"': (line(GOOD, confidence="0.8"), "invalid-field"),
    "confidence true": (line(GOOD, confidence=True), "invalid-field"),
    "confidence 1e400": (spliced(b"0.5", b"1e400", CONFIDENT), "invalid-field"),
    "confidence of 2**70": (line(GOOD, confidence=2**70), "invalid-field"),
    "a huge span": (evidence(span=[0, 2**63]), "invalid-field"),
    "a huge ordinal": (line(chunk("d1@1", "c1"), ordinal=2**64), "invalid-field"),
    "a huge attribute": (line(GOOD, attributes={"n": 2**63}), "invalid-field"),
    "an unknown field": (line(GOOD, polices="public"), "invalid-field"),
    "an unknown field with a huge name": (line(GOOD, **{"x" * 5_000: 1}), "invalid-field"),
    "a document without version": (evidence(doc="d1"), "invalid-field"),
    "evidence as a string": (line(GOOD, evidence="d1@1#c1"), "evidence-not-a-list"),
    "evidence as a joined string": (line(GOOD, evidence="u1,u2"), "evidence-not-a-list"),
    "evidence as an object": (line(GOOD, evidence={"doc": "d1@1", "chunk": "c1"}), "evidence-not-a-list"),
    "an empty list of evidence": (line(GOOD, evidence=[]), "no-evidence"),
    "evidence null": (line(GOOD, evidence=None), "no-evidence"),
    "no evidence": (json.dumps({k: v for k, v in GOOD.items() if k != "evidence"}).encode(), "no-evidence"),
    "no tenant": (line(GOOD, access={}), "tenant-missing"),
    "an end of another tenant": (line(GOOD, source={"type": "System", "id": "A", "tenant": "OTHER"}), "tenant-mismatch"),
    "a revision of the future": (line(revision("d1@1", effective_at="2999-01-01T00:00:00Z")), "future-date"),
    "ingested in the future": (line(revision("d1@1", ingested_at="2999-01-01T00:00:00Z")), "future-date"),
    "a date without a zone": (line(revision("d1@1", effective_at="2026-01-01T00:00:00")), "invalid-field"),
    "a hash that is not the text's": (line(chunk("d1@1", "c1"), text="other"), "content-hash-mismatch"),
    "an edge id of 3,000 bytes": (line(GOOD, edge_id="x" * LONG), "invalid-field"),
    "an entity id of 3,000 bytes": (line(entity("System:" + "x" * LONG)), "invalid-field"),
    "a document id of 3,000 bytes": (line(document("x" * LONG)), "invalid-field"),
    "a chunk id of 3,000 bytes": (line(chunk("d1@1", "x" * LONG)), "invalid-field"),
    "a tenant of 3,000 bytes": (line(document("d1"), tenant="x" * LONG), "invalid-field"),
    "an alias longer than an index key": (line(entity("System:A", aliases=[
        {"alias": "\U0001f600" * 3_000, "method": "declared", "linker": "l", "linker_version": "1"}])), "invalid-field"),
    "an id that normalising makes longer than an index key": (line(entity("System:" + "\U0001d160" * 500)), "invalid-field"),
}  # fmt: skip
