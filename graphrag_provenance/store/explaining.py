"""`policy explain`: why an edge stands under its policies, or under none (spec 2; auditors only).

Owns: which statements there are about one edge, who makes each, and how they join. An auditor sees an edge as in every other
look-up: a published one only with clearance and grants, an unpublished one with its reasons. Where the auditor may not see an
item (a known policy about it is not the auditor's, or a reference is not granted), its place is left out, its policies are not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.access.asking import confirmed
from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import NotFoundError
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.heads import is_current
from graphrag_provenance.rules.joining import JoinStep, join_steps
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.publication import State, Testimony, verdict
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.orders import next_policies, stored_policies
from graphrag_provenance.store.readers import Visibility, require_role, visibility

_LEVELS = ("chunk", "revision", "document")


@dataclass(frozen=True, slots=True)
class Statement:
    """One policy statement about an edge or about one item of its evidence."""

    by: str
    """`evidence`, `chunk`, `revision`, `document`, or `edge` for a declared policy."""
    record: str | None
    """The record that says it; None where the auditor may not see which."""
    policy: str
    known: bool
    maximal: bool
    """Whether it is one of the policies that a reader needs."""

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        return {"by": self.by, "record": self.record, "policy": self.policy, "known": self.known, "maximal": self.maximal}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that decides about one edge."""

    edge: Mapping[str, Any]
    statements: tuple[Statement, ...]
    silent: tuple[str | None, ...]
    """Evidence that nothing speaks about: the edge's own policy stands in, or the edge is withheld."""
    references: tuple[str, ...]
    join: tuple[JoinStep, ...]
    agrees: bool
    """Whether the store holds what the statements give (else: a change of the order is under way, or `gprov verify` says more)."""
    changing: bool
    """Whether a change of the order of policies is unfinished."""

    def as_json(self) -> dict[str, Any]:
        """The documented JSON."""
        return {
            "schema": 1, "edge_id": self.edge["edge_id"], "state": self.edge["state"], "reasons": list(self.edge["reasons"]),
            "policies": list(self.edge["policies"]), "acl": list(self.references), "declared": list(self.edge["declared"]),
            "unknown": sorted({one.policy for one in self.statements if not one.known}),
            "statements": [one.as_json() for one in self.statements], "silent_evidence": list(self.silent),
            "join": [step.as_json() for step in self.join], "agrees": self.agrees, "order_changing": self.changing,
        }


def explain_policy(
    database: Database, reader: Reader, edge_id: str, granted: Collection[str] = frozenset(), *, access: AccessSource | None = None
) -> Explanation:
    """What makes an edge restricted, or keeps it withheld. Raises NotFoundError, AccessDeniedError without the role auditor."""
    require_role(reader, Role.AUDITOR, action="Explaining policies")
    return confirmed(access, reader, granted, lambda keys: (_explained(database, reader, edge_id, keys), None))


def _explained(database: Database, reader: Reader, edge_id: str, granted: Collection[str]) -> Explanation:
    view = visibility(database, reader, granted, fresh=True)
    store = database.read("read.policies")
    order = stored_policies(store[0]) if store else None
    rows = database.read("read.policy_statements", tenant=view.tenant, edge_id=edge_id)
    if order is None or not rows or not _may_see(view, rows[0]["assertion"]):
        raise NotFoundError(f"There is no edge {edge_id}.", hint="See: gprov edge list.")
    return _explain(order, view, rows[0], changing=bool(next_policies(store[0])))


def _may_see(view: Visibility, edge: Mapping[str, Any]) -> bool:
    if edge["tenant"] != view.tenant:
        return False
    return edge["state"] != State.PUBLISHED or (
        bool(edge["policies"]) and view.allowed.issuperset(edge["policies"]) and view.granted.issuperset(edge["acl"]))


def _explain(order: PolicyLattice, view: Visibility, row: Row, *, changing: bool) -> Explanation:
    edge = row["assertion"]
    items = sorted(row["evidence"], key=lambda one: (one["doc"], one["chunk"], one["span"] or [], one["polarity"]))
    said: list[tuple[str, str | None, str]] = []
    silent: list[str | None] = []
    spoken: list[Testimony] = []
    for item in items:
        where = f"{item['doc']}#{item['chunk']}" if _open(view, item, edge) else None
        own = () if item["own"] is None else (item["own"],)
        records = {"chunk": where, "revision": where and item["doc"], "document": where and item["doc_id"]}
        here = [("evidence", where, policy) for policy in own]
        here += [(level, records[level], policy) for level in _LEVELS for policy in item[f"{level}_says"]]
        said += here
        if not here:
            silent.append(where)
        spoken.append(Testimony(item["polarity"], tuple(policy for _, _, policy in here), _references(item), item["confidence"],
                                is_current(item["doc"], item["head"]), bool(item["registered"])))
    said += [("edge", edge["edge_id"], policy) for policy in edge["declared"]]
    steps = join_steps(order, (policy for _, _, policy in said))
    maximal = steps[-1].so_far if steps else ()
    derived = [verdict(order, spoken, edge["declared"], declared_stands_in=stands_in) for stands_in in (True, False)]
    agrees = any((one.state, list(one.reasons), list(one.policies)) == (edge["state"], edge["reasons"], edge["policies"])
                 for one in derived)
    statements = tuple(Statement(by, record, policy, order.knows(policy), policy in maximal)
                       for by, record, policy in dict.fromkeys(said))
    return Explanation(edge, statements, tuple(silent), tuple(sorted(edge["acl"])), steps, agrees, changing)


def _references(item: Row) -> tuple[str, ...]:
    own = () if item["reference"] is None else (item["reference"],)
    return (*own, *item["chunk_refers"], *item["revision_refers"])


def _open(view: Visibility, item: Row, edge: Mapping[str, Any]) -> bool:
    """Whether the auditor may know where an item stands (as `store.lookups` shows evidence of an unpublished edge)."""
    said = {*item["chunk_says"], *item["revision_says"], *item["document_says"], *(() if item["own"] is None else (item["own"],))}
    return view.granted.issuperset(_references(item)) and view.allowed.issuperset((said or set(edge["declared"])) & view.known)
