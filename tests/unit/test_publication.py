"""Whether an edge may be traversed, under which policies, and why not (spec 1, graph; spec 2, writing)."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_provenance.rules.policies import lattice
from graphrag_provenance.rules.publication import RETRACTED, State, Verdict, verdict
from graphrag_provenance.rules.publication import Testimony as Item

POLICIES = lattice({
    "public": [], "internal": ["public"], "restricted": ["internal"], "hr": ["internal"], "legal": ["internal"],
})


def item(*statements: str, **fields: Any) -> Item:
    usual: dict[str, Any] = {"polarity": "supports", "acl": (), "confidence": None, "current": True, "registered": True}
    return Item(statements=statements, **(usual | fields))


def judge(*evidence: Item, declared: tuple[str, ...] = (), stands_in: bool = True) -> Verdict:
    return verdict(POLICIES, evidence, declared, declared_stands_in=stands_in)


PUBLISHED: list[tuple[str, list[Item], tuple[str, ...], tuple[str, ...], bool]] = [
    ("the policy of its one evidence", [item("public")], (), ("public",), False),
    ("the strictest statement on an item", [item("public", "restricted", "internal")], (), ("restricted",), False),
    ("the strictest of all its evidence", [item("public"), item("restricted")], (), ("restricted",), False),
    ("both sides of a branch", [item("hr"), item("legal")], (), ("hr", "legal"), False),
    ("refuting evidence counts", [item("public"), item("restricted", polarity="refutes")], (), ("restricted",), False),
    ("declared stands in", [item()], ("internal",), ("internal",), False),
    ("declared stands in for one of two", [item(), item("public")], ("internal",), ("internal",), False),
    ("declared makes it stricter", [item("public")], ("restricted",), ("restricted",), False),
    ("declared beside a branch", [item("hr")], ("legal",), ("hr", "legal"), False),
    ("declared laxer is overruled", [item("restricted")], ("public",), ("restricted",), True),
    ("declared equal is not overruled", [item("internal")], ("internal",), ("internal",), False),
    ("of two declared the stricter counts", [item("legal")], ("public", "hr"), ("hr", "legal"), False),
    ("one of two declared is laxer", [item("restricted")], ("hr", "internal"), ("hr", "restricted"), False),
]


@pytest.mark.parametrize(("why", "evidence", "declared", "policies", "overruled"), PUBLISHED, ids=lambda v: str(v)[:40])
def test_an_edge_is_published_under(
    why: str, evidence: list[Item], declared: tuple[str, ...], policies: tuple[str, ...], overruled: bool
) -> None:
    found = judge(*evidence, declared=declared)
    assert (found.state, found.reasons, found.policies) == (State.PUBLISHED, (), policies), why
    assert found.overruled is overruled, why


WITHHELD: list[tuple[list[Item], tuple[str, ...], bool, tuple[str, ...]]] = [
    ([item("pubilc")], (), True, ("unknown-policy: pubilc",)),
    ([item("PUBLIC ")], (), True, ("unknown-policy: PUBLIC ",)),
    ([item("")], (), True, ("unknown-policy: ",)),
    ([item(" []")], (), True, ("unknown-policy:  []",)),
    ([item("public", "pubilc")], (), True, ("unknown-policy: pubilc",)),
    ([item("public"), item("pubilc")], (), True, ("unknown-policy: pubilc",)),
    ([item("public"), item("pubilc", polarity="refutes")], (), True, ("unknown-policy: pubilc",)),
    ([item("public")], ("pubilc",), True, ("unknown-policy: pubilc",)),
    ([item("b", "a"), item("a")], (), True, ("unknown-policy: a", "unknown-policy: b")),
    ([item()], (), True, ("undetermined-policy",)),
    ([item("public"), item()], (), True, ("undetermined-policy",)),
    ([item("public"), item(polarity="refutes")], (), True, ("undetermined-policy",)),
    ([item()], ("public",), False, ("undetermined-policy",)),
    ([item("public", polarity="refutes")], (), True, ("no-support",)),
    ([item("public", polarity="Supports")], (), True, ("no-support",)),
    ([item("x", polarity="refutes"), item(polarity="refutes")], (), True,
     ("no-support", "undetermined-policy", "unknown-policy: x")),
]


@pytest.mark.parametrize(("evidence", "declared", "stands_in", "reasons"), WITHHELD)
def test_an_edge_is_withheld_with_every_reason(
    evidence: list[Item], declared: tuple[str, ...], stands_in: bool, reasons: tuple[str, ...]
) -> None:
    found = judge(*evidence, declared=declared, stands_in=stands_in)
    assert (found.state, found.reasons, found.policies) == (State.WITHHELD, reasons, ())
    assert found.overruled is False


def test_an_edge_without_evidence_is_retracted_whatever_it_declares() -> None:
    assert judge() == judge(declared=("public",)) == judge(declared=("pubilc",)) == RETRACTED
    assert (RETRACTED.state, RETRACTED.policies) == (State.RETRACTED, ())


def test_declared_does_not_stand_in_but_still_makes_stricter_when_sources_must_be_registered() -> None:
    assert judge(item("public"), declared=("restricted",), stands_in=False).policies == ("restricted",)


@pytest.mark.parametrize(("evidence", "confidence"), [
    ([item("public")], None),
    ([item("public", confidence=0.2), item("public", confidence=0.9), item("public")], 0.9),
    ([item("public", confidence=0.2), item("public", confidence=0.9, polarity="refutes")], 0.2),
    ([item("public", confidence=0.0)], 0.0),
    ([item("public"), item("public", confidence=0.9, polarity="refutes")], None),
])
def test_confidence_is_the_greatest_of_the_supporting_evidence(
    evidence: list[Item], confidence: float | None
) -> None:
    assert judge(*evidence).confidence == confidence


@pytest.mark.parametrize(("evidence", "current", "disputed", "registered"), [
    ([item("public")], True, False, True),
    ([item("public", current=False)], False, False, True),
    ([item("public", current=False), item("public")], True, False, True),
    ([item("public", current=False), item("public", polarity="refutes")], False, True, True),
    ([item("public"), item("public", polarity="refutes")], True, True, True),
    ([item("public", polarity="refutes")], False, False, True),
    ([item("public"), item("public", registered=False)], True, False, False),
    ([item("public"), item("public", registered=False, polarity="refutes")], True, True, False),
])
def test_current_disputed_and_registered(
    evidence: list[Item], current: bool, disputed: bool, registered: bool
) -> None:
    found = judge(*evidence)
    assert (found.current, found.disputed, found.registered) == (current, disputed, registered)


def test_every_live_reference_must_be_granted_also_of_refuting_evidence() -> None:
    found = judge(item("public", acl=("b", "a")), item("public", acl=("c", "a"), polarity="refutes"))
    assert found.acl == ("a", "b", "c")


def test_the_only_restricted_of_three_hundred_decides_wherever_it_stands() -> None:
    crowd = [item("public")] * 299
    assert judge(item("restricted"), *crowd).policies == judge(*crowd, item("restricted")).policies == ("restricted",)
