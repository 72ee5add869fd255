"""`gprov run`: what was written, when, by whom, from what.

Owns: names, options and columns. A run record belongs to the store as a whole; whoever has the store's credentials may
read it. Leaves to others: the records (`store.lookups`).
"""

from __future__ import annotations

from typing import Annotated

import typer

from graphrag_provenance.config import Settings, default_actor
from graphrag_provenance.ingest.rollback import RollbackOptions
from graphrag_provenance.ingest.rollback import rollback as undo
from graphrag_provenance.ingest.staging import SettleOptions
from graphrag_provenance.ingest.staging import discard as drop
from graphrag_provenance.ingest.staging import publish as make_live
from graphrag_provenance.interfaces.cli.context import open_database, say, settings_for, trace_id_for
from graphrag_provenance.interfaces.cli.loading import report
from graphrag_provenance.interfaces.cli.options import Actor, DryRun, Format, FormatOption, Home, Limit, TraceId, Workspace
from graphrag_provenance.interfaces.cli.progress import shown
from graphrag_provenance.interfaces.cli.render import plain, print_json, show_rows, show_thing
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


@app.command()
def rollback(
    to: Annotated[int, typer.Option("--to", help="Number of the run whose state is restored.", metavar="RUN", min=1)],
    dry_run: DryRun = False,
    actor: Actor = None,
    trace_id: TraceId = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Restore the state after a run, as a new run: history stays. The graph hash proves it. What opens is told first."""
    settings = settings_for(home, workspace, actor=actor)
    options = RollbackOptions(to, default_actor(settings), trace_id_for(trace_id), dry_run, lease_seconds=settings.lease_seconds,
                              wait_seconds=settings.wait_seconds)
    with open_database(settings) as database:
        body = undo(database, options, notify=say).as_json()
    if format is not Format.TABLE:
        print_json(body)
        return
    typer.echo(f"{'Would restore' if dry_run else 'Restored'} the state after run {to}"
          + ("." if dry_run else f", as run {body['run']['seq']}. Graph hash {body['run']['graph_hash']}."))
    counts = ", ".join(f"{count} {kind}" for kind, count in body["records"].items() if count) or "nothing"
    typer.echo(f"Records: {counts}. Evidence: {body['evidence']['begun']} counts again, {body['evidence']['ended']} no longer.")
    if body["texts_purged"]:
        say(f"{body['texts_purged']:,} texts were purged since; their passages are as they were, without the text.")
    for effect, heading in (("opened", "Opens"), ("closed", "Closes"), ("changed", "Changes, the same readers see it")):
        if body["counts"][effect]:
            typer.echo(f"{heading}: {body['counts'][effect]}")
            for change in body[effect][:_NAMED]:
                states = f"{change['before']['state']} → {change['after']['state']}"
                typer.echo(f"  {plain(change['tenant'])} {plain(change['edge_id'])}: {states}")
            if body["counts"][effect] > _NAMED:
                typer.echo(f"  and {body['counts'][effect] - _NAMED} more; --format json names them")


@app.command()
def publish(
    seq: Annotated[int, typer.Argument(help="Number of the staged run.", metavar="RUN", min=1)],
    actor: Actor = None,
    trace_id: TraceId = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Make a staged run live, all of it at once, as a new run. Commits only if the graph hash is the one that was staged."""
    settings = settings_for(home, workspace, actor=actor)
    with open_database(settings) as database, shown() as progress:
        body = make_live(database, _settling(settings, seq, trace_id), progress=progress, notify=say).as_json()
    report(body, format)


@app.command()
def discard(
    seq: Annotated[int, typer.Argument(help="Number of the staged run.", metavar="RUN", min=1)],
    actor: Actor = None,
    trace_id: TraceId = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Drop a staged run, as a new run. The graph is what it was; who staged what stays in the history."""
    settings = settings_for(home, workspace, actor=actor)
    with open_database(settings) as database:
        record = drop(database, _settling(settings, seq, trace_id), notify=say)
    if format is Format.TABLE:
        typer.echo(f"Discarded run {seq}, as run {record['seq']}. Graph hash {record['graph_hash']}, as before.")
        return
    kept = ("seq", "run_id", "trace_id", "actor", "status", "digest", "graph_hash")
    print_json({"schema": 1, "discarded": seq, "run": {name: record[name] for name in kept}})


def _settling(settings: Settings, seq: int, trace_id: str | None) -> SettleOptions:
    return SettleOptions(seq, default_actor(settings), trace_id_for(trace_id), settings.lease_seconds, settings.wait_seconds)


_NAMED = 20
_ORDER = (
    "schema", "seq", "status", "settled", "kind", "pipeline", "version", "actor", "started_at", "finished_at", "resumes", "trace_id",
    "run_id", "graph_hash", "digest", "previous", "policies_hash", "order", "inputs", "counts",
)  # fmt: skip


def _place(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER)), name
