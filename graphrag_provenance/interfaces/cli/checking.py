"""`gprov verify`: what holds in the store.

Owns: options and how a report is printed. Leaves to others: the invariants (`store.verification`).
"""

from __future__ import annotations

import typer

from graphrag_provenance.interfaces.cli.context import open_database, say, settings_for
from graphrag_provenance.interfaces.cli.options import Format, FormatOption, Home, Workspace
from graphrag_provenance.interfaces.cli.render import fields, print_json, print_lines, table
from graphrag_provenance.store.verification import verify as verify_store


def _checked(counts: dict[str, int]) -> dict[str, object]:
    """The counts under names that a person reads right: two of them count no records."""
    told: dict[str, object] = {name: count for name, count in counts.items() if name not in ("running", "graph_hash")}
    return {**told, "runs under way": counts["running"], "graph hash compared": bool(counts["graph_hash"])}


def verify(home: Home = None, workspace: Workspace = None, format: FormatOption = Format.TABLE) -> None:
    """Check every invariant on the live store. Exit code 1 and the offending ids if one does not hold."""
    with open_database(settings_for(home, workspace), migrate=False) as database:
        report = verify_store(database)
    body = report.as_json()
    violations = body["violations"]
    if format is Format.JSON:
        print_json(body)
    elif format is Format.JSONL:
        print_lines(violations)
    else:
        told = {name: value for name, value in body.items() if name not in ("schema", "violations")}
        fields({**told, "checked": _checked(body["checked"])})
        if violations:
            typer.echo()
            table(violations, ("invariant", "message", "ids"))
    if not report.ok:
        say(f"The store breaks {len(violations)} invariant{'' if len(violations) == 1 else 's'}.")
        raise typer.Exit(1)
