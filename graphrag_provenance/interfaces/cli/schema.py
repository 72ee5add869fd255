"""`gprov schema`: the store's schema by command.

Owns: names and options. Leaves to others: migrations (`store.migrations`).
"""

from __future__ import annotations

import typer

from graphrag_provenance.interfaces.cli.context import open_database, say, settings_for
from graphrag_provenance.interfaces.cli.options import Format, FormatOption, Home, Workspace
from graphrag_provenance.interfaces.cli.render import show_thing
from graphrag_provenance.store import migrations

app = typer.Typer(no_args_is_help=True, help="The store's schema: versioned migrations, each applied once.")


@app.command()
def apply(home: Home = None, workspace: Workspace = None, format: FormatOption = Format.TABLE) -> None:
    """Apply what the store lacks. A second call applies nothing."""
    with open_database(settings_for(home, workspace)) as database:
        applied = migrations.apply(database)
        now = migrations.status(database)
    if not applied:
        say("Nothing to apply: the schema is current.")
    show_thing({"applied_now": [_name(m) for m in applied], "applied": list(now.applied)}, format)


@app.command()
def status(home: Home = None, workspace: Workspace = None, format: FormatOption = Format.TABLE) -> None:
    """Print what is applied and what is pending. Exit code 1 if anything is pending."""
    with open_database(settings_for(home, workspace)) as database:
        now = migrations.status(database)
        server = database.server_version()
    pending = [_name(m) for m in now.pending]
    show_thing({"current": not pending, "applied": list(now.applied), "pending": pending, "server": server}, format)
    if pending:
        say("Run: gprov schema apply.")
        raise typer.Exit(1)


def _name(migration: migrations.Migration) -> str:
    return f"V{migration.version:03}__{migration.name}"
