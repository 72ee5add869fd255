"""What a command tells a person on stdout: the lines of a load, of an edge (spec 5)."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_provenance.interfaces.cli.loading import lines
from graphrag_provenance.interfaces.cli.picture import draw_edge


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
