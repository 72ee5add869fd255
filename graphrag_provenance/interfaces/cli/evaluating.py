"""`gprov eval`: measures over chains, and over past results of the gate (spec 4).

Owns: options, and how measures are printed. Leaves to others: the measures (`rules.evaluation`, `rules.incidents`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.interfaces.cli.context import read_text
from graphrag_provenance.interfaces.cli.options import Format, FormatOption
from graphrag_provenance.interfaces.cli.render import fields, print_json, print_lines, table
from graphrag_provenance.rules.incidents import measures, parse_incidents

app = typer.Typer(no_args_is_help=True, help="Measures: chains, gate.")


@app.command("gate")
def gate_(
    file: Annotated[Path, typer.Argument(help="Past incidents: results of the gate with labels, JSON lines.", metavar="FILE")],
    format: FormatOption = Format.TABLE,
) -> None:
    """Measure past results of the gate against what people found out later."""
    body = measures(parse_incidents(read_text(file, "incidents file"), str(file)))
    if format is Format.JSON:
        print_json(body)
    elif format is Format.JSONL:
        print_lines([body])
    else:
        fields({name: body[name] for name in ("incidents", "facet_recall", "seconds_to_find")})
        typer.echo()
        rows = [{"problem": name, **counts} for name, counts in body["problems"].items()]
        table(rows, ("problem", "reported", "labelled", "missed", "needless", "recall"))
