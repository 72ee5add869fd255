"""`gprov ingest`: standard records into the store.

Owns: options, which files a PATH means, how a load is reported, and what Ctrl-C says. Leaves to others: everything that
happens to a record (`ingest`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from graphrag_provenance.config import Settings, default_actor
from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest import IngestOptions, Summary
from graphrag_provenance.ingest import ingest as load
from graphrag_provenance.ingest.quoting import QuoteMode
from graphrag_provenance.ingest.staging import stage as hold_back
from graphrag_provenance.interfaces.cli.boundary import Interrupted
from graphrag_provenance.interfaces.cli.context import open_database, policies_for, read_text, say, settings_for, trace_id_for
from graphrag_provenance.interfaces.cli.folders import new_folder
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
from graphrag_provenance.interfaces.cli.policies import other_order
from graphrag_provenance.interfaces.cli.progress import shown
from graphrag_provenance.interfaces.cli.render import plain, print_json, print_lines
from graphrag_provenance.rules.relations import parse_relations
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.lookups import run_list

_OF_THESE = {
    "unregistered": "cite a passage without a record (unregistered)",
    "overruled": "are under a stricter policy than they declare (overruled)",
}
"""Counts of edges that are counted once already."""


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files, folders of *.jsonl, or - for stdin.", metavar="PATH…", allow_dash=True)
    ],
    tenant: Annotated[str | None, typer.Option("--tenant", help="Tenant of records that name none.", metavar="NAME")] = None,
    pipeline: Annotated[
        str | None,
        typer.Option("--pipeline", help="Pipeline that makes records of the files: a name, or a folder with a /.", metavar="NAME|DIR"),
    ] = None,
    option: OptionValues = None,
    pipeline_name: Annotated[
        str | None,
        typer.Option("--pipeline-name", help="Who extracted the records, for the run record. Default: ingest.", metavar="NAME"),
    ] = None,
    pipeline_version: Annotated[
        str | None, typer.Option("--pipeline-version", help="Version of that pipeline. Default: 1.", metavar="VERSION")
    ] = None,
    policies: PoliciesFile = None,
    relations: DeclaredRelations = None,
    bulk: Annotated[
        bool, typer.Option("--bulk", help="First load of the empty local store by import files: faster, and nothing is there if it fails.")
    ] = False,
    bulk_files: Annotated[
        Path | None,
        typer.Option("--bulk-files", help="As --bulk, but only write the import files, into a new folder.", metavar="DIR"),
    ] = None,
    spark: Annotated[bool, typer.Option("--spark", help="With --bulk-files: let Spark work them out.")] = False,
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
    trace_id: TraceId = None,
    actor: Actor = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Load standard records into the store. Exit code 1 if records were refused or edges withheld.

    Loading the same input again writes nothing. An interrupted load keeps what it committed and is completed with --resume. A first
    load with --bulk comes to the same store. With --stage the load is held back as a whole, and other writers are refused until it is
    published or discarded.
    """
    settings = settings_for(
        home, workspace, tenant=tenant, batch_size=batch_size, actor=actor,
        require_registered_sources=require_registered_sources or None,
    )  # fmt: skip
    for path in paths:
        if str(path) != "-" and not path.exists():  # before a server is started for it
            raise InputError(f"There is no file {path}.", hint="Name files, folders of *.jsonl, or - for stdin.")
    if spark and bulk_files is None:
        raise InputError("Spark writes import files.", hint="Name a folder for them with --bulk-files.")
    if option and pipeline is None:
        raise InputError("--option belongs to a pipeline.", hint="Name it with --pipeline.")
    options = IngestOptions(
        policies=policies_for(settings, policies),
        relations=parse_relations(read_text(relations, "relations file"), str(relations)) if relations else {},
        tenant=settings.tenant,
        actor=default_actor(settings),
        pipeline=pipeline_name or "ingest",
        version=pipeline_version or "1",
        trace_id=trace_id_for(trace_id),
        dry_run=dry_run,
        stage=stage,
        resume=resume,
        workers=workers,
        batch_size=settings.batch_size,
        require_registered_sources=settings.require_registered_sources,
        verify_quotes=verify_quotes,
        rejects=rejects,
        max_line_bytes=settings.max_line_bytes,
        lease_seconds=settings.lease_seconds,
        wait_seconds=settings.wait_seconds,
    )
    if bulk or bulk_files is not None:
        if pipeline is not None:
            raise InputError("A bulk load takes standard records.", hint="Leave out --bulk, or --pipeline.")
        from graphrag_provenance.interfaces.cli import importing  # noqa: PLC0415 - only bulk loads need it

        if bulk_files is None:
            summary = importing.bulk_into_local(settings, paths, options)
        else:
            with new_folder(bulk_files) as made:
                summary = importing.bulk_files(paths, options, made, spark=spark)
            say(f"Import them: neo4j-admin database import full neo4j @import.args, in {bulk_files} on the server; then gprov db import "
                f"{bulk_files} --finish. Into the local server: gprov db import {bulk_files}.")
        report(summary.as_json(), format)
        if summary.findings:
            raise typer.Exit(1)
        return None
    if pipeline is not None:
        if pipeline_name or pipeline_version:
            raise InputError("A pipeline has its own name and version.", hint="Leave out --pipeline-name and --pipeline-version.")
        from graphrag_provenance.interfaces.cli.pipelines import load_files  # noqa: PLC0415 - DuckDB is slow to load

        return load_files(settings, pipeline, workspace, paths, option, options, policies, tenant, format)
    with open_database(settings, migrate=True) as database:
        summary = run_load(database, paths, options)
    report(summary.as_json(), format)
    say_order(summary, options, settings, policies)
    if summary.findings:
        raise typer.Exit(1)


