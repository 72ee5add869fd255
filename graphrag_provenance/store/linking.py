"""What a linker made, and what a change of it would concern (spec 4, trace: a name reaches an id through a declared alias).

Owns: the aliases of one linker, or of one version of it, with the entities they name, the published edges at those, and the
recorded answers that rest on these edges. For operators and auditors: it spans what a reader's clearance would hide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.answers import Json
from graphrag_provenance.store.answers import answers_on
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.readers import require_role

MOST_EDGES = 1_000
_PAGE = 500


def entity_links(database: Database, reader: Reader, linker: str, version: str | None = None, *, limit: int = 100) -> Json:
    """The aliases of a linker and what hangs on them; `limit`: most edges to name for each entity (all are counted)."""
    require_role(reader, Role.OPERATOR, Role.AUDITOR, action="Reading what a linker made")
    if not 1 <= limit <= MOST_EDGES:
        raise InputError(f"Ask for 1 to {MOST_EDGES:,} edges an entity.")
    rows = database.read("entity.links", tenant=reader.tenant, linker=linker, version=version)
    entities: dict[tuple[str, str], Json] = {}
    for row in rows:
        entity, alias = row["entity"], row["alias"]
        one = entities.setdefault((entity["type"], entity["id"]), {**entity, "aliases": [], "edges": 0, "edge_ids": []})
        one["aliases"].append(_alias(alias))
    keys = sorted(entities)
    for start in range(0, len(keys), _PAGE):
        for row in database.read("entity.linked_edges", tenant=reader.tenant, entities=[list(k) for k in keys[start:start + _PAGE]],
                                 limit=limit):
            entities[(row["type"], row["id"])] |= {"edges": row["edges"], "edge_ids": row["edge_ids"]}
    listed = [entities[key] for key in keys]
    return {
        "schema": 1, "linker": linker, "linker_version": version,
        "versions": sorted({row["alias"]["linker_version"] for row in rows}), "aliases": len(rows), "entities": listed,
        "truncated": any(one["edges"] > len(one["edge_ids"]) for one in listed),
        "answers": answers_on(database, reader, (name for one in listed for name in one["edge_ids"])),
    }


def _alias(alias: Mapping[str, Any]) -> Json:
    return {name: alias[name] for name in ("alias", "method", "linker_version", "since")}
