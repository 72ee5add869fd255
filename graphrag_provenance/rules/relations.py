"""Declared relations: what `relations.toml` says about a relation (spec 4, conflicts; spec 1, scope).

Owns: the file format and the check of one edge against it: domain, range and required scope refuse an edge when it is loaded.
An undeclared relation is unconstrained. Leaves to others: `single_valued` and `symmetric` are about two edges, which may come in
any order, so they are checked when edges are read (`rules.conflicts`) and refuse nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.model.identifiers import check_entity_type, relationship_type
from graphrag_provenance.model.records import EdgeRecord
from graphrag_provenance.notation import parse_toml, problem
from graphrag_provenance.rules.rejects import Refused, RejectCode


class Relation(BaseModel):
    """What is declared about one relation; every field is optional."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    description: str = ""
    """For people."""
    domain: list[str] = []
    """Entity types it may start from; empty: any."""
    range: list[str] = []
    """Entity types it may point to; empty: any."""
    symmetric: bool = False
    """Whether it holds both ways."""
    single_valued: bool = False
    """Whether a source has at most one target within one scope."""
    required_scope: list[Literal["environment", "region", "valid_from", "valid_to"]] = []
    """Scope fields that an edge must state."""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    schema_: int = 1
    relations: dict[str, Relation] = {}


def parse_relations(text: str, source: str = "the relations file") -> Mapping[str, Relation]:
    """Relationship type → declaration, from TOML. Raises ConfigurationError with the place."""
    try:
        raw = parse_toml(text)
        if "schema" in raw:
            raw["schema_"] = raw.pop("schema")
        parsed = _File.model_validate(raw)
        declared: dict[str, Relation] = {}
        for name, relation in parsed.relations.items():
            for entity_type in [*relation.domain, *relation.range]:
                check_entity_type(entity_type)
            if relation.symmetric and set(relation.domain) != set(relation.range):
                raise ConfigurationError(
                    f"{source}: relation '{name}' is symmetric, so its domain and range must be the same types.")
            key = relationship_type(name)
            if key in declared:
                raise ConfigurationError(f"{source}: relation '{name}' is declared twice (as {key}).")
            declared[key] = relation
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{source} is not valid TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigurationError(f"{source}: {'.'.join(str(p) for p in first['loc'])}: {problem(first)}.") from None
    except ValueError as error:
        raise ConfigurationError(f"{source}: {error}.") from None
    if parsed.schema_ != 1:
        raise ConfigurationError(f"{source}: schema {parsed.schema_} is not supported; this version reads schema 1.")
    return declared


def check_edge(relations: Mapping[str, Relation], edge: EdgeRecord) -> None:
    """Raises Refused when the edge breaks the declaration of its relation."""
    declared = relations.get(edge.relation.upper())
    if declared is None:
        return
    for side, types, entity in (("domain", declared.domain, edge.source), ("range", declared.range, edge.target)):
        if types and entity.type not in types:
            raise Refused(RejectCode.RELATION_DOMAIN, f"relation {edge.relation!r}: {side} is {', '.join(types)}, not {entity.type}")
    for field in declared.required_scope:
        if getattr(edge.scope, field) is None:
            raise Refused(RejectCode.SCOPE_REQUIRED, f"relation {edge.relation!r} requires scope.{field}")
