"""Lines on their way to the store, and the ones that it has taken in before.

Owns: the look-up of fingerprints, so that a repeated record costs one small row and no validation; and the validation of
the others. Leaves to `rules.fingerprints` what a fingerprint means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.ingest.sources import Line
from graphrag_provenance.ingest.validate import parse_record, record_key, tenant_of
from graphrag_provenance.model.identifiers import normalise_entity_id
from graphrag_provenance.model.records import EdgeRecord, EntityRecord
from graphrag_provenance.rules.edges import Edge, edge_from_record
from graphrag_provenance.rules.fingerprints import fingerprint, holds
from graphrag_provenance.rules.merging import Merges
from graphrag_provenance.rules.rejects import Refused
from graphrag_provenance.rules.relations import Relation, check_edge
from graphrag_provenance.store.counting import Reject
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.entities import EntityItem
from graphrag_provenance.store.sources import Item
from graphrag_provenance.store.view import Key, View

_KNOWN = {"document": "source.known_documents", "revision": "source.known_revisions", "chunk": "source.known_chunks",
          "entity": "entity.known", "edge": "edge.known"}

@dataclass(frozen=True, slots=True)
class Reading:
    """How lines are read."""

    tenant: str | None
    """Tenant of records that name none."""
    relations: Mapping[str, Relation]
    """Declared relations, checked on every edge."""
    salt: bytes
    """Key of the fingerprints: everything besides the line that decides how it is read."""
    merges: Merges
    """What stands for what was merged."""

@dataclass(frozen=True, slots=True)
class Candidate:
    """A line that is a JSON object of a known kind."""

    kind: str
    line: Line
    key: Key | None
    """Key of the node it is about, where the line names it plainly."""
    fingerprint: bytes
    evidence: int = 0
    """Length of its evidence list."""
    edge: Edge | None = None
    """The edge, where it had to be validated to know its key."""

def candidate(line: Line, value: Mapping[str, Any], reading: Reading) -> Candidate:
    """A candidate from a parsed line. An edge without an id, or of a merged entity, is validated here, since that decides about its
    id; raises Refused."""
    kind = value["kind"]
    key, taken = record_key(value, reading.tenant), fingerprint(line.data, reading.salt)
    merges = reading.merges
    if kind != "edge":
        if kind == "entity" and key is not None:
            key = (*key[:2], merges.entity(key[0], key[1], key[2]))
        return Candidate(kind, line, key, taken)
    evidence = value.get("evidence")
    count = len(evidence) if isinstance(evidence, list) else 0
    if key is not None and key[1] and not merges.concern(key[0], value):
        return Candidate(kind, line, (key[0], merges.edge_id(key[0], key[1])), taken, count)
    edge = to_edge(line, taken, reading)
    return Candidate(kind, line, (edge.tenant, edge.edge_id), taken, count, edge)

@dataclass(slots=True)
class Sifted:
    """What a look-up of fingerprints leaves."""

    new: list[Candidate]
    """Candidates to validate and merge."""
    repeated: dict[str, int]
    """How many candidates of each kind the store has taken in before."""
    evidence: int
    """How many evidence items those repeat."""
    stored: set[Key]
    """Keys of the new candidates that the store has."""
    again: dict[Key, int | None]
    """(kind, *key) of the repeated candidates, with the run that changed an edge last."""

def sift(database: Database, view: View, candidates: Sequence[Candidate]) -> Sifted:
    """Split candidates into new ones and repeated ones: one round trip a kind."""
    result = Sifted([], {}, 0, set(), {})
    lists: dict[int, bytes | None] = {}
    changed: dict[int, int | None] = {}
    for kind, name in _KNOWN.items():
        places = [n for n, c in enumerate(candidates) if c.kind == kind and c.key is not None and not view.unmet(kind, c.key)]
        if places:
            rows = database.lookup(name, keys=[list(candidates[n].key or ()) for n in places])
            lists |= {places[row["place"]]: row["records"] for row in rows}
            changed |= {places[row["place"]]: row.get("changed") for row in rows}
    for place, one in enumerate(candidates):
        if place in lists and holds(lists[place], one.fingerprint):
            result.repeated[one.kind] = result.repeated.get(one.kind, 0) + 1
            result.evidence += one.evidence
            result.again[(one.kind, *(one.key or ()))] = changed[place]
            continue
        if place in lists and one.key is not None:
            result.stored.add(one.key)
        result.new.append(one)
    return result

def to_edge(line: Line, taken: bytes, reading: Reading) -> Edge:
    """The edge of a line. Raises Refused."""
    record = parse_record("edge", line.data)
    assert isinstance(record, EdgeRecord)
    tenant = tenant_of(record, reading.tenant)
    check_edge(reading.relations, record)
    return reading.merges.edge(edge_from_record(record, tenant, line.file, line.number, line.data, taken))

def to_source(one: Candidate, reading: Reading) -> Item | EntityItem:
    """The document, revision, chunk or entity of a candidate. Raises Refused."""
    record = parse_record(one.kind, one.line.data)
    tenant = tenant_of(record, reading.tenant)
    if isinstance(record, EntityRecord):
        entity_id = normalise_entity_id(record.id)
        into = reading.merges.entity(tenant, record.type, entity_id)
        return EntityItem(record, tenant, one.fingerprint, None if into == entity_id else into)
    assert not isinstance(record, EdgeRecord)  # the second pass takes those
    return Item(record, tenant, one.line.file, one.line.number, one.line.data, one.fingerprint)

def rejected(line: Line, refused: Refused) -> Reject:
    """The reject of a line."""
    return Reject(line.file, line.number, refused.code, refused.message, line.data)
