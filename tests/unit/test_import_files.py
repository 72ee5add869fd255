"""Files for neo4j-admin: the columns are the data model's, and every value is written so that it can come back (spec 5, exports)."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from graphrag_provenance.errors import InputError, StoreError
from graphrag_provenance.exports.import_files import DELIMITERS, NODES, RELATIONSHIPS, import_arguments, read_manifest, write_import_files

ODD = "a<SEP>b,c|d@e#f' \"q\") ;\r\n λ \u2028 \\"


def documented(kind: str) -> dict[str, set[str]]:
    text = (Path(__file__).resolve().parents[2] / "docs" / "data-model.md").read_text(encoding="utf-8")
    found = {}
    for row in text[text.index(f"| {kind} |"):].split("\n\n")[0].splitlines()[2:]:
        name, *cells = (cell.strip() for cell in re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", row).strip("|").split("|"))
        words = (re.match(r"\s*([a-z][a-z_0-9]*)", part) for cell in cells for part in cell.split(","))
        found[name.strip("` …").split()[0]] = {word[1] for word in words if word}
    return found


def test_every_property_of_the_data_model_has_a_column() -> None:
    for label, properties in documented("node").items():
        columns = {name for at, names in NODES.items() if at.partition("-")[0] == label for name in names}
        if label not in ("Delta", "Store"):
            assert properties - columns - {"–", "one", "and"} == set(), label
    lease = {"writer", "writer_host", "writer_pid", "lease_until"}
    assert documented("node")["Store"] - lease <= NODES["Store"].keys()
    for kind, properties in documented("relationship").items():
        assert properties == RELATIONSHIPS.get(kind, RELATIONSHIPS["EDGE"]).keys(), kind


def written(folder: Path, *nodes: dict[str, Any]) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 24)
    rows = [{"id": str(number), "labels": ["Assertion", "Withheld"], "properties": node} for number, node in enumerate(nodes)]
    write_import_files(folder, lambda: rows, {"graph_hash": "x"})
    with (folder / "nodes-Assertion.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_value_is_written_as_the_import_reads_it(tmp_path: Path) -> None:
    (row,) = written(tmp_path, {
        "tenant": "", "edge_id": ODD, "policies": [ODD, ""], "reasons": [], "acl": [""], "since": 2**63 - 1, "confidence": 0.1 + 0.2,
        "current": False, "digest": bytes([0, 127, 128, 255]), "valid_from": datetime(2026, 1, 1, 0, 0, 0, 120, tzinfo=UTC)})
    assert row[":LABEL"] == "Assertion\x1fWithheld"
    assert (row["edge_id:string"], row["policies:string[]"], row["since:long"]) == (ODD, ODD + "\x1f", str(2**63 - 1))
    assert (row["confidence:double"], row["current:boolean"], row["digest:byte[]"]) == (repr(0.1 + 0.2), "false", "0\x1f127\x1f-128\x1f-1")
    assert row["valid_from:datetime"] == "2026-01-01T00:00:00.000120Z"
    assert row["import_lists:string[]"] == "acl=\x1freasons"
    text = (tmp_path / "nodes-Assertion.csv").read_text(encoding="utf-8")
    assert text.splitlines()[1].startswith('"0","Assertion\x1fWithheld","",'), "an empty text is quoted, an absent value is not"


def test_what_parts_lists_is_in_no_element(tmp_path: Path) -> None:
    (row,) = written(tmp_path, {"tenant": DELIMITERS[0], "policies": [f"a{DELIMITERS[0]}", "b"], "reasons": [DELIMITERS[1]]})
    assert row["policies:string[]"].split(DELIMITERS[2]) == ["a\x1f", "b"]
    assert "--array-delimiter=U+E000" in import_arguments(tmp_path)
    with pytest.raises(InputError, match="every character"):
        written(tmp_path, {"policies": list(DELIMITERS)})


def test_what_the_data_model_has_not_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="property 'colour'"):
        written(tmp_path, {"tenant": "t", "colour": "red"})
    with pytest.raises(StoreError, match="A node is of Movie"):
        write_import_files(tmp_path, lambda: [{"id": "1", "labels": ["Movie"], "properties": {}}], {})


def test_a_row_may_be_longer_than_the_default_buffer(tmp_path: Path) -> None:
    written(tmp_path, {"tenant": "é" * (3 << 20)})
    (size,) = [int(one.partition("=")[2]) for one in import_arguments(tmp_path) if one.startswith("--read-buffer-size")]
    assert size > (tmp_path / "nodes-Assertion.csv").stat().st_size
    assert read_manifest(tmp_path)["rows"] == {"nodes-Assertion": 1}
    with pytest.raises(InputError, match="no import files"):
        read_manifest(tmp_path / "nowhere")
