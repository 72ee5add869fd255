"""What a record was before a run changed it (spec 3, as-of and rollback).

Owns: the keys and the shape of past versions, and what a node is when no record is about it. A version holds from the run that made
it (included) to the run that replaced it (excluded). It has all properties of the node but its fingerprints: a record that is
taken back must be merged in full when it comes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from graphrag_provenance.rules.edges import IDENTITY, with_verdict
from graphrag_provenance.rules.publication import RETRACTED

Node = dict[str, Any]
Kept = Literal["document", "revision", "chunk", "entity", "alias", "assertion"]
KEYS: dict[Kept, tuple[str, ...]] = {
    "document": ("tenant", "doc_id"), "revision": ("tenant", "doc"), "chunk": ("tenant", "doc", "chunk"),
    "entity": ("tenant", "type", "id"), "alias": ("alias_id",), "assertion": ("tenant", "edge_id"),
}
"""The properties that identify a node of each kind."""
_OF_A_VERSION = frozenset({"kind", "key", "from_run", "to_run"})
_BLANK: dict[Kept, Node] = {
    "document": {"registered": False, "policies": []},
    "revision": {"registered": False, "policies": [], "acl": [], "complete": False},
    "chunk": {"registered": False, "has_text": False, "policies": [], "acl": []},
    "entity": {"declared": False, "names": [], "policies": []},
}


def key_of(kind: Kept, node: Mapping[str, Any]) -> tuple[str, ...]:
    """The key of a node (or of a version) of that kind."""
    return tuple(str(node[name]) for name in KEYS[kind])


def as_it_was(kept: Mapping[str, Any]) -> Node:
    """The node that a version keeps."""
    return {name: value for name, value in kept.items() if name not in _OF_A_VERSION}


def blank(kind: Kept, node: Mapping[str, Any]) -> Node:
    """A node that no record is about: only its key is left. An edge without evidence is retracted."""
    if kind == "assertion":
        return with_verdict({**{name: node[name] for name in IDENTITY if name in node}, "declared": []}, RETRACTED)
    kept = (*KEYS[kind], "doc_id", "version", "since") if kind == "revision" else (*KEYS[kind], "since")
    named = {"name": node["id"]} if kind == "entity" else {}
    return {**{name: node[name] for name in kept}, **_BLANK[kind], **named}
