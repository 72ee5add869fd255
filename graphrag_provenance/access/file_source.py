"""A file as a live access source: TOML, or JSON of the same shape; read at every call.

Owns: the format and its meaning. `docs/access.md` shows an example. A file that cannot be read or is not exactly of this
form denies everything it would decide. The consistency token is the hash of the file's bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphrag_provenance.access.interface import Decision, Grants, Refusal, reference, told, unreachable
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.records import AclRef, Identifier
from graphrag_provenance.notation import parse_json, parse_toml, problem

Member = Annotated[str, Field(pattern=r"^(user|group):\S(.*\S)?$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Restriction(_Part):
    id: Identifier
    readers: list[Member]
    incarnation: Identifier | None = None
    deleted: bool = False
    recreated: bool = False


class _Space(_Part):
    readers: list[Member] = []
    incarnation: Identifier | None = None
    deleted: bool = False
    recreated: bool = False
    restrictions: list[_Restriction] = []


class _System(_Part):
    tenants: list[str] | None = None
    spaces: dict[Identifier, _Space] = {}


class _File(_Part):
    version: Literal[1] = Field(alias="schema")
    groups: dict[str, list[Member]] = {}
    systems: dict[Identifier, _System] = {}


@dataclass(frozen=True, slots=True)
class _Guard:
    """The live state of a space or a restriction."""

    readers: frozenset[str]
    incarnation: str | None
    deleted: bool
    recreated: bool

    def refusal(self, ref: AclRef, identities: frozenset[str]) -> Refusal | None:
        if self.deleted:
            return Refusal.DELETED
        if ref.incarnation is None and (self.incarnation is not None or self.recreated):
            return Refusal.NO_INCARNATION
        if ref.incarnation != self.incarnation:
            return Refusal.OTHER_INCARNATION
        return None if self.readers & identities else Refusal.NOT_A_READER


@dataclass(frozen=True, slots=True)
class _State:
    """A file as it was read."""

    token: str
    tenants: Mapping[str, frozenset[str] | None]
    """System → the tenants it serves; None: all."""
    spaces: Mapping[tuple[str, str], bool]
    """(system, space) → deleted"""
    guards: Mapping[tuple[str, str, str | None], _Guard]
    belongs: Mapping[str, frozenset[str]]
    """Member → the groups that list it."""

    def identities(self, reader: Reader) -> frozenset[str]:
        """The reader and every group it is in, over any number of groups."""
        found, fresh = set[str](), {f"user:{reader.principal}"}
        while fresh:
            found |= fresh
            fresh = {group for member in fresh for group in self.belongs.get(member, ())} - found
        return frozenset(found)

    def serves(self, system: str, tenant: str) -> bool:
        tenants = self.tenants[system]
        return tenants is None or tenant in tenants

    def refusal(self, key: str, reader: Reader, identities: frozenset[str]) -> Refusal | None:
        """Why a reference does not open for a reader; None: it does."""
        ref = reference(key)
        if ref is None:
            return Refusal.NOT_A_REFERENCE
        if ref.system not in self.tenants:
            return Refusal.UNKNOWN_SYSTEM
        if not self.serves(ref.system, reader.tenant):
            return Refusal.OTHER_TENANT
        deleted = self.spaces.get((ref.system, ref.space))
        if deleted is None:
            return Refusal.UNKNOWN_SPACE
        guard = self.guards.get((ref.system, ref.space, ref.restriction_id))
        if deleted:
            return Refusal.DELETED
        return Refusal.UNKNOWN_RESTRICTION if guard is None else guard.refusal(ref, identities)


class FileSource:
    """Permissions in a file that operators, or an export of the source system, replace as a whole (`os.replace`)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: _State | None = None

    @property
    def name(self) -> str:
        """`file:NAME`"""
        return f"file:{self._path.name}"

    def granted(self, reader: Reader) -> Grants:
        """Every reference that the file opens for the reader, as the file is now."""
        state = self._read()
        if isinstance(state, str):
            return Grants(self.name, trouble=state)
        identities = state.identities(reader)
        keys = (
            AclRef(system=system, space=space, restriction_id=restriction, incarnation=guard.incarnation).key()
            for (system, space, restriction), guard in state.guards.items() if guard.readers & identities)
        return Grants(self.name, frozenset(k for k in keys if state.refusal(k, reader, identities) is None), state.token)

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        """What the file says about these references, as it is now."""
        state = self._read()
        if isinstance(state, str):
            return unreachable(self.name, refs, state)
        identities = state.identities(reader)
        denied = {key: why for key in refs if (why := state.refusal(key, reader, identities)) is not None}
        return Decision(self.name, frozenset(refs) - denied.keys(), denied, state.token)

    def _read(self) -> _State | str:
        """The file's state now, or why there is none."""
        try:
            if not self._path.is_file():  # a missing one; also a pipe, which would keep the reader waiting
                return f"{self._path}: there is no such file"
            content = self._path.read_bytes()
            token = f"sha256:{hashlib.sha256(content).hexdigest()}"
            # Not the modification time: two writes within one tick of the clock can leave it, and the size, the same.
            if self._last is None or self._last.token != token:
                self._last = _state(_parsed(self._path, content), token)
            return self._last
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            return f"{self._path}: {'.'.join(map(str, first['loc'])) or 'the file'}: {problem(first)}"
        except (OSError, ValueError, RecursionError) as error:
            return f"{self._path}: {told(error)}"


