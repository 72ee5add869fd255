"""`gprov query`: the stored Cypher by command. Shows statements, runs none.

Owns: names and options. Leaves to others: the catalogue (`queries`), the plan (`store`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from graphrag_provenance.interfaces.cli.context import open_database, settings_for
from graphrag_provenance.interfaces.cli.options import Format, FormatOption, Home, Workspace
from graphrag_provenance.interfaces.cli.render import plain, print_json, print_lines, show_rows
from graphrag_provenance.queries.catalogue import Query, all_queries, query

app = typer.Typer(no_args_is_help=True, help="The stored Cypher: every statement this product sends.")


@app.command("list")
def list_(format: FormatOption = Format.TABLE) -> None:
    """List every stored statement."""
    rows = [_contract(stored) for stored in all_queries().values()]
    show_rows(rows, ("name", "access", "description"), format, name="queries", empty="There is no stored query.")


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name, as `gprov query list` prints it.", metavar="NAME")],
    plan: Annotated[bool, typer.Option("--plan", help="Ask the server how it would run it (EXPLAIN).")] = False,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Print a statement; with --plan, also the plan of the live server."""
    stored = query(name)
    body: dict[str, Any] = {"schema": 1, **_contract(stored), "text": stored.text}
    if plan:
        with open_database(settings_for(home, workspace)) as database:
            body["plan"] = _operators(database.explain(name).plan or {})
    if format is Format.JSON:
        print_json(body)
    elif format is Format.JSONL:
        print_lines([body])
    else:
        typer.echo(stored.text.rstrip("\n"))
        if plan:
            typer.echo()
            for line in _tree(body["plan"]):
                typer.echo(line)


def _contract(stored: Query) -> dict[str, Any]:
    return {
        "name": stored.name,
        "access": stored.access.value,
        "description": stored.description,
        "params": stored.params,
        "returns": list(stored.returns),
        "scans": stored.scans,
    }


def _operators(plan: dict[str, Any]) -> dict[str, Any]:
    """Operator, details and children: what a person reads of a plan."""
    details = (plan.get("args") or {}).get("Details")
    return {
        "operator": str(plan.get("operatorType", "")).partition("@")[0],
        "details": details,
        "children": [_operators(child) for child in plan.get("children") or ()],
    }


def _tree(node: dict[str, Any], depth: int = 0) -> Iterator[str]:
    details = f"  {plain(node['details'])}" if node["details"] else ""
    yield f"{'  ' * depth}{node['operator']}{details}"
    for child in node["children"]:
        yield from _tree(child, depth + 1)
