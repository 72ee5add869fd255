"""The order of policies and the join over it (spec 2, writing).

Owns: what a policy file may say, which policy is more restrictive, the join (the set of maximal policies) and what a
clearance covers. Pure: no file, no store. An unknown name is never ordered: it has no place below anything.

Algebra: `join` is associative, commutative and idempotent, and adding a statement never shrinks what a reader needs.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.model.identifiers import canonical_json
from graphrag_provenance.notation import parse_toml, problem


class _Policy(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    above: list[str] = []
    description: str = ""


class _PolicyFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    schema_version: int = Field(1, alias="schema")
    policies: dict[str, _Policy]


@dataclass(frozen=True)
class PolicyLattice:
    """A finite partial order of policy names: `below[p]` is every policy that clearance `p` covers, itself included."""

    parents: Mapping[str, tuple[str, ...]]
    """Each policy with the policies directly below it, as the file says."""

    @cached_property
    def below(self) -> dict[str, frozenset[str]]:
        """Each policy with every policy that a clearance for it covers, itself included."""
        closed: dict[str, frozenset[str]] = {}
        for name in TopologicalSorter(self.parents).static_order():
            closed[name] = frozenset((name,)).union(*(closed[p] for p in self.parents[name]))
        return closed

    @property
    def names(self) -> list[str]:
        """Every known policy, sorted."""
        return sorted(self.parents)

    @cached_property
    def hash(self) -> str:
        """`sha256:` over the order itself: neither comments and layout count nor what follows from the rest."""
        order = {name: sorted(covered) for name, covered in self.below.items()}
        return "sha256:" + hashlib.sha256(canonical_json(order)).hexdigest()

    def as_json(self) -> dict[str, list[str]]:
        """Name → the policies directly below it, sorted; what the store keeps."""
        return {name: sorted(self.parents[name]) for name in sorted(self.parents)}

    def knows(self, name: str) -> bool:
        """Whether the file names it, letter for letter."""
        return name in self.parents

    def join(self, names: Iterable[str]) -> tuple[str, ...]:
        """The maximal policies among `names`, sorted. Raises KeyError for an unknown name; () only for no name."""
        distinct = set(names)
        if len(distinct) == 1:
            (only,) = distinct
            self.below[only]
            return (only,)
        covered: set[str] = set()
        for name in distinct:
            covered |= self.below[name] - {name}
        return tuple(sorted(distinct - covered))

    def covers(self, clearances: Iterable[str]) -> frozenset[str]:
        """Every policy that a reader with these clearances may see. Raises ConfigurationError naming the known ones."""
        wanted = list(clearances)
        for name in wanted:
            if name not in self.parents:
                raise ConfigurationError(
                    f"Clearance {name!r} is unknown.", hint=f"Known policies: {', '.join(self.names)}."
                )
        return frozenset().union(*(self.below[name] for name in wanted))

    def permits(self, allowed: Collection[str], policies: Iterable[str]) -> bool:
        """Whether a reader allowed `allowed` may see something under all of `policies`; no policy: nobody may."""
        needed = list(policies)
        return bool(needed) and all(name in allowed for name in needed)


def lattice(parents: Mapping[str, Iterable[str]], source: str = "the policy file") -> PolicyLattice:
    """A lattice from name → policies directly below.

    Raises ConfigurationError for no name, a blank name, an unknown parent or a cycle.
    """
    order = {name: tuple(dict.fromkeys(below)) for name, below in parents.items()}
    if not order:
        raise ConfigurationError(f"{source} names no policy.", hint="Add at least [policies.internal].")
    for name, below in order.items():
        if not name.strip() or name != name.strip():
            raise ConfigurationError(f"{source}: policy name {name!r} is blank or has space around it.")
        for parent in below:
            if parent not in order:
                raise ConfigurationError(f"{source}: policy '{name}' is above '{parent}', which is not defined.")
    try:
        TopologicalSorter(order).prepare()
    except CycleError as error:
        cycle = " above ".join(reversed(error.args[1]))
        raise ConfigurationError(f"{source}: policies form a cycle: {cycle}.") from None
    return PolicyLattice(order)


def parse_policies(text: str, source: str = "the policy file") -> PolicyLattice:
    """A lattice from the TOML of a policy file. Raises ConfigurationError with the place (duplicates included)."""
    try:
        parsed = _PolicyFile.model_validate(parse_toml(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{source} is not valid TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"{source}: {place}: {problem(first)}.") from None
    if parsed.schema_version != 1:
        raise ConfigurationError(
            f"{source}: schema {parsed.schema_version} is not supported; this version reads schema 1."
        )
    return lattice({name: policy.above for name, policy in parsed.policies.items()}, source)
