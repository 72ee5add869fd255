"""Golden paths: whether an answer is the one that a file expects, and where it first differs (spec 4, golden paths). Pure.

Owns: the comparison and its words, and which questions some edges concern. Leaves to others: the file (`rules.claims`), asking, printing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.model.identifiers import citation
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.rules.claims import Claim, GoldenQuestion

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which an answer is not the one expected."""

    what: str
    """`state`, `reason`, `path`, `evidence`, or `truncated`."""
    expected: object
    got: object
    hop: int | None = None
    """The first hop that differs, from 1."""

    def __str__(self) -> str:
        if self.what == "truncated":
            return "the search ran out of time, so what was found may not be all there is"
        where = self.what if self.hop is None else f"{self.what}, first at hop {self.hop}"
        return f"{where}: expected {_told(self.expected)}, got {_told(self.got)}"

    def as_json(self) -> Json:
        """The difference as programs read it."""
        return {"what": self.what, "hop": self.hop, "expected": self.expected, "got": self.got}


def _told(value: object) -> str:
    if value is None:
        return "nothing"
    return (", ".join(map(str, value)) or "nothing") if isinstance(value, list) else str(value)


def edges_of(answer: Trace) -> list[str]:
    """Edge ids of the chain found, in order."""
    return [str(step.edge["edge_id"]) for chain in answer.chains for step in chain.steps]


def evidence_of(answer: Trace) -> list[list[str]]:
    """For each hop of the chain found its supporting passages, sorted, each once."""
    return [
        sorted({citation(item.content["doc"], item.content["chunk"]) for item in step.evidence if item.supports})
        for chain in answer.chains for step in chain.steps]


def differences(expected: GoldenQuestion, answer: Trace) -> tuple[Difference, ...]:
    """Everything in which an answer is not the one expected; () when it is."""
    found: list[Difference] = []
    reason = None if answer.reason is None else answer.reason.value
    if answer.truncated:
        found.append(Difference("truncated", False, True))
    if answer.state != expected.expect_state:
        found.append(Difference("state", expected.expect_state, answer.state + (f" ({reason})" if reason else "")))
    elif expected.expect_reason is not None and reason != expected.expect_reason.value:
        found.append(Difference("reason", expected.expect_reason.value, reason))
    edges = edges_of(answer)
    if expected.expect_edges is not None and edges != expected.expect_edges:
        found.append(Difference("path", expected.expect_edges, edges, _first(expected.expect_edges, edges)))
    elif expected.expect_evidence is not None:
        found += _evidence(expected.expect_evidence, evidence_of(answer))
    return tuple(found)


def touched(asked: Iterable[tuple[GoldenQuestion, Trace]], edge_ids: Collection[str]) -> list[Json]:
    """The questions whose path, expected or found, leads over some of these edges; and whether each is still answered as expected."""
    told = []
    for one, answer in asked:
        over = sorted({*(one.expect_edges or ()), *edges_of(answer)}.intersection(edge_ids))
        if over:
            differs = differences(one, answer)
            told.append({"id": one.id, "edge_ids": over, "ok": not differs, "differences": [d.as_json() for d in differs]})
    return told


def _first(expected: Sequence[object], got: Sequence[object]) -> int:
    """The first place, from 1, at which two unequal lists differ."""
    pairs = zip(expected, got, strict=False)
    return next((n for n, (one, other) in enumerate(pairs, 1) if one != other), min(len(expected), len(got)) + 1)


def _evidence(expected: list[list[str]], got: list[list[str]]) -> list[Difference]:
    wanted = [sorted(set(hop)) for hop in expected]
    if wanted == got:
        return []
    hop = _first(wanted, got)
    one, other = (hops[hop - 1] if hop <= len(hops) else [] for hops in (wanted, got))
    return [Difference("evidence", one, other, hop)]


def recorded(claim: Claim, answer: Trace, reader: Reader) -> GoldenQuestion:
    """The claim with today's answer as the one expected, and with who asked."""
    asked = {"tenant": reader.tenant, "clearance": sorted(reader.clearances), "max_hops": claim.max_hops or answer.question.max_hops}
    kept = {**claim.model_dump(exclude_defaults=True), **({} if reader.roles == {Role.READER} else {"roles": sorted(reader.roles)})}
    found = {} if not answer.chains else {"expect_edges": edges_of(answer), "expect_evidence": evidence_of(answer)}
    reason = {} if answer.reason is None else {"expect_reason": answer.reason}
    return GoldenQuestion.model_validate({**kept, **asked, "expect_state": answer.state, **reason, **found})
