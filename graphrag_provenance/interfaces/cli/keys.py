"""`gprov key`: API keys of the service.

Owns: options, and that a key is shown once, on stderr, while its entry goes to stdout. Leaves to others: what a key is (`http.keys`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from graphrag_provenance.interfaces.cli.context import say
from graphrag_provenance.interfaces.cli.options import Format, FormatOption, RoleName
from graphrag_provenance.interfaces.cli.render import print_json, print_lines
from graphrag_provenance.interfaces.http.keys import new_key
from graphrag_provenance.model.readers import Role

app = typer.Typer(no_args_is_help=True, help="API keys of the service.")


@app.callback()
def _key() -> None:
    """API keys of the service."""


@app.command()
def new(
    principal: Annotated[str, typer.Option("--principal", help="Who reads with this key.", metavar="NAME")],
    tenant: Annotated[str, typer.Option("--tenant", help="Tenant of the reader.", metavar="NAME")],
    clearance: Annotated[
        list[str], typer.Option("--clearance", help="Policy the reader is cleared for. Repeatable.", metavar="POLICY")],
    role: Annotated[list[RoleName] | None, typer.Option("--role", help="Role of the reader. Repeatable.")] = None,
    days: Annotated[int, typer.Option("--days", help="How long it is valid; 0: for ever.", min=0, max=36_500, metavar="N")] = 365,
    format: FormatOption = Format.TABLE,
) -> None:
    """Make an API key: its entry for the key file on stdout, the key itself on stderr, this once.

    gprov key new --principal bot --tenant ACME --clearance internal >> keys.toml
    """
    expires = None if days == 0 else datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
    key, entry = new_key(principal, tenant, clearance, [Role(name) for name in role or [RoleName.READER]], expires)
    if format is Format.TABLE:
        typer.echo(entry.as_toml())
    else:
        (print_json if format is Format.JSON else lambda body: print_lines([body]))({"schema": 1, **entry.model_dump(mode="json")})
    say(f"The key, shown this once: {key}")
