"""The path picture: claim, path and evidence, for a person in a terminal.

Owns: how a trace (its JSON, spec 5) is drawn. Shows no policy name unless the trace is an auditor's and
carries them. Leaves to others: everything that decides (`store.traces`), what a reason means (`wording`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from graphrag_provenance.interfaces.cli.render import address_of, console, plain


@dataclass(frozen=True, slots=True)
class _Glyphs:
    line: str
    down: str
    up: str
    item: str
    arrow: str
    of: str
    dash: str


_DRAWN = _Glyphs("│", "▼", "▲", "•", "→", "§", "–")
_ASCII = _Glyphs("|", "v", "^", "*", "->", "section", "-")


def draw(trace: Mapping[str, Any], *, tenant: str, clearances: Sequence[str]) -> None:
    """Prints a trace. `tenant` and `clearances` are what the person asked with, and are shown as such."""
    out = _Pen(_DRAWN if "utf" in (sys.stdout.encoding or "").lower() else _ASCII)
    _draw_claim(out, trace["claim"], tenant, clearances)
    _draw_state(out, trace)
    for number, path in enumerate(trace["paths"], 1):
        count = len(path["steps"])
        name = "path" if len(trace["paths"]) == 1 else f"path {number} of {len(trace['paths'])}"
        out.line()
        out.line((f"{name}, {count} hop{'' if count == 1 else 's'}", "bold"))
        _draw_path(out, path)
    for conflict in trace.get("conflicts") or ():
        out.line()
        text = f"{plain(conflict['edge_id'])} conflicts with {plain(conflict['conflicts_with'])}: "
        out.line(("conflict  ", "bold yellow"), text + f"{plain(conflict['relation'])} is declared to have one value")
    _draw_rejected(out, trace.get("rejected_chains") or ())
    _draw_citations(out, trace["citations"])


def draw_edge(edge: Mapping[str, Any]) -> None:
    """Prints one edge with its evidence, or with its history (`edge show`, `edge history`)."""
    out = _Pen(_DRAWN if "utf" in (sys.stdout.encoding or "").lower() else _ASCII)
    out.line((_label("edge"), "dim"), (plain(edge["edge_id"]), "bold"))
    ends = (address_of(edge["source"]), plain(edge["relation"]), address_of(edge["target"]))
    out.line((_label("says"), "dim"), f" {out.glyphs.arrow} ".join(ends))
    state = [plain(edge["state"])]
    if edge["state"] == "published":
        state.append("current" if edge["current"] else "rests on replaced revisions only")
    state += ["disputed"] if edge["disputed"] else []
    out.line((_label("state"), "dim"), (", ".join(state), "bold green" if edge["state"] == "published" else "bold yellow"))
    told = {
        "holds": _scope(edge["scope"]),
        "trust": None if edge["confidence"] is None else f"confidence {edge['confidence']:g}",
        "by": [f"{by['pipeline']} {by['version']}" for by in edge.get("extracted_by") or ()],
        "reasons": edge.get("reasons"),
        "policies": edge.get("policies"),
        "acl": edge.get("acl"),
        "more": edge["attributes"],
    }
    for name, value in told.items():
        if value:
            out.line((_label(name), "dim"), plain(value))
    for item in edge.get("evidence") or ():
        _draw_evidence(out, item, "")
    for item in edge.get("history") or ():
        _draw_evidence(out, item, "")
        ended = item["retired_by"]
        until = "still active" if item["until"] is None else f"retired by run {item['until']}"
        by = f" of {plain(ended['pipeline'])} {plain(ended['version'])} at {plain(ended['at'])}" if ended else ""
        out.line("    ", f"added by run {plain(item['since'])}, {until}{by}")


def _label(name: str) -> str:
    return f"{name:<7} "


class _Pen:
    """Prints lines of styled, safe text; never wraps or cuts."""

    def __init__(self, glyphs: _Glyphs) -> None:
        self.glyphs = glyphs
        self._console = console()

    def line(self, *parts: str | tuple[str, str]) -> None:
        self._console.print(Text.assemble(*parts), soft_wrap=True)


def _draw_claim(out: _Pen, claim: Mapping[str, Any], tenant: str, clearances: Sequence[str]) -> None:
    out.line((_label("claim"), "dim"), (f"{address_of(claim['from'])} {out.glyphs.arrow} {address_of(claim['to'])}", "bold"))
    scope = claim["scope"]
    relations = f" {out.glyphs.arrow} ".join(map(plain, claim["relations"])) if claim["exact_sequence"] else None
    told = {
        "tenant": tenant,
        "cleared for": clearances,
        "environment": scope["environment"],
        "region": scope["region"],
        "at": scope["at"],
        "exactly": relations,
        "over": None if claim["exact_sequence"] else claim["relations"],
    }
    shown = [f"{name} {plain(value)}" for name, value in told.items() if value]
    shown += [] if claim["directed"] else ["in both directions"]
    shown += [] if scope["require_current"] else ["replaced revisions accepted"]
    out.line((_label("asked"), "dim"), ", ".join(shown))


def _draw_state(out: _Pen, trace: Mapping[str, Any]) -> None:
    reason = trace["reason"]
    why = f" ({plain(reason)})" if reason else ""
    out.line((_label("state"), "dim"), (plain(trace["state"]) + why, "bold yellow" if reason else "bold green"))
    if reason:
        out.line((_label("means"), "dim"), trace["means"])
    if trace["truncated"]:
        out.line((_label("note"), "dim"), "the search hit its bound; a chain may exist that it did not reach")
    out.line((_label("graph"), "dim"), f"generation {trace['generation']}, trace {trace['trace_id']}")


def _draw_path(out: _Pen, path: Mapping[str, Any]) -> None:
    steps = path["steps"]
    for number, entity in enumerate(path["entities"]):
        out.line("  ", (_entity(entity), "bold cyan"))
        if number < len(steps):
            _draw_step(out, steps[number])


def _draw_step(out: _Pen, step: Mapping[str, Any]) -> None:
    forward = step["forward"]
    bar = f"  {out.glyphs.line} "
    named = (plain(step["relation"]), "bold"), "  ", (plain(step["edge_id"]), "dim")
    out.line(bar if forward else f"  {out.glyphs.up} ", *named)
    told = [_scope(step["scope"])]
    if step["confidence"] is not None:
        told.append(f"confidence {step['confidence']:g}")
    if not step["current"]:
        told.append("rests on replaced revisions only")
    told += [f"extracted by {plain(by['pipeline'])} {plain(by['version'])}" for by in step["extracted_by"]]
    if step.get("policies"):
        told.append(f"policies {plain(step['policies'])}")
    out.line(bar, "  ", ", ".join(told))
    for item in step["evidence"]:
        _draw_evidence(out, item, bar)
    out.line(f"  {out.glyphs.down if forward else out.glyphs.line}")


def _draw_evidence(out: _Pen, item: Mapping[str, Any], bar: str) -> None:
    stale, head = item["is_stale"], item["head_revision"]
    if stale:
        standing, style = f"stale, now {plain(head)}" if head else "stale", "yellow"
    else:
        standing, style = ("current", "green") if head else ("not declared", "yellow")  # only cited: nothing newer is known, nor this one
    refutes = item["polarity"] == "refutes"
    out.line(
        (f"{bar}  {out.glyphs.item} ", ""),
        ("REFUTES " if refutes else "", "bold red"),
        f"{plain(item['doc_title'])}, " if item["doc_title"] else "",
        (plain(item["doc"]), "bold"),
        (f" ({standing})", style),
    )
    place = [f"chunk {plain(item['chunk'])}"]
    if item["section_path"]:
        place.insert(0, f"{out.glyphs.of} {' > '.join(map(plain, item['section_path']))}")
    if item["span"]:
        place.append(f"characters {item['span'][0]}{out.glyphs.dash}{item['span'][1]}")
    out.line(f"{bar}    ", ", ".join(place))
    quote = item["quote_hash"]
    if quote:
        out.line(f"{bar}    ", f"quote {plain(quote.partition(':')[2][:8])}  ", (plain(quote), "dim"))
    else:
        out.line(f"{bar}    ", ("no quote hash stated", "dim"))
    run = item["run"]
    if run["seq"] is not None:
        loaded = f"run {run['seq']} of {plain(run['pipeline'])} {plain(run['version'])} at {plain(run['at'])}"
        out.line(f"{bar}    ", (loaded, "dim"))
    if item["url"]:
        out.line(f"{bar}    ", (plain(item["url"]), "dim"))


def _draw_rejected(out: _Pen, chains: Sequence[Mapping[str, Any]]) -> None:
    if not chains:
        return
    out.line()
    out.line(("rejected chains", "bold"))
    for chain in chains:
        hops = f" {out.glyphs.arrow} ".join(address_of(entity) for entity in chain["entities"])
        out.line(f"  {out.glyphs.item} ", hops)
        for failure in chain["failures"]:
            where = f"hop {failure['hop']}, {plain(failure['edge_id'])}" if failure["edge_id"] else "the chain as a whole"
            out.line("      ", f"{plain(failure['constraint'])}: {where}")


def _draw_citations(out: _Pen, citations: Sequence[Mapping[str, Any]]) -> None:
    if not citations:
        return
    out.line()
    out.line(("sources", "bold"))
    for citation in citations:
        parts = [plain(citation[key]) for key in ("doc_title", "doc", "section", "url") if citation[key]]
        out.line(f"  [{citation['n']}] ", ", ".join(parts))


def _entity(entity: Mapping[str, Any]) -> str:
    name = entity["name"]
    return address_of(entity) if name in (None, "", entity["id"]) else f"{address_of(entity)}  {plain(name)}"


def _scope(scope: Mapping[str, Any]) -> str:
    told = [plain(scope[key]) for key in ("environment", "region") if scope[key]]
    told += [f"from {plain(scope['valid_from'])}"] if scope["valid_from"] else []
    told += [f"until {plain(scope['valid_to'])}"] if scope["valid_to"] else []
    return ", ".join(told) or "holds everywhere"
