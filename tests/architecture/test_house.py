"""The rules of the house (docs and style): layers, Cypher in files only, documented, typed, nobody's workplace."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import graphrag_provenance
from graphrag_provenance.errors import ProvenanceError
from graphrag_provenance.queries import all_queries
from graphrag_provenance.store.migrations import shipped

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "graphrag_provenance"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
MAX_LINES = 500
# `(?` is a regular expression that reads Cypher, not Cypher.
CYPHER = re.compile(r"\b(MATCH|MERGE|UNWIND|DETACH DELETE|CREATE)\s*(\$|\((?!\?))")
WORKPLACE = re.compile(r"(?<![\w.~-])/(?:work|root)/|https?://[^ ]*(?:maven|pypi)", re.IGNORECASE)
# The public repository that the Neo4j jars come from, and this machine, are nobody's workplace.
ANYBODYS = ("https://repo1.maven.org/", "https://repo.maven.apache.org/", "http://127.0.0.1:", "http://localhost:")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def lint_imports(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("-c", "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())",
               *arguments)


def test_rooms_depend_one_way_and_only_the_store_talks_to_neo4j() -> None:
    done = lint_imports("--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 kept, 0 broken" in done.stdout


def test_mypy_is_strict_and_clean() -> None:
    done = run("-m", "mypy", "--strict")
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_is_clean() -> None:
    done = run("-m", "ruff", "check", "--output-format", "concise", ".")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_is_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def cypher_in(source: str) -> list[int]:
    """The lines of string literals that hold Cypher; docstrings included, f-string parts too."""
    texts = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return sorted(node.lineno for node in texts if CYPHER.search(str(node.value)))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_cypher_in_python_strings(path: Path) -> None:
    assert cypher_in(path.read_text(encoding="utf-8")) == []


def test_cypher_in_a_python_string_would_be_found() -> None:
    assert cypher_in('x = 1\ny = f"MATCH (n:{x}) RETURN n"\nz = "UNWIND $rows AS r"\n') == [2, 3]


def undocumented(source: str) -> list[str]:
    """The module and each public class and function of it that has no docstring; methods may speak by their name."""
    tree = ast.parse(source)
    found = [] if not tree.body or ast.get_docstring(tree) else ["the module"]
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            found += [] if ast.get_docstring(node) else [node.name]
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_and_public_class_and_function_has_a_docstring(path: Path) -> None:
    assert undocumented(path.read_text(encoding="utf-8")) == []


def test_a_missing_docstring_would_be_found() -> None:
    source = "class A:\n    pass\ndef _b(): pass\ndef c():\n    def d(): pass\nasync def e():\n    'Said.'\n"
    assert undocumented(source) == ["the module", "A", "c"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_prints(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "print"]
    assert [call.lineno for call in calls] == []


NEEDED = {"partitions.py": {"pickle"}}
"""What parts of a load say to each other is read back from a private folder (0700) that the same command made and removes."""


def dangerous(source: str) -> set[str]:
    """What a source imports or calls that unpacks archives or runs text."""
    tree = list(ast.walk(ast.parse(source)))
    found = {alias.name for node in tree if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in tree if isinstance(node, ast.ImportFrom) and node.module}
    called = {getattr(node.func, "id", None) or getattr(node.func, "attr", "") for node in tree if isinstance(node, ast.Call)}
    return (found & {"zipfile", "tarfile", "pickle", "marshal", "shelve", "yaml"}) | (
        called & {"eval", "exec", "unpack_archive", "extractall", "system", "popen"})


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_unpacks_archives_or_runs_text(path: Path) -> None:
    """An archive can write over other files, and a text that runs is somebody else's program (docs/threat-model.md)."""
    assert dangerous(path.read_text(encoding="utf-8")) == NEEDED.get(path.name, set())


def test_a_dangerous_call_would_be_found() -> None:
    assert dangerous("import os, tarfile\nfrom pickle import loads\nos.system('x')\neval('1')") == {"tarfile", "pickle", "system", "eval"}


def test_the_operators_room_and_stored_cypher_hold_no_python() -> None:
    assert [name_of(path) for room in ("etl", "cypher") for path in (ROOT / room).rglob("*.py*")] == []


def test_every_module_can_be_imported() -> None:
    for module in walk_packages(graphrag_provenance.__path__, "graphrag_provenance."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


def subclasses(kind: type[ProvenanceError]) -> Iterator[type[ProvenanceError]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from subclasses(inner)


def test_every_error_has_a_code_of_its_own_and_says_what_it_is() -> None:
    test_every_module_can_be_imported()
    kinds = [kind for kind in set(subclasses(ProvenanceError)) if kind.__module__.startswith("graphrag_provenance.")]
    assert len(kinds) > 10
    assert [code for code, times in Counter(kind.code for kind in kinds).items() if times > 1] == []
    assert [kind.__name__ for kind in kinds if "code" not in vars(kind)] == []
    assert [kind.__name__ for kind in kinds if not re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.code)] == []
    assert [kind.__name__ for kind in kinds if not kind.__doc__ or kind.exit_status not in (1, 2, 3)] == []


def committed() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and path != Path(__file__).resolve()]


def workplaces(text: str) -> list[str]:
    for host in ANYBODYS:
        text = text.replace(host, "")
    return [f"{number}: {line.strip()[:100]}" for number, line in enumerate(text.splitlines(), 1) if WORKPLACE.search(line)]


def test_no_committed_file_names_somebodys_workplace_or_registry() -> None:
    found = {}
    for path in committed():
        try:
            lines = workplaces(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue  # not text
        if lines:
            found[name_of(path)] = lines
    assert found == {}


@pytest.mark.parametrize("line", [
    'open("/work/x")', "cd /root/x", "https://mirror.corp.example/maven/", "http://proxy:8080/pypi/simple",
])
def test_a_workplace_would_be_found(line: str) -> None:
    assert workplaces(f"one\n{line}")


@pytest.mark.parametrize("line", ["repo/work/x", "./root/x", "https://example.org/frame/work", "network/root/"])
def test_other_paths_are_left_alone(line: str) -> None:
    assert workplaces(line) == []


def test_every_file_of_stored_cypher_is_a_query_or_a_migration() -> None:
    files = {path for path in (ROOT / "cypher").rglob("*") if path.is_file()}
    queries = {ROOT / "cypher" / f"{name.replace('.', '/')}.cypher" for name in all_queries()}
    migrations = {ROOT / "cypher" / "schema" / f"V{m.version:03}__{m.name}.cypher" for m in shipped()}
    assert files == queries | migrations


def test_every_index_and_constraint_is_named() -> None:
    """So that an error, a plan and the contract test can name it."""
    for migration in shipped():
        for statement in migration.statements:
            assert re.match(r"CREATE (FULLTEXT )?(CONSTRAINT|INDEX) [a-z_]+ IF NOT EXISTS FOR ", statement), statement
