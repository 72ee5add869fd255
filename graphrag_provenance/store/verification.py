"""Verification: all invariants of a live store, read from the store alone (spec 1, invariants; spec 5, `verify`).

Owns: what is read, in which order, and when a finding counts. One streaming pass a kind; each record is computed anew by the
rules that the loader uses, and nothing but sums and findings is kept, so memory does not grow with the store.

A store that is written to meanwhile: a record may be read half before and half after a change. A finding then counts only if it
comes up again in another pass, and the graph hash is compared only if nothing was written during a pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.model.identifiers import citation
from graphrag_provenance.rules.digests import EMPTY_SUM, MultisetHash
from graphrag_provenance.rules.invariants import Findings, Invariant, Report, Violation
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.reconciling import Balance, Comparison
from graphrag_provenance.rules.soundness import (
    RUNNING,
    Node,
    Say,
    VersionChecks,
    check_alias,
    check_chunk,
    check_document,
    check_entity,
    check_revision,
    check_run_order,
    check_runs_named,
    check_store,
)
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.entities import _alias as alias_node
from graphrag_provenance.store.merging import load_merges
from graphrag_provenance.store.orders import next_policies, stored_policies
from graphrag_provenance.store.runs import run_json
from graphrag_provenance.store.verifying import EdgeChecks, described, stored_relationship
from graphrag_provenance.store.verifying_merged import check_merged, check_stands
from graphrag_provenance.store.verifying_recorded import check_recorded
from graphrag_provenance.store.verifying_staged import check_staged

__all__ = ["Progress", "Report", "Violation", "verify"]

_MOST_PASSES = 4
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
_SCHEMA = re.compile(r"CREATE (?:(?P<constraint>CONSTRAINT)|(?:[A-Z]+ )?INDEX) (?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: `done` of about `total` records of the phase `documents`, `edges` …"""

    phase: str
    done: int
    total: int


def verify(database: Database, *, progress: Callable[[Progress], None] | None = None) -> Report:
    """Check every invariant. What is wrong is in the report; raises StoreError only when the store cannot be read."""
    confirmed: Findings | None = None
    for _ in range(_MOST_PASSES):
        one = _Pass(database, progress or (lambda _: None))
        one.run()
        again = confirmed is not None and not one.still
        confirmed = Findings(confirmed.found & one.findings.found) if confirmed and again else one.findings
        if one.still or not confirmed.found:
            break
    return Report(one.checked, confirmed.violations() if confirmed else (), one.total.graph_hash() if one.still else None)


