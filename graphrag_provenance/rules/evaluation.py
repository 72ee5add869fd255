"""Evaluation of chains: four measures over questions whose answers are known, and what kind of failure each wrong one is (spec 4). Pure.

Owns: the measures, the kinds of failure, and the check that a divided set does not leak. Leaves to others: the file
(`rules.claims`), asking (`store.asking`). A question is right only if its state, its reason and its whole chain are as expected: a
lucky final answer over a broken chain does not count.

- `passage_recall`: of the supporting passages expected, those that the chains found rest on;
- `edge_correctness`: of the edges in the chains found, those that stand where they are expected;
- `complete_chain_support`: of the chains expected, those found whole, each hop with every passage expected;
- `answer_accuracy`: of all questions, those answered right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.identifiers import split_revision
from graphrag_provenance.rules.answers import Trace
from graphrag_provenance.rules.claims import Claim, GoldenQuestion
from graphrag_provenance.rules.golden import edges_of, evidence_of

Json = dict[str, Any]
SUPPORTED = "supported"


class Failure(StrEnum):
    """What went wrong with an answer; the first that fits."""

    TRUNCATED = "truncated"
    """The search ran out of time."""
    INVENTED = "invented"
    """Supported, and it must not be."""
    MISSED = "missed"
    """Unresolved, and there is a chain."""
    DISTRACTED = "distracted"
    """The chain holds an edge that only stands nearby."""
    CHAIN = "wrong-chain"
    """The chain is another one."""
    PASSAGES = "lost-passages"
    """The right chain without some of its passages."""
    REASON = "wrong-reason"
    """Unresolved for another reason."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One question with what was right in its answer."""

    question: GoldenQuestion
    answer: Trace
    failure: Failure | None
    """None: right."""
    edges_found: int
    edges_right: int
    passages_wanted: int
    passages_found: int

    def as_json(self) -> Json:
        """The score as programs read it."""
        return {
            "id": self.question.id, "expected": expected(self.question), "got": got(self.answer),
            "failure": None if self.failure is None else self.failure.value, "edges": edges_of(self.answer),
            "distractors_taken": sorted(set(edges_of(self.answer)) & set(self.question.distractors)),
        }


def expected(question: GoldenQuestion) -> str:
    """`supported`, or the reason expected."""
    return SUPPORTED if question.expect_state == SUPPORTED else question.expect_reason or "unresolved"


def got(answer: Trace) -> str:
    """`supported`, or the reason given."""
    return SUPPORTED if answer.reason is None else answer.reason.value


def score(question: GoldenQuestion, answer: Trace) -> Scored:
    """What is right in one answer."""
    chain, wanted_chain = edges_of(answer), question.expect_edges or []
    supported = question.expect_state == SUPPORTED
    right = sum(1 for one, other in zip(chain, wanted_chain, strict=False) if one == other) if supported else 0
    if supported and question.expect_edges is None:
        right = len(chain)
    wanted = set(question.passages or (one for hop in question.expect_evidence or () for one in hop)) if supported else set()
    passages = {one for hop in evidence_of(answer) for one in hop}
    return Scored(question, answer, _failure(question, answer, chain), len(chain), right, len(wanted), len(wanted & passages))


def _failure(question: GoldenQuestion, answer: Trace, chain: list[str]) -> Failure | None:
    if answer.truncated:
        return Failure.TRUNCATED
    if question.expect_state != SUPPORTED:
        if answer.reason is None:
            return Failure.INVENTED
        return Failure.REASON if question.expect_reason not in (None, answer.reason) else None
    if answer.reason is not None:
        return Failure.MISSED
    if set(chain) & set(question.distractors):
        return Failure.DISTRACTED
    if question.expect_edges is not None and chain != question.expect_edges:
        return Failure.CHAIN
    hops = evidence_of(answer)
    wanted = question.expect_evidence
    if wanted is not None and (len(wanted) != len(hops) or any(set(w) - set(h) for w, h in zip(wanted, hops, strict=True))):
        return Failure.PASSAGES
    return Failure.PASSAGES if set(question.passages) - {one for hop in hops for one in hop} else None


def measured(scored: Sequence[Scored]) -> Json:
    """The measures, whole and by what was expected, and the failures by kind. A measure without anything to measure is None."""
    failed = [one for one in scored if one.failure is not None]
    reasons = sorted({expected(one.question) for one in scored}, key=lambda name: (name != SUPPORTED, name))
    return {
        "schema": 1, "ok": not failed, "questions": len(scored), "measures": _measures(scored),
        "by_expected": {
            name: {"questions": len(part), "right": sum(one.failure is None for one in part), **_measures(part)}
            for name in reasons for part in [[one for one in scored if expected(one.question) == name]]},
        "by_failure": dict(sorted(Counter(one.failure.value for one in scored if one.failure).items())),
        "failures": [one.as_json() for one in failed],
    }


def _measures(scored: Sequence[Scored]) -> dict[str, float | None]:
    chains = [one for one in scored if one.question.expect_state == SUPPORTED]
    return {
        "passage_recall": _share(sum(one.passages_found for one in scored), sum(one.passages_wanted for one in scored)),
        "edge_correctness": _share(sum(one.edges_right for one in scored), sum(one.edges_found for one in scored)),
        "complete_chain_support": _share(sum(one.failure is None for one in chains), len(chains)),
        "answer_accuracy": _share(sum(one.failure is None for one in scored), len(scored)),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def check_split(questions: Sequence[Claim], answers: Mapping[str, Trace] | None = None) -> None:
    """Raise InputError if a document, in whatever revision, serves questions on two sides of a split.

    A question's documents are those that it names and those that its answer rests on (by question id). A question without a side is on
    none; a side that is not everybody's needs one for every question, else it is no division.
    """
    if not any(one.split for one in questions):
        return
    without = [one.id for one in questions if not one.split]
    if without:
        raise InputError(f"The set is divided, but {', '.join(without[:5])} is on no side.", hint="Give each question a split, or none.")
    sides: dict[str, tuple[str, str]] = {}
    for one in questions:
        answer = (answers or {}).get(one.id)
        cited = {item.content["doc"] for chain in answer.chains for step in chain.steps for item in step.evidence} if answer else set()
        for document in sorted({*one.documents, *(split_revision(revision)[0] for revision in cited)}):
            place = f"{one.tenant}:{document}" if one.tenant else document
            side, first = sides.setdefault(place, (str(one.split), one.id))
            if side != one.split:
                hint = "Put all questions about one document, whatever its revision, on one side."
                raise InputError(f"The split leaks: {document} is in {side} ({first}) and in {one.split} ({one.id}).", hint=hint)
