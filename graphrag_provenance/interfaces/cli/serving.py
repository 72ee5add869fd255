"""`gprov serve`: the store over HTTP.

Owns: options, and what is warned of at the start. Leaves to others: the service (`http`).
"""

from __future__ import annotations

from typing import Annotated

import typer

from graphrag_provenance.interfaces.cli import logs
from graphrag_provenance.interfaces.cli.context import access_for, connection_for, relations_for, say, settings_for
from graphrag_provenance.interfaces.cli.options import AccessFile, Home, RelationsFile, Workspace
from graphrag_provenance.interfaces.http.app import create_app
from graphrag_provenance.interfaces.http.identity import identity_for
from graphrag_provenance.interfaces.http.running import check_exposure, run, served_database
from graphrag_provenance.interfaces.http.service import Service

Host = Annotated[
    str | None, typer.Option("--host", help="Address to listen on. Default: the setting, this machine only.", metavar="ADDRESS")]
Port = Annotated[int | None, typer.Option("--port", help="Port; 0: any free one. Default: the setting.", min=0, max=65_535, metavar="N")]


def serve(
    host: Host = None,
    port: Port = None,
    relations: RelationsFile = None,
    access_file: AccessFile = None,
    home: Home = None,
    workspace: Workspace = None,
) -> None:
    """Serve the store over HTTP until it is told to stop. Who reads, a verified token says (docs/service.md).

    A token is an API key (setting serve_api_keys, made with gprov key new) or one of an issuer (settings oidc_…).
    """
    settings = settings_for(home, workspace, serve_host=host, serve_port=port, access_file=access_file)
    identity = identity_for(settings)
    declared = relations_for(relations)
    check_exposure(settings, say)
    database = served_database(settings, connection_for(settings))
    logs.carry_nothing()
    run(create_app(Service(database, settings, access_for(settings, database), declared), identity), settings, say)