class _Pass:
    """One reading of the whole store."""

    def __init__(self, database: Database, progress: Callable[[Progress], None]) -> None:
        self._database = database
        self._tell = progress
        self.findings = Findings()
        self.total = MultisetHash()
        self.still = False
        """Whether nothing was written meanwhile."""
        self._totals: dict[str, int] = next(database.stream("verify.counts"))
        self.checked: dict[str, int] = dict.fromkeys(
            ("documents", "revisions", "chunks", "entities", "aliases", "edges", "evidence", "relationships", "versions", "runs",
             "answers", "retrievals", "running", "graph_hash"), 0)
        self._runs: frozenset[int] = frozenset()

    def run(self) -> None:
        """Read everything, and see whether it stood still meanwhile."""
        before = self._state()
        stores: list[Node] = before["stores"]
        self._check_schema()
        last = self._check_runs()
        orders = self._orders(stores[0]) if stores else ()
        self._nodes("documents", lambda say, row: check_document(say, row["node"], row["revisions"]), lambda n: n.get("doc_id"))
        self._nodes("revisions", lambda say, row: check_revision(say, row["node"], row["parents"]), lambda n: n.get("doc"))
        self._nodes("chunks", lambda say, row: check_chunk(say, row["node"], row["parents"]),
                    lambda n: citation(n.get("doc", ""), n.get("chunk", "")))
        self._nodes("entities", lambda say, row: check_entity(say, row["node"], row["labels"]), _entity_id)
        self._nodes("aliases", _check_alias, lambda n: n.get("alias_id"))
        self._edges(EdgeChecks(self._database, orders, self._runs))
        versions = VersionChecks(self._runs)
        self._nodes("versions", lambda say, row: versions.check(say, row["node"]), lambda n: f"{n.get('kind')} {n.get('key')}")
        self._strays()
        check_recorded({"answer": self._rows("answers", "verify.answers"), "retrieval": self._rows("retrievals", "verify.retrievals")},
                       self._database.stream("verify.recording_runs"), self._say)
        check_staged(self._database.stream("verify.staged"), stores[0].get("staged") if stores else None, self._say)
        running = [store for store in stores if store.get("writer")]
        self.checked["running"] = len(running)
        summed = self._accounted(stores[0]) if stores else MultisetHash()
        after = self._state()
        self.still = _moved(before) == _moved(after)
        if self.still:
            self._check_store(stores, last, summed)

    def _state(self) -> Row:
        return next(self._database.stream("verify.state"))

    def _say(self, tenant: object, record: object) -> Say:
        return lambda invariant, message: self.findings.add(invariant, message, tenant, str(record))

    def _rows(self, phase: str, query: str) -> Iterator[Row]:
        """The rows of a stored query, counted and told."""
        total, done = self._totals.get(phase, 0), 0
        for row in self._database.stream(query):
            yield row
            done += 1
            if done % 1000 == 0:
                self._tell(Progress(phase, done, max(total, done)))
        self.checked[phase] = done
        self._tell(Progress(phase, done, max(total, done)))

    def _nodes(self, kind: str, check: Callable[[Say, Row], bytes | None], name: Callable[[Node], object]) -> None:
        """Check every node of a kind, and count it into the graph hash."""
        for row in self._rows(kind, f"verify.{kind}"):
            node = row["node"]
            say = self._say(node.get("tenant"), name(node))
            check_runs_named(say, node, self._runs)
            try:
                digest = check(say, row)
            except _MALFORMED as error:
                say(Invariant.MALFORMED, f"a record of {kind} lacks a property or has one of another form: {_brief(error)}")
            else:
                if digest is not None:
                    self.total.add(digest)

    def _check_schema(self) -> None:
        for migration in migrations.status(self._database).pending:
            self.findings.add(Invariant.SCHEMA, "a migration is not applied", None, f"V{migration.version:03}")
        there = {row["name"]: row["constraint"] for row in self._database.stream("verify.schema")}
        wanted = [match for m in migrations.shipped() for text in m.statements for match in _SCHEMA.finditer(text)]
        gone = [match for match in wanted if there.get(match["name"]) is not (match["constraint"] is not None)]
        for match in gone:
            self.findings.add(Invariant.SCHEMA, "a constraint or index is missing", None, match["name"])
        if any(match["constraint"] for match in gone):
            for row in self._database.stream("verify.duplicates"):
                tenant, *key = row["key"]
                message = f"more than one {row['kind']} has this key"
                self.findings.add(Invariant.DUPLICATE_KEY, message, tenant, _key(row["kind"], key))

    def _check_runs(self) -> Node:
        """Check the chain of runs. Returns the last one that ended, {} before that."""
        last: Node = {}
        seqs: set[int] = set()

        def runs() -> Iterator[Node]:
            nonlocal last
            for row in self._rows("runs", "verify.runs"):
                node = row["node"]
                seqs.add(node.get("seq"))
                try:
                    run = run_json(node)
                except _MALFORMED as error:
                    self.findings.add(Invariant.MALFORMED, f"a run cannot be read: {_brief(error)}", None, str(node.get("seq")))
                    run = dict(node)
                if run.get("status") != RUNNING:
                    last = run
                yield run

        try:
            for invariant, message, seq in check_run_order(runs()):
                self.findings.add(invariant, message, None, seq)
        except _MALFORMED as error:
            self.findings.add(Invariant.MALFORMED, f"a run cannot be read: {_brief(error)}", None, "runs")
        self._runs = frozenset(seqs)
        return last

    def _orders(self, store: Node) -> tuple[PolicyLattice, ...]:
        """The order of policies, and those of a change of it that is not finished; () when they cannot be read."""
        try:
            order, following = stored_policies(store), next_policies(store)
        except (*_MALFORMED, ConfigurationError) as error:
            self.findings.add(Invariant.POLICY_ORDER, f"the order of policies cannot be read: {_brief(error)}", None, "store")
            return ()
        if order is None:
            self.findings.add(Invariant.POLICY_ORDER, "the store has no order of policies", None, "store")
        elif store.get("policies_hash") != order.hash:
            self.findings.add(Invariant.POLICY_ORDER, "policies_hash is not that of the order of policies", None, "store")
        return following if order is None else (order, *following)

    def _edges(self, checks: EdgeChecks) -> None:
        """Check every edge, and that the relationships are exactly those of the published ones."""
        balance = Balance()
        merges = load_merges(self._database)
        check_merged(self._database.stream("verify.merged"), merges, self._say)
        for row in checks.prepare(self._rows("edges", "verify.edges")):
            node = row["node"]
            say = self._say(node.get("tenant"), node.get("edge_id"))
            self.checked["evidence"] += len(row["evidence"])
            try:
                edge = checks.check(say, row)
                check_stands(say, node, merges)
            except _MALFORMED as error:
                say(Invariant.MALFORMED, f"an edge lacks a property or has one of another form: {_brief(error)}")
                continue
            if edge.digest is not None:
                self.total.add(edge.digest)
            if edge.relationship is not None:
                balance.expect(node["tenant"], node["edge_id"], edge.relationship)
        for row in self._rows("relationships", "verify.relationships"):
            tenant, edge_id, relationship = stored_relationship(row)
            balance.find(tenant, edge_id, relationship)
            if not row["source"][0] == row["target"][0] == tenant:
                self.findings.add(Invariant.TENANT, "a relationship ties entities of different tenants, or names another one",
                                  tenant, described(row))
        unequal = balance.unequal()
        if unequal:
            self._compare(checks, Comparison(unequal))

    def _compare(self, checks: EdgeChecks, comparison: Comparison) -> None:
        """Read edges and relationships again, to say which ones disagree."""
        for row in checks.prepare(self._database.stream("verify.edges")):
            try:
                relationship = checks.check(lambda *_: None, row).relationship
            except _MALFORMED:
                continue
            if relationship is not None:
                comparison.expect(row["node"]["tenant"], row["node"]["edge_id"], relationship)
        for row in self._database.stream("verify.relationships"):
            comparison.find(*stored_relationship(row), described(row))
        comparison.report(self.findings)

    def _strays(self) -> None:
        for row in self._database.stream("verify.ends"):
            self.findings.add(Invariant.EDGE_ENDS, "an edge names an entity that does not exist", row["tenant"], row["edge_id"])
        for row in self._database.stream("verify.strays"):
            ids = " -> ".join(f"{label}:{name}" if chunk is None else f"{label}:{citation(name, chunk)}"
                              for label, _, name, chunk in row["keys"])
            self.findings.add(Invariant.STRAY, f"{row['what']} stands where the data model has none", row["keys"][0][1], ids)

    def _accounted(self, store: Node) -> MultisetHash:
        """The sum that the runs account for: the store's, and the changes of the run under way."""
        total = MultisetHash()
        try:
            total = MultisetHash(store.get("sum", EMPTY_SUM))
            for row in self._database.stream("verify.deltas"):
                if store.get("writer") is None or row["seq"] != store.get("writer_seq"):
                    self.findings.add(Invariant.STORE_RECORD, "a change of the graph hash was left by a run that has ended", None,
                                      str(row["seq"]))
                total.combine(MultisetHash(row["sum"]))
        except _MALFORMED as error:
            self.findings.add(Invariant.MALFORMED, f"a sum cannot be read: {_brief(error)}", None, "store")
        return total

    def _check_store(self, stores: list[Node], last: Node, summed: MultisetHash) -> None:
        """The store's own record against what was read; only if nothing was written meanwhile."""
        say = self._say(None, "store")
        if len(stores) != 1 and (stores or any(self.checked.values())):
            say(Invariant.STORE_RECORD, f"there are {len(stores)} records of the store")
        if not stores:
            return
        self.checked["graph_hash"] = 1
        head_seq = max(self._runs, default=0)
        try:
            check_store(say, stores[0], last, last.get("seq", 0) != head_seq, head_seq)
        except _MALFORMED as error:
            say(Invariant.MALFORMED, f"the record of the store cannot be read: {_brief(error)}")
        if self.total.to_bytes() != summed.to_bytes():
            say(Invariant.GRAPH_HASH, "the content does not give the sum that the runs account for")


def _moved(state: Row) -> tuple[Any, ...]:
    """What changes with every commit of a run; the renewal of a lease does not count."""
    return state["deltas"], [(s.get("writer"), s.get("head_seq"), s.get("digest"), s.get("sum")) for s in state["stores"]]


def _check_alias(say: Say, row: Row) -> bytes | None:
    node = row["node"]
    key = (node["tenant"], node["type"], node["id"])
    derived = alias_node(key, node["alias"], node["method"], node["linker"], node["linker_version"], node["since"])
    return check_alias(say, node, derived, row["entities"])


def _entity_id(node: Node) -> str:
    return f"{node.get('type')}:{node.get('id')}"


def _key(kind: str, key: list[Any]) -> str:
    return citation(*key) if kind == "chunk" else ":".join(map(str, key))


def _brief(error: Exception) -> str:
    return f"{type(error).__name__} {error}"
