"""What is fuzzed: records, every kind of file that a command reads, settings, and the arguments of every command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from graphrag_provenance.interfaces.cli.app import _COMMANDS, _load
from graphrag_provenance.resources import etl_path
from tests.corpus.records import chunk, cites, document, edge, entity, revision
from tests.fuzz.hostile import TEXT, arguable, as_json, damaged, retyped, spoilt
from tests.fuzz.running import READER, SAMPLE, Runner

_EDGE = edge("System:A", "depends_on", "System:B", cites("d1@1#c1", policy="public", quote_hash="sha256:" + "0" * 64, span=[0, 4]),
             scope={"environment": "production", "region": "eu", "valid_from": "2026-01-01T00:00:00Z", "valid_to": None},
             extracted_by={"pipeline": "p", "version": "1"}, confidence=0.5, attributes={"a": [1, 2]}, edge_id="E1")
RECORDS = [
    _EDGE, document("d1", policy="public", attributes={"k": "v"}),
    revision("d1@1", complete=True, supersedes="d1@0", source_url="https://x/1"),
    chunk("d1@1", "c1", acl_ref={"system": "conf", "space": "S", "restriction_id": "7"}),
    entity("System:A", aliases=[{"alias": "a", "method": "exact", "linker": "l", "linker_version": "1"}], attributes={"n": 1}),
    {"kind": "tombstone", "doc_id": "d1", "tenant": "ACME", "deleted_in_revision": "d1@1"},
]
_ANSWER = {"answer_id": "A", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "generation": 1, "claims": [
    {"claim_id": "1", "text": "t", "path": ["E:dep:checkout-api->payment-router", {
        "edge_id": "E:dep:payment-router->ledger", "evidence": [{"doc": "conf:118020@v5", "chunk": "c-1"}]}]}]}
_RETRIEVAL = {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "retriever": "dense", "k": 3, "filter": {"e": "p"}, "generation": 1,
              "passages": [{"id": "POL-31@2.1#c-1", "score": 0.9}, {"doc": "RUNBOOK@2.0", "chunk": "c-1010"}]}
_QUOTE = {"doc": "POL-31@2.1", "chunk": "c-1", "quote": "ledger", "id": "1"}
_CLAIM = {"id": "one", "from": "System:checkout-api", "to": "Policy:POL-31", "environment": "production", "max_hops": 3,
          "relations": ["depends_on"]}
_INCIDENT = {"incident": "INC-1", "labels": {"facets": ["action"], "conflict": []}, "opened_at": "2026-01-01T00:00:00Z", "result": {
    "schema": 1, "id": "x", "state": "review", "at": "2026-01-01T00:00:00Z", "shadow": True, "facets": ["action"], "missing_facets": [],
    "findings": [{"entry": 1, "reason": "conflict", "edge_id": None, "passage": None, "detail": "d"}],
    "reasons": ["conflict"], "proves": "p"}}
_LEDGER = """id = "corrections"
entities = ["System:payment-router", "System:ledger"]
condition = { environment = "production", region = "eu-west" }
facets = ["prerequisite", "action"]
[[entries]]
sentence = "Corrections in the ledger follow POL-31."
facet = "prerequisite"
passages = [{ doc = "POL-31@2.1", chunk = "c-1" }]
[[entries]]
sentence = "The router books into the ledger."
facet = "action"
edges = ["E:dep:payment-router->ledger"]
"""
_GOLDEN = """schema = 1
[[question]]
id = "main"
from = "System:checkout-api"
to = "Policy:POL-31"
tenant = "ACME"
clearance = ["internal"]
environment = "production"
at = 2026-01-01T00:00:00Z
max_hops = 3
expect_state = "supported"
expect_edges = ["E:dep:checkout-api->payment-router"]
expect_evidence = [["RUNBOOK@2.0#c-1010", "RUNBOOK@2.1#c-1010"]]
distractors = ["E:x"]
documents = ["RUNBOOK"]
split = "test"
"""
_ACCESS = """schema = 1
[groups]
finance = ["user:bob", "group:leads"]
leads = ["user:ann"]
[systems.conf]
tenants = ["ACME"]
[systems.conf.spaces.FIN]
readers = ["group:finance"]
restrictions = [
  {id = "7", incarnation = "2026-03-01T09:00:00Z", readers = ["user:bob"]},
  {id = "8", readers = ["user:bob"], deleted = true},
]
"""
_SETTINGS = """tenant = "ACME"
clearance = ["internal"]
policies = "policies.toml"
access_file = "access.toml"
max_hops = 4
query_timeout_seconds = 10.0
retention_days = 30
batch_size = 100
"""
_READER = 'principal = "bob"\ntenant = "ACME"\nclearances = ["internal"]\nroles = ["reader"]\n'
_PIPELINE = (etl_path("pipelines", "csv") / "pipeline.toml").read_text("utf-8")
_SQL = (etl_path("pipelines", "csv") / "edges.sql").read_text("utf-8")
_CSV = "relation,source_type,source,target_type,target,doc,chunk\ndepends_on,System,A,System,B,d@1,c1\n"
_POLICIES = (SAMPLE / "policies.toml").read_text("utf-8")
_RELATIONS = etl_path("relations.toml").read_text("utf-8")
_TRACE = ("trace", "System:checkout-api", "Policy:POL-31", *READER)

# Subject: the file's name, its text, the command that reads it.
TEXTS: dict[str, tuple[str, str, Sequence[str]]] = {
    "policies": ("in.toml", _POLICIES, ("policy", "check", "in.toml")),
    "policy apply": ("in.toml", _POLICIES, ("policy", "apply", "in.toml", "--dry-run")),
    "relations": ("in.toml", _RELATIONS, (*_TRACE, "--relations", "in.toml")),
    "reader": ("in.toml", _READER, ("trace", "System:checkout-api", "Policy:POL-31", "--reader", "in.toml")),
    "access file": ("in.toml", _ACCESS, (*_TRACE, "--access-file", "in.toml")),
    "ledger": ("in.toml", _LEDGER, ("gate", "in.toml", *READER)),
    "golden paths": ("in.toml", _GOLDEN, ("path", "check", "in.toml")),
    "evaluation": ("in.toml", _GOLDEN, ("eval", "chains", "in.toml")),
    "settings": ("gprov.toml", _SETTINGS, ("edge", "list", "--workspace", ".")),
    "pipeline": ("made/pipeline.toml", _PIPELINE, ("pipeline", "check", "./made")),
    "sql": ("made/edges.sql", _SQL, ("pipeline", "check", "./made")),
    "table": ("made/edges.csv", _CSV, (
        "pipeline", "run", "./made", "--input", "edges=made/edges.csv", "--tenant", "FUZZ", "--dry-run", "--rejects", "p.rej")),
}
JSONS: dict[str, tuple[Any, Sequence[str]]] = {
    "claims": (_CLAIM, ("trace", "--claims", "in.jsonl", *READER)),
    "golden lines": (_CLAIM | {"expect_state": "supported", "tenant": "ACME", "clearance": ["internal"]}, ("path", "check", "in.jsonl")),
    "answer": (_ANSWER, ("answer", "record", "in.jsonl", *READER)),
    "retrieval": (_RETRIEVAL, ("retrieval", "record", "in.jsonl", *READER)),
    "quotes": (_QUOTE, ("quote", "verify", "in.jsonl", *READER)),
    "incidents": (_INCIDENT, ("eval", "gate", "in.jsonl")),
}
_NOT_RUN = {("demo",), ("serve",), ("mcp",), ("db", "start"), ("db", "restore"), ("db", "import"), ("db", "stop"), ("db", "backup")}
"""They start servers, or wait for somebody; what they read is fuzzed where it is parsed."""
_PLAUSIBLE = [
    "System:checkout-api", "Policy:POL-31", "E:dep:payment-router->ledger", "POL-31@2.1", "POL-31", "RUNBOOK", "ACME", "internal", "1", "2",
    "in.toml", "in.jsonl", "nowhere", ".", "new-folder", "/dev/null", "depends_on", "auditor", "reader", "json", "jsonl", "table",
    "2026-01-01T00:00:00Z", "4bf92f3577b34da6a3ce929d0e0e4736", "csv", "path.trace", "edge", "x=y", "edges=in.csv", "-"]

Example = Callable[[Runner], None]


def subjects() -> dict[str, st.SearchStrategy[Example]]:
    """Every subject with its examples; an example is run by a runner."""
    found: dict[str, st.SearchStrategy[Example]] = {"records": _records()}
    found |= {name: _text(name, *how) for name, how in TEXTS.items()}
    found |= {name: _lines(name, *how) for name, how in JSONS.items()}
    found["arguments"] = _arguments(sorted(commands()))
    return found


def commands() -> Iterator[tuple[str, ...]]:
    """Every command that is run, by its name."""
    def below(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for name, one in getattr(command, "commands", {}).items():
            yield from below(one, (*path, name))
        if not getattr(command, "commands", {}) and path not in _NOT_RUN:
            yield path

    for name in _COMMANDS:
        yield from below(_load(name), (name,))


def _parameters(path: tuple[str, ...]) -> list[Any]:
    command = _load(path[0])
    for name in path[1:]:
        command = command.commands[name]
    return [one for one in command.params if one.name not in ("home", "help")]


@st.composite
def _records(draw: Callable[..., Any]) -> Example:
    lines = [as_json(draw(spoilt(draw(st.sampled_from(RECORDS))))) for _ in range(draw(st.integers(1, 5)))]
    data = draw(damaged(b"\n".join(draw(damaged(line)) if draw(st.booleans()) else line for line in lines) + b"\n"))
    dry, again = draw(st.sampled_from([(False, False), (False, False), (True, False), (False, True)]))
    return lambda runner: runner.load(data, dry=dry, again=again)


def _text(name: str, file: str, text: str, command: Sequence[str]) -> st.SearchStrategy[Example]:
    def example(data: bytes) -> Example:
        def run(runner: Runner) -> None:
            with _written(runner.folder / file, data):
                runner.run(name, command, data)
        return run

    return retyped(text).map(example)


def _lines(name: str, value: Any, command: Sequence[str]) -> st.SearchStrategy[Example]:
    def example(data: bytes) -> Example:
        def run(runner: Runner) -> None:
            with _written(runner.folder / "in.jsonl", data):
                runner.run(name, command, data)
        return run

    several = st.lists(spoilt(value), min_size=1, max_size=3).map(lambda all_of_it: b"\n".join(map(as_json, all_of_it)) + b"\n")
    return st.one_of(several, several.flatmap(damaged), retyped(json.dumps(value))).map(example)


@st.composite
def _arguments(draw: Callable[..., Any], names: list[tuple[str, ...]]) -> Example:
    path = draw(st.sampled_from(names))
    value = st.one_of(st.sampled_from(_PLAUSIBLE), TEXT).map(arguable)
    given: list[str] = []
    for one in _parameters(path):
        wanted = one.required or draw(st.sampled_from([True, False, False]))
        if not wanted or one.opts[0] == "--allow-network":
            continue
        if one.param_type_name == "argument":
            given += [draw(value) for _ in range(2 if one.nargs == -1 else 1)]
        elif one.is_flag:
            given.append(one.opts[0])
        else:
            kind = one.type_descriptor.annotation
            known = issubclass(kind, Enum) and draw(st.booleans())
            given += [one.opts[0], draw(st.sampled_from([str(choice.value) for choice in kind])) if known else draw(value)]
    if draw(st.sampled_from([True, False, False, False])):
        given.insert(draw(st.integers(0, len(given))), draw(value))
    stdin = draw(st.sampled_from([b"", as_json(_EDGE), b"\xff\n"]))
    return lambda runner: runner.run("arguments", [*path, *given], stdin, stdin)


class _written:
    """A file with this content, put back afterwards."""

    def __init__(self, file: Path, data: bytes) -> None:
        self._file, self._data = file, data

    def __enter__(self) -> None:
        self._before = self._file.read_bytes() if self._file.exists() else None
        self._file.parent.mkdir(exist_ok=True)
        self._file.write_bytes(self._data)

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            self._file.unlink(missing_ok=True)
        else:
            self._file.write_bytes(self._before)


def furnish(folder: Path) -> None:
    """What the commands find beside the file that is fuzzed."""
    (folder / "made").mkdir()
    for name, text in {
            "made/pipeline.toml": _PIPELINE, "made/edges.sql": _SQL, "made/edges.csv": _CSV, "in.toml": _POLICIES, "in.csv": _CSV,
            "policies.toml": _POLICIES, "access.toml": _ACCESS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "in.jsonl").write_bytes(as_json(_EDGE) + b"\n")
