"""A database is replaced whole or not at all, wherever the replacement is cut off."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphrag_provenance.server.aside import DATABASE, put_back, set_aside


class Cut(BaseException):
    """The process is killed: nothing of it runs any more."""


class Machine:
    """A disk on which the n-th change, and every later one, does not happen."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 10_000
        for name in ("rename", "mkdir", "unlink", "rmdir"):
            monkeypatch.setattr(os, name, self._counted(getattr(os, name)))

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise Cut
            return real(*args, **more)
        return call


def databases(root: Path) -> dict[str, str]:
    return {str(file.parent.relative_to(root / "data")): file.read_text() for file in sorted((root / "data").rglob("content"))}


def put(root: Path, text: str) -> None:
    for folder in ("databases", "transactions"):
        place = root / "data" / folder / DATABASE
        place.mkdir(parents=True, exist_ok=True)
        (place / "content").write_text(text)


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_wherever_a_replacement_is_cut_off_the_next_one_finds_the_old_database_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: bool, fails: bool,
) -> None:
    machine, cuts, seen = Machine(monkeypatch), 0, set()
    ended = False
    while not ended:
        root = tmp_path / str(cuts)
        (root / "data").mkdir(parents=True)
        if present:
            put(root, "old")
        old = databases(root)
        machine.left = cuts
        try:
            with set_aside(root):
                left, machine.left = machine.left, 10_000
                put(root, "new")
                machine.left = left
                if fails:
                    raise ValueError
            ended = True
        except (Cut, ValueError) as error:
            ended = isinstance(error, ValueError) and machine.left > 0
        for again in range(3):  # put back, cut off itself
            machine.left = again
            try:
                put_back(root)
            except Cut:
                continue
        machine.left = 10_000
        put_back(root)
        found = databases(root)
        seen.add("old" if found == old else "new")
        assert found in (old, {f"{folder}/{DATABASE}": "new" for folder in ("databases", "transactions")})
        assert not (fails and seen == {"new"})
        assert {one.name for one in root.iterdir()} == {"data"}
        cuts += 1
    assert cuts > 5
    assert seen == ({"old"} if fails else {"old", "new"})
