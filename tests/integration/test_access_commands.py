"""OpenFGA from the command line: every reading command asks the real server that the settings name, and what it does not open,
or does not answer, is as if it were not there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher, Server
from corpus.records import TENANT, Store, chunk, cites, document, edge, revision
from typer.testing import CliRunner

from graphrag_provenance.access.openfga_source import MODEL, object_of
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.model.records import AclRef
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.references import stored_references
from tests import openfga
from tests.corpus.worlds import reader

ACL = {"system": "conf", "space": "FIN", "restriction_id": "7", "incarnation": "i1"}
KEY = AclRef(**ACL).key()
TRACE = "c" * 32
SETTING = "GRAPHRAG_PROVENANCE_OPENFGA_"
Run = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.openfga


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with openfga.running(tmp_path_factory.mktemp("openfga") / "log") as (found, _):
        yield found


@pytest.fixture
def fga(url: str) -> openfga.Server:
    return openfga.Server(url, MODEL)


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    """a → b under a live reference, b → c for all; an answer and a retrieval that rest on both."""
    made = Store(fresh_database, cypher, tmp_path)
    guarded = [document("g", policy="public"), revision("g@1", acl_ref=ACL), chunk("g@1", "c"),
               revision("g@2", acl_ref=ACL, supersedes="g@1"), chunk("g@2", "c")]
    made.load(*guarded, document("o", policy="public"), revision("o@1"), chunk("o@1", "c"),
              edge("A:a", "calls", "A:b", "g@1#c", "g@2#c", edge_id="ab"), edge("A:b", "calls", "A:c", cites("o@1#c"), edge_id="bc"))
    cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    return made


@pytest.fixture
def gprov(server: Server, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """A command as bob, who is cleared for everything public; trace ids and times of asking are masked."""
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims.jsonl").write_text(json.dumps({"id": "1", "from": "A:a", "to": "A:c"}) + "\n", encoding="utf-8")
    (tmp_path / "ledger.json").write_text(json.dumps({"entries": [{"sentence": "s", "edges": ["ab"]}]}), encoding="utf-8")

    def run(*command: str, **settings: str) -> tuple[int, str, str]:
        environment = {SETTING + name.upper(): value for name, value in settings.items()}
        who = ("--tenant", TENANT, "--clearance", "public", "--principal", "bob")
        done = CliRunner().invoke(app, [*command, *who], env=environment)
        return done.exit_code, re.sub(r'"(trace_id|at)": ?"[^"]+"', '"masked":0', done.stdout), done.stderr

    return run


def settings(fga: openfga.Server, **more: str) -> dict[str, str]:
    return {"url": fga.url, "store_id": fga.store, "model_id": fga.model} | more


JSON = ("--format", "json")
AS_AUDITOR = ("--role", "auditor")
COMMANDS: list[tuple[str, ...]] = [
    ("trace", "A:a", "A:c", *JSON), ("trace", "A:a", "A:c", "--as-of", "1", *JSON), ("trace", "--claims", "claims.jsonl", *JSON),
    ("edge", "show", "ab", *JSON), ("edge", "history", "ab", *JSON), ("edge", "list", *JSON),
    ("entity", "find", "a", *JSON), ("entity", "show", "A:a", *JSON), ("gate", "ledger.json", *JSON),
    ("doc", "show", "g", *JSON), ("doc", "diff", "g@1", "g@2", *JSON), ("quote", "verify", "--edge", "ab", *JSON),
    ("answer", "show", "A-1", *JSON), ("retrieval", "explain", TRACE, *JSON), ("policy", "explain", "ab", *AS_AUDITOR, *JSON),
]


def test_every_reading_command_asks_the_server_and_hears_revocations_at_once(gprov: Run, fga: openfga.Server, tmp_path: Path) -> None:
    nobody = settings(fga, url=f"http://127.0.0.1:{openfga.free_port()}")
    may = ("user:bob", "viewer", str(object_of(KEY)))
    fga.tuples("writes", may)
    claims = [{"text": "t", "path": ["ab", "bc"]}]
    (tmp_path / "answer.jsonl").write_text(json.dumps({"answer_id": "A-1", "trace_id": TRACE, "claims": claims}) + "\n", encoding="utf-8")
    (tmp_path / "found.jsonl").write_text(
        json.dumps({"trace_id": TRACE, "passages": [{"id": "g@1#c"}, {"id": "o@1#c"}]}) + "\n", encoding="utf-8")
    assert gprov("answer", "record", "answer.jsonl")[0] != 0  # without a source nothing is open, for recording either
    assert gprov("answer", "record", "answer.jsonl", **settings(fga))[0] == 0
    assert gprov("retrieval", "record", "found.jsonl")[0] == 0
    opened = {command: gprov(*command, **settings(fga)) for command in COMMANDS}
    fga.tuples("deletes", may)
    for command in COMMANDS:
        without = gprov(*command)
        assert gprov(*command, **settings(fga)) == without, command
        assert opened[command][1] != without[1], command
        code, out, told = gprov(*command, **nobody)
        assert (code, out) == without[:2], command
        assert "access source unreachable: what it guards is denied" in told
        assert "openfga" in told


def test_the_workspace_file_names_the_server_too_and_the_token_is_in_no_message(gprov: Run, fga: openfga.Server, tmp_path: Path) -> None:
    fga.tuples("writes", ("user:bob", "viewer", str(object_of(KEY))))
    lines = [f'openfga_{name} = "{value}"' for name, value in settings(fga, token="open sesame").items()]
    (tmp_path / "gprov.toml").write_text("\n".join(lines), encoding="utf-8")
    assert gprov("edge", "show", "ab", *JSON)[0] == 0
    code, out, told = gprov("edge", "show", "ab", *JSON, url=f"http://127.0.0.1:{openfga.free_port()}")
    assert code == 1
    assert "sesame" not in out + told


@pytest.mark.parametrize("seconds", [None, "30"])
def test_the_staleness_bound_is_told_to_auditors(
    gprov: Run, fga: openfga.Server, monkeypatch: pytest.MonkeyPatch, seconds: str | None
) -> None:
    fga.tuples("writes", ("user:bob", "viewer", str(object_of(KEY))))
    if seconds is not None:
        monkeypatch.setenv("GRAPHRAG_PROVENANCE_ACCESS_STALE_SECONDS", seconds)
    code, out, _ = gprov("trace", "A:a", "A:c", "--audience", "auditor", *AS_AUDITOR, "--format", "jsonl", **settings(fga))
    assert code == 0
    told = json.loads(out)["access"]
    assert (told["allowed"], told["stale_at_most_seconds"]) == ([KEY], float(seconds or 0))


@pytest.mark.parametrize(("given", "told"), [
    ({"store_id": ""}, "openfga_store_id"), ({"model_id": ""}, "openfga_model_id"), ({"url": "localhost:8080"}, "openfga_url"),
    ({"list_seconds": "0"}, "openfga_list_seconds"), ({"list_seconds": "soon"}, "openfga_list_seconds"),
])
def test_half_a_server_is_an_error_and_not_a_closed_door(gprov: Run, fga: openfga.Server, given: dict[str, str], told: str) -> None:
    code, out, error = gprov("edge", "list", **settings(fga, **given))
    assert (code, out) == (2, "")
    assert told in error


def test_a_store_without_a_server_and_two_sources_at_once_are_refused(gprov: Run, fga: openfga.Server, tmp_path: Path) -> None:
    code, _, told = gprov("edge", "list", store_id=fga.store)
    assert code == 2
    assert "openfga_store_id" in told
    (tmp_path / "access.toml").write_text("schema = 1\n", encoding="utf-8")
    file = ("--access-file", str(tmp_path / "access.toml"))
    code, out, told = gprov("edge", "list", *file, **settings(fga))
    assert (code, out) == (2, "")
    assert "access_file" in told
    assert gprov("edge", "list", *file, **settings(fga, url=""))[0] == 0  # switched off: the file decides


def test_readers_of_other_tenants_are_not_served(gprov: Run, fga: openfga.Server) -> None:
    fga.tuples("writes", ("user:bob", "viewer", str(object_of(KEY))))
    assert gprov("edge", "show", "ab", *JSON, **settings(fga, tenants=f"{TENANT},OTHER"))[0] == 0
    assert gprov("edge", "show", "ab", *JSON, **settings(fga, tenants="OTHER"))[0] == 1
    assert gprov("edge", "show", "ab", *JSON, **settings(fga, tenants=""))[0] == 1


def test_the_references_of_a_tenants_published_edges_are_listed_in_pages(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def under(number: int, policy: str = "public") -> Any:
        acl = ACL | {"restriction_id": str(number)}
        return edge("A:a", "calls", f"A:x{number}", cites(f"n{number}@1#c", policy=policy, acl_ref=acl), edge_id=f"n{number}")

    store.load(*map(under, range(6)), under(6, "pubilc"))
    monkeypatch.setattr("graphrag_provenance.store.references._PAGE", 2)
    listed = list(stored_references(store.database, reader(TENANT)))
    assert len(listed) == len(set(listed))
    assert set(listed) == {KEY} | {AclRef(**(ACL | {"restriction_id": str(number)})).key() for number in range(6)}
    assert list(stored_references(store.database, reader("OTHER"))) == []


def test_a_list_that_ends_early_is_completed_from_the_stores_references(store: Store, gprov: Run, tmp_path: Path) -> None:
    with openfga.running(tmp_path / "log", "--listObjects-deadline", "1ms") as (address, _):
        fga = openfga.Server(address, MODEL)
        others = (AclRef(**(ACL | {"space": f"S{number}"})).key() for number in range(2_000))
        fga.tuples("writes", *(("user:bob", "viewer", str(object_of(key))) for key in (*others, KEY)))
        code, _, told = gprov("edge", "show", "ab", *JSON, **settings(fga, list_seconds="0.0005"))
        assert (code, told) == (0, "")
