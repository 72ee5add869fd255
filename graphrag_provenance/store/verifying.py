"""Whether one stored edge is sound: its evidence resolves, and its state is the one that its evidence gives.

Owns: what is read of an edge for this, and the comparison of its stored state with a new verdict. The verdict, the digest, the
testimony and the relationship are those of the loader (`rules.edges`, `rules.publication`, `store.assertions`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from typing import Any

from graphrag_provenance.model.identifiers import citation, relationship_type, split_revision
from graphrag_provenance.rules.edges import Citation, Node, assertion_digest, relationship_properties, stored_citation, with_verdict
from graphrag_provenance.rules.invariants import Invariant
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.publication import State, verdict
from graphrag_provenance.rules.reconciling import fact
from graphrag_provenance.rules.soundness import Say, check_runs_named
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.passages import heard
from graphrag_provenance.store.view import Key, Kind, Pending, View

_DERIVED = ("state", "reasons", "policies", "acl", "confidence", "current", "disputed", "registered")
_REMEMBERED = 100_000
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Checked:
    """What a sound or unsound edge counts as."""

    digest: bytes | None
    """Of its content as stored; None when retracted."""
    relationship: bytes | None
    """The one that must exist, or None when it is not published."""


class _Said(Pending):
    """What was read about passages. What is not there says nothing here; that it is not there is a finding of its own."""

    def get(self, kind: Kind, key: Key) -> Node | None:
        return self.old[kind].get(key)


class Passages:
    """What is said about cited passages, read by key in batches and remembered: most evidence cites what other evidence cites."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.said = _Said(View())
        self._faults: dict[Key, tuple[tuple[Invariant, str], ...]] = {}

    def load(self, keys: Collection[Key]) -> None:
        """Read what is not remembered of `keys`."""
        if len(self._faults) > _REMEMBERED:
            self._faults.clear()
            for nodes in self.said.old.values():
                nodes.clear()
        missing = [list(key) for key in keys if key not in self._faults]
        if missing:
            for row in self._database.stream("verify.passages", keys=missing):
                self._take(tuple(row["key"]), row["chunk"], row["parents"])

    def _take(self, key: Key, chunk: Node, parents: Sequence[Node]) -> None:
        tenant, doc, chunk_id = key
        doc_id = split_revision(doc)[0]
        said = self.said.old
        said["chunk"][key] = chunk
        faults: list[tuple[Invariant, str]] = []
        if [(parent["revision"]["doc"], parent["document"]["doc_id"]) for parent in parents] != [(doc, doc_id)]:
            where = citation(doc, chunk_id)
            faults.append((Invariant.EVIDENCE_UNRESOLVED, f"evidence {where} does not lead to its revision and document"))
        for parent in parents:
            said["revision"][(tenant, doc)] = parent["revision"]
            said["document"][(tenant, doc_id)] = parent["document"]
            if parent["revision"]["tenant"] != tenant or parent["document"]["tenant"] != tenant:
                faults.append((Invariant.TENANT, _CROSSES))
        self._faults[key] = tuple(faults)

    def faults(self, key: Key) -> Sequence[tuple[Invariant, str]]:
        """What is wrong with a passage that `load` was given."""
        return self._faults.get(key, _GONE)


_CROSSES = "evidence cites a source of another tenant"
_GONE = ((Invariant.EVIDENCE_UNRESOLVED, "evidence points to a chunk that has no key"),)


