"""`gprov export`: the content of the store in other forms.

Owns: names, options and where the lines go. Leaves to others: what may be read (`store.exporting`), the form (`exports`). Forms that
need an optional package are loaded when they are asked for.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TextIO

import typer

from graphrag_provenance.errors import InputError
from graphrag_provenance.exports.import_files import export_import_files
from graphrag_provenance.exports.jsonl import Exported, export_jsonl, policy_file
from graphrag_provenance.interfaces.cli.context import open_database, reader_for, say, settings_for
from graphrag_provenance.interfaces.cli.folders import new_folder
from graphrag_provenance.interfaces.cli.options import Clearance, Home, Principal, ReaderFile, RoleOption, Tenant, Workspace
from graphrag_provenance.interfaces.cli.render import plain
from graphrag_provenance.store.exporting import export_everything

_Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.", metavar="FILE")]
_AllTenants = Annotated[bool, typer.Option("--all-tenants", help="Export every tenant, not only the reader's.")]


class ProvForm(StrEnum):
    """Forms of a PROV document; the names of `exports.prov.ProvFormat`."""

    JSON = "json"
    PROVN = "provn"
    TURTLE = "turtle"
    TRIG = "trig"


app = typer.Typer(no_args_is_help=True, help="Exports of the whole content. Needs --role operator.")


@app.callback()
def _export() -> None:
    """Exports of the whole content. Needs --role operator."""


@app.command()
def jsonl(
    output: _Output = None,
    policies_output: Annotated[
        Path | None,
        typer.Option("--policies-output", help="File for the store's order of policies, which the importing store needs.", metavar="FILE"),
    ] = None,
    all_tenants: _AllTenants = False,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    home: Home = None,
    workspace: Workspace = None,
) -> None:
    """Write everything as standard records, whatever its policy. Needs --role operator.

    Loaded into an empty store under the same order of policies (--policies-output), the records of all tenants give the same graph
    hash. History stays behind. Exit code 1 if there is something that records cannot say; it is named on stderr. A file is
    written whole or not at all.
    """
    settings = settings_for(home, workspace)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    exported = Exported()
    with open_database(settings, migrate=False) as database, _writing(output) as out, \
            export_everything(database, who, all_tenants=all_tenants) as everything:
        for line in export_jsonl(everything, exported):
            out.write(line + "\n")
        if policies_output is not None and everything.order is not None:
            with _writing(policies_output) as file:
                file.write(policy_file(everything.order))
        graph_hash = everything.graph_hash
    say(f"Exported {', '.join(f'{count:,} {kind}' for kind, count in exported.records.items()) or 'nothing'}."
        + (f" Graph hash: {graph_hash}" if all_tenants else ""))
    for told, names in (("Which revision came first decides the order of revisions, which a load does not repeat", exported.by_arrival),
                        ("No exported edge names what was spelled", exported.lost_aliases)):
        if names:
            say(f"{told}: {plain(names[:20])}{' …' if len(names) > 20 else ''} ({len(names):,}).")
    if exported.findings:
        raise typer.Exit(1)


@app.command()
def prov(
    output: _Output = None,
    format: Annotated[
        ProvForm, typer.Option("--format", help="PROV-JSON, PROV-N, or RDF (PROV-O) as Turtle or TriG.")
    ] = ProvForm.JSON,
    run: Annotated[
        int | None, typer.Option("--run", help="Only what this run made, retracted, began or ended.", min=1, metavar="RUN")
    ] = None,
    edge: Annotated[str | None, typer.Option("--edge", help="Only this edge of the reader's tenant.", metavar="EDGE_ID")] = None,
    all_tenants: _AllTenants = False,
    max_statements: Annotated[
        int | None, typer.Option("--max-statements", help="Refuse a document of more statements. Default: 500,000.", min=1, metavar="N")
    ] = None,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    home: Home = None,
    workspace: Workspace = None,
) -> None:
    """Write provenance in the terms of W3C PROV, history included, whatever its policy. Needs --role operator and the extra export.

    Runs are activities, documents, revisions, edges and evidence are entities, actors and pipelines are agents. The document stands
    in memory whole; one of too many statements is refused, not cut.
    """
    from graphrag_provenance.exports.prov import MOST_STATEMENTS, ProvFormat, prov_document  # noqa: PLC0415 - an extra

    settings = settings_for(home, workspace)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        with export_everything(database, who, all_tenants=all_tenants) as everything:
            found = prov_document(everything, run=run, edge_id=edge, most=max_statements or MOST_STATEMENTS)
        with _writing(output) as out:
            out.write(found.text(ProvFormat(format.value)).rstrip("\n") + "\n")
    say(f"Exported {', '.join(f'{count:,} {kind}' for kind, count in found.statements.items()) or 'nothing'}.")


@app.command()
def openlineage(
    output: _Output = None,
    first: Annotated[int | None, typer.Option("--from", help="First run. Default: the first there is.", min=1, metavar="RUN")] = None,
    last: Annotated[int | None, typer.Option("--to", help="Last run. Default: the last there is.", min=1, metavar="RUN")] = None,
    namespace: Annotated[
        str, typer.Option("--namespace", help="Namespace of the jobs and of the graph.", metavar="NAME")
    ] = "graphrag-provenance",
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    home: Home = None,
    workspace: Workspace = None,
) -> None:
    """Write the runs as OpenLineage events, one a line. Needs --role operator and the extra export.

    START when a run began, COMPLETE, FAIL or ABORT when it ended. Its files are the inputs, the graph is the output. Runs span tenants.
    """
    from graphrag_provenance.exports.openlineage import run_events  # noqa: PLC0415 - an extra

    settings = settings_for(home, workspace)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    count = 0
    with open_database(settings, migrate=False) as database, _writing(output) as out, export_everything(database, who) as everything:
        for line in run_events(everything, first=first, last=last, namespace=namespace):
            out.write(line + "\n")
            count += 1
    say(f"Exported {count:,} events.")


@app.command("import-csv")
def import_csv(
    folder: Annotated[Path, typer.Argument(help="New folder to write the files in.", metavar="DIR")],
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    home: Home = None,
    workspace: Workspace = None,
) -> None:
    """Write the whole store, history and every tenant included, as files for neo4j-admin database import. Needs --role operator.

    gprov db import DIR makes a local store of them; import.args holds the options for another server.
    """
    settings = settings_for(home, workspace)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database, new_folder(folder) as made, \
            export_everything(database, who, all_tenants=True) as everything:
        files = export_import_files(everything, made)
    say(f"Exported {', '.join(f'{count:,} {file}' for file, count in sorted(files.counts.items())) or 'nothing'}.")


@contextmanager
def _writing(path: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears under its name when all of it is written."""
    if path is None:
        yield sys.stdout
        return
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(number, "w", encoding="utf-8", newline="\n") as file:
                yield file
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
