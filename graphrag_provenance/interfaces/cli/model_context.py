"""`gprov mcp`: the store for language models.

Owns: options, and that over HTTP nobody names a reader but the token. Leaves to others: the tools (`mcp.tools`), the transports
(`mcp.serving`).
"""

from __future__ import annotations

from typing import Annotated

import typer

from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.cli import logs
from graphrag_provenance.interfaces.cli.context import access_for, connection_for, reader_for, relations_for, say, settings_for
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Clearance,
    Home,
    Principal,
    ReaderFile,
    RelationsFile,
    RoleOption,
    Tenant,
    Workspace,
)
from graphrag_provenance.interfaces.cli.serving import Host, Port
from graphrag_provenance.interfaces.http.identity import identity_for
from graphrag_provenance.interfaces.http.running import check_exposure, run, served_database
from graphrag_provenance.interfaces.http.service import Service
from graphrag_provenance.interfaces.mcp.serving import create_mcp_app, run_stdio


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP at /mcp, instead of stdin and stdout.")] = False,
    host: Host = None,
    port: Port = None,
    relations: RelationsFile = None,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    access_file: AccessFile = None,
    home: Home = None,
    workspace: Workspace = None,
) -> None:
    """Serve read-only tools to language models, over stdin and stdout, or with --http to many (docs/mcp.md).

    Over stdin and stdout the reader is the one of the options. Over HTTP it is the one of each request's token, as with gprov serve.
    """
    settings = settings_for(home, workspace, serve_host=host, serve_port=port, access_file=access_file)
    declared = relations_for(relations)
    if http:
        if tenant or clearance or principal or role or reader:
            raise InputError("Over HTTP the token says who reads.", hint="Leave out the options of the reader, or --http.")
        identity = identity_for(settings)
        check_exposure(settings, say)
    else:
        who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    database = served_database(settings, connection_for(settings))
    service = Service(database, settings, access_for(settings, database), declared)
    logs.carry_nothing()
    if http:
        run(create_mcp_app(service, identity), settings, say)
    else:
        run_stdio(service, who)
