"""`gprov entity`: entities that the reader may see.

Owns: names, options and columns. Leaves to others: what a reader may see (`store.lookups`).
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from graphrag_provenance.interfaces.cli.context import access_for, address, open_database, reader_for, settings_for
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
from graphrag_provenance.interfaces.cli.render import (
    address_of,
    fields,
    print_json,
    print_lines,
    show_rows,
    show_thing,
    table,
)
from graphrag_provenance.store import lookups
from graphrag_provenance.store.linking import entity_links

app = typer.Typer(no_args_is_help=True, help="Entities that the reader may see.")


@app.command()
def find(
    text: Annotated[str, typer.Argument(help="A part of a name, an id or an alias.", metavar="TEXT")],
    limit: Limit = 20,
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
    """Find entities by name, id or alias: exact ones first. Exit code 1 if there is none."""
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        found = lookups.entity_find(database, who, text, limit, access=access_for(settings, database))
    rows = [{**row, "entity": address_of(row), "also": _others(row)} for row in found] if format is Format.TABLE else found
    more = len(found) == limit
    show_rows(rows, ("entity", "name", "also"), format, name="entities", empty="Nothing fits.", more=more)
    if not found:
        raise typer.Exit(1)


@app.command()
def show(
    entity: Annotated[str, typer.Argument(help="Type:id, or Type:alias.", metavar="ENTITY")],
    limit: Limit = 100,
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
    """Print one entity: names, aliases and visible edges, counted and listed."""
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        found = lookups.entity_show(database, who, address(entity), limit=limit, access=access_for(settings, database))
    if format is Format.TABLE:
        _print(found)
    else:
        show_thing(found, format)


@app.command()
def links(
    linker: Annotated[str, typer.Option("--linker", help="Name of the linker.", metavar="NAME")],
    linker_version: Annotated[
        str | None, typer.Option("--linker-version", help="One version of it. Default: all.", metavar="V")
    ] = None,
    limit: Limit = 100,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """List what a linker made: its aliases, the entities they name, the edges there, the recorded answers on these.

    Needs --role operator or auditor. Exit code 1 if it made none.
    """
    settings = settings_for(home, workspace)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        found = entity_links(database, who, linker, linker_version, limit=limit)
    if format is Format.TABLE:
        _print_links(found)
    elif format is Format.JSONL:
        print_lines(found["entities"])
    else:
        print_json(found)
    if not found["aliases"]:
        raise typer.Exit(1)


def _print_links(found: dict[str, Any]) -> None:
    fields({"linker": found["linker"], "versions": found["versions"], "aliases": found["aliases"], "entities": len(found["entities"]),
            "edges": len({name for one in found["entities"] for name in one["edge_ids"]}),
            "answers": [one["answer_id"] for one in found["answers"]]})
    rows = [
        {"entity": address_of(one), **alias, "edges": one["edges"], "edge_ids": one["edge_ids"]}
        for one in found["entities"] for alias in one["aliases"]
    ]  # fmt: skip
    if rows:
        typer.echo()
        table(rows, ("entity", "alias", "method", "linker_version", "edges", "edge_ids"))
    if found["truncated"]:
        typer.echo("More edges than listed; more with --limit.")


def _print(found: dict[str, Any]) -> None:
    told = {"entity": address_of(found), "name": found["name"], "also": _others(found), **found["attributes"]}
    fields({name: value for name, value in told.items() if value not in (None, [], "")})
    if found["aliases"]:
        typer.echo()
        table(found["aliases"], ("alias", "method", "linker", "linker_version"))
    if found["edges"]:
        typer.echo()
        rows = [
            {
                **edge,
                "direction": "to" if edge["outgoing"] else "from",
                "other": address_of(edge["other"]),
                "environment": edge["scope"]["environment"],
                "region": edge["scope"]["region"],
            }
            for edge in found["edges"]
        ]
        table(rows, ("relation", "direction", "other", "environment", "region", "current", "disputed", "edge_id"))
        total = sum(count["edges"] for count in found["counts"])
        if total > len(rows):
            typer.echo(f"{len(rows):,} of {total:,} edges; more with --limit.")


def _others(entity: dict[str, Any]) -> list[str]:
    """The names besides the first one."""
    return [name for name in entity["names"] or () if name != entity["name"]]
