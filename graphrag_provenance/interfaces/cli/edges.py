"""`gprov edge`: edges with their evidence.

Owns: names and options. Leaves to others: what a reader may see (`store.lookups`), the picture (`picture`).
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.cli.context import access_for, open_database, reader_for, say, settings_for
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Clearance,
    Format,
    FormatOption,
    Home,
    Limit,
    Principal,
    ReaderFile,
    RoleOption,
    Tenant,
    Workspace,
)
from graphrag_provenance.interfaces.cli.picture import draw_edge
from graphrag_provenance.interfaces.cli.render import address_of, show_rows, show_thing
from graphrag_provenance.store import lookups
from graphrag_provenance.store.as_of import edge_as_of, edges_as_of

app = typer.Typer(no_args_is_help=True, help="Edges and their evidence.")

_EdgeId = Annotated[str, typer.Argument(help="Edge id.", metavar="EDGE")]


@app.command()
def show(
    edge_id: _EdgeId,
    as_of: Annotated[
        int | None, typer.Option("--as-of", help="The edge as it was published after a run; access is that of today.", metavar="RUN", min=1)
    ] = None,
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
    """Print one edge with its active evidence. An auditor also sees withheld ones, and why."""
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        if as_of is None:
            edge = lookups.edge_show(database, who, edge_id, access=access_for(settings, database))
        else:
            edge = edge_as_of(database, who, edge_id, as_of, access=access_for(settings, database))
    _print(edge, format)


@app.command()
def history(
    edge_id: _EdgeId,
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
    """Print every citation of an edge, with the run that added it and the run that retired it."""
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        edge = lookups.edge_history(database, who, edge_id, access=access_for(settings, database))
    _print(edge, format)


@app.command("list")
def list_(
    withheld: Annotated[bool, typer.Option("--withheld", help="Withheld edges and why; needs --role auditor or operator.")] = False,
    as_of: Annotated[
        int | None, typer.Option("--as-of", help="Edges as they were published after a run; access is that of today.", metavar="RUN", min=1)
    ] = None,
    limit: Limit = 100,
    after: Annotated[str | None, typer.Option("--after", help="Go on behind this edge id.", metavar="EDGE")] = None,
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
    """List edges by id."""
    if withheld and as_of is not None:
        raise InputError("What is withheld is told of the present graph.", hint="Leave out --withheld, or --as-of.")
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        if as_of is None:
            edges = lookups.edge_list(database, who, withheld, limit, after, access=access_for(settings, database))
        else:
            edges = edges_as_of(database, who, as_of, limit, after, access=access_for(settings, database))
    more = len(edges) == limit
    rows = [_row(edge) for edge in edges] if format is Format.TABLE else edges
    columns = ("edge_id", "from", "relation", "to", "environment", "region", "state", "reasons", "current", "disputed")
    empty = "No edge is withheld." if withheld else "There is no edge that this reader may see."
    show_rows(rows, columns, format, name="edges", empty=empty, more=more)
    if more and format is Format.TABLE:
        say(f"More may follow: --after '{edges[-1]['edge_id']}'.")


def _row(edge: dict[str, Any]) -> dict[str, Any]:
    scope = edge["scope"]
    return {
        **edge,
        "from": address_of(edge["source"]),
        "to": address_of(edge["target"]),
        "environment": scope["environment"],
        "region": scope["region"],
    }


def _print(edge: dict[str, Any], form: Format) -> None:
    if form is Format.TABLE:
        draw_edge(edge)
    else:
        show_thing(edge, form)
