"""`gprov export`: the content of the store in other forms.

Owns: names, options and where the lines go. Leaves to others: what may be read (`store.exporting`), the form (`exports`).
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import typer

from graphrag_provenance.errors import InputError
from graphrag_provenance.exports.jsonl import Exported, export_jsonl, policy_file
from graphrag_provenance.interfaces.cli.context import open_database, reader_for, say, settings_for
from graphrag_provenance.interfaces.cli.options import Clearance, Home, Principal, ReaderFile, RoleOption, Tenant, Workspace
from graphrag_provenance.interfaces.cli.render import plain
from graphrag_provenance.store.exporting import export_everything

app = typer.Typer(no_args_is_help=True, help="Exports of the whole content. Needs --role operator.")


@app.callback()
def _export() -> None:
    """Exports of the whole content. Needs --role operator."""


@app.command()
def jsonl(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.", metavar="FILE")
    ] = None,
    policies_output: Annotated[
        Path | None,
        typer.Option("--policies-output", help="File for the store's order of policies, which the importing store needs.", metavar="FILE"),
    ] = None,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", help="Export every tenant, not only the reader's.")] = False,
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
