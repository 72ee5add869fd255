"""The command line reads as one: every option says what it is, and one name says the same everywhere (spec 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_provenance.interfaces.cli import app

# Options that mean something of their own in some commands, and how many things they mean.
MEANINGS = {
    "--as-of": 3, "--before": 2, "--claims": 2, "--clearance": 2, "--edge": 2, "--format": 5, "--home": 2, "--principal": 2,
    "--relations": 2, "--require-registered-sources": 2, "--tenant": 5, "--to": 3,
}


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    if not inner:
        yield name, command
    for verb, one in inner.items():
        yield from commands(one, f"{name} {verb}")


ALL = dict(pair for name in app._COMMANDS for pair in commands(app._load(name), name))


@pytest.mark.parametrize("name", ALL)
def test_a_command_and_each_of_its_options_says_what_it_is(name: str) -> None:
    command = ALL[name]
    assert "." in (command.help or "")
    assert [param.name for param in command.params if not getattr(param, "help", None)] == []
    assert [param.name for param in command.params if param.help and not param.help.endswith((".", ")"))] == []


def test_one_option_has_the_same_words_everywhere() -> None:
    words: defaultdict[str, set[str]] = defaultdict(set)
    for command in ALL.values():
        for param in command.params:
            if param.param_type_name == "option":
                words[param.opts[0]].add(param.help)
    assert {name: len(said) for name, said in words.items() if len(said) > 1} == MEANINGS, words


def test_whoever_writes_can_be_named_and_traced() -> None:
    writers = {"ingest", "pipeline run", "doc delete", "doc purge", "answer record", "retrieval record", "policy apply", "entity merge",
               "run rollback", "run publish", "run discard"}
    assert {name for name, command in ALL.items() if "--actor" in {opt for param in command.params for opt in param.opts}} == writers
    for name in writers:
        assert "--trace-id" in {opt for param in ALL[name].params for opt in param.opts}, name


@pytest.mark.parametrize("name", ALL)
def test_what_is_to_be_filled_in_stands_in_capitals(name: str) -> None:
    texts = [param for param in ALL[name].params if param.type_descriptor.annotation in (str, Path, list[str], list[Path])]
    assert [param.name for param in texts if not (param.metavar or "").isupper()] == []
