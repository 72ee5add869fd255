"""`gprov retrieval`: which passages a retriever returned, and what they are today.

Owns: names, options and columns. Leaves to others: what a reader may see of it (`store.retrievals`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.config import default_actor
from graphrag_provenance.ingest.reports import read_reports
from graphrag_provenance.interfaces.cli.context import access_for, open_database, reader_for, say, settings_for, trace_id_for
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Actor,
    Clearance,
    Format,
    FormatOption,
    Home,
    Principal,
    ReaderFile,
    RoleOption,
    Tenant,
    TraceId,
    Workspace,
)
from graphrag_provenance.interfaces.cli.render import fields, print_json, print_lines, table
from graphrag_provenance.model.reports import RetrievalReport
from graphrag_provenance.store import retrievals
from graphrag_provenance.store.recording import RecordingOptions

app = typer.Typer(no_args_is_help=True, help="Recorded retrievals: ids and scores, and what they stand for today.")


@app.command()
def record(
    file: Annotated[
        Path,
        typer.Argument(help="Retrievals, one JSON object a line: trace_id, k, filter, passages. - for stdin.", metavar="FILE",
                       allow_dash=True),
    ],
    actor: Actor = None,
    trace_id: TraceId = None,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Record what a retriever was asked and which passages it returned: ids and scores, no text.

    A passage is named by `doc@ver#chunk`, by `doc` and `chunk`, or by its point id. Recording the same again writes nothing.
    """
    settings = settings_for(home, workspace, actor=actor)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    reports = read_reports(file, RetrievalReport)
    options = RecordingOptions(
        default_actor(settings), str(file), trace_id_for(trace_id), settings.lease_seconds, settings.wait_seconds)
    with open_database(settings, migrate=False) as database:
        done = retrievals.record_retrievals(database, who, reports, options, notify=say)
    if format is Format.JSON:
        print_json(done)
    elif format is Format.JSONL:
        print_lines(done["retrievals"])
    else:
        table(done["retrievals"], ("trace_id", "recorded", "passages", "run", "retrieval_id"))


@app.command()
def explain(
    trace_id: Annotated[str, typer.Argument(help="Trace id, 32 hex digits.", metavar="TRACE")],
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
    """Print one row a passage: document, revisions, section, and whether the reader may read it now. Exit code 1 if one is stale
    or not resolved.

    A passage that the reader may not read is answered like one that does not exist; an auditor hears why.
    """
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        found = retrievals.explain_retrieval(database, who, trace_id, access=access_for(settings, database))
    rows = [{"retrieval_id": one["retrieval_id"], **row} for one in found["retrievals"] for row in one["passages"]]
    if format is Format.JSON:
        print_json(found)
    elif format is Format.JSONL:
        print_lines(rows)
    else:
        for number, one in enumerate(found["retrievals"]):
            if number:
                typer.echo()
            fields({name: one[name] for name in ("retriever", "k", "filter", "generation", "recorded_at", "principal")
                    if one[name] not in (None, {})})
            table(one["passages"], ("rank", "id", "score", "doc_title", "revision", "current_revision", "is_stale", "section",
                                    "user_may_read", "effective_at", "url", "why"))
    if any(row["why"] is not None or row["is_stale"] for row in rows):
        raise typer.Exit(1)
