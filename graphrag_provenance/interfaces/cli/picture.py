"""The path picture: claim, path and evidence, for a person in a terminal.

Owns: how a trace (its JSON, spec 5) is drawn, and what each reason means in words. Shows no policy name unless the
trace is an auditor's and carries them. Leaves to others: everything that decides (`store.traces`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from graphrag_provenance.interfaces.cli.render import console, plain

REASONS = {
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


def draw(trace: Mapping[str, Any], *, source: str, target: str, asked: Mapping[str, str | None]) -> None:
    """Prints the trace. `source`, `target`, `asked` (scope and reader) are what the person typed."""
    glyphs = _DRAWN if "utf" in (sys.stdout.encoding or "").lower() else _ASCII
    out = _Pen(glyphs)
    out.line(("claim   ", "dim"), (f"{plain(source)} {glyphs.arrow} {plain(target)}", "bold"))
    told = [f"{name} {plain(value)}" for name, value in asked.items() if value]
    if told:
        out.line(("asked   ", "dim"), ", ".join(told))
    _draw_state(out, trace)
    titles = {c.get("doc"): c.get("doc_title") for c in trace.get("citations") or () if c.get("doc_title")}
    paths: Sequence[Mapping[str, Any]] = trace.get("paths") or ()
    for number, path in enumerate(paths, 1):
        count = len(path.get("steps") or ())
        name = "path" if len(paths) == 1 else f"path {number} of {len(paths)}"
        out.line()
        out.line((f"{name}, {count} hop{'' if count == 1 else 's'}", "bold"))
        _draw_path(out, path, titles)
    _draw_rejected(out, trace.get("rejected_chains") or ())
    _draw_citations(out, trace.get("citations") or ())


class _Pen:
    """Prints lines of styled, safe text; never wraps or cuts."""

    def __init__(self, glyphs: _Glyphs) -> None:
        self.glyphs = glyphs
        self._console = console()

    def line(self, *parts: str | tuple[str, str]) -> None:
        self._console.print(Text.assemble(*parts), soft_wrap=True)


def _draw_state(out: _Pen, trace: Mapping[str, Any]) -> None:
    state, reason = str(trace.get("state")), trace.get("reason")
    colour = "bold green" if state == "supported" else "bold yellow"
    why = f" ({plain(reason)})" if reason else ""
    out.line(("state   ", "dim"), (plain(state) + why, colour))
    if reason:
        out.line(("means   ", "dim"), REASONS.get(str(reason), "see the documentation of this reason"))
    if trace.get("truncated"):
        out.line(("note    ", "dim"), "the search hit its bound; a chain may exist that it did not reach")
    out.line(("graph   ", "dim"), f"generation {plain(trace.get('generation'))}, trace {plain(trace.get('trace_id'))}")


def _draw_path(out: _Pen, path: Mapping[str, Any], titles: Mapping[Any, Any]) -> None:
    entities = [_entity(entity) for entity in path.get("entities") or ()]
    steps: Sequence[Mapping[str, Any]] = path.get("steps") or ()
    for number, step in enumerate(steps):
        before = entities[number] if number < len(entities) else _entity(step.get("source"))
        out.line("  ", (before, "bold cyan"))
        _draw_step(out, step, titles)
    if steps:
        after = entities[len(steps)] if len(steps) < len(entities) else _entity(steps[-1].get("target"))
        out.line("  ", (after, "bold cyan"))
    else:
        for entity in entities:
            out.line("  ", (entity, "bold cyan"))


def _draw_step(out: _Pen, step: Mapping[str, Any], titles: Mapping[Any, Any]) -> None:
    forward = step.get("forward", True)
    bar = f"  {out.glyphs.line} "
    out.line(
        bar if forward else f"  {out.glyphs.up} ",
        (plain(step.get("relation")), "bold"),
        "  ",
        (plain(step.get("edge_id")), "dim"),
    )
    told = [part for part in (_scope(step.get("scope") or {}, out.glyphs), _confidence(step), _currency(step)) if part]
    if step.get("policies"):
        told.append(f"policies {plain(step['policies'])}")
    if told:
        out.line(bar, "  ", ", ".join(told))
    for item in step.get("evidence") or ():
        _draw_evidence(out, item, titles, bar)
    out.line(f"  {out.glyphs.down if forward else out.glyphs.line}")


def _draw_evidence(out: _Pen, item: Mapping[str, Any], titles: Mapping[Any, Any], bar: str) -> None:
    doc = item.get("doc")
    title = item.get("doc_title") or item.get("title") or titles.get(doc)
    stale = item.get("is_stale")
    head = item.get("head_revision")
    standing = f"stale, now {plain(head)}" if stale and head else "stale" if stale else "current"
    refutes = item.get("polarity") == "refutes"
    out.line(
        bar,
        f"  {out.glyphs.item} ",
        ("REFUTES " if refutes else "", "bold red"),
        (f"{plain(title)}, " if title else "", ""),
        (plain(doc), "bold"),
        (f" ({standing})", "yellow" if stale else "green"),
    )
    place = [f"chunk {plain(item.get('chunk'))}"]
    if item.get("section_path"):
        section = " > ".join(plain(part) for part in item["section_path"])
        place.insert(0, f"{out.glyphs.of} {section}")
    span = item.get("span")
    if span:
        place.append(f"characters {span[0]}{out.glyphs.dash}{span[1]}")
    out.line(bar, "    ", ", ".join(place))
    quote = item.get("quote_hash")
    if quote:
        out.line(bar, "    ", f"quote {_short(str(quote))}  ", (plain(quote), "dim"))
    else:
        out.line(bar, "    ", ("no quote hash stated", "dim"))
    by = _run(item)
    if by:
        out.line(bar, "    ", (by, "dim"))
    if item.get("url"):
        out.line(bar, "    ", (plain(item["url"]), "dim"))


def _draw_rejected(out: _Pen, chains: Sequence[Mapping[str, Any]]) -> None:
    if not chains:
        return
    out.line()
    out.line((f"rejected chains, {len(chains)}", "bold"))
    for chain in chains:
        out.line(f"  {out.glyphs.item} ", plain(chain))


def _draw_citations(out: _Pen, citations: Sequence[Mapping[str, Any]]) -> None:
    if not citations:
        return
    out.line()
    out.line(("sources", "bold"))
    for citation in citations:
        section = citation.get("section")
        if isinstance(section, list | tuple):
            section = " > ".join(plain(part) for part in section)
        parts = [plain(citation[key]) for key in ("doc_title", "doc") if citation.get(key)]
        parts += [plain(part) for part in (section, citation.get("url")) if part]
        out.line(f"  [{plain(citation.get('n'))}] ", ", ".join(parts))


def _entity(value: object) -> str:
    if isinstance(value, Mapping):
        address = f"{plain(value.get('type'))}:{plain(value.get('id'))}"
        name = value.get("name")
        return address if name in (None, "", value.get("id")) else f"{address}  {plain(name)}"
    return plain(value)


def _scope(scope: Mapping[str, Any], glyphs: _Glyphs) -> str:
    told = [plain(scope[key]) for key in ("environment", "region") if scope.get(key)]
    if scope.get("valid_from"):
        told.append(f"from {plain(scope['valid_from'])}")
    if scope.get("valid_to"):
        told.append(f"until {plain(scope['valid_to'])}")
    return ", ".join(told) or "holds everywhere"


def _confidence(step: Mapping[str, Any]) -> str:
    value = step.get("confidence")
    return "" if value is None else f"confidence {value:g}"


def _currency(step: Mapping[str, Any]) -> str:
    return "rests on a replaced revision" if step.get("current") is False else ""


def _short(quote_hash: str) -> str:
    return plain(quote_hash.partition(":")[2][:8])


def _run(item: Mapping[str, Any]) -> str:
    run: Mapping[str, Any] = item.get("run") or {}
    extracted: Mapping[str, Any] = item.get("extracted_by") or {}
    parts = []
    if extracted.get("pipeline"):
        parts.append(f"extracted by {plain(extracted['pipeline'])} {plain(extracted.get('version') or '')}".strip())
    if run.get("seq") is not None:
        by = " ".join(plain(run[key]) for key in ("pipeline", "version") if run.get(key))
        parts.append(
            f"run {run['seq']}" + (f" of {by}" if by else "") + (f" at {plain(run['at'])}" if run.get("at") else "")
        )
    return ", ".join(parts)
