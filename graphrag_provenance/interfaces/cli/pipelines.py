"""`gprov pipeline`: the pipelines of the operator's room.

Owns: names, options, and how a check and a loss report look. Leaves to others: what a pipeline may hold (`ingest.pipelines`), what its
queries may do (`ingest.extract`), the load (`ingest`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr

from graphrag_provenance.config import Settings, default_actor
from graphrag_provenance.errors import InputError, ProvenanceError
from graphrag_provenance.ingest import IngestOptions
from graphrag_provenance.ingest.extract import check as check_queries
from graphrag_provenance.ingest.foreign import bound_to_neo4j
from graphrag_provenance.ingest.losses import LossReport
from graphrag_provenance.ingest.pipelines import Bound, Pipeline, bind, find_pipeline, list_pipelines, read_pipeline
from graphrag_provenance.ingest.piping import run_pipeline
from graphrag_provenance.ingest.quoting import QuoteMode
from graphrag_provenance.interfaces.cli.context import (
    open_database,
    policies_for,
    relations_for,
    say,
    settings_for,
    trace_id_for,
)
from graphrag_provenance.interfaces.cli.loading import report, resumable, say_order
from graphrag_provenance.interfaces.cli.options import (
    Actor,
    BatchSize,
    DeclaredRelations,
    DryRun,
    Format,
    FormatOption,
    Home,
    OptionValues,
    PoliciesFile,
    Registered,
    Rejects,
    Resume,
    Stage,
    TraceId,
    Workers,
    Workspace,
)
from graphrag_provenance.interfaces.cli.progress import shown
from graphrag_provenance.interfaces.cli.render import print_json, print_lines, show_rows, table
from graphrag_provenance.store.database import Connection

app = typer.Typer(no_args_is_help=True, help="Pipelines of the operator's room.")

_Name = Annotated[str, typer.Argument(help="A name (see: gprov pipeline list), or a folder written with a /.", metavar="NAME|DIR")]


@app.callback()
def _pipeline() -> None:
    """Pipelines of the operator's room: a source becomes records by SQL alone."""


@app.command("list")
def list_(workspace: Workspace = None, format: FormatOption = Format.TABLE) -> None:
    """List the pipelines that a name finds: the workspace's own, then the shipped ones. Starts no server."""
    rows = [_described(where, folder) for where, folder in list_pipelines(workspace or Path.cwd())]
    show_rows(rows, ("name", "version", "from", "description", "inputs", "options", "problem"), format, name="pipelines", empty="None.")


def _described(where: str, folder: Path) -> dict[str, Any]:
    try:
        found = read_pipeline(folder)
    except ProvenanceError as error:
        return {"name": folder.name, "version": None, "from": where, "description": None, "inputs": [], "options": [],
                "folder": str(folder), "problem": error.message}
    return {"name": folder.name, "version": found.version, "from": where, "description": found.description,
            "inputs": [one.file for one in found.inputs.values()], "options": list(found.options), "folder": str(folder), "problem": None}


@app.command()
def check(name: _Name, workspace: Workspace = None, format: FormatOption = Format.TABLE) -> None:
    """Check a pipeline without data: its TOML, and every query against the declared columns and the record's fields.

    Exit code 2 names file and reason. Starts no server.
    """
    pipeline = find_pipeline(name, workspace or Path.cwd())
    columns = check_queries(pipeline)
    rows = [{"query": query, "columns": found} for query, found in columns.items()]
    if format is Format.JSON:
        print_json({"schema": 1, "ok": True, "pipeline": pipeline.name, "version": pipeline.version, "queries": rows})
    elif format is Format.JSONL:
        print_lines(rows)
    else:
        table(rows, ("query", "columns"))


