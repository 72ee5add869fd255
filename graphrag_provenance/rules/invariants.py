"""What must hold in a store, by name, and what is said when it does not (spec 1, invariants; spec 5, `verify`).

Owns: the codes of the invariants, the shape of a report, and how findings become violations: one for each invariant and
message, with the ids of everything concerned, sorted and never cut. Leaves to others how anything is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Invariant(StrEnum):
    """Stable codes; the number of the invariant of spec 1 comes first in each meaning."""

    EDGE_WITHOUT_SUPPORT = "edge-without-support"
    """1: a published edge has no active evidence that supports it."""
    EVIDENCE_UNRESOLVED = "evidence-unresolved"
    """1: evidence does not lead to one chunk, the revision of that chunk and the document of that revision."""
    VERDICT = "verdict"
    """2, 3: state, reasons, policies, references, confidence or flags of an edge are not what its evidence gives."""
    UNKNOWN_POLICY = "unknown-policy"
    """2: a published edge carries a policy that the store's order does not name."""
    RELATIONSHIP_MISSING = "relationship-missing"
    """3: a published edge has no typed relationship."""
    RELATIONSHIP_DUPLICATE = "relationship-duplicate"
    """3: a published edge has more than one typed relationship."""
    RELATIONSHIP_DIFFERS = "relationship-differs"
    """3: type, ends or properties of a typed relationship are not those of its edge."""
    RELATIONSHIP_UNFOUNDED = "relationship-unfounded"
    """3: a relationship between entities has no published edge behind it: anybody could walk over it."""
    STRAY = "stray"
    """3: a relationship or label that the data model does not have."""
    WITHHELD_LABEL = "withheld-label"
    """3: the label Withheld is on an edge that is not withheld, or is missing on one that is."""
    EDGE_ENDS = "edge-ends"
    """3: an edge names an entity that does not exist."""
    ENTITY_LABEL = "entity-label"
    """3: the labels of an entity are not Entity and its type."""
    TENANT = "tenant"
    """4: something of one tenant is tied to something of another."""
    UNKNOWN_RUN = "unknown-run"
    """5: a change names no run, or one that does not exist."""
    EVIDENCE_INTERVAL = "evidence-interval"
    """5: evidence ends before it begins, or the same evidence is active twice at one time."""
    EVIDENCE_FORCE = "evidence-force"
    """1: evidence is active that a complete revision replaced or a tombstone removed."""
    RUN_SEQUENCE = "run-sequence"
    """5: runs are not numbered 1, 2, 3 … without a gap, or one before the last has not ended."""
    RUN_DIGEST = "run-digest"
    """5: the digest of an ended run is not that of its record."""
    RUN_CHAIN = "run-chain"
    """5: a run does not follow the run before it (`previous`)."""
    STORE_RECORD = "store-record"
    """5: the store's own record disagrees with its last run, its writer or its sum."""
    RECORDED = "recorded"
    """5: a recorded answer or retrieval is not what was recorded, or its run does not account for it."""
    STAGED = "staged"
    """5: what a staged run holds back is not what was staged, or what became of it is not what a later run says."""
    SCHEMA = "schema"
    """6: a migration, a unique constraint or an index is missing."""
    DUPLICATE_KEY = "duplicate-key"
    """6: two records have one key."""
    GRAPH_HASH = "graph-hash"
    """8: the graph hash computed from the content is not the one that the runs account for."""
    HISTORY = "history"
    """8: a past version does not fit its key, its digest, its runs or the version before it."""
    RECORD_DIGEST = "record-digest"
    """8: the digest of a record is not that of its content."""
    CHUNK_TEXT = "chunk-text"
    """8: the text of a chunk is not what its `content_sha256` names."""
    HEAD = "head"
    """8: the head of a document is not what its declared revisions give."""
    IDENTIFIER = "identifier"
    """8: an id is not in normal form, or something derived from an id is not its derivation."""
    PARENT = "parent"
    """1: a revision is not under its one document, or a chunk not under its one revision."""
    ALIAS = "alias"
    """1: an alias does not name the one entity that it states."""
    MERGED = "merged"
    """1: what was merged into something else is more than a sign to it, is still named, or leads nowhere."""
    POLICY_ORDER = "policy-order"
    """2: the store's order of policies is missing, broken or not the one that its hash names."""
    MALFORMED = "malformed"
    """All: a record lacks a property, or has one of a form that nothing here writes."""


class Violation(NamedTuple):
    """An invariant that does not hold, and for what."""

    invariant: str
    message: str
    """What is wrong, and in which tenant."""
    ids: tuple[str, ...]
    """Every record concerned, sorted: edge_id, doc_id, `doc@ver`, `doc@ver#chunk`, `Type:id`, alias_id or run number."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification read and found."""

    checked: Mapping[str, int]
    """Kind → records read. `running`: whether a run was under way; `graph_hash`: whether the sums could be compared,
    which needs a moment in which nothing is written."""
    violations: tuple[Violation, ...]
    graph_hash: str | None
    """Computed from the content; None when the store changed while it was read."""

    @property
    def ok(self) -> bool:
        """Whether every invariant holds."""
        return not self.violations

    def as_json(self) -> dict[str, Any]:
        """The documented JSON (spec 5)."""
        return {
            "schema": 1, "ok": self.ok, "checked": dict(self.checked),
            "violations": [{"invariant": v.invariant, "message": v.message, "ids": list(v.ids)} for v in self.violations],
            "graph_hash": self.graph_hash,
        }


@dataclass(slots=True)
class Findings:
    """Findings as they come up. What grows is only what is wrong."""

    found: set[tuple[Invariant, str, str]] = field(default_factory=set)
    """(invariant, message, id)."""

    def add(self, invariant: Invariant, message: str, tenant: object, record: str) -> None:
        """Note one finding about one record; `tenant` is None for what belongs to the whole store."""
        self.found.add((invariant, message if tenant is None else f"{message} (tenant {tenant})", record))

    def violations(self) -> tuple[Violation, ...]:
        """One violation for each invariant and message, in the order of the enum."""
        return tuple(_grouped(self.found))


def _grouped(found: Iterable[tuple[Invariant, str, str]]) -> Iterable[Violation]:
    groups: dict[tuple[Invariant, str], list[str]] = {}
    for invariant, message, record in found:
        groups.setdefault((invariant, message), []).append(record)
    order = {invariant: number for number, invariant in enumerate(Invariant)}
    for invariant, message in sorted(groups, key=lambda group: (order[group[0]], group[1])):
        yield Violation(invariant.value, message, tuple(sorted(groups[(invariant, message)])))
