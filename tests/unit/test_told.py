"""What a command tells a person on stdout: the lines of a load, of an edge (spec 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphrag_provenance.interfaces.cli.checking import _checked
from graphrag_provenance.interfaces.cli.loading import lines, report
from graphrag_provenance.interfaces.cli.options import Format
from graphrag_provenance.interfaces.cli.picture import draw_edge
from graphrag_provenance.interfaces.cli.policies import other_order
from graphrag_provenance.rules.policies import lattice


def load(*, accepted: int, rejected: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "run": {"seq": 1, "status": "committed"}, "records": {"read": accepted + rejected, "accepted": accepted, "rejected": rejected},
        "edges": {}, "evidence": {}, "writes": {}, "quotes": {}, "withheld_reasons": {}, "rejected_reasons": {}, "dry_run": False,
        "seconds": 1.0, **more}  # fmt: skip


@pytest.mark.parametrize(("accepted", "rejected", "why"), [
    (7, 0, "the store holds all of it already"), (6, 1, "the store holds all that was accepted already"), (0, 7, "no record was accepted"),
])  # fmt: skip
def test_a_load_that_wrote_nothing_says_why(accepted: int, rejected: int, why: str) -> None:
    assert f"Nothing to write: {why}." in lines(load(accepted=accepted, rejected=rejected))


def test_what_is_said_of_edges_once_counted_stands_apart() -> None:
    told = lines(load(accepted=3, edges={"published": 2, "withheld": 1, "unregistered": 3, "overruled": 0}))
    assert told[1:3] == ["Edges: 2 published, 1 withheld.", "Of these, 3 cite a passage without a record (unregistered)."]
    assert not [line for line in told if "overruled" in line]


@pytest.mark.parametrize(("more", "told"), [
    ({}, True), ({"dry_run": True}, False), ({"run": {"seq": 1, "status": "staged"}}, False), ({"withheld_reasons": {}}, False),
])  # fmt: skip
def test_a_load_that_withheld_edges_says_where_they_are_listed(
    more: dict[str, Any], told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    report(load(accepted=1, **{"withheld_reasons": {"unknown-policy": 1}, **more}), Format.TABLE)
    last = capsys.readouterr().out.splitlines()[-1]
    assert (last == "See: gprov edge list --withheld --role operator.") is told


def test_a_load_says_how_its_policy_file_differs_from_the_order_that_decided() -> None:
    store = lattice({"internal": [], "legal": ["internal"]})
    given = lattice({"internal": [], "hr": ["internal"]})
    said = "The store applies another order of policies, and that decided; your file adds hr; removes legal. See: gprov policy apply "
    assert other_order(store, given, None) == said + "--dry-run."
    assert other_order(store, given, Path("my policies.toml")) == said + "'my policies.toml' --dry-run."
    assert "your file moves legal." in other_order(store, lattice({"internal": [], "legal": []}), None)


def edge(**more: Any) -> dict[str, Any]:
    end = {"type": "System", "id": "a"}
    return {
        "edge_id": "E:1", "source": end, "target": end, "relation": "uses", "state": "published", "current": True, "disputed": False,
        "scope": {"environment": None, "region": None, "valid_from": None, "valid_to": None}, "confidence": None, "attributes": {},
        **more}  # fmt: skip


def test_every_name_beside_a_value_is_apart_from_it(capsys: pytest.CaptureFixture[str]) -> None:
    draw_edge(edge(policies=["internal"], reasons=["no-support"]))
    told = capsys.readouterr().out.splitlines()
    assert {line.split(" ")[0] for line in told} == {"edge", "says", "state", "holds", "reasons", "policies"}
    assert "policies internal" in told


@pytest.mark.parametrize(("head", "stale", "told"), [
    ("HB-1@1", False, "current"), ("HB-1@2", True, "stale, now HB-1@2"), (None, True, "stale"), (None, False, "not declared"),
])  # fmt: skip
def test_evidence_says_how_its_revision_stands(head: str | None, stale: bool, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    item = {
        "doc": "HB-1@1", "doc_title": None, "is_stale": stale, "head_revision": head, "polarity": "supports", "chunk": "c", "url": None,
        "section_path": [], "span": None, "quote_hash": None, "run": {"seq": None}}  # fmt: skip
    draw_edge(edge(evidence=[item]))
    assert f"HB-1@1 ({told})\n" in capsys.readouterr().out


def test_what_is_no_count_of_records_is_named_otherwise_for_a_person() -> None:
    assert _checked({"runs": 2, "running": 0, "graph_hash": 1}) == {"runs": 2, "runs under way": 0, "graph hash compared": True}
