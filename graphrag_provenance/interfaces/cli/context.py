"""What a command works with: settings, a reader, an open store.

Owns: how flags, a reader file and settings become a Reader, and what a command says meanwhile. Leaves to others: how a store is found
and opened (`api.connecting`, passed on from here), what is done with it.
"""

from __future__ import annotations

import os
import secrets
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer
from pydantic import BaseModel, ConfigDict, ValidationError

from graphrag_provenance.api.connecting import access_for as access_for
from graphrag_provenance.api.connecting import connection_for as connection_for
from graphrag_provenance.api.connecting import opened
from graphrag_provenance.api.connecting import policies_for as policies_for
from graphrag_provenance.api.connecting import read_text as read_text
from graphrag_provenance.api.connecting import relations_for as relations_for
from graphrag_provenance.api.connecting import settings_for as settings_for
from graphrag_provenance.config import Settings, default_actor
from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.cli import logs
from graphrag_provenance.interfaces.cli.options import RoleName
from graphrag_provenance.interfaces.cli.visible import visible_lines
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.trace_context import parse_trace_id
from graphrag_provenance.notation import parse_toml, problem
from graphrag_provenance.rules.chains import address as address
from graphrag_provenance.server.progress import shown_progress
from graphrag_provenance.store.database import Database


def say(text: str) -> None:
    """One message for the person, on stderr."""
    if logs.as_json():
        logs.note(text)
    else:
        typer.echo(visible_lines(text), err=True)


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


_READER_FORM = 'Its form: principal = "NAME", tenant = "NAME", clearances = ["POLICY"], roles = ["auditor"], each on a line of its own.'


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
        told = _ReaderFile.model_validate(parse_toml(file.read_text(encoding="utf-8")))
        for role in told.roles or ():
            Role(role)
    except OSError as error:
        raise InputError(f"The reader file {file} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The reader file {file} is not valid TOML: {error}.", hint=_READER_FORM) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"The reader file {file}: {place}: {problem(first)}.", hint=_READER_FORM) from None
    except ValueError as error:
        raise InputError(f"The reader file {file}: {error}.", hint=f"Roles: {', '.join(Role)}.") from None
    return told


@contextmanager
def open_database(settings: Settings, *, install: bool = False, migrate: bool | None = None) -> Iterator[Database]:
    """The store, as `opened` gives it, with what takes time told on stderr. `install` allows to fetch the local server."""
    with shown_progress("Neo4j") as progress:
        connection = connection_for(settings, install=install, notify=say, progress=progress)
    with opened(connection, settings, migrate=migrate, notify=say) as database:
        yield database
