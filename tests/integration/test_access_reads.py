"""Live references from ingest to display: what is revoked, re-created, dangling or unreachable is as if it were not there."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import TENANT, Record, Store, cites, edge, revision
from typer.testing import CliRunner

from graphrag_provenance.access.file_source import FileSource
from graphrag_provenance.access.interface import AccessSource, Decision, Grants
from graphrag_provenance.errors import NotFoundError
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.records import AclRef
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.store import lookups
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.traces import trace

ENDS = Question(("A", "a"), ("A", "c"))
BOB = Reader("bob", TENANT, frozenset({"public"}))
AUDITOR = Reader("bob", TENANT, frozenset({"public"}), frozenset({Role.READER, Role.AUDITOR}))


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def ref(restriction: str, incarnation: str | None = "i1") -> Record:
    found = {"system": "conf", "space": "FIN", "restriction_id": restriction}
    return found if incarnation is None else {**found, "incarnation": incarnation}


def guarded(source: str, target: str, acl: Record | None = None, **more: Any) -> Record:
    item = {"policy": "public", **({} if acl is None else {"acl_ref": acl})}
    return edge(f"A:{source}", "calls", f"A:{target}", cites(f"d-{source}{target}@1#c", **item), edge_id=f"{source}{target}", **more)


def ask(store: Store, source: AccessSource | None, who: Reader = BOB, question: Question = ENDS) -> Record:
    audience: Any = "auditor" if who.is_auditor else "reader"
    return trace(store.database, question, who, access=source, trace_id="0" * 32, audience=audience).as_json(audience)


class Permissions:
    """A permission file under test and its source."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "access.json"
        self.source = FileSource(self.path)

    def say(self, *restrictions: Record, **space: Any) -> None:
        spaces = {"FIN": {"restrictions": list(restrictions), **space}}
        self.path.write_text(json.dumps({"schema": 1, "systems": {"conf": {"spaces": spaces}}}), encoding="utf-8")


@pytest.fixture
def permissions(tmp_path: Path) -> Permissions:
    return Permissions(tmp_path)


def opens(name: str, *readers: str, incarnation: str | None = "i1", **more: Any) -> Record:
    found = {"id": name, "readers": [f"user:{reader}" for reader in readers], **more}
    return found if incarnation is None else {**found, "incarnation": incarnation}


@pytest.fixture
def chain(store: Store) -> Store:
    """a → b under a live reference, b → c for all; and nothing else between them."""
    store.load(guarded("a", "b", ref("7")), guarded("b", "c"))
    return store


@pytest.fixture
def without(chain: Store) -> Record:
    """The answer of a store that does not hold the guarded edge. `a` is an end of no other edge."""
    return absent(chain)


def absent(store: Store, who: Reader = BOB, question: Question = ENDS) -> Record:
    """The answer with the live references taken as closed; that it equals absence is test_trace's."""
    return ask(store, None, who, question)


def test_a_reference_opens_for_those_whom_the_source_names_now(chain: Store, permissions: Permissions, without: Record) -> None:
    permissions.say(opens("7", "bob"))
    found = ask(chain, permissions.source)
    assert (found["state"], [s["edge_id"] for s in found["paths"][0]["steps"]]) == ("supported", ["ab", "bc"])
    assert ask(chain, permissions.source, Reader("ann", TENANT, BOB.clearances)) == without
    assert ask(chain, None) == without


def test_a_closed_edge_reads_like_one_that_was_never_loaded(store: Store, permissions: Permissions) -> None:
    permissions.say(opens("7", "ann"))
    store.load(guarded("b", "c"))
    never = ask(store, permissions.source)
    store.load(guarded("a", "b", ref("7")))
    closed = ask(store, permissions.source)
    assert {**closed, "generation": 0} == {**never, "generation": 0}
    assert closed["reason"] == "unknown-entity"


@pytest.mark.parametrize("place", ["evidence", "revision"])
def test_report_13_a_guarded_middle_is_walked_around_or_not_at_all(store: Store, permissions: Permissions, place: str) -> None:
    permissions.say(opens("7", "ann"))
    if place == "evidence":
        store.load(guarded("a", "b"), guarded("b", "x", ref("7")), guarded("x", "c"))
    else:
        store.load(guarded("a", "b"), guarded("b", "x"), guarded("x", "c"), revision("d-bx@1", acl_ref={**ref("7")}))
    hidden = ask(store, permissions.source)
    assert (hidden["state"], hidden["reason"], hidden["paths"]) == ("unresolved", "no-path", [])
    store.load(guarded("b", "y"), guarded("y", "z"), guarded("z", "c"))
    detour = ask(store, permissions.source)
    assert [step["edge_id"] for step in detour["paths"][0]["steps"]] == ["ab", "by", "yz", "zc"]
    assert [s["edge_id"] for s in ask(store, permissions.source, Reader("ann", TENANT, BOB.clearances))["paths"][0]["steps"]] == [
        "ab", "bx", "xc"]


