"""Input that is small and means something large: it is refused in one sentence, in little memory and time."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from graphrag_provenance.errors import ConfigurationError, InputError
from graphrag_provenance.ingest.extract import extract
from graphrag_provenance.ingest.pipelines import bind, read_pipeline
from graphrag_provenance.ingest.sources import Source, lines
from graphrag_provenance.ingest.validate import parse_line, parse_record
from graphrag_provenance.notation import json_lines, parse_json, parse_toml
from graphrag_provenance.rules.claims import parse_claims
from graphrag_provenance.rules.incidents import parse_incidents
from graphrag_provenance.rules.ledger import parse_ledger
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.rules.rejects import Refused
from graphrag_provenance.rules.relations import parse_relations

MEGABYTE = 1 << 20
EDGES = """SELECT 'r' AS relation, {type: 'T', id: a} AS source, {type: 'T', id: a} AS target, [{doc: 'd@1', chunk: '1'}] AS evidence
FROM rows"""


@pytest.fixture
def little() -> Iterator[None]:
    """Python holds at most 40 MB more while this lasts."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * MEGABYTE, f"{peak / MEGABYTE:.0f} MB"


def ran(folder: Path, form: str, file: str, columns: str = "") -> None:
    """A pipeline over one file of the folder."""
    made = folder / "made"
    made.mkdir()
    (made / "pipeline.toml").write_text(
        f'schema = 1\nname = "made"\nversion = "1"\n[inputs.rows]\nformat = "{form}"\nfile = "{file}"\n{columns}', encoding="utf-8")
    (made / "edges.sql").write_text(EDGES, encoding="utf-8")
    (folder / file).rename(made / file)
    spool = folder / "spool"
    spool.mkdir()
    extract(bind(read_pipeline(made)), spool, memory_mb=128, max_line_bytes=MEGABYTE)
    assert sum(one.stat().st_size for one in spool.rglob("*") if one.is_file()) < 128 * MEGABYTE


def test_packed_lines_that_grow_a_thousandfold_are_refused_before_they_fill_the_disk(tmp_path: Path, little: None) -> None:
    with gzip.open(tmp_path / "rows.jsonl.gz", "wb") as file:
        for _ in range(160):
            file.write(b'{"a":"1"}\n'.ljust(1024) * 1024)
    assert (tmp_path / "rows.jsonl.gz").stat().st_size < MEGABYTE
    with pytest.raises(InputError, match="holds more than 100 times its size"):
        ran(tmp_path, "jsonl", "rows.jsonl.gz", 'columns = {a = "VARCHAR"}')


@pytest.mark.parametrize("damage", [
    lambda data: data[: len(data) // 2], lambda data: data[:40] + b"\xff" * 8 + data[48:], lambda data: data[:3]])
def test_a_packed_file_that_is_broken_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    packed = gzip.compress("".join(json.dumps({"a": str(n * n)}) + "\n" for n in range(1000)).encode())
    (tmp_path / "rows.jsonl.gz").write_bytes(damage(packed))
    with pytest.raises(InputError, match="cannot be unpacked"):
        ran(tmp_path, "jsonl", "rows.jsonl.gz", 'columns = {a = "VARCHAR"}')


def test_one_packed_cell_without_end_is_refused(tmp_path: Path, little: None) -> None:
    with gzip.open(tmp_path / "rows.csv.gz", "wb") as file:
        file.write(b"a\n")
        for _ in range(64):
            file.write(b"x" * MEGABYTE)
    with suppress(InputError):  # or it is a row that is refused
        ran(tmp_path, "csv", "rows.csv.gz", 'columns = ["a"]')


@pytest.mark.parametrize("content", [
    b"PAR1" + b"\x00" * 64 + b"\xff\xff\xff\x7fPAR1", b"PAR1" + b"\x15\x04" * 512 + b"\x00\x04\x00\x00PAR1", b"PAR1PAR1", b"PAR1", b"",
    b"PAR1" + b"\x19\xfc\xff\xff\xff\x0f" + b"\x00" * 32 + b"\x26\x00\x00\x00PAR1",
], ids=["a footer of 2 GB", "noise for a footer", "no footer", "only the mark", "nothing", "a schema of 4 billion columns"])
def test_parquet_that_lies_about_itself_is_refused(tmp_path: Path, little: None, content: bytes) -> None:
    (tmp_path / "rows.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"rows\.parquet"):
        ran(tmp_path, "parquet", "rows.parquet", 'columns = {a = "VARCHAR"}')


def test_a_packed_file_is_no_file_of_records_and_is_refused_line_by_line(tmp_path: Path, little: None) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(gzip.compress(b'{"kind":"edge"}\n' * MEGABYTE))
    read = list(lines(Source("in.jsonl", file, 0), MEGABYTE))
    assert read
    for line in read:
        with pytest.raises(Refused):
            parse_line(line)


DEEP = {"lists": "[" * 100_000 + "]" * 100_000, "objects": '{"a":' * 100_000 + "1" + "}" * 100_000, "a number": "1" * 100_000}


@pytest.mark.parametrize("what", DEEP)
def test_deep_nests_and_long_numbers_are_told_like_any_other_mistake(what: str) -> None:
    value = DEEP[what]
    toml = f"schema = {value}" if what != "objects" else f"schema = {'{a=' * 10_000}1{'}' * 10_000}"
    for parse, text in (
            (parse_policies, toml), (parse_relations, toml), (parse_ledger, toml), (parse_ledger, '{"id":' + value + "}"),
            (parse_incidents, '{"a":' + value + "}"), (lambda text, name: parse_claims(text, name, "jsonl"), '{"a":' + value + "}"),
            (lambda text, name: parse_claims(text, name, "toml"), toml)):
        with pytest.raises((ConfigurationError, InputError)) as refused:
            parse(text, "the file")
        assert "the file" in refused.value.message
        assert len(refused.value.message) < 400
    with pytest.raises(Refused):
        parse_record("edge", b'{"kind":"edge","confidence":' + value.encode() + b"}")


def test_a_mark_at_the_beginning_is_no_mistake_and_only_a_line_feed_ends_a_line() -> None:
    assert parse_toml("\ufeffa = 1") == {"a": 1}
    assert parse_json('\ufeff{"a": 1}') == {"a": 1}
    assert list(json_lines('{"a":"\u2028\x85"}\r\n\n \r\n{}\n')) == [(1, '{"a":"\u2028\x85"}\r'), (4, "{}")]
