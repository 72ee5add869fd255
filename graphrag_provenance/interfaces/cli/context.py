"""What a command works with: settings, a reader, an open store.

Owns: how flags, a reader file and settings become a Reader, and how a store is found: NEO4J_URI, or else the local
server of the home, which is started if it is installed but down. Leaves to others: what is done with them.
"""

from __future__ import annotations

import os
import secrets
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError
from pydantic_settings import SettingsError

from graphrag_provenance.access.cached import CachedSource
from graphrag_provenance.access.file_source import FileSource
from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.config import Settings, default_actor, load_settings
from graphrag_provenance.errors import ConfigurationError, InputError
from graphrag_provenance.interfaces.cli import logs
from graphrag_provenance.interfaces.cli.options import RoleName
from graphrag_provenance.model.identifiers import parse_address
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.trace_context import parse_trace_id
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import PolicyLattice, parse_policies
from graphrag_provenance.rules.relations import Relation, parse_relations
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.server.progress import shown_progress
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Connection, Database
from graphrag_provenance.store.references import stored_references

_PATIENCE_SECONDS = 60.0


def say(text: str) -> None:
    """One message for the person, on stderr."""
    if logs.as_json():
        logs.note(text)
    else:
        typer.echo(text, err=True)


def trace_id_for(flag: str | None) -> str | None:
    """The trace that this command belongs to: flag, then TRACEPARENT. Raises InputError for one that is malformed."""
    given, place = (flag, "--trace-id") if flag is not None else (os.environ.get("TRACEPARENT") or None, "TRACEPARENT")
    try:
        found = None if given is None else parse_trace_id(given)
    except ValueError as error:
        raise InputError(f"{place}: {error}.", hint="See https://www.w3.org/TR/trace-context.") from None
    if found is None and logs.as_json():
        found = secrets.token_hex(16)  # lines before the run begins carry it too
    if found is not None:
        logs.carry(trace_id=found)
    return found


def settings_for(home: Path | None = None, workspace: Path | None = None, **flags: Any) -> Settings:
    """Settings with these flags on top. Raises ConfigurationError for a wrong one, or a workspace that is no folder."""
    if workspace is not None and not workspace.is_dir():
        raise ConfigurationError(f"The workspace {workspace} is not a folder.", hint="Make one with: gprov init DIR.")
    try:
        return load_settings(workspace, home=home, **flags)
    except SettingsError as error:
        name = str(error).partition('"')[2].partition('"')[0] or "a setting"
        hint = 'A list is written as JSON, for example ["internal"].'
        raise ConfigurationError(f"The environment variable for '{name}' cannot be read.", hint=hint) from None


class _ReaderFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    principal: str | None = None
    tenant: str | None = None
    clearances: list[str] | None = None
    roles: list[str] | None = None


def reader_for(
    settings: Settings,
    *,
    tenant: str | None,
    clearance: Sequence[str] | None,
    principal: str | None,
    role: Sequence[RoleName] | None,
    file: Path | None,
) -> Reader:
    """The reader of this command: flag, then reader file, then settings.

    Raises InputError for a file that is none; AccessDeniedError without a tenant; InputError without a clearance,
    because an empty answer would look like an answer.
    """
    told = _read_reader_file(file) if file is not None else _ReaderFile()
    clearances = list(clearance or ()) or (settings.clearance if told.clearances is None else told.clearances)
    if not clearances:
        raise InputError("A read needs a clearance.", hint="Name one with --clearance, for example --clearance internal.")
    roles = [Role(name) for name in role or told.roles or [Role.READER]]
    return Reader(
        principal=principal or told.principal or settings.principal or default_actor(settings),
        tenant=tenant or told.tenant or settings.tenant or "",
        clearances=frozenset(clearances),
        roles=frozenset(roles),
    )