def test_report_15_a_list_that_becomes_empty_denies_the_next_question(
    chain: Store, permissions: Permissions, without: Record
) -> None:
    permissions.say(opens("7", "bob"))
    assert ask(chain, permissions.source)["state"] == "supported"
    permissions.say(opens("7"))
    assert ask(chain, permissions.source) == without


@pytest.mark.parametrize("again", [opens("7", "bob", incarnation="i2"), opens("7", "bob", incarnation=None)])
def test_report_16_what_is_deleted_and_created_again_stays_closed(
    chain: Store, permissions: Permissions, without: Record, again: Record
) -> None:
    permissions.say(opens("7", "bob"))
    assert ask(chain, permissions.source)["state"] == "supported"
    permissions.say()
    assert ask(chain, permissions.source) == without
    permissions.say(again)
    assert ask(chain, permissions.source) == without


@pytest.mark.parametrize("again", [opens("7", "bob", incarnation="i2"), opens("7", "bob", incarnation=None, recreated=True)])
def test_report_16_a_reference_without_an_incarnation_does_not_outlive_a_creation_either(
    store: Store, permissions: Permissions, again: Record
) -> None:
    store.load(guarded("a", "b", ref("7", None)), guarded("b", "c"))
    permissions.say(opens("7", "bob", incarnation=None))
    assert ask(store, permissions.source)["state"] == "supported"
    permissions.say(again)
    assert ask(store, permissions.source) == absent(store)


@pytest.mark.parametrize(("said", "reason"), [
    ([], "unknown-restriction"), ([opens("7", "bob", deleted=True)], "deleted"), ([opens("7", "ann")], "not-a-reader"),
])
def test_a_dangling_reference_denies(chain: Store, permissions: Permissions, without: Record, said: list[Record], reason: str) -> None:
    permissions.say(*said)
    assert ask(chain, permissions.source) == without
    key = AclRef(**ref("7")).key()
    assert dict(permissions.source.check(BOB, [key]).denied) == {key: reason}


