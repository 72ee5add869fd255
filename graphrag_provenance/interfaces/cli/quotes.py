"""`gprov quote`: whether passages hold what is quoted from them.

Owns: names, options and columns. Leaves to others: the grades (`rules.quotes`), what is read (`store.quotes`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest.reports import read_reports
from graphrag_provenance.interfaces.cli.context import access_for, open_database, reader_for, say, settings_for
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Clearance,
    Format,
    FormatOption,
    Home,
    Principal,
    ReaderFile,
    RoleOption,
    Tenant,
    Workspace,
)
from graphrag_provenance.interfaces.cli.render import fields, print_json, print_lines, show_thing, table
from graphrag_provenance.model.identifiers import split_revision
from graphrag_provenance.model.reports import QuoteReport
from graphrag_provenance.rules.answers import Json
from graphrag_provenance.rules.quotes import NORMALISER, normalise, quote_hash
from graphrag_provenance.store import quotes

app = typer.Typer(no_args_is_help=True, help="Quotes: whether a passage holds what is quoted from it.")


@app.command()
def verify(
    file: Annotated[
        Path | None,
        typer.Argument(help="Quotes in full, one JSON object a line: doc, chunk, quote, id. - for stdin.", metavar="[FILE]",
                       allow_dash=True),
    ] = None,
    doc: Annotated[str | None, typer.Option("--doc", help="What edges cite of this revision.", metavar="DOC@VER")] = None,
    edge: Annotated[str | None, typer.Option("--edge", help="The evidence of this edge.", metavar="ID")] = None,
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
    """Grade quotes against their passages. Exit code 1 if one is not proved.

    Without FILE, --doc or --edge: the evidence of every edge the reader may see, listing only what is not proved.
    Grades: exact, normalised (same but for dashes, quotation marks, spaces), absent, quote-not-in-chunk, no-text (no text that
    this reader may read), no-span (a hash alone cannot be placed), no-quote (the evidence states none).
    """
    if sum(one is not None for one in (file, doc, edge)) > 1:
        raise InputError("A report is about a file, a revision or an edge, not several.", hint="Name one of FILE, --doc, --edge.")
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    told = read_reports(file, QuoteReport) if file is not None else []
    if doc is not None:
        _check_revision(doc)
    with open_database(settings, migrate=False) as database:
        access = access_for(settings, database)
        if file is not None:
            report = quotes.verify_quotes(database, who, told, access=access)
        elif doc is not None:
            report = quotes.verify_revision_quotes(database, who, doc, access=access)
        elif edge is not None:
            report = quotes.verify_edge_quotes(database, who, edge, access=access)
        else:
            report = quotes.verify_all_quotes(database, who, access=access)
    _print(report, format)
    if not report["ok"]:
        raise typer.Exit(1)


@app.command("hash")
def hash_(
    text: Annotated[str, typer.Argument(help="The quote.", metavar="TEXT")],
    format: FormatOption = Format.TABLE,
) -> None:
    """Print the quote hash that a record states for this quote."""
    show_thing({"quote_hash": quote_hash(text), "normaliser": NORMALISER, "normalised": normalise(text)}, format)


def _check_revision(doc: str) -> None:
    try:
        split_revision(doc)
    except ValueError as error:
        raise InputError(f"{error}.", hint="Write a revision, for example POL-17@1.4.") from None


def _print(report: Json, form: Format) -> None:
    if form is Format.JSON:
        print_json(report)
    elif form is Format.JSONL:
        print_lines(report["quotes"])
    else:
        fields({grade: count for grade, count in report["counts"].items() if count} or {"quotes": 0})
        if report["quotes"]:
            typer.echo()
            table(report["quotes"], ("id", "edge_id", "doc", "chunk", "span", "grade", "found_in", "found_at"))
        if not report["ok"]:
            say("Not every quote is proved.")
