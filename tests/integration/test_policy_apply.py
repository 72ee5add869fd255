"""Another order of policies: what it opens and closes, told before and done after, and closed throughout while it is being done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher, Server
from corpus.records import POLICIES, TENANT, Store, check_sound, chunk, cites, document, edge, entity, registered, revision, write
from typer.testing import CliRunner

from graphrag_provenance.errors import AccessDeniedError, ConfigurationError, NotFoundError, StoreConflictError
from graphrag_provenance.ingest import policy
from graphrag_provenance.ingest.policy import PolicyOptions, PolicySummary, apply_policies
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.policies import PolicyLattice, lattice
from graphrag_provenance.store import lookups, readers, runs
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.explaining import explain_policy
from graphrag_provenance.store.traces import trace

ORDER = POLICIES.as_json()
WIDER = ORDER | {"pubilc": ["public"]}


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def change(store: Store, order: Mapping[str, list[str]], **options: Any) -> PolicySummary:
    return apply_policies(store.database, lattice(order), PolicyOptions(actor="boss", **options))


def told(summary: PolicySummary) -> dict[str, list[str]]:
    body = summary.as_json()
    return {what: [one["edge_id"] for one in body[what]] for what in ("opened", "closed", "changed") if body[what]}


def reader(*clearances: str, auditor: bool = False) -> Reader:
    return Reader("r", TENANT, frozenset(clearances), frozenset({Role.AUDITOR} if auditor else {Role.READER}))


def seen(store: Store, *clearances: str) -> list[str]:
    return [one["edge_id"] for one in lookups.edge_list(store.database, reader(*clearances))]


def corpus() -> list[Any]:
    """An edge for each policy, one under two that are beside each other, one declared, one with an unknown name."""
    found: list[Any] = [entity("System:A", policy="internal")]
    for number, said in enumerate(("public", "internal", "confidential", "secret", "hr", "legal", "pubilc")):
        found += registered(f"d{number}@1#c", said)
        found.append(edge("System:A", "uses", f"System:{said}", f"d{number}@1#c", edge_id=said))
    return [*found, edge("System:A", "uses", "System:both", "d4@1#c", "d5@1#c", edge_id="both"),
            edge("System:A", "uses", "System:declared", "bare@1#c", policy="internal", edge_id="declared"),
            edge("System:A", "uses", "System:mute", "bare@1#c", edge_id="mute")]


def test_unknown_evidence_withdraws_an_edge_and_naming_the_policy_publishes_it_each_in_a_run(store: Store) -> None:
    store.load(*registered("d@1#c", "internal"), edge("System:A", "uses", "System:B", "d@1#c", edge_id="E"))
    auditor = reader("secret", "pubilc", auditor=True)
    store.load(edge("System:A", "uses", "System:B", cites("other@1#c", policy="pubilc"), edge_id="E"))
    assert (store.state("E"), store.published()) == ("withheld", {})
    with pytest.raises(ConfigurationError):
        lookups.edge_history(store.database, auditor, "E")  # the store does not know that clearance yet
    withdrawn = lookups.edge_history(store.database, reader("secret", auditor=True), "E")
    assert (withdrawn["state"], withdrawn["changed_by"]["kind"], withdrawn["changed_by"]["seq"]) == ("withheld", "ingest", 2)

    assert told(change(store, WIDER, dry_run=True)) == {"opened": ["E"]}
    assert store.state("E") == "withheld"
    summary = change(store, WIDER)
    assert told(summary) == {"opened": ["E"]}
    assert store.published() == {"E": ("internal", "pubilc")}
    history = lookups.edge_history(store.database, auditor, "E")
    assert [one["since"] for one in history["history"]] == [1, 2]
    assert (history["changed_by"]["kind"], history["changed_by"]["seq"], history["changed_by"]["actor"]) == ("policy-apply", 3, "boss")
    assert "changed_by" not in lookups.edge_history(store.database, reader("secret", "pubilc"), "E")
    run = lookups.run_show(store.database, 3)
    assert (run["status"], run["policies_hash"], run["inputs"][0]["policies"]) == ("finished", lattice(WIDER).hash, WIDER)
    check_sound(store)


def test_by_command_an_unknown_policy_withdraws_an_edge_and_applying_it_publishes_it_and_history_names_both_runs(
    store: Store, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def gprov(*command: str, code: int = 0) -> Any:
        done = CliRunner().invoke(app, [*command, "--format", "json"])
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    def history() -> tuple[Any, ...]:
        told = gprov("edge", "history", "E", "--tenant", TENANT, "--clearance", "secret", "--role", "auditor")
        return told["state"], told["changed_by"]["kind"], told["changed_by"]["seq"], [one["since"] for one in told["history"]]

    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "policies.toml"

    def order(*more: str) -> None:
        lines = ["schema = 1", "", "[policies.public]", "", "[policies.secret]", 'above = ["public"]', *more]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    order()
    write(tmp_path / "one.jsonl", [edge("System:A", "uses", "System:B", cites("d@1#c", policy="public"), edge_id="E")])
    write(tmp_path / "two.jsonl", [edge("System:A", "uses", "System:B", cites("e@1#c", policy="pubilc"), edge_id="E")])
    gprov("ingest", "one.jsonl", "--policies", str(file))
    assert history() == ("published", "ingest", 1, [1])
    assert gprov("ingest", "two.jsonl", "--policies", str(file), code=1)["withheld_reasons"] == {"unknown-policy": 1}
    assert history() == ("withheld", "ingest", 2, [1, 2])
    order("", "[policies.pubilc]", "", "[policies.top]", 'above = ["secret", "pubilc"]')
    gprov("policy", "apply", str(file))
    told = gprov("edge", "history", "E", "--tenant", TENANT, "--clearance", "top", "--role", "auditor")
    assert (told["state"], told["changed_by"]["kind"], told["changed_by"]["seq"]) == ("published", "policy-apply", 3)
    assert [(one["since"], one["run"]["kind"]) for one in told["history"]] == [(1, "ingest"), (2, "ingest")]


CHANGES: dict[str, tuple[Callable[[dict[str, list[str]]], dict[str, list[str]]], dict[str, list[str]]]] = {
    "a name more": (lambda o: o | {"pubilc": []}, {"opened": ["pubilc"]}),
    "relaxed": (lambda o: o | {"internal": ["public", "hr"], "hr": []}, {"opened": ["both", "hr"],
        "closed": ["declared", "internal", "public"]}),
    "tightened": (lambda o: o | {"internal": []}, {"closed": ["public"]}),
    "reordered": (lambda o: o | {"secret": ["internal"], "confidential": ["secret"]},
                  {"opened": ["secret"], "closed": ["confidential"]}),
    "put in line": (lambda o: o | {"legal": ["hr"]}, {"opened": ["both", "hr"]}),
    "a name less": (lambda o: {name: [b for b in below if b != "hr"] for name, below in o.items() if name != "hr"},
                    {"closed": ["both", "hr"]}),
    "the same": (lambda o: dict(o), {}),
    "the same in other words": (lambda o: o | {"secret": ["confidential", "public"]}, {}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_dry_run_tells_is_done_and_can_be_taken_back(store: Store, name: str) -> None:
    alter, expected = CHANGES[name]
    store.load(*corpus())
    before, state, published = store.hash(), store.everything(), store.published()
    order = alter(dict(ORDER))
    planned = change(store, order, dry_run=True, batch_size=3)
    assert told(planned) == expected
    assert store.everything() == state
    done = change(store, order, batch_size=2)
    assert told(done) == told(planned)
    assert done.counts == planned.counts
    assert sum(done.counts.values()) == 10
    check_sound(store)
    again = change(store, order)
    assert (told(again), again.as_json()["writes"]) == ({}, {"nodes": 0, "relationships": 0, "properties": 0})
    back = change(store, ORDER)
    assert set(told(back)) == {{"opened": "closed", "closed": "opened"}[what] for what in expected}
    assert (store.hash(), store.published()) == (before, published)
    assert list(planned.as_json()).index("opened") < list(planned.as_json()).index("closed")


@pytest.mark.parametrize("name", CHANGES)
def test_the_store_is_as_if_loaded_under_the_new_order(
    store: Store, name: str, cypher: Cypher, database: Database) -> None:
    order = CHANGES[name][0](dict(ORDER))
    store.load(*corpus())
    change(store, order)
    applied = (store.hash(), store.published())
    cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
    store.policies = lattice(order)
    store.load(*corpus())
    assert (store.hash(), store.published()) == applied


def test_a_store_without_an_order_takes_it(store: Store) -> None:
    assert sum(change(store, WIDER).counts.values()) == 0
    store.load(*registered("d@1#c", "pubilc"), edge("System:A", "uses", "System:B", "d@1#c", edge_id="E"))
    assert store.published() == {"E": ("pubilc",)}


def test_readers_and_their_caches_follow_the_order_at_once(store: Store) -> None:
    store.load(*corpus())
    question = Question(("System", "A"), ("System", "hr"))

    def state(*clearances: str) -> str:
        return str(trace(store.database, question, reader(*clearances)).as_json()["state"])

    assert (state("internal"), state("hr")) == ("unresolved", "supported")
    change(store, ORDER | {"internal": ["public", "hr"], "hr": []})
    assert (state("internal"), state("hr")) == ("supported", "supported")
    with pytest.raises(ConfigurationError):
        state("new")
    change(store, ORDER | {"new": ["hr"]})
    assert (state("new"), state("internal")) == ("supported", "unresolved")
    change(store, ORDER)
    with pytest.raises(ConfigurationError):
        state("new")


# A change that is cut off.

class Cut(BaseException):
    """Stands for whatever ends a process."""


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Callable[[Store, Mapping[str, list[str]], int], None]:
    """Ends a change after some batches of one edge, and leaves it as a killed process does: unsealed."""
    def run(store: Store, order: Mapping[str, list[str]], batches: int) -> None:
        real, left = policy.reevaluate_edges, iter(range(batches))

        def some(*args: Any) -> Any:
            if next(left, None) is None:
                raise Cut
            return real(*args)

        with monkeypatch.context() as patch:
            patch.setattr(policy, "reevaluate_edges", some)
            patch.setattr(runs.Run, "end", lambda run, *_: run._stop.set())
            with pytest.raises(Cut):
                change(store, order, batch_size=1, lease_seconds=0.2)
    return run


REORDERED = ORDER | {"hr": [], "internal": ["public", "hr"], "secret": ["internal"], "confidential": ["secret"], "pubilc": []}


@pytest.mark.parametrize("batches", range(0, 10, 3))
def test_between_two_orders_a_reader_sees_only_what_both_permit(
    store: Store, cypher: Cypher, cut: Callable[..., None], batches: int) -> None:
    store.load(*corpus())
    clearances = [(), *((name,) for name in ORDER), ("hr", "legal"), ("internal", "legal"), ("pubilc", "public")]
    known = [one for one in clearances if "pubilc" not in one]
    old = {one: set(seen(store, *one)) for one in known}
    cut(store, REORDERED, batches)
    between = {one: set(seen(store, *one)) for one in clearances}
    for one in clearances:
        for edge_id in ("public", "hr", "both", "secret"):
            answer = trace(store.database, Question(("System", "A"), ("System", edge_id)), reader(*one)).as_json()
            assert edge_id in between[one] or answer["state"] == "unresolved"
    hash_ = store.database.read("read.policies")[0]["policies_hash"]
    assert hash_.startswith(POLICIES.hash)
    assert hash_ != POLICIES.hash

    with pytest.raises(StoreConflictError, match="gprov policy apply"):
        store.load(*registered("late@1#c", "public"), wait_seconds=5)
    with pytest.raises(StoreConflictError, match="gprov policy apply"):
        store.load(*registered("late@1#c", "public"), dry_run=True)
    assert store.one("MATCH (d:Document {doc_id: 'late'}) RETURN count(d) AS n") == 0
    summary = change(store, REORDERED)
    assert summary.completes
    assert store.one("MATCH (s:Store) RETURN s.policies_next AS n") is None
    assert [r["s"] for r in cypher("MATCH (r:Run) RETURN r.status AS s ORDER BY r.seq")] == ["finished", "interrupted", "finished"]
    check_sound(store)
    new = {one: set(seen(store, *one)) for one in clearances}
    for one in known:
        assert between[one] <= old[one] | new[one]
    assert between["pubilc", "public"] <= {"public"}
    completed = (store.hash(), store.published())
    cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")
    store.policies = lattice(REORDERED)
    store.load(*corpus())
    assert (store.hash(), store.published()) == completed


def test_a_third_order_completes_too_and_until_then_three_count(store: Store, cut: Callable[..., None]) -> None:
    store.load(*corpus())
    before = store.hash()
    cut(store, ORDER | {"hr": [], "public": ["hr"]}, 5)
    cut(store, ORDER | {"hr": ["internal"], "legal": ["hr"]}, 5)
    assert "hr" not in seen(store, "internal")
    assert len(json.loads(store.one("MATCH (s:Store) RETURN s.policies_next AS n"))) == 2
    change(store, ORDER)
    assert store.hash() == before
    store.load(*registered("late@1#c", "public"))
    check_sound(store)


KILLED = """
import sys, json, os, signal
from pydantic import SecretStr
from graphrag_provenance.ingest import policy
from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.store.database import Connection, Database
uri, user, password, name, order = json.loads(sys.argv[1])
real, done = policy.reevaluate_edges, []
def some(*args):
    if len(done) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(1)
    return real(*args)
