"""`gprov answer`: what answers rest on, then and now.

Owns: names, options and columns. Leaves to others: what a reader may see of it (`store.answers`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from graphrag_provenance.config import default_actor
from graphrag_provenance.ingest.reports import read_reports
from graphrag_provenance.interfaces.cli.context import access_for, open_database, reader_for, say, settings_for, trace_id_for
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Actor,
    Clearance,
    Format,
    FormatOption,
    Home,
    Principal,
    ReaderFile,
    RoleOption,
    Tenant,
    TraceId,
    Workspace,
)
from graphrag_provenance.interfaces.cli.render import address_of, fields, print_json, print_lines, show_rows, table
from graphrag_provenance.model.identifiers import citation
from graphrag_provenance.model.reports import AnswerReport
from graphrag_provenance.store import answers
from graphrag_provenance.store.recording import RecordingOptions

app = typer.Typer(no_args_is_help=True, help="Recorded answers: claim, path and evidence, as it was then and as it is now.")


@app.command()
def record(
    file: Annotated[
        Path,
        typer.Argument(help="Answers, one JSON object a line: answer_id, trace_id, claims. - for stdin.", metavar="FILE",
                       allow_dash=True),
    ],
    actor: Actor = None,
    trace_id: TraceId = None,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    access_file: AccessFile = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Record answers with the edges and passages that each claim rests on, as they are now.

    A file is recorded whole or not at all. Recording it again writes nothing; a recorded answer never changes.
    """
    settings = settings_for(home, workspace, actor=actor, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    reports = read_reports(file, AnswerReport)
    options = RecordingOptions(
        default_actor(settings), str(file), trace_id_for(trace_id), settings.lease_seconds, settings.wait_seconds)
    with open_database(settings, migrate=False) as database:
        done = answers.record_answers(database, who, reports, options, access=access_for(settings, database), notify=say)
    if format is Format.JSON:
        print_json(done)
    elif format is Format.JSONL:
        print_lines(done["answers"])
    else:
        table(done["answers"], ("answer_id", "recorded", "claims", "run", "digest"))


@app.command()
def show(
    answer_id: Annotated[str, typer.Argument(help="Answer id.", metavar="ID")],
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    access_file: AccessFile = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Print a recorded answer: each claim, its path, and the evidence then and now. Exit code 1 if a claim is unsupported now.

    An edge that the reader may not see is answered like one that is gone; an auditor hears why.
    """
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        found = answers.show_answer(database, who, answer_id, access=access_for(settings, database))
    if format is Format.JSON:
        print_json(found)
    elif format is Format.JSONL:
        print_lines(found["claims"])
    else:
        _print(found)
    if any(claim["state"] != "supported" for claim in found["claims"]):
        raise typer.Exit(1)


@app.command()
def impact(
    since: Annotated[
        int | None, typer.Option("--since", help="Only what runs after this one changed. Default: since it was recorded.",
                                 min=0, metavar="SEQ")
    ] = None,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """List the recorded claims whose edges changed for the worse; needs --role auditor or operator. Exit code 1 if there are any.

    lost-support, withheld, restricted, stale, disputed; evidence-retired: the edge stands, but on other passages than those cited.
    """
    settings = settings_for(home, workspace)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        found = answers.answer_impact(database, who, since=since)
    if format is Format.JSON:
        print_json(found)
    else:
        rows = [{**claim, **edge} for claim in found["claims"] for edge in claim["edges"]]
        shown = found["claims"] if format is Format.JSONL else rows
        empty = f"{found['claims_checked']:,} recorded claims; nothing that they rest on changed for the worse."
        show_rows(shown, ("answer_id", "claim_id", "hop", "edge_id", "impact", "changed", "reasons"), format, name="claims", empty=empty)
    if found["claims"]:
        raise typer.Exit(1)


def _print(found: dict[str, Any]) -> None:
    fields({"answer": found["answer_id"], "trace": found["trace_id"], **found["recorded"]})
    for claim in found["claims"]:
        typer.echo()
        fields({"claim": claim["claim_id"], "text": claim["text"], "state": claim["state"]})
        for number, step in enumerate(claim["path"], 1):
            fields({f"step {number}": _step(step)}, indent=2)
            rows = [_row("then", one) for one in (step["then"] or {}).get("evidence", ())]
            rows += [_row("now", one) for one in (step["now"] or {}).get("evidence", ())]
            if rows:
                table(rows, ("", "passage", "title", "section", "polarity", "stale", "retired_by"))


def _step(step: dict[str, Any]) -> str:
    if step["state"] == "gone":
        why = f" ({step['why']})" if "why" in step else ""
        return f"{step['edge_id'] or 'no longer there'}{why}"
    now = step["now"]
    marks = [word for word, wrong in (("stale", not now["current"]), ("disputed", now["disputed"])) if wrong]
    marks += [] if step["unchanged"] or step["then"] is None else ["changed since"]
    told = f"{address_of(step['source'])} -{step['relation']}-> {address_of(step['target'])}"
    return f"{told}  [{', '.join(marks)}]" if marks else told


def _row(when: str, one: dict[str, Any]) -> dict[str, Any]:
    return {"": when, "passage": citation(one["doc"], one["chunk"]), "title": one["doc_title"], "section": " › ".join(one["section_path"]),
            "polarity": one["polarity"], "stale": one["is_stale"], "retired_by": one.get("retired_by")}
