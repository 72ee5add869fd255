"""Which edges beside a given one are asked for, and which of them are believed (`store.conflicts`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from graphrag_provenance.errors import StoreConflictError
from graphrag_provenance.rules.conflicts import Place
from graphrag_provenance.rules.relations import Relation
from graphrag_provenance.store.conflicts import rivals_of
from graphrag_provenance.store.readers import Views, Visibility

OLD, NEW = (Visibility("T", frozenset({"internal"}), frozenset(), frozenset({"internal"}), name) for name in ("old", "new"))
SINGLE = {"OWNS": Relation(single_valued=True)}


def row(edge_id: str, name: str = "old", **more: Any) -> dict[str, Any]:
    source, target = ({"tenant": "T", "type": "S", "id": one} for one in ("a", edge_id))
    scope = dict.fromkeys(("environment", "region", "valid_from", "valid_to"))
    edge = {"edge_id": edge_id, "tenant": "T", "policies": ["internal"], "acl": [], "current": True, **scope, **more}
    return {"edge": edge, "type": "OWNS", "source": source, "target": target, "policies_hash": name}


GIVEN = Place(row("e")["edge"], "OWNS", ("T", "S", "a"), ("T", "S", "e"))


def heard(*answers: list[dict[str, Any]], relations: Any = SINGLE) -> tuple[list[str], list[str | None]]:
    """The rivals found, and under which order each statement was asked."""
    asked: list[str | None] = []
    search = rivals_of(cast(Views, SimpleNamespace(now=OLD, after=lambda old: NEW)), [GIVEN], relations)
    try:
        ask = next(search)
        for rows in answers:
            asked.append(cast(Visibility, ask.view).policies_hash)
            ask = search.send(rows)
    except StopIteration as end:
        return [conflict.other for conflict, _ in end.value], asked
    raise AssertionError("more is asked than was answered")


def test_nothing_is_asked_of_a_relation_that_forbids_nothing() -> None:
    assert heard(relations={}) == ([], [])


def test_rivals_are_told_in_order_and_what_is_hidden_is_not_believed() -> None:
    rows = [row("e"), *(row(name) for name in "hgdcba"), row("x", policies=["internal", "hr"]), row("y", acl=["FIN"]), row("z", tenant="U")]
    assert heard(rows) == (list("abcdgh"), ["old"])
    assert heard([]) == ([], ["old"])


def test_what_was_read_under_another_order_is_asked_for_again() -> None:
    assert heard([row("f", "new")], [row("g", "new")]) == (["g"], ["old", "new"])
    with pytest.raises(StoreConflictError):
        heard(*[[row("f", "third")]] * 3)
