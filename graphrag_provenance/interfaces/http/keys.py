"""API keys in a file, hashed (spec 5, HTTP: identity).

Owns: the form of a key and of its entry, and that the file is for its owner only. A key holds 256 random bits, so one SHA-256 is as
good as a slow hash, which is for passwords. The file is read again as soon as it changed: a key that is taken out opens nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import threading
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from graphrag_provenance.errors import IdentityUnavailableError, InputError, ProvenanceError
from graphrag_provenance.events import report
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.notation import json_text, parse_toml, problem

PREFIX = "gprov_"
_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
Name = Annotated[str, Field(min_length=1, pattern=r"\S")]


class KeyEntry(BaseModel):
    """One key of the file: what proves it, and the reader it stands for."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    principal: Name
    tenant: Name
    clearances: Annotated[list[Name], Field(min_length=1)]
    roles: list[Annotated[Role, Field(strict=False)]] = [Role.READER]
    expires: AwareDatetime | None = None

    def as_toml(self) -> str:
        """The entry as it stands in the file."""
        lines = [f"id = {_text(self.id)}", f"sha256 = {_text(self.sha256)}", f"principal = {_text(self.principal)}",
                 f"tenant = {_text(self.tenant)}", f"clearances = [{', '.join(map(_text, self.clearances))}]",
                 f"roles = [{', '.join(_text(role.value) for role in self.roles)}]"]
        lines += [] if self.expires is None else [f"expires = {format_instant(self.expires)}"]
        return "[[key]]\n" + "\n".join(lines) + "\n"


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    key: list[KeyEntry] = []


def new_key(
    principal: str, tenant: str, clearances: list[str], roles: list[Role], expires: datetime | None = None
) -> tuple[str, KeyEntry]:
    """A new key, shown once, and its entry for the file. Raises InputError for a reader that is none."""
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    try:
        entry = KeyEntry(id=name, sha256=_hash(secret), principal=principal, tenant=tenant, clearances=clearances, roles=roles,
                         expires=expires)
    except ValidationError as error:
        place = error.errors()[0]["loc"][0]
        raise InputError(f"A key needs a {'clearance' if place == 'clearances' else place} that is not blank.") from None
    return f"{PREFIX}{name}_{secret}", entry


class KeyFile:
    """The keys of one file."""

    def __init__(self, path: Path, refused: Callable[[], ProvenanceError]) -> None:
        self._path, self._refused = path, refused
        self._lock = threading.Lock()
        self._read: tuple[tuple[int, ...], Mapping[str, KeyEntry]] | None = None

    def reader(self, token: str) -> Reader:
        """The reader whose key this is. Raises IdentityUnavailableError for a file that cannot be trusted."""
        name, _, secret = token.removeprefix(PREFIX).partition("_")
        entry = self.check().get(name)
        same = hmac.compare_digest(_hash(secret), _NOBODY if entry is None else entry.sha256)
        if entry is None or not same or (entry.expires is not None and entry.expires <= datetime.now(UTC)):
            raise self._refused()
        return Reader(entry.principal, entry.tenant, frozenset(entry.clearances), frozenset(entry.roles))

    def check(self) -> Mapping[str, KeyEntry]:
        """The entries by id, as the file has them now."""
        with self._lock:
            try:
                found = os.stat(self._path)
                _for_its_owner_only(found)
                mark = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode, found.st_uid)
                if self._read is None or self._read[0] != mark:
                    self._read = mark, _entries(self._path.read_text(encoding="utf-8"))
                return self._read[1]
            except (OSError, ValueError) as error:
                self._read = None
                told = str(error.strerror or error) if isinstance(error, OSError) else str(error)
                report("error", "the file of API keys cannot be used: nobody is let in", file=str(self._path), message=told)
                raise IdentityUnavailableError(f"The file of API keys {self._path} cannot be used: {told}.") from None


def _for_its_owner_only(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
        raise ValueError("others may read it; run chmod 600 on it")
    if found.st_uid not in (os.geteuid(), 0):
        raise ValueError("it belongs to somebody else")


def _entries(text: str) -> dict[str, KeyEntry]:
    try:
        keys = _File.model_validate(parse_toml(text)).key
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is not valid TOML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {problem(first)}") from None
    if len({one.id for one in keys}) < len(keys):
        raise ValueError("two keys have one id")
    return {one.id: one for one in keys}


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _text(value: str) -> str:
    return json_text(value)  # every escape of JSON is one of TOML
