"""A file as the source of live permissions: what it opens, and that everything else is no."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from graphrag_provenance.access.file_source import FileSource
from graphrag_provenance.access.interface import AccessSource, Decision, reference
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.records import AclRef

ACCESS = """
schema = 1
[groups]
finance = ["user:bob", "group:leads"]
leads = ["user:ann", "group:finance"]
[systems.conf]
tenants = ["ACME"]
[systems.conf.spaces.FIN]
readers = ["group:finance"]
restrictions = [
  {id = "7", incarnation = "i2", readers = ["user:bob"]},
  {id = "8", readers = ["user:bob"]},
  {id = "9", readers = ["user:bob"], recreated = true},
  {id = "10", incarnation = "i1", readers = ["user:bob"], deleted = true},
  {id = "11", readers = ["user:bob"], deleted = true},
  {id = "11", incarnation = "i2", readers = ["user:bob"]},
  {id = "12", incarnation = "i1", readers = ["user:bob"], deleted = true},
  {id = "12", readers = ["user:bob"]},
  {id = "13", readers = []},
  {id = "14", readers = ["group:leads"]},
]
[systems.conf.spaces.OLD]
deleted = true
readers = ["user:bob"]
restrictions = [{id = "7", readers = ["user:bob"]}]
[systems.conf.spaces.BARE]
[systems.jira.spaces.P]
readers = ["user:bob"]
"""


def key(system: str, space: str, restriction: str | None = None, incarnation: str | None = None) -> str:
    return AclRef(system=system, space=space, restriction_id=restriction, incarnation=incarnation).key()


def reader(principal: str = "bob", tenant: str = "ACME") -> Reader:
    return Reader(principal, tenant, frozenset({"public"}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "access.toml"
    path.write_text(ACCESS, encoding="utf-8")
    return path


TABLE = [
    # reference, principal, what the file says (None: open)
    (key("conf", "FIN", "7", "i2"), "bob", None),
    (key("conf", "FIN", "7", "i1"), "bob", "other-incarnation"),
    (key("conf", "FIN", "7"), "bob", "no-incarnation"),
    (key("conf", "FIN", "7", "i2"), "ann", "not-a-reader"),
    (key("conf", "FIN", "8"), "bob", None),
    (key("conf", "FIN", "8", "i1"), "bob", "other-incarnation"),
    (key("conf", "FIN", "9"), "bob", "no-incarnation"),
    (key("conf", "FIN", "10", "i1"), "bob", "deleted"),
    (key("conf", "FIN", "11"), "bob", "no-incarnation"),
    (key("conf", "FIN", "11", "i2"), "bob", None),
    (key("conf", "FIN", "12", "i1"), "bob", "other-incarnation"),
    (key("conf", "FIN", "12"), "bob", "no-incarnation"),
    (key("conf", "FIN", "13"), "bob", "not-a-reader"),
    (key("conf", "FIN", "14"), "bob", None),
    (key("conf", "FIN", "14"), "ann", None),
    (key("conf", "FIN", "14"), "group:leads", "not-a-reader"),
    (key("conf", "FIN", "99"), "bob", "unknown-restriction"),
    (key("conf", "FIN"), "ann", None),
    (key("conf", "FIN", None, "i1"), "ann", "other-incarnation"),
    (key("conf", "BARE"), "bob", "not-a-reader"),
    (key("conf", "OLD"), "bob", "deleted"),
    (key("conf", "OLD", "7"), "bob", "deleted"),
    (key("conf", "NONE", "7"), "bob", "unknown-space"),
    (key("mail", "FIN", "7"), "bob", "unknown-system"),
    (key("jira", "P"), "bob", None),
    (key("jira", "P"), "Bob", "not-a-reader"),
    ("conf/FIN/8", "bob", "not-a-reference"),
    ('["conf", "FIN", "8", null]', "bob", "not-a-reference"),
    ('["conf","FIN","8"]', "bob", "not-a-reference"),
    ('["conf","FIN","8",1]', "bob", "not-a-reference"),
    ("[" * 100_000, "bob", "not-a-reference"),
]


@pytest.mark.parametrize(("ref", "principal", "refusal"), TABLE)
def test_what_the_file_opens_and_why_the_rest_stays_closed(file: Path, ref: str, principal: str, refusal: str | None) -> None:
    source = FileSource(file)
    decision = source.check(reader(principal), [ref])
    assert (decision.allowed, dict(decision.denied)) == (({ref}, {}) if refusal is None else (set(), {ref: refusal}))
    assert (ref in source.granted(reader(principal)).keys) is (refusal is None)


@pytest.mark.parametrize("principal", ["bob", "ann", "nobody", "group:finance"])
def test_what_is_granted_before_and_what_is_allowed_after_are_the_same(file: Path, principal: str) -> None:
    source, refs = FileSource(file), {ref for ref, _, _ in TABLE}
    assert source.granted(reader(principal)).keys == source.check(reader(principal), refs).allowed


def test_a_system_serves_the_readers_of_its_tenants_only(file: Path) -> None:
    source, ours, anybodys = FileSource(file), key("conf", "FIN", "8"), key("jira", "P")
    assert source.granted(reader(tenant="OTHER")).keys == {anybodys}
    assert dict(source.check(reader(tenant="OTHER"), [ours, anybodys]).denied) == {ours: "other-tenant"}


def test_an_answer_says_which_state_of_the_file_it_is_from(file: Path) -> None:
    source: AccessSource = FileSource(file)
    first = source.granted(reader())
    assert (first.source, first.stale_at_most, first.trouble) == ("file:access.toml", 0, None)
    assert first.token == source.check(reader(), []).token
    file.write_text(ACCESS + "\n# said otherwise\n", encoding="utf-8")
    assert source.granted(reader()).token != first.token


def test_a_change_counts_at_once_even_where_size_and_times_stay_the_same(file: Path) -> None:
    source, ref = FileSource(file), key("conf", "FIN", "8")
    before = file.stat()
    assert source.check(reader(), [ref]).allowed == {ref}
    with file.open("r+b") as opened:
        opened.write(ACCESS.replace('"user:bob"', '"user:job"').encode())
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert source.granted(reader()).keys == set()
    assert dict(source.check(reader(), [ref]).denied) == {ref: "not-a-reader"}


def test_json_of_the_same_shape_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "access.json"
    space = {"restrictions": [{"id": "7", "incarnation": "i1", "readers": ["user:bob"]}]}
    path.write_text(json.dumps({"schema": 1, "systems": {"conf": {"spaces": {"FIN": space}}}}), encoding="utf-8")
    assert FileSource(path).granted(reader()).keys == {key("conf", "FIN", "7", "i1")}


BROKEN = {
    "cut off": ("access.toml", b"schema = 1\n[systems.conf\n", "line 2"),
    "not utf-8": ("access.toml", b"schema = 1\n# \xff", "utf-8"),
    "no schema": ("access.toml", b"[systems]", "schema: Field required"),
    "another schema": ("access.toml", b"schema = 2", "schema: "),
    "an unknown field": ("access.toml", b"schema = 1\n[systems.c.spaces.s]\nreader = []", "systems.c.spaces.s.reader: "),
    "readers as a string": ("access.toml", b"schema = 1\n[systems.c.spaces.s]\nreaders = 'user:bob'", "systems.c.spaces.s.readers: "),
    "a bare name": ("access.toml", b"schema = 1\n[systems.c.spaces.s]\nreaders = ['bob']", "systems.c.spaces.s.readers.0: "),
    "deleted as a word": ("access.toml", b"schema = 1\n[systems.c.spaces.s]\ndeleted = 'no'", "systems.c.spaces.s.deleted: "),
    "no readers": ("access.toml", b"schema = 1\n[systems.c.spaces.s]\nrestrictions = [{id = 'r'}]", "restrictions.0.readers: "),
    "two living ones": ("access.toml", b"schema = 1\n[systems.c.spaces.s]\nrestrictions = [{id = 'r', readers = []}, "
                        b"{id = 'r', readers = [], incarnation = 'i'}]", "systems.c.spaces.s: restriction 'r' stands there twice"),
    "one deleted under the same stamp": ("access.toml", b"schema = 1\n[systems.c.spaces.s]\nrestrictions = [{id = 'r', readers = []}, "
                                         b"{id = 'r', readers = [], deleted = true}]", "stands there twice"),
    "an unknown group": ("access.toml", b"schema = 1\n[systems.c.spaces.s]\nreaders = ['group:x']", "no [groups] entry 'x'"),
    "unknown groups": ("access.toml", b"schema = 1\n[systems.c.spaces.s]\nreaders = ['group:z', 'group:b', 'group:a', 'group:c']",
                       "no [groups] entry 'a'"),
    "json cut off": ("access.json", b'{"schema": 1,\n"systems": {', "line 2"),
    "json that says a thing twice": ("access.json", b'{"schema": 1, "groups": {}, "groups": {}}', "'groups' stands twice"),
    "json without an end": ("access.json", b"[" * 100_000, "nested too deeply"),
    "no content": ("access.json", b"", "line 1"),
}


@pytest.mark.parametrize(("name", "content", "message"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_says_nothing_clear_opens_nothing_and_names_the_place(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    closed(FileSource(path), message, path)


def closed(source: FileSource, message: str, path: Path) -> None:
    ref = key("c", "s")
    grants, decision = source.granted(reader()), source.check(reader(), [ref])
    assert (grants.keys, decision.allowed, dict(decision.denied)) == (set(), set(), {ref: "unreachable"})
    for trouble in (grants.trouble, decision.trouble):
        assert trouble is not None
        assert trouble.startswith(f"{path}: ")
        assert message in trouble


def test_a_file_that_is_missing_or_a_pipe_opens_nothing_and_does_not_wait(tmp_path: Path) -> None:
    closed(FileSource(tmp_path / "none.toml"), "no such file", tmp_path / "none.toml")
    os.mkfifo(tmp_path / "pipe.toml")
    closed(FileSource(tmp_path / "pipe.toml"), "no such file", tmp_path / "pipe.toml")


def test_a_file_that_breaks_closes_what_it_opened_and_opens_it_when_it_is_mended(file: Path) -> None:
    source, ref = FileSource(file), key("conf", "FIN", "8")
    assert ref in source.granted(reader()).keys
    file.write_text("schema = ", encoding="utf-8")
    assert source.granted(reader()).keys == set()
    file.write_text(ACCESS, encoding="utf-8")
    assert ref in source.granted(reader()).keys


def test_a_decision_cannot_be_changed_afterwards() -> None:
    said = {"a": "deleted"}
    decision = Decision("s", denied=said)
    said.clear()
    assert dict(decision.denied) == {"a": "deleted"}
    with pytest.raises(TypeError):
        decision.denied["a"] = "open"  # type: ignore[index]


def test_a_reference_is_read_back_from_its_key_only_as_it_was_written() -> None:
    odd = AclRef(system='a"/', space="#:@ \u2028", restriction_id=None, incarnation="ż")
    assert reference(odd.key()) == odd
    for text in ("", "null", "{}", "[]", '["","s",null,null]', '["a","b",null,null] ', '["\\u0061","b",null,null]'):
        assert reference(text) is None
