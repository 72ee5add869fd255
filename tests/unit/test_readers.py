"""Who may ask at all, and what of a reader is kept (spec 2, reading)."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_provenance.errors import AccessDeniedError
from graphrag_provenance.model.readers import Reader, Role


@pytest.mark.parametrize(("wrong", "message"), [
    ({"principal": ""}, "needs a principal"), ({"principal": " \t"}, "needs a principal"), ({"principal": None}, "needs a principal"),
    ({"tenant": ""}, "needs a tenant"), ({"tenant": " "}, "needs a tenant"), ({"tenant": None}, "needs a tenant"),
    ({"tenant": 1}, "needs a tenant"), ({"clearances": "internal"}, "a list of policy names"),
])
def test_nobody_and_nowhere_are_no_reader(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(AccessDeniedError, match=message):
        Reader(**{"principal": "ann", "tenant": "ACME", "clearances": {"internal"}} | wrong)


def test_what_a_reader_may_do_cannot_be_changed_from_outside() -> None:
    clearances, roles = {"internal"}, {"auditor"}
    reader = Reader("ann", "ACME", clearances, roles)  # type: ignore[arg-type] - roles come from files and tokens by their names
    clearances.add("hr")
    roles.add("operator")
    assert (reader.clearances, reader.roles) == (frozenset({"internal"}), frozenset({Role.AUDITOR}))
    with pytest.raises(ValueError, match="is not a valid Role"):
        Reader("ann", "ACME", set(), {"root"})  # type: ignore[arg-type]


def test_an_auditor_is_one_by_role_alone() -> None:
    assert Reader("ann", "ACME", set(), {Role.AUDITOR}).is_auditor is True
    assert Reader("ann", "ACME", {"internal"}, {Role.READER, Role.OPERATOR}).is_auditor is False
    assert Reader("ann", "ACME", {"internal"}).is_auditor is False