def run_load(database: Database, paths: list[Path], options: IngestOptions) -> Summary:
    """One load with progress on stderr. Raises Interrupted, saying how to go on, on Ctrl-C."""
    with shown() as progress, resumable(database, options):
        return (hold_back if options.stage else load)(database, paths, options, progress=progress, notify=say)


@contextmanager
def resumable(database: Database, options: IngestOptions) -> Iterator[None]:
    """Ctrl-C inside raises Interrupted, which says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(_how_to_go_on(database, options)) from None


def _how_to_go_on(database: Database, options: IngestOptions) -> str:
    if options.dry_run:
        return "Interrupted. It was a dry run: nothing was written."
    if options.stage:
        return "Interrupted. Nothing was staged."
    cut_off = next((run for run in run_list(database, limit=5) if run["status"] == "interrupted"), None)
    if cut_off is None:
        return "Interrupted. Nothing was written."
    return f"Interrupted. What was committed stays; complete it with the same command and --resume {cut_off['seq']}."


def report(body: dict[str, Any], form: Format) -> None:
    """Prints a summary: as JSON, or as a few lines for a person."""
    if form is Format.JSON:
        print_json(body)
    elif form is Format.JSONL:
        print_lines([body])
    else:
        for line in (*lines(body), *_next_steps(body)):
            typer.echo(line)


def say_order(summary: Summary, options: IngestOptions, settings: Settings, file: Path | None) -> None:
    """Says it if a policy file was given, by a flag or a setting, and the store's order is another one."""
    if summary.policies_differ and summary.order is not None and (file or settings.policies):
        say(other_order(summary.order, options.policies, file))


def _next_steps(body: dict[str, Any]) -> list[str]:
    stored = not body["dry_run"] and body["run"].get("status") != "staged"
    return ["See: gprov edge list --withheld --role operator."] if body["withheld_reasons"] and stored else []


def lines(body: dict[str, Any]) -> list[str]:
    """A summary for a person."""
    run, records, edges, evidence = body["run"], body["records"], body["edges"], body["evidence"]
    writes, dry_run = body["writes"], body["dry_run"]
    staged = run.get("status") == "staged"
    what = "Dry run, nothing was written" if dry_run else f"Run {run.get('seq')} {run.get('status')}"
    told = [
        f"{what}: {records['read']:,} records read, {records['accepted']:,} accepted, "
        f"{records['rejected']:,} rejected, in {body['seconds']:.1f} s.",
        f"Edges: {_counts({name: count for name, count in edges.items() if name not in _OF_THESE})}.",
        *(f"Of these, {edges[name]:,} {what}." for name, what in _OF_THESE.items() if edges.get(name)),
        f"Evidence: {_counts(evidence)}.",
    ]
    if staged:
        told.append(f"Nothing of it is live. Check it with --candidate, then: gprov run publish {run['seq']}, or "
                    f"gprov run discard {run['seq']}.")
    elif not dry_run:
        told.append(f"Writes: {_counts(writes)}." if any(writes.values()) else f"Nothing to write: {_why_nothing(records)}.")
    if body["quotes"]:
        told.append(f"Quotes: {_counts(body['quotes'])}.")
    for reason, count in body["withheld_reasons"].items():
        told.append(f"Withheld, {plain(reason)}: {count:,}")
    for code, count in body["rejected_reasons"].items():
        told.append(f"Rejected, {plain(code)}: {count:,}")
    if body.get("rejects_file"):
        told.append(f"Refused records: {plain(body['rejects_file'])}")
    return told


def _why_nothing(records: Mapping[str, int]) -> str:
    if records["rejected"] and not records["accepted"]:
        return "no record was accepted"
    return f"the store holds all {'that was accepted' if records['rejected'] else 'of it'} already"


def _counts(counts: Mapping[str, int]) -> str:
    told = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    return ", ".join(told) or "none"