@app.command()
def run(
    name: _Name,
    input: Annotated[
        list[str] | None,
        typer.Option("--input", help="File of an input that the pipeline declares. Repeatable.", metavar="NAME=PATH"),
    ] = None,
    from_neo4j: Annotated[
        str | None,
        typer.Option(
            "--from-neo4j", help="Read the inputs out of another tool's Neo4j; its user, password and database are the settings source_*.",
            metavar="URI"),
    ] = None,
    option: OptionValues = None,
    tenant: Annotated[
        str | None,
        typer.Option("--tenant", help="Tenant of records that name none. Default: the pipeline's, then the setting.", metavar="NAME"),
    ] = None,
    policies: PoliciesFile = None,
    relations: DeclaredRelations = None,
    dry_run: DryRun = False,
    stage: Stage = False,
    resume: Resume = None,
    workers: Workers = 2,
    batch_size: BatchSize = None,
    rejects: Rejects = None,
    require_registered_sources: Registered = False,
    verify_quotes: Annotated[
        QuoteMode,
        typer.Option("--verify-quotes", help="Hold quotes against their passages: warn counts, strict refuses what is not proved."),
    ] = QuoteMode.OFF,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Let an input be an address (https://, s3://). DuckDB may fetch its extension.")
    ] = False,
    trace_id: TraceId = None,
    actor: Actor = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Load what a pipeline makes of its inputs, and print the loss report. Exit code 1 if rows were refused or edges withheld.

    An input is the file of --input, or the declared one in the pipeline's folder, or what --from-neo4j reads. Nothing is loaded before
    every query has given all of its rows. An interrupted load keeps what it committed and is completed with --resume.
    """
    settings = settings_for(
        home, workspace, batch_size=batch_size, actor=actor, require_registered_sources=require_registered_sources or None
    )
    pipeline = find_pipeline(name, workspace or Path.cwd())
    given, values = _pairs("--input", input), _pairs("--option", option)
    options = IngestOptions(
        policies=policies_for(settings, policies), relations=relations_for(relations) or {},
        actor=default_actor(settings), trace_id=trace_id_for(trace_id), dry_run=dry_run, stage=stage, resume=resume, workers=workers,
        batch_size=settings.batch_size, require_registered_sources=settings.require_registered_sources, verify_quotes=verify_quotes,
        rejects=rejects, max_line_bytes=settings.max_line_bytes, lease_seconds=settings.lease_seconds, wait_seconds=settings.wait_seconds,
    )
    if from_neo4j is None:
        bound = bind(pipeline, given=given, options=values, allow_network=allow_network)
        _execute(settings, bound, options, policies, tenant, format, allow_network)
        return
    check_queries(pipeline)
    source = Connection(from_neo4j, settings.source_username, settings.source_password or SecretStr(""), settings.source_database)
    with bound_to_neo4j(pipeline, source, given=given, options=values, allow_network=allow_network) as bound:
        _execute(settings, bound, options, policies, tenant, format, allow_network)


def load_files(
    settings: Settings, name: str, workspace: Path | None, paths: Sequence[Path], option: Sequence[str] | None, options: IngestOptions,
    policies: Path | None, tenant: str | None, form: Format,
) -> None:
    """`gprov ingest PATH… --pipeline`: the paths are the pipeline's inputs, matched by file name."""
    pipeline = find_pipeline(name, workspace or Path.cwd())
    _execute(settings, bind(pipeline, paths=paths, options=_pairs("--option", option)), options, policies, tenant, form, False)


def _execute(
    settings: Settings, bound: Bound, options: IngestOptions, policies: Path | None, tenant: str | None, form: Format, allow_network: bool
) -> None:
    check_queries(bound.pipeline)  # before a server is started for it
    options = replace(options, tenant=tenant or bound.pipeline.tenant or settings.tenant)
    with open_database(settings, migrate=True) as database, shown() as progress, resumable(database, options):
        summary, losses = run_pipeline(
            database, bound, options, memory_mb=settings.pipeline_memory_mb, allow_network=allow_network, progress=progress, notify=say)
    body = {**summary.as_json(), "loss": losses.as_json()}
    report(body, form)
    if form is Format.TABLE:
        _print_losses(bound.pipeline, losses)
    say_order(summary, options, settings, policies)
    if summary.findings:
        raise typer.Exit(1)


def _pairs(flag: str, given: Sequence[str] | None) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise InputError(f"{flag} {text} is not NAME=VALUE.", hint=f"For example {flag} {name or 'name'}=value.")
        if name in pairs:
            raise InputError(f"{flag} {name} is given twice.")
        pairs[name] = value
    return pairs


def _print_losses(pipeline: Pipeline, losses: LossReport) -> None:
    body = losses.as_json()
    typer.echo(f"\nLoss report of {pipeline.name} {pipeline.version}")
    table(losses.queries, ("query", "rows", "accepted", "rejected"))
    rows = [_loss("not known", f"{one['kind']}.{one['field']}", f"in {one['missing']:,} of {one['of']:,}", one["missing"])
            for one in losses.unknown]
    rows += [_loss(what, one["subject"], one["reason"], one["count"])
             for what, key in (("not known", "unknown"), ("made up", "defaulted"), ("left out", "dropped")) for one in body[key]]
    rows += [_loss("made up", "entity", "only an edge names it: its id is its name", losses.from_edges)] if losses.from_edges else []
    rows += [_loss("not known", "edge", "it cites a passage that no record declares", losses.unregistered)] if losses.unregistered else []
    rows += [_loss("refused", one["file"], one["reason"], one["count"]) for one in losses.refused]
    rows += [_loss("withheld", "edge", reason, count) for reason, count in losses.withheld.items()]
    if rows:
        typer.echo("")
        table(rows, ("what", "subject", "detail", "count"))


def _loss(what: str, subject: str, detail: str, count: int) -> dict[str, Any]:
    return {"what": what, "subject": subject, "detail": detail, "count": count}
