"""The catalogue of stored Cypher: one statement a file, its path is its name, its header is its contract.

Owns: the header format and its checks. A parameter that is used but not declared, or declared but not used, a missing
field, a second statement: ConfigurationError naming file and line. Leaves to the contract test: what the server says.

Header, each line a `//` comment at the top of the file:

    // path.trace — shortest visible paths between two entities
    // access: read            (read | write | schema)
    // plan: scan              (only where a full scan is the purpose, with the reason after it)
    // param tenant: string
    // returns nodes, steps
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources.abc import Traversable

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.resources import resource_root


class Access(StrEnum):
    """What a statement may do; decides the session it runs in."""

    READ = "read"
    WRITE = "write"
    SCHEMA = "schema"


@dataclass(frozen=True, slots=True)
class Query:
    """One stored statement and its contract."""

    name: str
    """Folder and file name, joined by a dot: `path.trace`."""
    description: str
    """What it is for, from the header."""
    access: Access
    """What it may do."""
    params: dict[str, str]
    """Parameter name → declared type."""
    returns: tuple[str, ...]
    """Result columns, in order; empty for writes that return nothing."""
    scans: str | None
    """Why it reads everything; None for a statement that must start from an index."""
    text: str
    """The statement as sent: header included, so that the server's query log names it."""


_TITLE = re.compile(r"//\s*(?P<name>[a-z_.]+)\s+—\s+(?P<text>\S.*)")
_FIELD = re.compile(r"//\s*(?P<key>access|plan|param|returns)\b:?\s*(?P<value>.*)")
_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", re.DOTALL)
_USED = re.compile(r"\$([A-Za-z_]\w*)")


def parse_query(name: str, source: str, place: str) -> Query:
    """A Query from the text of one file. `place` names the file in errors."""
    description, access, scans = "", None, None
    params: dict[str, str] = {}
    declared_at: dict[str, int] = {}
    returns: tuple[str, ...] = ()
    for number, line in enumerate(source.splitlines(), 1):
        if not line.startswith("//"):
            break
        if number == 1:
            title = _TITLE.fullmatch(line.strip())
            if title is None or title["name"] != name:
                raise ConfigurationError(f"{place}:1: the first line must be '// {name} — what it is for'.")
            description = title["text"]
            continue
        field = _FIELD.fullmatch(line.strip())
        if field is None:
            continue
        key, value = field["key"], field["value"].strip()
        if key == "access":
            if value not in set(Access):
                raise ConfigurationError(f"{place}:{number}: access must be one of {', '.join(Access)}.")
            access = Access(value)
        elif key == "plan":
            word, _, reason = value.partition(" ")
            if word != "scan" or not reason.strip():
                raise ConfigurationError(f"{place}:{number}: write 'plan: scan' and the reason.")
            scans = reason.strip(" —-")
        elif key == "param":
            param, _, kind = value.partition(":")
            if not param.strip() or not kind.strip() or param.strip() in params:
                raise ConfigurationError(f"{place}:{number}: write 'param name: type', each name once.")
            params[param.strip()] = kind.strip()
            declared_at[param.strip()] = number
        else:
            returns = tuple(column.strip() for column in value.split(",") if column.strip())
    if not description or access is None:
        raise ConfigurationError(f"{place}:1: the header lacks a title or '// access:'.")
    _check_body(source, declared_at, place)
    return Query(name, description, access, params, returns, scans, source)


def _check_body(source: str, declared_at: dict[str, int], place: str) -> None:
    body = _NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)
    first, _, rest = body.partition(";")
    if not first.strip() or rest.strip():
        raise ConfigurationError(f"{place}:{first.count(chr(10)) + 1}: one statement a file.")
    used: dict[str, int] = {}
    for number, line in enumerate(body.splitlines(), 1):
        for param in _USED.findall(line):
            used.setdefault(param, number)
    for param, number in used.items():
        if param not in declared_at:
            raise ConfigurationError(f"{place}:{number}: parameter ${param} is not declared in the header.")
    for param, number in declared_at.items():
        if param not in used:
            raise ConfigurationError(f"{place}:{number}: parameter {param} is declared but not used.")


def _files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for child in sorted(folder.iterdir(), key=lambda item: item.name):
        if child.is_dir():
            yield from _files(child, f"{prefix}{child.name}.")
        elif child.name.endswith(".cypher"):
            yield prefix + child.name.removesuffix(".cypher"), child


@cache
def all_queries() -> dict[str, Query]:
    """Every stored statement by name, migrations (`cypher/schema`) left out."""
    found: dict[str, Query] = {}
    for name, file in _files(resource_root("cypher")):
        if not name.startswith("schema."):
            found[name] = parse_query(name, file.read_text(encoding="utf-8"), f"cypher/{name.replace('.', '/')}.cypher")
    return found


def query(name: str) -> Query:
    """One stored statement. Raises ConfigurationError for a name that no file has."""
    try:
        return all_queries()[name]
    except KeyError:
        raise ConfigurationError(f"There is no stored query {name!r}.", hint="See: gprov query list.") from None
