"""Recorded answers: claim, path, evidence, as it was then and as it is now (spec 4, claims and answers).

Owns: recording an answer, showing it to a reader, and naming the claims that a change of the graph concerns. Leaves to
`rules.recorded` what a record holds and what has become of it.

A reader sees a step if the reader may see its edge now, and what it was then if the reader could see that too. An edge that is
hidden from the reader is answered exactly like one that is gone: the step is there, without anything. The words of a claim are
shown only with all of its steps, then and now, since they say what the steps say. An auditor also hears why a step is gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import InputError, NotFoundError, StoreConflictError
from graphrag_provenance.model.identifiers import canonical_text
from graphrag_provenance.model.instants import now
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.reports import AnswerReport, StepReport
from graphrag_provenance.rules.answers import Json, in_order, instant, item_json, scope_json
from graphrag_provenance.rules.chains import Item
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.publication import State
from graphrag_provenance.rules.recorded import (
    ANSWER,
    Impact,
    cited_key,
    digest_text,
    follows,
    impacts,
    report_digest,
    same_passage,
    step_then,
)
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.orders import stored_policies
from graphrag_provenance.store.readers import Visibility, may_see, require_role
from graphrag_provenance.store.recording import RecordingOptions, check_generations, recorded_run, state_of_generation
from graphrag_provenance.store.runs import Run
from graphrag_provenance.store.seeing import confirmed_read, end_of, shown, stands_for

_PAGE = 200
_MOST_CONTENT = 8_000_000
"""Characters of one recorded answer."""
Edges = dict[str, tuple[Row, list[Item]]]
"""Edge id → the row of a visible edge and the citations of it, past ones too, that the reader may see."""


def record_answers(
    database: Database, reader: Reader, reports: Sequence[AnswerReport], options: RecordingOptions | None = None,
    granted: Collection[str] = frozenset(), *, access: AccessSource | None = None, notify: Callable[[str], None] | None = None,
) -> Json:
    """Record answers as one run, with every edge as the reader sees it now. What is recorded already is left alone.

    Raises InputError, and writes nothing, for a claim whose path the reader cannot see, that is no path, that cites other
    passages than its edges have, or that has changed since the generation it was made from; StoreConflictError for an answer id
    that is recorded with other content.
    """
    digests = {one.answer_id: report_digest(one.model_dump(mode="json")) for one in reports}
    if len(digests) < len(reports):
        raise InputError("Two answers of the file have one answer_id.")
    known = {row["answer_id"]: row for row in database.read("answer.known", tenant=reader.tenant, answer_ids=list(digests))}
    for answer_id, row in known.items():
        if row["report"] != digests[answer_id]:
            raise StoreConflictError(f"Answer {answer_id} is recorded with other content; a recorded answer never changes.",
                                     hint="Record it under another answer_id.")
    new = [one for one in reports if one.answer_id not in known]
    run: Json = {}
    written: list[Row] = []
    if new:
        def look(view: Visibility) -> tuple[Edges, None]:
            return _edges(database, view, {step.edge_id for one in new for claim in one.claims for step in claim.steps}), None

        def claims() -> list[list[Json]]:
            edges = confirmed_read(database, access, reader, granted, look)
            return [_claims(one, edges) for one in new]

        def make(run: Run) -> list[Row]:
            return [_row(database, run, reader, one, digests[one.answer_id], made)
                    for one, made in zip(new, claims(), strict=True)]

        check_generations(database, (one.generation for one in new))
        claims()  # what cannot be recorded needs no run
        inputs = [{"name": (options or RecordingOptions()).source, "sha256": report_digest(sorted(digests.values()))}]
        run, written = recorded_run(database, ANSWER, options or RecordingOptions(), make, inputs, notify)
    states = {row["props"]["answer_id"]: row["props"] for row in written}
    return {
        "schema": 1, "run": {name: run.get(name) for name in ("seq", "run_id", "trace_id", "digest")} if run else None,
        "answers": [
            {"answer_id": one.answer_id, "recorded": one.answer_id in states, "claims": len(one.claims),
             "run": (states.get(one.answer_id) or known.get(one.answer_id) or {})["since"],
             "digest": (states.get(one.answer_id) or known.get(one.answer_id) or {})["content_digest"]}
            for one in reports],
    }


def _content(report: AnswerReport, claims: Sequence[Json]) -> str:
    text = canonical_text(list(claims))
    if len(text) > _MOST_CONTENT:
        raise InputError(f"Answer {report.answer_id} rests on too much to keep ({len(text):,} characters).",
                         hint="Name the passages that it cites, or record it as several answers.")
    return text


def _row(database: Database, run: Run, reader: Reader, report: AnswerReport, digest: str, claims: Sequence[Json]) -> Row:
    generation, graph_hash = state_of_generation(database, report.generation, run.seq - 1)
    return {
        "props": {
            "tenant": reader.tenant, "answer_id": report.answer_id, "trace_id": report.trace_id, "principal": reader.principal,
            "at": now(), "generation": generation, "graph_hash": graph_hash, "report": digest, "content": _content(report, claims)},
        "edge_ids": sorted({step["edge_id"] for claim in claims for step in claim["steps"]}),
    }


def _claims(report: AnswerReport, edges: Edges) -> list[Json]:
    made = []
    for claim_id, claim in zip(report.claim_ids, report.claims, strict=True):
        place = f"Answer {report.answer_id}, claim {claim_id}"
        for step in claim.steps:
            if step.edge_id not in edges:
                raise InputError(f"{place}: there is no edge {step.edge_id}.", hint="An answer rests on published edges.")
        found = [edges[step.edge_id] for step in claim.steps]
        broken = follows([row["assertion"] for row, _ in found])
        if broken is not None:
            raise InputError(f"{place}: step {broken + 1} does not start where step {broken} ends.", hint="List the edges in order.")
        made.append({
            "claim_id": claim_id, "text": claim.text,
            "steps": [_then(place, step, row, items, report.generation) for step, (row, items) in zip(claim.steps, found, strict=True)]})
    return made


def _then(place: str, step: StepReport, row: Row, items: Iterable[Item], generation: int | None) -> Json:
    edge = row["assertion"]
    if generation is not None and edge["changed"] > generation:
        raise InputError(f"{place}: edge {step.edge_id} changed in run {edge['changed']}, after generation {generation}.",
                         hint="Trace the claim again, and record that.")
    supporting = [one.content for one in items if one.supports and one.content["until"] is None]
    cited = supporting if step.evidence is None else [
        one for one in supporting if any((p.doc, p.chunk) == (one["doc"], one["chunk"]) for p in step.evidence)]
    for passage in step.evidence or ():
        if not any((passage.doc, passage.chunk) == (one["doc"], one["chunk"]) for one in cited):
            raise InputError(f"{place}: {passage.doc}#{passage.chunk} does not support edge {step.edge_id}.",
                             hint="Cite passages that its trace lists.")
    return step_then(edge, cited)


def _edges(database: Database, view: Visibility, edge_ids: Iterable[str]) -> Edges:
    """Those of some edges that the reader may see."""
    wanted = sorted(set(edge_ids))
    found: Edges = {}
    for start in range(0, len(wanted), _PAGE):
        for row in database.read("answer.edges", **view.params(), edge_ids=wanted[start:start + _PAGE]):
            if may_see(view, row["assertion"]):
                found[row["assertion"]["edge_id"]] = row, shown(view, row)
    return found


def show_answer(
    database: Database, reader: Reader, answer_id: str, granted: Collection[str] = frozenset(), *, access: AccessSource | None = None,
) -> Json:
    """One recorded answer for one reader. Raises NotFoundError."""
    rows = database.read("answer.show", tenant=reader.tenant, answer_id=answer_id)
    if not rows:
        raise NotFoundError(f"There is no recorded answer {answer_id}.", hint="Record it: gprov answer record FILE.")
    answer = rows[0]["answer"]
    claims = json.loads(answer["content"])
    edge_ids = {step["edge_id"] for claim in claims for step in claim["steps"]}

    def read(view: Visibility) -> tuple[Json, None]:
        edges = _edges(database, view, edge_ids)
        merged = stands_for(database, view, edge_ids - set(edges))
        standing = _edges(database, view, merged.values())
        edges |= {edge_id: standing[into] for edge_id, into in merged.items() if into in standing}
        states = _states(database, view.tenant, edge_ids) if reader.is_auditor else {}
        return {
            "schema": 1, "answer_id": answer_id, "trace_id": answer["trace_id"],
            "recorded": {"at": instant(answer["at"]), "run": answer["since"], "generation": answer["generation"],
                         "graph_hash": answer["graph_hash"], "digest": answer["content_digest"], "principal": answer["principal"]},
            "claims": [_claim_json(view, claim, edges, states, auditor=reader.is_auditor) for claim in claims],
        }, None

    return confirmed_read(database, access, reader, granted, read)


def _claim_json(view: Visibility, claim: Json, edges: Edges, states: Mapping[str, Row], *, auditor: bool) -> Json:
    whole = all(step["edge_id"] in edges for step in claim["steps"])
    path = []
    for step in claim["steps"]:
        if step["edge_id"] in edges:
            path.append(_step_json(view, step, *edges[step["edge_id"]], auditor=auditor))
        else:
            why = _why(step, states.get(step["edge_id"])) if auditor else {}
            path.append({"state": "gone", "edge_id": None, "then": None, "now": None, **why})
    told = whole and all(_saw(view, step) for step in claim["steps"])
    return {"claim_id": claim["claim_id"], "text": claim["text"] if told else None,
            "state": "supported" if whole else "unsupported", "path": path}


def _step_json(view: Visibility, step: Json, row: Row, items: Sequence[Item], *, auditor: bool) -> Json:
    edge = row["assertion"]
    saw = _saw(view, step)
    active = [one for one in items if one.content["until"] is None]
    return {
        "state": "standing", "edge_id": edge["edge_id"],
        **({"merged_from": step["edge_id"]} if edge["edge_id"] != step["edge_id"] else {}), "relation": edge["relation"],
        "source": {"type": edge["source_type"], "id": edge["source_id"]}, "target": {"type": edge["target_type"], "id": edge["target_id"]},
        "scope": scope_json(edge), "unchanged": saw and digest_text(edge["digest"]) == step["digest"],
        "then": None if not saw else {
            **{name: step[name] for name in ("confidence", "current", "disputed", *(("digest", "policies", "acl") if auditor else ()))},
            "evidence": [_evidence_then(step, one, active) for one in in_order(_recorded(step, items))]},
        "now": {"confidence": edge.get("confidence"), "current": bool(edge["current"]), "disputed": bool(edge["disputed"]),
                "evidence": [item_json(one) for one in in_order(active)]},
    }


def _saw(view: Visibility, step: Json) -> bool:
    """Whether the reader could see the edge as it was recorded."""
    return view.allowed.issuperset(step["policies"]) and view.granted.issuperset(step["acl"])


def _recorded(step: Json, items: Sequence[Item]) -> list[Item]:
    """The citations that were recorded, of those the reader may see; in the interval of then, if it still stands as it was."""
    found = []
    for then in step["evidence"]:
        same = [one for one in items if same_passage(then, one.content)]
        found += sorted(same, key=lambda one: (one.content["since"] == then["since"], one.content["since"]))[-1:]
    return found


def _evidence_then(step: Json, one: Item, active: Sequence[Item]) -> Json:
    ended = one.content["ended"]
    then = next(item for item in step["evidence"] if same_passage(item, one.content))
    return {**item_json(one), "head_revision": then["head_revision"], "is_stale": then["is_stale"],
            "active": any(same_passage(then, other.content) for other in active),
            "retired_by": None if ended is None else ended["seq"]}


def _why(step: Json, state: Row | None) -> Json:
    """For auditors: why a reader with these clearances does not see a step."""
    edge = None if state is None else state["assertion"]
    why = "unknown-edge" if edge is None else "access" if edge["state"] == State.PUBLISHED else edge["state"]
    return {"edge_id": step["edge_id"], "why": why, "reasons": list((edge or {}).get("reasons") or ()),
            "policies": list((edge or {}).get("policies") or ()), "acl": list((edge or {}).get("acl") or ()),
            "changed": (edge or {}).get("changed")}


def _states(database: Database, tenant: str, edge_ids: Iterable[str]) -> dict[str, Row]:
    """What stands of each edge: itself, or the one that took it in."""
    asked, wanted = set(edge_ids), sorted(set(edge_ids))
    found: dict[str, Row] = {}
    into: dict[str, str] = {}
    while wanted:
        for start in range(0, len(wanted), _PAGE):
            rows = database.read("answer.states", tenant=tenant, edge_ids=wanted[start:start + _PAGE])
            found |= {row["assertion"]["edge_id"]: row for row in rows}
        into = {edge_id: row["assertion"]["merged_into"] for edge_id, row in found.items() if row["assertion"].get("merged_into")}
        wanted = sorted(set(into.values()) - asked)
        asked |= set(wanted)
    return {edge_id: found.get(end_of(into, edge_id) or edge_id, row) for edge_id, row in found.items()}


def answer_impact(database: Database, reader: Reader, *, since: int | None = None) -> Json:
    """The recorded claims whose edges lost support, were withheld or restricted, went stale, became disputed, or stand on other
    evidence than the answer cites; `since`: only by changes after that run. For auditors and operators."""
    require_role(reader, Role.AUDITOR, Role.OPERATOR, action="Reading what a change means for answers")
    store = database.read("read.policies")
    order = stored_policies(store[0]) if store else None
    found: list[Json] = []
    counted = 0
    after = ""
    while order is not None and (rows := database.read("answer.page", tenant=reader.tenant, after=after, limit=_PAGE)):
        after = rows[-1]["answer"]["answer_id"]
        answers = [(row["answer"], json.loads(row["answer"]["content"])) for row in rows]
        states = _states(database, reader.tenant, {s["edge_id"] for _, claims in answers for c in claims for s in c["steps"]})
        for answer, claims in answers:
            counted += len(claims)
            for claim in claims:
                edges = [one for number, step in enumerate(claim["steps"], 1)
                         for one in [_impact(number, step, states.get(step["edge_id"]), order, since)] if one is not None]
                if edges:
                    kinds = {kind for one in edges for kind in one["impact"]}
                    found.append({"answer_id": answer["answer_id"], "claim_id": claim["claim_id"], "trace_id": answer["trace_id"],
                                  "generation": answer["generation"], "impact": [kind for kind in Impact if kind in kinds],
                                  "edges": edges})
    return {"schema": 1, "since": since, "claims_checked": counted, "claims": found}


def _impact(number: int, step: Json, state: Row | None, order: PolicyLattice, since: int | None) -> Json | None:
    edge = None if state is None else state["assertion"]
    if edge is not None and (digest_text(edge.get("digest")) == step["digest"] or (since is not None and edge["changed"] <= since)):
        return None
    kinds = impacts(order, step, edge, [] if state is None else [cited_key(one) for one in state["active"]])
    if not kinds:
        return None
    merged = {} if edge is None or edge["edge_id"] == step["edge_id"] else {"merged_into": edge["edge_id"]}
    return {"hop": number, "edge_id": step["edge_id"], **merged, "impact": [kind.value for kind in kinds],
            "changed": None if edge is None else edge["changed"], "reasons": [] if edge is None else list(edge["reasons"])}


def answers_on(database: Database, reader: Reader, edge_ids: Iterable[str]) -> list[Json]:
    """The recorded answers that rest on some of these edges. For auditors and operators."""
    require_role(reader, Role.AUDITOR, Role.OPERATOR, action="Reading what a change means for answers")
    wanted = sorted(set(edge_ids))
    found: dict[str, set[str]] = {}
    for start in range(0, len(wanted), _PAGE):
        for row in database.read("answer.touching", tenant=reader.tenant, edge_ids=wanted[start:start + _PAGE]):
            found.setdefault(row["answer_id"], set()).update(row["edge_ids"])
    return [{"answer_id": answer_id, "edge_ids": sorted(found[answer_id])} for answer_id in sorted(found)]
