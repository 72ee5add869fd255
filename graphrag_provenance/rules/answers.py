"""The answer to a question: a trace as programs read it (spec 4, trace; spec 5, JSON).

Owns: the shape of a trace for each audience, and citations. Policy names, references and rejected candidates exist only in
an auditor's view; a reader's view has no field in which they could stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.rules.chains import Chain, Failure, Item, Question, Reason, Step
from graphrag_provenance.rules.conflicts import Conflict

Audience = Literal["reader", "auditor"]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate chain that does not answer, and where it fails (auditors only)."""

    chain: Chain
    failures: tuple[Failure, ...]


REASONS: dict[str, str] = {
    "unknown-entity": "an end of the claim is no entity that this reader can see",
    "entity-join": "a name in the claim fits no single entity, and none is picked by guessing",
    "alias-guessed": "a name in the claim was linked to its entity by a guess, which never completes a chain",
    "environment-scope": "a chain exists, but not in this environment",
    "region-scope": "a chain exists, but not in this region",
    "time-scope": "a chain exists, but is not valid at this time",
    "stale-revision": "a chain exists, but rests on a revision that a newer one replaced",
    "disputed": "a chain exists, but evidence speaks against a step of it",
    "no-path": "no chain of visible, evidenced edges joins the two ends; a missing step is never filled in",
    "access": "a chain exists, but this reader may not see all of it",
}
"""Why a claim is unresolved (`Reason`), in words for people and for models."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What the store says to a question."""

    question: Question
    trace_id: str
    reason: Reason | None
    """None: supported."""
    generation: int
    """The run after which the graph was read."""
    chains: tuple[Chain, ...] = ()
    truncated: bool = False
    """The search hit its time limit or bound: nothing found does not mean nothing there."""
    rejected: tuple[Rejected, ...] = ()
    """Filled for auditors only."""
    access: Json | None = None
    """What the live access source decided, and from which state of it; for auditors only. None: no source was asked."""
    conflicts: tuple[Conflict, ...] | None = None
    """What contradicts a step, of the edges that the reader may see; None: no relations were declared to the question."""

    @property
    def state(self) -> str:
        """`supported` or `unresolved`."""
        return "supported" if self.reason is None else "unresolved"

    def as_json(self, audience: Audience = "reader") -> Json:
        """The versioned JSON of `trace --format json`; ids and instants as text."""
        auditor = audience == "auditor"
        answer: Json = {
            "schema": 1,
            "trace_id": self.trace_id,
            "state": self.state,
            "reason": None if self.reason is None else self.reason.value,
            "means": None if self.reason is None else REASONS[self.reason],
            "claim": claim_json(self.question),
            "generation": self.generation,
            "truncated": self.truncated,
            "paths": [chain_json(chain, auditor=auditor) for chain in self.chains],
            "citations": citations(self.chains),
        }
        if self.conflicts is not None:
            answer["conflicts"] = [one.as_json() for one in self.conflicts]
        if auditor:
            answer["policies"] = sorted({p for chain in self.chains for step in chain.steps for p in step.edge["policies"]})
            answer["access"] = self.access
            answer["rejected_chains"] = [
                {**chain_json(r.chain, auditor=True),
                 "failures": [{"hop": f.hop, "edge_id": f.edge_id, "constraint": str(f.constraint)} for f in r.failures]}
                for r in self.rejected
            ]
        return answer


def claim_json(question: Question) -> Json:
    """A question as it was asked."""
    return {
        "from": dict(zip(("type", "id"), question.source, strict=True)),
        "to": dict(zip(("type", "id"), question.target, strict=True)),
        "relations": list(question.sequence or question.relations),
        "exact_sequence": bool(question.sequence),
        "directed": question.directed,
        "max_hops": question.hops,
        "scope": {
            "environment": question.environment, "region": question.region, "at": instant(question.at),
            "require_current": question.require_current,
        },
    }


def chain_json(chain: Chain, *, auditor: bool) -> Json:
    """A chain: its entities in order and its steps with their evidence."""
    return {
        "entities": [{"type": e["type"], "id": e["id"], "name": e["name"]} for e in chain.entities],
        "steps": [step_json(step, auditor=auditor) for step in chain.steps],
    }


def step_json(step: Step, *, auditor: bool) -> Json:
    """One hop."""
    edge = step.edge
    shown: Json = {
        "edge_id": edge["edge_id"],
        "relation": step.relation or step.type.lower(),
        "source": {"type": step.source[1], "id": step.source[2]},
        "target": {"type": step.target[1], "id": step.target[2]},
        "forward": step.forward,
        "scope": scope_json(edge),
        "confidence": edge.get("confidence"),
        "current": bool(edge.get("current")),
        "extracted_by": extractors(item.content for item in step.evidence),
        "evidence": [item_json(item) for item in in_order(step.evidence)],
    }
    if auditor:
        shown |= {"policies": list(edge["policies"]), "acl": list(edge["acl"])}
    return shown


def scope_json(edge: Mapping[str, Any]) -> Json:
    """Where and when an edge holds; null: everywhere, always."""
    return {
        "environment": edge.get("environment"), "region": edge.get("region"),
        "valid_from": instant(edge.get("valid_from")), "valid_to": instant(edge.get("valid_to")),
    }


def extractors(contents: Iterable[Mapping[str, Any]]) -> list[Json]:
    """Every pipeline and version that extracted some of the evidence, sorted, each once."""
    pairs = {(c["pipeline"], c["version"]) for c in contents if c.get("pipeline") is not None}
    return [{"pipeline": pipeline, "version": version} for pipeline, version in sorted(pairs)]


def item_json(item: Item) -> Json:
    """One citation, down to the passage."""
    content, run = item.content, item.content["run"] or {}
    return {
        "doc": content["doc"],
        "doc_title": content["title"],
        "chunk": content["chunk"],
        "section_path": list(content["section_path"] or ()),
        "span": None if content["span"] is None else list(content["span"]),
        "quote_hash": content["quote_hash"],
        "polarity": content["polarity"],
        "url": content["url"],
        "head_revision": content["head"],
        "is_stale": item.stale,
        "run": {**{name: run.get(name) for name in ("seq", "pipeline", "version")}, "at": instant(run.get("at"))},
    }


def in_order(items: Iterable[Item]) -> list[Item]:
    """Current before stale, then by document and place: the same evidence always reads the same."""
    def place(item: Item) -> tuple[object, ...]:
        what = item.content
        return (item.stale, what["doc"], what["chunk"], what["span"] or [], what["quote_hash"] or "", what["polarity"])

    return sorted(items, key=place)


def citations(chains: Iterable[Chain]) -> list[Json]:
    """Numbered, document level, each once: revision and section of every supporting item, in reading order."""
    found: dict[tuple[str, tuple[str, ...]], Json] = {}
    for chain in chains:
        for step in chain.steps:
            for item in in_order(i for i in step.evidence if i.supports):
                section = tuple(item.content["section_path"] or ())
                found.setdefault((item.content["doc"], section), {
                    "n": len(found) + 1, "doc_title": item.content["title"], "doc": item.content["doc"],
                    "section": " › ".join(section) or None, "url": item.content["url"],
                })
    return list(found.values())


def instant(value: datetime | None) -> str | None:
    """ISO 8601 in UTC, or None."""
    return None if value is None else format_instant(value)