def _read_reader_file(file: Path) -> _ReaderFile:
    try:
        told = _ReaderFile.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
        for role in told.roles or ():
            Role(role)
    except OSError as error:
        raise InputError(f"The reader file {file} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The reader file {file} is not valid TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        hint = "It holds principal, tenant, clearances, roles."
        raise InputError(f"The reader file {file}: {place}: {first['msg']}.", hint=hint) from None
    except ValueError as error:
        raise InputError(f"The reader file {file}: {error}.", hint=f"Roles: {', '.join(Role)}.") from None
    return told


def access_for(settings: Settings, database: Database) -> AccessSource | None:
    """The live access source of this command: a file, or OpenFGA; None: every live reference is closed.

    Raises ConfigurationError for both, or for half an OpenFGA: it would be unclear who decides.
    """
    openfga = {name: value for name in ("openfga_store_id", "openfga_model_id", "openfga_token", "openfga_tenants")
               if (value := getattr(settings, name)) is not None}
    if settings.openfga_url is None and openfga:
        raise ConfigurationError(f"Setting '{next(iter(openfga))}' stands without 'openfga_url'.", hint="Name the server, or leave it out.")
    source: AccessSource | None = None if settings.access_file is None else FileSource(settings.access_file)
    if settings.openfga_url:  # an empty one switches off what the workspace says
        if source is not None:
            raise ConfigurationError("Both 'access_file' and 'openfga_url' are set, and only one can decide.",
                                     hint="Leave one out; to switch OpenFGA off, set GRAPHRAG_PROVENANCE_OPENFGA_URL to nothing.")
        source = _openfga(settings, settings.openfga_url, database)
    return source if source is None or not settings.access_stale_seconds else CachedSource(
        source, stale_at_most=settings.access_stale_seconds)


def _openfga(settings: Settings, url: str, database: Database) -> AccessSource:
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError("Setting 'openfga_url' is no address.", hint="Write it with its scheme, for example https://fga.example.org.")
    for name in ("openfga_store_id", "openfga_model_id"):
        if not getattr(settings, name):
            raise ConfigurationError(f"Setting '{name}' is missing.", hint="OpenFGA is asked in one store, under one model; name both.")
    from graphrag_provenance.access.openfga_source import OpenFgaSource, connect  # noqa: PLC0415 - an extra, and slow to load

    client = connect(url, str(settings.openfga_store_id), str(settings.openfga_model_id), api_token=settings.openfga_token)
    return OpenFgaSource(client, tenants=settings.openfga_tenants, list_deadline_seconds=settings.openfga_list_seconds,
                         candidates=lambda reader: stored_references(database, reader))


def address(text: str) -> tuple[str, str]:
    """`Type:id` as (type, id). Raises InputError that says how to write it."""
    try:
        return parse_address(text)
    except ValueError as error:
        raise InputError(f"{error}.") from None


def policies_for(settings: Settings, file: Path | None = None) -> PolicyLattice:
    """The policies of the flag, the settings or the shipped file. Raises ConfigurationError with the place."""
    path = file or settings.policies or etl_path("policies.toml")
    return parse_policies(read_text(path, "policy file"), str(path))


def relations_for(file: Path | None) -> Mapping[str, Relation] | None:
    """The declared relations of a file; None without one. Raises ConfigurationError with the place."""
    return None if file is None else parse_relations(read_text(file, "relations file"), str(file))


def read_text(path: Path, what: str) -> str:
    """The text of a file. Raises InputError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"The {what} {path} is not UTF-8 text.") from None


def connection_for(settings: Settings, *, install: bool = False) -> Connection:
    """Where the store is. Starts the local server if no address is set and it is down (saying so).

    `install` allows to fetch it too. Raises StoreUnavailable or ServerError (exit code 3) if there is none.
    """
    if settings.neo4j_uri is not None:
        return Connection(
            settings.neo4j_uri,
            settings.neo4j_username,
            settings.neo4j_password or SecretStr(""),
            settings.neo4j_database,
        )
    with shown_progress("Neo4j") as progress:
        server = LocalServer(settings, notify=say, progress=progress)
        uri, user, password = server.ensure_running(install=install)
    return Connection(uri, user, SecretStr(password), settings.neo4j_database)


@contextmanager
def open_database(settings: Settings, *, install: bool = False, migrate: bool | None = None) -> Iterator[Database]:
    """The store, verified to answer.

    `migrate` False: the schema must be current; True: it is created in a store that has none, and must be current
    otherwise; None: it is not looked at.
    """
    connection = connection_for(settings, install=install)
    asks = migrate is False  # a server that has just started may take long over its first statements
    limit = settings.query_timeout_seconds if asks else max(settings.query_timeout_seconds, _PATIENCE_SECONDS)
    with Database(connection, read_timeout=limit) as database:
        database.verify()
        if migrate and not migrations.status(database).applied:
            say("Creating the schema in the store.")
            migrations.apply(database)
        elif migrate is not None:
            migrations.require_current(database)
        yield database
