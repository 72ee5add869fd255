"""`gprov run`: what was written, when, by whom, from what.

Owns: names, options and columns. A run record belongs to the store as a whole; whoever has the store's credentials may
read it. Leaves to others: the records (`store.lookups`).
"""

from __future__ import annotations

from typing import Annotated

import typer

from graphrag_provenance.interfaces.cli.context import open_database, settings_for
from graphrag_provenance.interfaces.cli.options import Format, FormatOption, Home, Limit, Workspace
from graphrag_provenance.interfaces.cli.render import show_rows, show_thing
from graphrag_provenance.store import lookups

app = typer.Typer(no_args_is_help=True, help="Runs: every write has one.")


@app.command("list")
def list_(
    limit: Limit = 50,
    before: Annotated[int | None, typer.Option("--before", help="Runs before this one.", metavar="RUN", min=1)] = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """List runs, newest first."""
    with open_database(settings_for(home, workspace), migrate=False) as database:
        runs = lookups.run_list(database, limit=limit, before=before)
    columns = ("seq", "status", "kind", "pipeline", "version", "actor", "started_at", "finished_at")
    show_rows(runs, columns, format, name="runs", empty="There is no run yet.", more=len(runs) == limit)


@app.command()
def show(
    seq: Annotated[int, typer.Argument(help="Number of the run.", metavar="RUN", min=1)],
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Print one run: its counts, inputs, digest and graph hash."""
    with open_database(settings_for(home, workspace), migrate=False) as database:
        run = lookups.run_show(database, seq)
    show_thing({name: run[name] for name in sorted(run, key=_place)}, format)


_ORDER = (
    "schema", "seq", "status", "kind", "pipeline", "version", "actor", "started_at", "finished_at", "resumes", "trace_id",
    "run_id", "graph_hash", "digest", "previous", "policies_hash", "inputs", "counts",
)  # fmt: skip


def _place(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER)), name
