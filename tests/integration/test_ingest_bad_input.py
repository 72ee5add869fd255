"""Bad input: each kind gets its code and its place in the reject file, the rest loads, and nothing is half-written."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import Cypher
from corpus.bad_input import BAD, GOOD
from corpus.records import (
    Record,
    Store,
    check_sound,
    chunk,
    cites,
    document,
    edge,
    entity,
    registered,
    revision,
    run_records,
    to_line,
)

from graphrag_provenance.errors import InputError
from graphrag_provenance.rules.publication import WithheldReason
from graphrag_provenance.rules.rejects import RejectCode
from graphrag_provenance.store.database import Database


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def good(number: int) -> Record:
    return edge("System:A", "owns", f"System:B{number}", cites("d1@1#c1", policy="public"), edge_id=f"E{number}")


def loaded(store: Store) -> set[str]:
    return set(store.published())


@pytest.mark.parametrize("batch_size", [1, 1000])
def test_each_bad_line_gets_its_code_and_all_others_load(store: Store, tmp_path: Path, batch_size: int) -> None:
    file = tmp_path / "mixed.jsonl"
    lines: list[bytes] = []
    for number, (raw, _) in enumerate(BAD.values()):
        assert b"\n" not in raw, "UTF-16 text must not hold a line end here"
        lines += [raw, to_line(good(number))]
    file.write_bytes(b"\n".join(lines) + b"\n")

    summary = store.load(files=[file], batch_size=batch_size)

    rejects = {reject["line"]: reject for reject in store.rejects(summary)}
    told = {name: rejects.get(2 * place + 1, {}).get("code") for place, name in enumerate(BAD)}
    assert told == {name: code for name, (_, code) in BAD.items()}
    for place, (raw, _) in enumerate(BAD.values()):
        reject = rejects[2 * place + 1]
        assert set(reject) == {"file", "line", "code", "message", "record"}
        assert (reject["file"], reject["record"]) == (str(file), raw.decode("utf-8", "replace"))
        assert reject["message"]
        assert len(reject["message"]) < 2_000, "a message is a sentence, not the record again"
        assert "Traceback" not in reject["message"]
    assert loaded(store) == {f"E{number}" for number in range(len(BAD))}
    body = summary.as_json()
    assert body["records"] == {"read": 2 * len(BAD), "accepted": len(BAD), "rejected": len(BAD)}
    assert sum(body["rejected_reasons"].values()) == len(rejects) == len(BAD)
    assert summary.findings
    assert store.one("MATCH (n:Entity) RETURN count(n)") == len(BAD) + 1
    check_sound(store)
    assert store.load(files=[file]).outcome.writes.total == 0


def test_every_reject_code_is_documented_and_is_reached_by_some_test() -> None:
    here = Path(__file__)
    others = ("test_ingest_standard.py", "test_quote_verification.py", "test_pipeline_loading.py")
    source = "".join(file.read_text(encoding="utf-8") for file in (here, *map(here.with_name, others)))
    reached = {code for _, code in BAD.values()} | {code.value for code in RejectCode if f'"{code.value}"' in source}
    assert reached == {code.value for code in RejectCode}
    assert coded("Refused records") == [code.value for code in RejectCode]


def test_every_reason_to_withhold_is_documented() -> None:
    assert coded("Withheld edges") == [reason.value for reason in WithheldReason]


def coded(heading: str) -> list[str]:
    """The codes of a section's table on the page of the data model."""
    page = (Path(__file__).parents[2] / "docs" / "data-model.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\| `([^`]+)` \| \S", section, re.MULTILINE)


