"""`gprov eval`: measures over chains, and over past results of the gate (spec 4).

Owns: options, and how measures are printed. Leaves to others: the measures (`rules.evaluation`, `rules.incidents`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.cli.claims import answers, caller_for, read_golden
from graphrag_provenance.interfaces.cli.context import read_text, settings_for
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Clearance,
    Format,
    FormatOption,
    Home,
    Principal,
    ReaderFile,
    RoleOption,
    Tenant,
    Workspace,
)
from graphrag_provenance.interfaces.cli.render import fields, print_json, print_lines, table
from graphrag_provenance.rules.evaluation import check_split, measured, score
from graphrag_provenance.rules.incidents import measures, parse_incidents

app = typer.Typer(no_args_is_help=True, help="Measures: chains, gate.")


@app.command()
def chains(
    file: Annotated[Path, typer.Argument(help="Questions with known answers, TOML or JSON lines.", metavar="FILE")],
    split: Annotated[str | None, typer.Option("--split", help="Only the questions on this side of a divided set.", metavar="NAME")] = None,
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
    """Measure the answers to questions whose chains are known. Exit code 1 if one is wrong.

    A set whose split leaks (a document on two sides, in whatever revision) is refused.
    """
    settings = settings_for(home, workspace, access_file=access_file)
    everything = read_golden(file)
    check_split(everything)
    asked = [one for one in everything if split is None or one.split == split]
    if not asked:
        known = sorted({one.split for one in everything if one.split})
        raise InputError(f"No question is on the side {split}.", hint=f"Sides: {', '.join(known) or 'none'}.")
    caller = caller_for(asked, settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    found = answers(asked, settings, caller, principal)
    check_split(asked, {one.id: answer for one, answer in found})
    body = measured([score(one, answer) for one, answer in found])
    if format is Format.JSON:
        print_json(body)
    elif format is Format.JSONL:
        print_lines(body["failures"])
    else:
        fields({"questions": body["questions"], **body["measures"]})
        typer.echo()
        rows = [{"expected": name, **part} for name, part in body["by_expected"].items()]
        table(rows, ("expected", "questions", "right", *body["measures"]))
        if body["failures"]:
            typer.echo()
            table(body["failures"], ("id", "failure", "expected", "got", "edges", "distractors_taken"))
    if not body["ok"]:
        raise typer.Exit(1)


@app.command("gate")
def gate_(
    file: Annotated[Path, typer.Argument(help="Past incidents: results of the gate with labels, JSON lines.", metavar="FILE")],
    format: FormatOption = Format.TABLE,
) -> None:
    """Measure past results of the gate against what people found out later."""
    body = measures(parse_incidents(read_text(file, "incidents file"), str(file)))
    if format is Format.JSON:
        print_json(body)
    elif format is Format.JSONL:
        print_lines([body])
    else:
        fields({name: body[name] for name in ("incidents", "facet_recall", "seconds_to_find")})
        typer.echo()
        rows = [{"problem": name, **counts} for name, counts in body["problems"].items()]
        table(rows, ("problem", "reported", "labelled", "missed", "needless", "recall"))