def _parsed(path: Path, content: bytes) -> _File:
    text = content.decode("utf-8")
    values = parse_json(text, _unique) if path.suffix.lower() == ".json" else parse_toml(text)
    return _File.model_validate(values)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise ValueError(f"'{twice}' stands twice in one object")
    return found


def _state(file: _File, token: str) -> _State:
    spaces, guards = dict[tuple[str, str], bool](), dict[tuple[str, str, str | None], _Guard]()
    for system, told_system in file.systems.items():
        for space, told_space in told_system.spaces.items():
            spaces[system, space] = told_space.deleted
            guards[system, space, None] = _guard(told_space)
            for place, guard in _restrictions(f"systems.{system}.spaces.{space}", told_space.restrictions):
                guards[system, space, place] = guard
    belongs: dict[str, set[str]] = {}
    for group, members in file.groups.items():
        for member in members:
            belongs.setdefault(member, set()).add(f"group:{group}")
    _all_groups_known(file, guards.values())
    return _State(
        token, {name: None if s.tenants is None else frozenset(s.tenants) for name, s in file.systems.items()},
        spaces, guards, {member: frozenset(groups) for member, groups in belongs.items()})


def _guard(part: _Space | _Restriction, *, recreated: bool = False) -> _Guard:
    return _Guard(frozenset(part.readers), part.incarnation, part.deleted, part.recreated or recreated)


def _restrictions(place: str, entries: list[_Restriction]) -> Iterator[tuple[str, _Guard]]:
    """One guard an id. An id may stand beside deleted entries of its own, which say that it was created again."""
    by_id: dict[str, list[_Restriction]] = {}
    for entry in entries:
        by_id.setdefault(entry.id, []).append(entry)
    for name, same in by_id.items():
        living = [entry for entry in same if not entry.deleted]
        if len(living) > 1 or len({entry.incarnation for entry in same}) != len(same):
            raise ValueError(f"{place}: restriction {name!r} stands there twice")
        yield name, _guard((living or same)[0], recreated=len(same) > 1)


def _all_groups_known(file: _File, guards: Iterable[_Guard]) -> None:
    used = {member for members in file.groups.values() for member in members}.union(*(guard.readers for guard in guards))
    for member in sorted(used):
        kind, _, name = member.partition(":")
        if kind == "group" and name not in file.groups:
            raise ValueError(f"readers or groups name {member!r}, and there is no [groups] entry {name!r}")