policy.reevaluate_edges = some
with Database(Connection(uri, user, SecretStr(password), name)) as database:
    policy.apply_policies(database, lattice(order), policy.PolicyOptions(batch_size=1))
"""


def test_a_change_killed_in_the_middle_is_completed_by_applying_again(store: Store, server: Server) -> None:
    store.load(*corpus())
    connection = server.connection
    given = [connection.uri, connection.username, connection.password.get_secret_value(), connection.database, REORDERED]
    done = subprocess.run([sys.executable, "-c", KILLED, json.dumps(given)], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert store.one("MATCH (s:Store) RETURN s.policies_next AS n") is not None
    with pytest.raises(StoreConflictError, match="cut off"):
        store.load(*registered("late@1#c", "public"))
    assert change(store, REORDERED).completes
    check_sound(store)
    assert "pubilc" in store.published()


def test_a_failure_in_the_middle_says_to_apply_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.load(*corpus())

    def broken(*_: Any) -> Any:
        raise StoreConflictError("Broken.")

    with monkeypatch.context() as patch:
        patch.setattr(policy, "reevaluate_edges", broken)
        with pytest.raises(StoreConflictError, match="apply it again"):
            change(store, REORDERED)
    assert store.one("MATCH (r:Run {seq: 2}) RETURN r.status AS s") == "failed"
    with pytest.raises(StoreConflictError):
        store.load(*registered("late@1#c", "public"))


# Explaining.

def test_an_auditor_is_told_which_statement_makes_an_edge_restricted(store: Store) -> None:
    store.load(
        document("d", policy="public"), revision("d@1", policy="hr"), chunk("d@1", "c", policy="internal"),
        edge("System:A", "uses", "System:B", cites("d@1#c", policy="legal"), policy="public", edge_id="E"))
    body = explain_policy(store.database, reader("hr", "legal", auditor=True), "E").as_json()
    assert (body["state"], body["policies"], body["agrees"]) == ("published", ["hr", "legal"], True)
    assert [(s["by"], s["record"], s["policy"], s["maximal"]) for s in body["statements"]] == [
        ("evidence", "d@1#c", "legal", True), ("chunk", "d@1#c", "internal", False), ("revision", "d@1", "hr", True),
        ("document", "d", "public", False), ("edge", "E", "public", False)]
    assert [(j["policy"], j["so_far"]) for j in body["join"]] == [
        ("legal", ["legal"]), ("internal", ["legal"]), ("hr", ["hr", "legal"]), ("public", ["hr", "legal"])]
    with pytest.raises(NotFoundError) as hidden:
        explain_policy(store.database, reader("hr", auditor=True), "E")
    with pytest.raises(NotFoundError) as absent:
        explain_policy(store.database, reader("hr", auditor=True), "F")
    assert str(hidden.value).replace("E.", "F.", 1) == str(absent.value)
    with pytest.raises(AccessDeniedError):
        explain_policy(store.database, reader("hr", "legal"), "E")


def test_an_auditor_is_told_which_statement_is_unknown(store: Store) -> None:
    store.load(*registered("d@1#c", "pubilc"), *registered("s@1#c", "secret"),
               edge("System:A", "uses", "System:B", "d@1#c", "s@1#c", "bare@1#c", edge_id="E"))
    body = explain_policy(store.database, reader("internal", auditor=True), "E").as_json()
    assert (body["state"], body["unknown"], body["agrees"]) == ("withheld", ["pubilc"], True)
    assert body["reasons"] == ["undetermined-policy", "unknown-policy: pubilc"]
    assert body["silent_evidence"] == ["bare@1#c"]
    assert [(s["record"], s["policy"]) for s in body["statements"]] == [("d", "pubilc"), (None, "secret")]


# By command.

@pytest.fixture
def gprov(server: Server, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_"))}
    environment = kept | server.environment() | {"GRAPHRAG_PROVENANCE_HOME": str(tmp_path / "home")}
    return lambda *args: subprocess.run(
        [sys.executable, "-m", "graphrag_provenance.interfaces.cli", *args], env=environment, cwd=tmp_path, capture_output=True,
        text=True, check=False)


def policy_file(path: Path, order: PolicyLattice) -> str:
    path.write_text("schema = 1\n" + "".join(
        f"[policies.{name}]\nabove = {json.dumps(below)}\n" for name, below in order.as_json().items()), encoding="utf-8")
    return str(path)


def test_the_commands_compare_plan_apply_and_explain(store: Store, gprov: Callable[..., Any], tmp_path: Path) -> None:
    store.load(*corpus())
    file = policy_file(tmp_path / "wider.toml", lattice(WIDER))
    checked = gprov("policy", "check", file, "--format", "json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["store"]["added"] == ["pubilc"]
    planned = gprov("policy", "apply", file, "--dry-run")
    assert (planned.returncode, "Opens: 1" in planned.stdout, "nothing was written" in planned.stdout) == (0, True, True), planned
    assert store.state("pubilc") == "withheld"
    done = json.loads(gprov("policy", "apply", file, "--actor", "boss", "--format", "json").stdout)
    assert (done["counts"]["opened"], done["run"]["actor"], store.state("pubilc")) == (1, "boss", "published")
    assert "applies the same order" in gprov("policy", "check", file).stderr
    who = ("--tenant", TENANT, "--clearance", "hr", "--clearance", "legal")
    explained = gprov("policy", "explain", "both", *who, "--role", "auditor")
    assert explained.stdout.startswith("both: published under hr, legal"), explained
    refused = gprov("policy", "explain", "both", *who)
    assert (refused.returncode, "auditor" in refused.stderr) == (2, True)
    assert readers._known.get(store.database) is None or seen(store, "pubilc") == ["pubilc", "public"]
