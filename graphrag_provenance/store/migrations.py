"""Schema migrations: `cypher/schema/V001__name.cypher`, applied in order, immutable once applied (checksum).

Owns: what is applied, in which order, and that an applied file never changes. Statements of a migration are idempotent
(`IF NOT EXISTS`), so a migration that was cut off is simply applied again. Also owns that a store made of import files has no schema,
hence no readers, before it has the lists that such files cannot say: an import may be cut off before it is finished.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from graphrag_provenance.errors import ConfigurationError, SchemaVersionError
from graphrag_provenance.resources import resource_root
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.import_lists import make_lists

_FILE = re.compile(r"V(\d{3})__([a-z0-9_]+)\.cypher")


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration file."""

    version: int
    name: str
    checksum: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    """Which migrations the store has and which it lacks."""

    applied: tuple[int, ...]
    pending: tuple[Migration, ...]


def shipped() -> list[Migration]:
    """Every migration file, in order. Raises ConfigurationError for a misnamed file or a gap."""
    found = []
    for file in sorted(resource_root("cypher").joinpath("schema").iterdir(), key=lambda item: item.name):
        match = _FILE.fullmatch(file.name)
        if match is None:
            raise ConfigurationError(f"cypher/schema/{file.name} is not named V001__name.cypher.")
        text = file.read_text(encoding="utf-8")
        body = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
        statements = tuple(part.strip() for part in body.split(";\n") if part.strip(" ;\n"))
        checksum = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        found.append(Migration(int(match[1]), match[2], checksum, tuple(s.rstrip(";") for s in statements)))
    if [m.version for m in found] != list(range(1, len(found) + 1)):
        raise ConfigurationError("The migrations in cypher/schema are not numbered 1, 2, 3 … without a gap.")
    return found


def status(database: Database) -> SchemaStatus:
    """What is applied and what is pending. Raises SchemaVersionError if an applied file changed or the store is newer."""
    applied = {int(row["version"]): row for row in database.read("store.migrations")}
    files = {m.version: m for m in shipped()}
    for version, row in applied.items():
        if version not in files:
            raise SchemaVersionError(
                f"The store has schema version {version}, which this program does not know.",
                hint="Use a newer graphrag-provenance.",
            )
        if row["checksum"] != files[version].checksum:
            raise SchemaVersionError(
                f"Migration V{version:03}__{files[version].name} changed after it was applied to this store.",
                hint="Restore the shipped file; put changes into a new migration.",
            )
    return SchemaStatus(tuple(sorted(applied)), tuple(m for v, m in sorted(files.items()) if v not in applied))


def apply(database: Database) -> list[Migration]:
    """Apply what is pending; returns it. A second call applies nothing.

    A store without any schema may be one that was imported, and whose import was cut off: its lists are made first."""
    known = status(database)
    pending = known.pending
    if not known.applied:
        make_lists(database)
    for migration in pending:
        for statement in migration.statements:
            database.schema(statement)
        database.schema("CALL db.awaitIndexes(300)")
        database.write(lambda tx, m=migration: tx.run(  # type: ignore[misc]
            "store.record_migration", version=m.version, name=m.name, checksum=m.checksum))
    return list(pending)


def require_current(database: Database) -> None:
    """Raise SchemaVersionError unless every shipped migration is applied."""
    pending = status(database).pending
    if pending:
        raise SchemaVersionError(
            f"The store lacks schema version {pending[0].version} ({pending[0].name}).", hint="Run: gprov schema apply."
        )
