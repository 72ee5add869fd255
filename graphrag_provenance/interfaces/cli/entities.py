"""`gprov entity`: entities that the reader may see, and the merge of two of them.

Owns: names, options and columns. Leaves to others: what a reader may see (`store.lookups`), what a merge does (`ingest.merging`).
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from graphrag_provenance.config import default_actor
from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest.merging import MergeOptions, MergeSummary, merge_entities
from graphrag_provenance.interfaces.cli.context import access_for, address, open_database, reader_for, say, settings_for, trace_id_for
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Actor,
    AsLoaded,
    Clearance,
    DryRun,
    Format,
    FormatOption,
    Home,
    Limit,
    Principal,
    ReaderFile,
    Reason,
    RoleOption,
    Tenant,
    TraceId,
    Workspace,
)
from graphrag_provenance.interfaces.cli.render import (
    address_of,
    fields,
    plain,
    print_json,
    print_lines,
    show_rows,
    show_thing,
    table,
)
from graphrag_provenance.store import lookups
from graphrag_provenance.store.linking import entity_links

app = typer.Typer(no_args_is_help=True, help="Entities that the reader may see; the merge of two of them.")


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


@app.command()
def merge(
    source: Annotated[str, typer.Argument(help="The entity that is merged, Type:id.", metavar="FROM")],
    target: Annotated[str, typer.Argument(help="The entity that stands for both from then on, Type:id.", metavar="INTO")],
    tenant: Annotated[str | None, typer.Option("--tenant", help="Tenant of both. Default: the setting.", metavar="NAME")] = None,
    dry_run: DryRun = False,
    reason: Reason = None,
    actor: Actor = None,
    require_registered_sources: AsLoaded = False,
    trace_id: TraceId = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Merge one entity into another of the same type, as one run. Undo it with: gprov run rollback.

    Edges and aliases of FROM become those of INTO, edges that now say the same become one with the evidence of both, and records
    that name FROM are read as naming INTO. The receipt is the operator's: it names edges of any policy, what opens first.
    """
    settings = settings_for(home, workspace, actor=actor, require_registered_sources=require_registered_sources or None)
    of = tenant or settings.tenant
    if not of:
        raise InputError("A merge needs a tenant.", hint="Name one with --tenant.")
    options = MergeOptions(
        of, address(source), address(target), default_actor(settings), reason, trace_id_for(trace_id), dry_run,
        settings.require_registered_sources, lease_seconds=settings.lease_seconds, wait_seconds=settings.wait_seconds,
    )  # fmt: skip
    with open_database(settings, migrate=False) as database:
        summary = merge_entities(database, options, notify=say)
    if format is Format.TABLE:
        _print_merge(summary)
    elif format is Format.JSONL:
        print_lines([summary.as_json()])
    else:
        print_json(summary.as_json())


_NAMED = 20


def _print_merge(summary: MergeSummary) -> None:
    body = summary.as_json()
    of, into = plain(body["from"]), plain(body["into"])
    typer.echo(f"Would merge {of} into {into}." if body["dry_run"] else
               f"Merged {of} into {into}, as run {body['run']['seq']}. Graph hash {body['run']['graph_hash']}.")
    edges, evidence, names = body["edges"], body["evidence"], sorted({plain(alias["alias"]) for alias in body["aliases"]})
    typer.echo(f"Edges: {edges['moved']} moved, {edges['united']} united with others. Evidence: {evidence['moved']} stated of another "
               f"edge, which had {evidence['shared']} of it already. Aliases: {', '.join(names)}.")
    if body["self_loops"]:
        typer.echo(f"Leads from {into} to itself now: {', '.join(map(plain, body['self_loops'][:_NAMED]))}"
                   + (f" and {len(body['self_loops']) - _NAMED} more" if len(body["self_loops"]) > _NAMED else "") + ".")
    for effect, heading in (("opened", "Opens"), ("closed", "Closes"), ("changed", "Changes, the same readers see it")):
        if body["counts"][effect]:
            typer.echo(f"{heading}: {body['counts'][effect]}")
            for one in body[effect][:_NAMED]:
                before, after = one["before"], one["after"]
                where = "" if one["into"] is None else f", part of {plain(one['into'])}"
                says = " ".join(plain(after[name]) for name in ("source", "relation", "target"))
                typer.echo(f"  {plain(one['edge_id'])}{where}: {says}, {_decided(before)} → {_decided(after)}")
            if body["counts"][effect] > _NAMED:
                typer.echo(f"  and {body['counts'][effect] - _NAMED} more; --format json names them")


def _decided(state: dict[str, Any]) -> str:
    return plain(" ".join([state["state"], *state["policies"]]))


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
