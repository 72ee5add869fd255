"""`gprov policy`: the policy file by command.

Owns: names and options. Leaves to others: what a policy file may say (`rules.policies`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.interfaces.cli.context import policies_for, settings_for
from graphrag_provenance.interfaces.cli.options import Format, FormatOption, Workspace
from graphrag_provenance.interfaces.cli.render import print_json, print_lines, table

app = typer.Typer(no_args_is_help=True, help="The policy file.")


@app.callback()
def _policy() -> None:
    """The policy file."""


@app.command()
def check(
    file: Annotated[
        Path | None, typer.Argument(help="Policy file. Default: the workspace's, then the shipped one.", metavar="FILE")
    ] = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Check a policy file and print the order it defines. Exit code 2 names the place of an error."""
    order = policies_for(settings_for(workspace=workspace), file)
    rows = [
        {"policy": name, "directly_above": list(order.as_json()[name]), "covers": sorted(order.below[name])}
        for name in sorted(order.names, key=lambda name: (len(order.below[name]), name))
    ]
    if format is Format.JSON:
        print_json({"schema": 1, "ok": True, "hash": order.hash, "policies": rows})
    elif format is Format.JSONL:
        print_lines(rows)
    else:
        table(rows, ("policy", "directly_above", "covers"))
