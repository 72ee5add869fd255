"""How a program comes to an open store: settings, the server they name, the live access source, files of rules.

Owns: that NEO4J_URI is used, or else the local server of the home, which is started if it is installed but down; which access source
decides; and the sentence that says what is wrong with either. Shared by every interface. Leaves to others: what is done with the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic_settings import SettingsError

from graphrag_provenance.access.cached import CachedSource
from graphrag_provenance.access.file_source import FileSource
from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.config import Settings, load_settings
from graphrag_provenance.errors import ConfigurationError, InputError
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import PolicyLattice, parse_policies
from graphrag_provenance.rules.relations import Relation, parse_relations
from graphrag_provenance.server.fetch import Progress
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Connection, Database
from graphrag_provenance.store.references import stored_references

_PATIENCE_SECONDS = 60.0
Notify = Callable[[str], None]


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


def connection_for(
    settings: Settings, *, install: bool = False, notify: Notify | None = None, progress: Progress | None = None,
) -> Connection:
    """Where the store is. Starts the local server if no address is set and it is down (saying so).

    `install` allows to fetch it too. Raises StoreUnavailable or ServerError (exit code 3) if there is none.
    """
    if settings.neo4j_uri is not None:
        return Connection(
            settings.neo4j_uri, settings.neo4j_username, settings.neo4j_password or SecretStr(""), settings.neo4j_database)
    uri, user, password = LocalServer(settings, notify=notify, progress=progress).ensure_running(install=install)
    return Connection(uri, user, SecretStr(password), settings.neo4j_database)


@contextmanager
def opened(
    connection: Connection, settings: Settings, *, migrate: bool | None = None, notify: Notify | None = None,
) -> Iterator[Database]:
    """The store at a place, verified to answer. `migrate` False: the schema must be current; True: it is `prepare`d; None: it is not
    looked at."""
    asks = migrate is False  # a server that has just started may take long over its first statements
    limit = settings.query_timeout_seconds if asks else patience(settings)
    with Database(connection, read_timeout=limit) as database:
        database.verify()
        if migrate:
            prepare(database, notify)
        elif migrate is not None:
            migrations.require_current(database)
        yield database


def prepare(database: Database, notify: Notify | None = None) -> None:
    """Create the schema in a store that has none; raise SchemaVersionError for one that is not current."""
    if migrations.status(database).applied:
        migrations.require_current(database)
        return
    if notify is not None:
        notify("Creating the schema in the store.")
    migrations.apply(database)


def patience(settings: Settings) -> float:
    """How many seconds a read of a writer may take."""
    return max(settings.query_timeout_seconds, _PATIENCE_SECONDS)