class EdgeChecks:
    """Checks edges. `orders`: the store's order of policies and those of an unfinished change of it (an edge may stand under
    any of them), () when they cannot be read; `runs`: the runs there are."""

    def __init__(self, database: Database, orders: Sequence[PolicyLattice], runs: Collection[int]) -> None:
        self._orders = orders
        self._runs = runs
        self._passages = Passages(database)

    def prepare(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows of `verify.edges`, with what `check` needs to know about them read ahead."""
        rows = iter(rows)
        while batch := list(islice(rows, _BATCH)):
            self._passages.load({(tenant, doc, chunk) for row in batch for tenant, doc, chunk, known, _ in row["evidence"]
                                 if known and isinstance(doc, str) and isinstance(chunk, str)})
            yield from batch

    def check(self, say: Say, row: Row) -> Checked:
        """Check one row of `prepare`. Raises KeyError, TypeError, ValueError or AttributeError for a malformed one."""
        node, tenant = row["node"], row["node"]["tenant"]
        check_runs_named(say, node, self._runs)
        intervals: dict[Citation, list[tuple[int, float]]] = {}
        for owner, doc, chunk, is_chunk, properties in row["evidence"]:
            if not is_chunk:
                say(Invariant.EVIDENCE_UNRESOLVED, "evidence points to something that is no chunk")
                continue
            if owner != tenant:
                say(Invariant.TENANT, _CROSSES)
            for invariant, message in self._passages.faults((owner, doc, chunk)):
                say(invariant, message)
            item = stored_citation({**properties, "doc": doc, "chunk": chunk})
            intervals.setdefault(item, []).append(self._interval(say, properties))
        if any(_overlap(spans) for spans in intervals.values()):
            say(Invariant.EVIDENCE_INTERVAL, "the same evidence is active twice at one time")
        active = [item for item, spans in intervals.items() if any(until == _OPEN for _, until in spans)]
        self._check_state(say, node, tenant, active)
        if row["withheld"] != (node["state"] == State.WITHHELD):
            say(Invariant.WITHHELD_LABEL, "the label Withheld does not fit the state")
        digest = assertion_digest(node, active)
        if node.get("digest") != digest:
            say(Invariant.RECORD_DIGEST, "the digest of the edge is not that of its content")
        return Checked(digest, expected_relationship(node, active))

    def _interval(self, say: Say, properties: Node) -> tuple[int, float]:
        since, until = properties["since"], properties.get("until", _OPEN)
        if since not in self._runs or (until != _OPEN and until not in self._runs):
            say(Invariant.UNKNOWN_RUN, "evidence begins or ends with a run that does not exist")
        if until < since or properties.get("dropped", _OPEN) < until:  # since = until: it arrived out of force
            say(Invariant.EVIDENCE_INTERVAL, "evidence ends before it begins")
        return since, until

    def _check_state(self, say: Say, node: Node, tenant: str, active: Sequence[Citation]) -> None:
        if node["state"] == State.PUBLISHED:
            if not any(item.polarity == "supports" for item in active):
                say(Invariant.EDGE_WITHOUT_SUPPORT, "published without active evidence that supports it")
            if self._orders and not all(any(order.knows(name) for order in self._orders) for name in node["policies"]):
                say(Invariant.UNKNOWN_POLICY, "published under a policy that the store does not know")
        about = [heard(tenant, item, self._passages.said) for item in active]
        spoken = [one for one, _ in about]
        if not all(in_force for _, in_force in about):
            say(Invariant.EVIDENCE_FORCE, "evidence is active that a complete revision replaced or a tombstone removed")
        if not self._orders:
            return
        wrong: list[str] = []
        # Whether the edge's own policy may stand in is a setting of the run that wrote it, and is not stored: either will do.
        for order, stands_in in product(self._orders, (True, False)):
            derived = with_verdict(node, verdict(order, spoken, node["declared"], declared_stands_in=stands_in))
            differing = [name for name in _DERIVED if node.get(name) != derived.get(name)]
            if not differing:
                return
            wrong = wrong or differing
        say(Invariant.VERDICT, f"{', '.join(wrong)}: not what the evidence gives")


_OPEN = float("inf")


def _overlap(spans: list[tuple[int, float]]) -> bool:
    if len(spans) == 1:
        return False
    spans.sort()
    return any(earlier[1] > later[0] for earlier, later in pairwise(spans))


def expected_relationship(node: Node, active: Sequence[Citation]) -> bytes | None:
    """The relationship of a published edge, as `rules.reconciling` compares it."""
    if node["state"] != State.PUBLISHED:
        return None
    source, target = ([node["tenant"], node[f"{end}_type"], node[f"{end}_id"]] for end in ("source", "target"))
    return fact(relationship_type(node["relation"]), source, target, relationship_properties(node, active))


def stored_relationship(row: Row) -> tuple[object, object, bytes]:
    """Tenant, edge id and all of a relationship as it stands."""
    properties = row["properties"]
    return properties.get("tenant"), properties.get("edge_id"), fact(row["type"], row["source"], row["target"], properties)


def described(row: Row) -> str:
    """The edge id that a relationship names; its ends and type if it names none."""
    edge_id = row["properties"].get("edge_id")
    return str(edge_id) if edge_id is not None else f"{_address(row['source'])} -{row['type']}-> {_address(row['target'])}"


def _address(key: list[Any]) -> str:
    return f"{key[1]}:{key[2]}"
