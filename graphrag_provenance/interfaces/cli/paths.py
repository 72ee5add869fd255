"""`gprov path`: golden paths, the regression tests of a graph (spec 4).

Owns: options, and how differences are printed. Leaves to others: the file (`rules.claims`), the comparison (`rules.golden`).
"""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.cli.claims import answers, caller_for, read_claims, read_golden
from graphrag_provenance.interfaces.cli.context import say, settings_for
from graphrag_provenance.interfaces.cli.junit import Case, junit
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Candidate,
    Clearance,
    Home,
    Principal,
    ReaderFile,
    RoleOption,
    Tenant,
    Workspace,
)
from graphrag_provenance.interfaces.cli.render import plain, print_json
from graphrag_provenance.rules.claims import written
from graphrag_provenance.rules.golden import differences, recorded

app = typer.Typer(no_args_is_help=True, help="Golden paths: claims with the answers expected.")


class CheckFormat(StrEnum):
    """How a check is printed."""

    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="Golden file: TOML or JSON lines.", metavar="FILE")],
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    access_file: AccessFile = None,
    candidate: Candidate = False,
    home: Home = None,
    workspace: Workspace = None,
    format: Annotated[CheckFormat, typer.Option("--format", help="How to print: differences, JSON, or JUnit XML.")] = CheckFormat.TABLE,
) -> None:
    """Ask every claim of a golden file and compare. Exit code 1 if an answer is not the one expected.

    A question that names no tenant and clearance is asked as the reader of the options.
    """
    settings = settings_for(home, workspace, access_file=access_file)
    golden = read_golden(file)
    caller = caller_for(golden, settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    started = time.perf_counter()
    found = [(one, answer, differences(one, answer)) for one, answer in answers(golden, settings, caller, principal, candidate=candidate)]
    seconds = time.perf_counter() - started
    failed = sum(bool(differs) for _, _, differs in found)
    if format is CheckFormat.JSON:
        print_json({
            "schema": 1, "ok": not failed, "checked": len(found), "failed": failed, "seconds": round(seconds, 3),
            "questions": [
                {"id": one.id, "ok": not differs, "state": answer.state,
                 "reason": None if answer.reason is None else answer.reason.value, "trace_id": answer.trace_id,
                 "generation": answer.generation, "differences": [d.as_json() for d in differs]}
                for one, answer, differs in found],
        })
    elif format is CheckFormat.JUNIT:
        cases = [
            Case(one.id, "; ".join(d.what for d in differs), "\n".join([f"{one.from_} to {one.to}", *map(str, differs), one.why]))
            if differs else Case(one.id) for one, _, differs in found]
        sys.stdout.write(junit(f"gprov path check {file.name}", cases, seconds))
    else:
        for one, _, differs in found:
            if differs:
                lines = [f"{one.id}: {one.from_} to {one.to}", *(f"    {d}" for d in differs), *([f"    {one.why}"] if one.why else [])]
                sys.stdout.write("".join(plain(line) + "\n" for line in lines))
        sys.stdout.write(f"{len(found) - failed} of {len(found)} answers are as expected.\n")
    if failed:
        raise typer.Exit(1)


@app.command()
def record(
    file: Annotated[Path, typer.Argument(help="Golden file to write, TOML.", metavar="FILE")],
    claims: Annotated[
        Path | None, typer.Option("--claims", help="File with the claims to ask. Default: those of FILE.", metavar="FILE")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over FILE; comments in it are lost.")] = False,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    access_file: AccessFile = None,
    home: Home = None,
    workspace: Workspace = None,
) -> None:
    """Write a golden file from today's answers. Read it before you trust it: it holds what is, not what should be."""
    settings = settings_for(home, workspace, access_file=access_file)
    if file.exists() and not force:
        raise InputError(f"{file} exists.", hint="Write over it with --force, or name another file.")
    source = claims or file
    asked = read_claims(source)
    caller = caller_for(asked, settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    found = answers(asked, settings, caller, principal)
    cut = [claim.id for claim, answer in found if answer.truncated]
    if cut:
        raise InputError(f"The search for {', '.join(cut)} ran out of time, so nothing was recorded.", hint="Ask with fewer hops.")
    heading = [f"Recorded from generation {max(answer.generation for _, answer in found)}.", "Check with: gprov path check FILE"]
    golden = [recorded(claim, answer, claim.reader(caller, "recorder")) for claim, answer in found]
    file.write_text(written(golden, heading), encoding="utf-8")
    say(f"Recorded {len(found)} answers in {file}.")
