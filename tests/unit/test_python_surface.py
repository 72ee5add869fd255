"""What `from graphrag_provenance import …` offers is pinned, typed and cheap; no error of the driver passes (spec 5, Python)."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import neo4j.exceptions
import pytest
from pydantic import SecretStr

import graphrag_provenance
from graphrag_provenance import AsyncStore, ConfigurationError, ProvenanceError, Reader, Store
from graphrag_provenance.store import database
from graphrag_provenance.store.database import Connection, Database

DRIVERS_ERRORS = sorted(
    (kind for kind in vars(neo4j.exceptions).values()
     if inspect.isclass(kind) and issubclass(kind, Exception)
     and kind is not neo4j.exceptions.GqlError),  # the root of all, which nothing raises
    key=lambda kind: kind.__name__)


def test_the_public_names_are_these() -> None:
    assert graphrag_provenance.__all__ == [
        "AccessDeniedError", "AccessSource", "AnswerReport", "AsyncStore", "Citation", "ConfigurationError", "Context", "FileSource",
        "InputError", "Judgement", "Ledger", "MissingExtraError", "NotFoundError", "ProvenanceError", "Question", "Reader",
        "RetrievalReport", "Role", "SchemaVersionError", "ServerError", "Store", "StoreConflictError", "StoreError", "StoreTimeoutError",
        "StoreUnavailableError", "Summary", "Trace", "__version__",
    ]  # fmt: skip


def test_every_public_name_is_there_and_is_what_a_type_checker_takes_it_for() -> None:
    source = ast.parse(Path(graphrag_provenance.__file__).read_text(encoding="utf-8"))
    (checking,) = (node for node in source.body if isinstance(node, ast.If))
    typed = {name.asname: (node.module, name.name) for node in checking.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert set(typed) == set(graphrag_provenance.__all__) - {"__version__"}
    for name, (module, original) in typed.items():
        there = getattr(graphrag_provenance, name)
        assert there is getattr(sys.modules[str(module)], original), name
        assert (there.__doc__ or "").strip(), name
    assert set(graphrag_provenance.__all__) <= set(dir(graphrag_provenance))
    assert not hasattr(graphrag_provenance, "Nothing")
    assert files("graphrag_provenance").joinpath("py.typed").is_file()


def test_the_import_alone_loads_neither_the_driver_nor_anything_slow() -> None:
    probe = "import json, sys, graphrag_provenance; print(json.dumps(sorted(m.partition('.')[0] for m in sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert not {"neo4j", "pydantic", "duckdb", "rich", "typer"} & set(json.loads(done.stdout))


def public(kind: type) -> dict[str, inspect.Signature]:
    found = {name: getattr(kind, name) for name in vars(kind) if not name.startswith("_")}
    return {name: inspect.signature(one) for name, one in found.items() if callable(one)}


def test_the_store_for_asyncio_has_the_same_methods_with_the_same_arguments() -> None:
    assert public(AsyncStore).keys() == public(Store).keys()
    for name, signature in public(Store).items():
        assert public(AsyncStore)[name].parameters.keys() == signature.parameters.keys(), name
        if name != "open":
            assert inspect.iscoroutinefunction(getattr(AsyncStore, name)), name
        assert getattr(AsyncStore, name).__doc__, name


WRITES = {"open", "close", "ingest"}


def test_every_read_takes_a_reader_that_has_no_default() -> None:
    for name, signature in public(Store).items():
        if name in WRITES:
            assert "reader" not in signature.parameters
        else:
            parameter = signature.parameters["reader"]
            assert (parameter.kind, parameter.default) == (parameter.KEYWORD_ONLY, parameter.empty), name


def test_a_reader_is_made_of_any_set() -> None:
    reader = Reader("me", tenant="T", clearances={"a"})
    assert isinstance(reader.clearances, frozenset)
    assert hash(reader) == hash(Reader("me", tenant="T", clearances=frozenset({"a"})))


@pytest.mark.parametrize("kind", DRIVERS_ERRORS, ids=lambda kind: str(kind.__name__))
def test_every_error_of_the_driver_becomes_one_of_ours_and_says_something(kind: type[Exception]) -> None:
    try:
        error = kind("what went wrong")
    except TypeError:
        error = kind(None, "what went wrong")  # a result comes first
    with pytest.raises(ProvenanceError) as caught, database.errors("bolt://somewhere"):
        raise error
    assert "50N42" not in str(caught.value)


def test_there_are_errors_of_the_driver_to_look_at() -> None:
    assert len(DRIVERS_ERRORS) > 25


def test_whatever_talks_to_the_driver_does_so_where_errors_are_mapped() -> None:
    (connection,) = (node for node in ast.parse(inspect.getsource(database)).body
                     if isinstance(node, ast.ClassDef) and node.name == "Database")
    for method in (node for node in connection.body if isinstance(node, ast.FunctionDef) and node.name != "_session"):
        guarded = {
            inner for block in ast.walk(method) if isinstance(block, ast.With)
            and any(isinstance(c, ast.Call) and getattr(c.func, "id", "") == "errors" for item in block.items for c in [item.context_expr])
            for inner in ast.walk(block)}
        loose = [node.lineno for node in ast.walk(method) if isinstance(node, ast.Attribute)
                 and node.attr in ("_driver", "_session") and isinstance(node.value, ast.Name) and node.value.id == "self"
                 and node not in guarded]
        assert loose == [], method.name


@pytest.mark.parametrize("uri", [
    "", "nonsense", "http://127.0.0.1:7474", "bolt://", "bolt://127.0.0.1:abc", "bolt://127.0.0.1:99999", "bolt://[::1",
    "neo4j://a?b", "bolt://" + "ä" * 300,
])
def test_an_address_that_is_none_is_told_at_once(uri: str) -> None:
    with pytest.raises(ConfigurationError):
        Database(Connection(uri, "neo4j", SecretStr("x")))