def test_an_unreachable_source_denies_what_it_guards_and_operators_are_told(
    chain: Store, permissions: Permissions, without: Record, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert ask(chain, permissions.source) == without  # there is no file
        permissions.path.write_text("{", encoding="utf-8")
        assert ask(chain, permissions.source) == without
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "no such file" in caplog.records[0].message
    assert "line 1" in caplog.records[1].message
    told = ask(chain, permissions.source, AUDITOR)["access"]
    assert (told["unreachable"], told["token"], told["source"]) == (True, None, "file:access.json")
    assert str(permissions.path) not in json.dumps(told)


class Changing:
    """A source that says `first` until it has been asked `after` times, and `then` from there on."""

    name = "changing"

    def __init__(self, first: Collection[str], then: Collection[str] | Exception, after: int = 1) -> None:
        self.first, self.then, self.left = frozenset(first), then, after

    def _now(self) -> frozenset[str]:
        self.left -= 1
        if self.left >= 0:
            return self.first
        if isinstance(self.then, Exception):
            raise self.then
        return frozenset(self.then)

    def granted(self, reader: Reader) -> Grants:
        return Grants(self.name, self._now())

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        now = self._now()
        return Decision(self.name, now & frozenset(refs), {one: "not-a-reader" for one in refs if one not in now})


SEVEN = AclRef(**ref("7")).key()
EIGHT = AclRef(**ref("8")).key()


@pytest.mark.parametrize("then", [set(), ConnectionError("down")], ids=["revoked", "unreachable"])
def test_what_is_revoked_between_search_and_display_is_not_displayed(chain: Store, without: Record, then: Any) -> None:
    assert ask(chain, Changing({SEVEN}, {SEVEN}))["state"] == "supported"
    assert ask(chain, Changing({SEVEN}, then)) == without


def test_another_chain_is_found_instead_and_shown_whole(store: Store) -> None:
    store.load(guarded("a", "b", ref("7")), guarded("b", "c"), guarded("a", "x", ref("8")), guarded("x", "y"), guarded("y", "c"))
    found = ask(store, Changing({SEVEN, EIGHT}, {EIGHT}))
    assert [step["edge_id"] for step in found["paths"][0]["steps"]] == ["ax", "xy", "yc"]
    assert ask(store, Changing({SEVEN, EIGHT}, set())) == absent(store)


@pytest.mark.parametrize("question", [
    Question(("A", "a"), ("A", "c"), environment="staging"), Question(("A", "a"), ("A", "nowhere")), Question(("A", "c"), ("A", "a")),
], ids=["reason", "end", "no-path"])
def test_why_nothing_was_found_rests_on_what_is_open_at_display_too(store: Store, question: Question) -> None:
    store.load(guarded("a", "b", ref("7"), scope={"environment": "production"}), guarded("b", "c"))
    before, closed = ask(store, Changing({SEVEN}, {SEVEN}), question=question), absent(store, question=question)
    assert before["reason"] != closed["reason"] or question.target == ("A", "nowhere")
    assert ask(store, Changing({SEVEN}, set()), question=question) == closed


def test_a_decision_and_the_state_it_is_from_are_in_an_auditors_trace_only(chain: Store, permissions: Permissions) -> None:
    permissions.say(opens("7", "bob"))
    told = ask(chain, permissions.source, AUDITOR)["access"]
    token = permissions.source.granted(BOB).token
    assert told | {"resolved_at": "", "checked_at": ""} == {
        "source": "file:access.json", "token": token, "resolved_at": "", "checked_at": "", "stale_at_most_seconds": 0.0,
        "unreachable": False, "allowed": [SEVEN], "denied": []}
    revoked = ask(chain, Changing({SEVEN}, set()), AUDITOR)
    assert revoked["access"]["denied"] == [{"reference": SEVEN, "reason": "not-a-reader"}]
    assert "access" not in ask(chain, permissions.source)
    assert trace(chain.database, ENDS, BOB, access=permissions.source).access is None
    assert ask(chain, None, AUDITOR)["access"] is None


LOOKUPS: dict[str, Callable[[Database, AccessSource | None], Any]] = {
    "edge_show": lambda db, s: lookups.edge_show(db, BOB, "ab", access=s),
    "edge_history": lambda db, s: lookups.edge_history(db, BOB, "ab", access=s),
    "edge_list": lambda db, s: lookups.edge_list(db, BOB, access=s),
    "entity_find": lambda db, s: lookups.entity_find(db, BOB, "a", access=s),
    "entity_show": lambda db, s: lookups.entity_show(db, BOB, ("A", "a"), access=s),
    "entity_show of the other end": lambda db, s: lookups.entity_show(db, BOB, ("A", "b"), access=s),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_look_ups_show_what_is_open_at_display(chain: Store, name: str) -> None:
    def read(source: AccessSource | None) -> Any:
        try:
            return LOOKUPS[name](chain.database, source)
        except NotFoundError as error:
            return str(error)

    chain.cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    opened, closed = read(Changing({SEVEN}, {SEVEN})), read(None)
    assert opened != closed
    assert '"ab"' in json.dumps(opened) or name == "entity_find"
    assert read(Changing({SEVEN}, set())) == closed
    assert read(Changing(set(), set())) == closed
    assert read(Changing({SEVEN}, OSError("down"))) == closed


CLAIM = ("trace", "A:a", "A:c", "--format", "json")
COMMANDS = [
    CLAIM, ("edge", "show", "ab", "--format", "json"), ("edge", "history", "ab", "--format", "json"), ("edge", "list", "--format", "json"),
    ("entity", "find", "a", "--format", "json"), ("entity", "show", "A:a", "--format", "json"),
]


def test_every_reading_command_takes_the_file_and_a_broken_one_closes_and_is_told(
    chain: Store, permissions: Permissions, server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    chain.cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")

    def run(command: tuple[str, ...], *more: str) -> Any:
        result = CliRunner().invoke(app, [*command, "--tenant", TENANT, "--clearance", "public", "--principal", "bob", *more])
        return result.exit_code, re.sub(r'"trace_id": ?"\w+"', "", result.stdout), result.stderr

    file = ("--access-file", str(permissions.path))
    for command in COMMANDS:
        closed = run(command)
        permissions.say(opens("7", "bob"))
        opened = run(command, *file)
        assert opened[1] != closed[1], command
        monkeypatch.setenv("GRAPHRAG_PROVENANCE_ACCESS_FILE", str(permissions.path))
        assert run(command)[:2] == opened[:2]
        monkeypatch.delenv("GRAPHRAG_PROVENANCE_ACCESS_FILE")
        permissions.path.write_text("{", encoding="utf-8")
        broken = run(command, *file)
        assert broken[:2] == closed[:2], command
        assert "access source unreachable" in broken[2]
        assert "line 1" in broken[2]
