"""A little of `python -m tests.fuzz`: hostile records, files, settings and arguments, each told clearly and nothing half-written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_provenance.interfaces.cli.app import _COMMANDS
from graphrag_provenance.store.database import Database
from tests.fuzz.running import Runner
from tests.fuzz.subjects import _NOT_RUN, commands, furnish, subjects
from tests.fuzz.trying import attempt

EXAMPLES = {"records": 12, "arguments": 30}
FEW = 4
SEED = 10


@pytest.fixture
def runner(server: Any, fresh_database: Database, cypher: Callable[..., Any], tmp_path: Path) -> Iterator[Runner]:
    furnish(tmp_path)
    with Runner(fresh_database, cypher, tmp_path, server.environment()).ready() as ready:
        yield ready


def test_hostile_input_is_told_clearly_and_leaves_nothing_half_written(runner: Runner) -> None:
    for subject in subjects():
        attempt(runner, subject, EXAMPLES.get(subject, FEW), SEED, checked=False)
    runner.verify("all")
    assert list(runner.faults.values()) == []
    assert runner.codes["records 1"] > 0, "every record was refused as a file, or none was wrong"
    assert len(runner.codes) > 20, "commands ended in few ways: the examples are not worth much"


def test_every_command_is_fuzzed_but_those_that_are_named() -> None:
    found = set(commands())
    assert {path[0] for path in found} | {path[0] for path in _NOT_RUN} == set(_COMMANDS)
    assert not found & _NOT_RUN