def test_a_last_line_that_was_cut_off_is_refused_and_one_that_only_lacks_its_end_is_not(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "cut.jsonl"
    file.write_bytes(to_line(good(1)) + b"\n" + to_line(good(2))[:-9])
    summary = store.load(files=[file])
    assert summary.rejected == {"not-json": 1}
    assert store.rejects(summary)[0]["line"] == 2
    file.write_bytes(to_line(good(1)) + b"\n" + to_line(good(2)))
    assert store.load(files=[file]).rejected == {}
    assert loaded(store) == {"E1", "E2"}


@pytest.mark.parametrize("content", [
    b"\xef\xbb\xbf%s\n%s\n", b"%s\r\n%s\r\n", b"\xef\xbb\xbf%s\r\n\r\n  \r\n%s", b"\n\n%s\n\t\n%s\n\n", b"  %s  \n\t%s\t\n",
])  # fmt: skip
def test_marks_line_ends_and_blank_lines_do_not_matter(store: Store, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(content % (to_line(good(1)), to_line(good(2))))
    summary = store.load(files=[file])
    assert (summary.read, summary.rejected, loaded(store)) == (2, {}, {"E1", "E2"})
    assert summary.as_json()["rejects_file"] is None
    assert list(tmp_path.glob("rejects*")) == [], "no reject, no reject file"


def test_an_escaped_nul_and_other_control_characters_round_trip(store: Store) -> None:
    name = "a\u0000b\u0001\u001f\u007f\u2028\ufeff\uffff"
    owns = edge("System:A", "owns", f"System:{name}", cites("d1@1#c1", policy="public"))
    assert store.load(entity(f"System:{name}"), owns).rejected == {}
    assert store.one("MATCH (:Entity {id: 'A'})-[:OWNS]->(n) RETURN n.names") == [name]
    assert store.load(entity(f"System:{name}")).outcome.writes.total == 0


@pytest.mark.parametrize(("limit", "code"), [(16_777_216, None), (1_000_000, "line-too-long")])
def test_a_line_of_ten_megabytes_is_read_or_refused_whole_and_the_next_one_is_read(
    store: Store, limit: int, code: str | None,
) -> None:
    big = good(1) | {"attributes": {"text": "x" * 10_000_000}}
    summary = store.load(good(0), big, good(2), max_line_bytes=limit)
    assert summary.rejected == ({} if code is None else {code: 1})
    assert loaded(store) == ({"E0", "E1", "E2"} if code is None else {"E0", "E2"})
    if code is not None:
        (reject,) = store.rejects(summary)
        assert reject["line"] == 2
        assert str(len(to_line(big))) in reject["message"]


def test_the_limit_of_a_line_is_exact(store: Store, tmp_path: Path) -> None:
    size = len(to_line(good(1)))
    for end in (b"\n", b"\r\n", b""):
        file = tmp_path / "in.jsonl"
        file.write_bytes(to_line(good(1)) + end)
        assert store.load(files=[file], max_line_bytes=size).rejected == {}, end
        assert store.load(files=[file], max_line_bytes=size - 1).rejected == {"line-too-long": 1}, end


def test_a_whole_file_in_utf_16_is_refused_line_by_line(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes("".join(json.dumps(good(n)) + "\n" for n in range(3)).encode("utf-16"))
    summary = store.load(files=[file])
    assert set(summary.rejected) <= {"not-utf8", "not-json"}
    assert sum(summary.rejected.values()) == summary.read
    assert store.cypher("MATCH (a:Assertion) RETURN a") == []


CHARACTERS, BYTES = 500, 2_000


@pytest.mark.parametrize("letter", ["x", "\u017b", "\U0001f600"])
def test_the_longest_ids_are_stored_and_do_not_fail_their_batch(store: Store, letter: str) -> None:
    """All parts of a key at their limit at once: nothing comes near what the index refuses."""
    longest, own = letter * (BYTES // len(letter.encode())), letter * CHARACTERS
    tenant = {"tenant": longest}
    doc, cited = own + "@1", longest[:-2] + "@1"
    big_type = "T" + "x" * 63
    alias = {"alias": longest, "method": "declared", "linker": own, "linker_version": own}
    if len(doc.encode()) > BYTES:
        doc = own[:-1] + "@1"
    records = [
        document(own, **tenant), document(doc[:-2], title="x" * 4_000, **tenant), revision(doc, **tenant), chunk(doc, own, **tenant),
        entity(f"{big_type}:{longest}", aliases=[alias], **tenant) | {"name": "\U0001f600" * 4_000},
        edge(f"{big_type}:{longest}", "r" + "x" * 63, f"{big_type}:y{longest[1:]}", {"doc": doc, "chunk": own, "policy": "public"},
             {"doc": cited, "chunk": own}, edge_id=own, policy="public", access={"tenant": longest, "policy": "public"}),
        good(1),
    ]  # fmt: skip
    summary = store.load(*records)
    assert store.rejects(summary) == []
    assert loaded(store) == {own, "E1"}
    assert store.load(*records).outcome.writes.total == 0
    check_sound(store)


def test_many_evidence_items_are_stored_without_a_cut(store: Store) -> None:
    items = [cites(f"d{n}@1#c", policy="public") for n in range(3_000)]
    assert store.load(good(0) | {"evidence": items}).rejected == {}
    assert store.one("MATCH ()-[v:EVIDENCED_BY]->() RETURN count(v)") == 3_000


# What a path may be


def test_an_empty_file_is_an_empty_run(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.touch()
    summary = store.load(files=[file])
    assert (summary.read, summary.findings, summary.run["status"]) == (0, False, "finished")


def test_unusable_paths_are_an_error_before_anything_is_written(store: Store, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for path, message in (
        (tmp_path / "missing.jsonl", "no file"), (tmp_path / "empty", "holds no .jsonl"), (tmp_path / "pipe", "no file"),
        (tmp_path / "link", "no file"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message) as failure:
            store.load(files=[path])
        assert failure.value.hint
    assert run_records(store.database) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_an_error(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "secret.jsonl"
    file.touch(mode=0)
    with pytest.raises(InputError, match="cannot be read"):
        store.load(files=[file])


def test_a_folder_is_its_jsonl_files_and_not_the_reject_files_of_earlier_runs(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(to_line(good(1)))
    (folder / "deep" / "b.jsonl").write_bytes(to_line(good(2)))
    (folder / "x.rejected.jsonl").write_text("{", encoding="utf-8")
    (folder / "notes.txt").write_text("{", encoding="utf-8")
    summary = store.load(files=[folder])
    assert (summary.read, summary.rejected, loaded(store)) == (2, {}, {"E1", "E2"})
    assert [Path(i["name"]).name for i in run_records(store.database)[0]["inputs"]] == ["a.jsonl", "b.jsonl"]


def test_standard_input_is_read_like_a_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    content = to_line(good(1)) + b"\n{\n" + b"".join(to_line(r) + b"\n" for r in registered("d1@1#c1", "internal"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    summary = store.load(files=[Path("-")])
    assert summary.read == 5
    (reject,) = store.rejects(summary)
    assert (reject["file"], reject["line"], reject["code"]) == ("-", 2, "not-json")
    assert store.published() == {"E1": ("internal",)}
    assert run_records(store.database)[0]["inputs"][0]["name"] == "-"


def test_a_reject_file_that_cannot_be_written_is_a_clear_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"reject file .* cannot be written"):
        store.load(good(1), "{", rejects=tmp_path / "missing" / "r.jsonl")
    assert run_records(store.database)[0]["status"] == "failed"
    check_sound(store)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_the_reject_file_is_a_clear_error(store: Store) -> None:
    with pytest.raises(InputError, match="cannot be written: No space left"):
        store.load(good(1), "{", rejects=Path("/dev/full"))
    check_sound(store)


def test_the_command_ends_in_one_sentence_and_never_in_a_traceback(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "graphrag_provenance.interfaces.cli.app", "ingest", str(tmp_path / "missing.jsonl")],
        capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in child.stderr + child.stdout


def test_the_good_record_of_the_corpus_is_good(store: Store) -> None:
    assert store.load(GOOD).rejected == {}
