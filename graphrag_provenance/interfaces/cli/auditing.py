"""`gprov audit`: whether the runs are as they were written.

Owns: names, options and how a report is printed. Leaves to others: the verdicts (`rules.auditing`), what is read (`store.auditing`).
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.interfaces.cli.context import open_database, read_text, reader_for, say, settings_for
from graphrag_provenance.interfaces.cli.options import (
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
from graphrag_provenance.interfaces.cli.render import print_json, print_lines, table
from graphrag_provenance.rules.audit_report import Audit, Head, parse_head
from graphrag_provenance.store.auditing import audit_export, audit_head, audit_verify, export_json

app = typer.Typer(no_args_is_help=True, help="Tamper evidence: the chain of runs. Needs --role auditor or operator.")


class ExportFormat(StrEnum):
    """How runs are exported."""

    JSON = "json"
    JSONL = "jsonl"


@app.command()
def verify(
    head: Annotated[
        list[str] | None,
        typer.Option("--head", help="A head kept outside: sha256:DIGEST@SEQ, a line of gprov audit head, or a file with what it "
                     "printed. Repeatable.", metavar="HEAD|FILE"),
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
    """Say which runs were changed, are missing, are duplicated, or were cut off. Exit code 1 if there are any.

    Only a head that is kept outside shows that the whole chain was written anew. Whether the content is the one that the last run
    left is asked by gprov verify.
    """
    settings = settings_for(home, workspace)
    heads = [_head_of(given) for given in head or ()]
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        report = audit_verify(database, who, heads)
    body = report.as_json()
    if format is Format.JSON:
        print_json(body)
    elif format is Format.JSONL:
        print_lines(body["faults"])
    else:
        typer.echo(_told(report))
        if report.running is not None:
            typer.echo(f"run {report.running} is under way")
        if report.faults:
            typer.echo()
            table(body["faults"], ("verdict", "seq", "last", "message"), titles={"seq": "run", "last": "to"})
    if not report.ok:
        say(f"The chain of runs has {_number(len(report.faults), 'fault')}.")
        raise typer.Exit(1)


@app.command()
def head(
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Print the last ended run as one line, to be kept where nobody who can write to the store can write.

    The line is: SEQ sha256:DIGEST graph sha256:HASH. Give it back with gprov audit verify --head. Exit code 1 if there is none.
    """
    settings = settings_for(home, workspace)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        found = audit_head(database, who)
    if found is None:
        raise NotFoundError("No run has ended yet.", hint="See: gprov run list.")
    if format is Format.TABLE:
        typer.echo(found.line())
    elif format is Format.JSON:
        print_json({"schema": 1, **found.as_json()})
    else:
        print_lines([{"schema": 1, **found.as_json()}])


@app.command()
def export(
    first: Annotated[int | None, typer.Option("--from", help="First run. Default: the first there is.", min=1, metavar="RUN")] = None,
    last: Annotated[int | None, typer.Option("--to", help="Last run. Default: the last that ended.", min=1, metavar="RUN")] = None,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    home: Home = None,
    workspace: Workspace = None,
    format: Annotated[ExportFormat, typer.Option("--format", help="How to print the runs.")] = ExportFormat.JSON,
) -> None:
    """Print the runs in exactly the fields that are hashed, so that an auditor can recompute every digest without this program.

    docs/audit.md writes the format down; docs/verify_export.py checks an export with nothing but Python.
    """
    settings = settings_for(home, workspace)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        runs = audit_export(database, who, first, last)
        if format is ExportFormat.JSON:
            print_json(export_json(list(runs)))
        else:
            print_lines(runs)


def _head_of(given: str) -> Head:
    """A head as it was given: itself, or the file that holds it."""
    try:
        return parse_head(given)
    except InputError as error:
        if os.path.exists(given):
            return parse_head(read_text(Path(given), "file of a head"), given)
        raise InputError(f"'{given}' is neither a head nor a file.", hint=error.hint) from None


def _told(report: Audit) -> str:
    """What was found, as a line for a person."""
    last = "none yet" if report.head is None else report.head.line()
    if not report.ok:
        return f"{_number(report.runs, 'run')}; the last one that stands: {last}"
    heads = {0: "", 1: "; the head kept outside agrees"}.get(len(report.heads), f"; the {len(report.heads)} heads kept outside agree")
    return f"ok: {_number(report.runs, 'run')}, no fault{heads}. Last: {last}"


def _number(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"
