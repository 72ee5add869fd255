"""What is told about a line or a report that is refused: in plain words, what its code is about first, with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from corpus.records import edge

from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest.reports import read_reports
from graphrag_provenance.ingest.sources import Line
from graphrag_provenance.ingest.validate import parse_object, parse_record
from graphrag_provenance.model.reports import QuoteReport
from graphrag_provenance.rules.rejects import Refused

GOOD: dict[str, Any] = edge("System:A", "uses", "System:B", "D@1#c")


def refusal(record: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(Refused) as caught:
        parse_record("edge", json.dumps(record).encode())
    return caught.value.code.value, caught.value.message


@pytest.mark.parametrize(("more", "code", "told"), [
    ({"colour": "red"}, "invalid-field", "colour: unknown field"),
    ({"evidence": []}, "no-evidence", "evidence: needs at least one"),
    ({"evidence": [], "confidence": 2, "a": 1, "b": 1}, "no-evidence", "evidence: needs at least one; "),
    ({"evidence": [{"doc": "D", "chunk": "c"}]}, "invalid-field", "evidence.0.doc: 'D' is not doc@ver"),
])  # fmt: skip
def test_a_refusal_is_told_in_plain_words(more: dict[str, Any], code: str, told: str) -> None:
    found = refusal({**GOOD, **more})
    assert (found[0], found[1][: len(told)]) == (code, told)


def test_the_field_that_the_code_is_about_comes_first() -> None:
    code, message = refusal({"kind": "edge"})
    assert code == "no-evidence"
    assert message.startswith("evidence: ")
    assert message.endswith("; and 1 more")


def test_a_line_is_told_by_its_column_only() -> None:
    with pytest.raises(Refused, match=r"^[^\n]* at column \d+$") as caught:
        parse_object(Line("f", 2, b'{"kind": "edge", '))
    assert "line" not in caught.value.message


@pytest.mark.parametrize(("text", "place"), [
    ('{"chunk": "c", "quote": "q"}', "q.jsonl:1: doc"), ('\n{"chunk": "c", "quote": "q"}\n', "q.jsonl:2: doc"),
    ('{"doc": "D@1", "chunk": "c", "quote": "q"}\n{"chunk": "c", "quote": "q"}', "q.jsonl:2: doc"),
    ('{"doc": "D@1",', "q.jsonl:1 is not JSON"), ('{\n"chunk": "c", "quote": "q"}', "q.jsonl: doc"),
])  # fmt: skip
def test_a_report_is_told_by_its_line(text: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_reports(tmp_path / "q.jsonl", QuoteReport)
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(place)
