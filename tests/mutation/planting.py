"""Faults in the running product: a function gets the code of its mutant, a stored query its text, and both get their own back.

No file is written, nothing is imported anew, and whatever refers to the function has the fault: its module, those that imported it,
a decorator around it. What is executed on import (constants, declarations of fields) cannot be exchanged like that: `reachable` is False.
"""

from __future__ import annotations

import ast
import cProfile
import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from graphrag_provenance.queries import bounds, catalogue
from tests.mutation.mutants import Mutant

ROOT = Path(__file__).parents[2]


@functools.cache
def place(mutant: Mutant) -> str:
    """What must run for a fault to matter: `file::function` (the outermost one), or `cypher::name`."""
    if mutant.file.endswith(".cypher"):
        return f"cypher::{query_name(mutant)}"
    inside = ast.parse(mutant.source).body
    path: list[str] = []
    while node := next((one for one in inside if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                        and one.lineno <= mutant.line <= (one.end_lineno or 0)), None):
        path.append(node.name)
        if not isinstance(node, ast.ClassDef):
            return f"{mutant.file}::{'.'.join(path)}"
        inside = node.body
    return f"{mutant.file}::"


def query_name(mutant: Mutant) -> str:
    """`path.directed` of `cypher/path/directed.cypher`."""
    return ".".join(Path(mutant.file).with_suffix("").parts[1:])


@contextmanager
def planted(mutant: Mutant) -> Iterator[bool]:
    """The product with a fault until the end of the block; gives whether it could be planted."""
    if mutant.file.endswith(".cypher"):
        with _query(query_name(mutant), mutant.text.decode()):
            yield True
        return
    changed = {name: code for name, code in _codes(compile(mutant.text, mutant.file, "exec"))}
    before = {name: code for name, code in _codes(compile(mutant.source, mutant.file, "exec"))}
    kept = [(function, function.__code__) for function in functions(mutant.file)]
    done = False
    for function, code in kept:
        fault = changed.get(code.co_qualname)
        if fault is not None and fault != before.get(code.co_qualname) and len(fault.co_freevars) == len(code.co_freevars):
            function.__code__ = fault
            done = True
    forget()
    try:
        yield done
    finally:
        for function, code in kept:
            function.__code__ = code
        forget()


@contextmanager
def _query(name: str, text: str) -> Iterator[None]:
    stored = catalogue.all_queries()
    kept = stored[name]
    stored[name] = replace(kept, text=text)
    bounds.bounded.cache_clear()
    try:
        yield
    finally:
        stored[name] = kept
        bounds.bounded.cache_clear()


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            yield from _codes(constant)


@functools.cache
def functions(file: str) -> tuple[FunctionType, ...]:
    """Every function that the source of a module made and that is alive, whatever is wrapped around it."""
    path = str(ROOT / file)
    return tuple(one for one in gc.get_objects() if type(one) is FunctionType and one.__code__.co_filename == path)


@functools.cache
def _caches() -> tuple[Any, ...]:
    return tuple(one for one in gc.get_objects() if type(one) is functools._lru_cache_wrapper
                 and str(one.__module__).startswith("graphrag_provenance") and one is not catalogue.all_queries)


def forget() -> None:
    """Empty the caches of the product, but for the catalogue."""
    for one in _caches():
        one.cache_clear()


ASKED: set[str] = set()
ASK = FunctionType(catalogue.query.__code__, catalogue.query.__globals__)


def _noted(name: str) -> catalogue.Query:
    from tests.mutation.planting import ASK, ASKED  # noqa: PLC0415 - this code runs as that of `catalogue.query`

    ASKED.add(name)
    return ASK(name)


@contextmanager
def watched(reached: set[str]) -> Iterator[None]:
    """Note which functions of the product (in this thread) and which stored queries run in the block."""
    forget()
    ASKED.clear()
    catalogue.query.__code__ = _noted.__code__
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        catalogue.query.__code__ = ASK.__code__
        root = f"{ROOT}/"
        codes = [entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType)]
        reached |= {f"{code.co_filename.removeprefix(root)}::{code.co_qualname.partition('.<locals>')[0]}" for code in codes}
        reached |= {f"cypher::{name}" for name in ASKED}
