"""Mutants of a text: small faults, each at one place, as a person would make them by mistake."""

from __future__ import annotations

import ast
import copy
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

_NEGATED = {ast.Eq: ast.NotEq, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.In: ast.NotIn, ast.Is: ast.IsNot}
NEGATED = _NEGATED | {after: before for before, after in _NEGATED.items()}
BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPERATOR = {ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.Add: ast.Sub, ast.Sub: ast.Add}
CALLED = {"all": "any", "any": "all", "min": "max", "max": "min", "sorted": "list"}
Fault = tuple[str, ast.AST, ast.AST | str]


@dataclass(frozen=True)
class Mutant:
    """One fault: bytes `begin` to `end` of a file are `written` instead."""

    file: str
    line: int
    kind: str
    source: bytes
    begin: int
    end: int
    written: str

    @property
    def text(self) -> bytes:
        """The whole file with the fault."""
        return self.source[:self.begin] + self.written.encode() + self.source[self.end:]

    def __str__(self) -> str:
        lines = difflib.unified_diff(self.source.decode().splitlines(), self.text.decode().splitlines(), lineterm="", n=0)
        shown = [line[:220] for line in lines if not line.startswith(("---", "+++", "@@"))]
        return "\n".join((f"{self.file}:{self.line} {self.kind}", *shown))


def of_python(file: str, source: bytes) -> Iterator[Mutant]:
    """Every mutant of a Python module. Annotations, docstrings and messages are left alone."""
    tree = ast.parse(source)
    skipped = {id(inner) for node in ast.walk(tree) for outer in _left_alone(node) for inner in ast.walk(outer)}
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(tree):
        for kind, place, fault in _faults(node) if id(node) not in skipped else ():
            written = fault if isinstance(fault, str) else f"({ast.unparse(fault)})"
            begin = starts[place.lineno - 1] + place.col_offset
            end = starts[place.end_lineno - 1] + place.end_col_offset
            yield Mutant(file, place.lineno, kind, source, begin, end, written)


def _left_alone(node: ast.AST) -> list[ast.AST]:
    found = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, ast.JoinedStr):
        found.append(node)
    if isinstance(node, ast.Raise):
        found.append(node.exc)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("dataclass", "field", "ConfigDict"):
        found.append(node)
    return [one for one in found if isinstance(one, ast.AST)]


def _faults(node: ast.AST) -> Iterator[Fault]:
    match node:
        case ast.Compare(ops=[op]):
            if type(op) in NEGATED:
                yield "negated", node, _with(node, ops=[NEGATED[type(op)]()])
            if type(op) in BOUNDARY:
                yield "boundary", node, _with(node, ops=[BOUNDARY[type(op)]()])
        case ast.BoolOp(op=op, values=values):
            yield "and/or", node, _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for place in range(len(values)):
                rest = values[:place] + values[place + 1:]
                yield "condition dropped", node, rest[0] if len(rest) == 1 else _with(node, values=rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not dropped", node, operand
        case ast.BinOp(op=op) if type(op) in OPERATOR:
            yield "operator", node, _with(node, op=OPERATOR[type(op)]())
            if isinstance(op, ast.Sub):
                yield "nothing taken away", node, node.left
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in CALLED:
            less = {"args": [first], "keywords": []} if name == "sorted" else {}
            yield "call", node, _with(node, func=ast.Name(CALLED[name]), **less)
        case ast.Constant(value=bool(value)):
            yield "constant", node, ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "constant", node, ast.Constant(value + 1)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "returns nothing", node, "return None"
        case ast.If(test=test) | ast.IfExp(test=test) if isinstance(test, ast.Name | ast.Call | ast.Attribute):
            yield "negated", test, ast.UnaryOp(ast.Not(), test)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            for part in node.generators:
                for condition in part.ifs:
                    yield "condition dropped", condition, ast.Constant(True)
        case ast.Continue():
            yield "continue dropped", node, "pass"
        case ast.Expr(value=ast.Call()):
            yield "call dropped", node, "pass"


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


CYPHER = (
    ("condition dropped", re.compile(rb"(?<=\n)[ \t]*AND [^\n]*(?=\n)")),
    ("negated", re.compile(rb"\bNOT (?!IN\b)|\bIS NOT NULL|\bIS NULL|<>")),
    ("boundary", re.compile(rb"(?<= )(<=|>=|<|>)(?= )")),
    ("all/any", re.compile(rb"\b(all|any)\((?=\w+ IN)")),
    ("and/or", re.compile(rb"\b(AND|OR)\b")),
    ("other", re.compile(rb"\bDISTINCT |\bDESC\b|\bORDER BY [^\n]*(?=\n)")),
)
SWAPPED = {"IS NOT NULL": "IS NULL", "IS NULL": "IS NOT NULL", "<>": "=", "<=": "<", "<": "<=", ">": ">=", ">=": ">", "all(": "any(",
           "any(": "all(", "AND": "OR", "OR": "AND"}


def of_cypher(file: str, source: bytes) -> Iterator[Mutant]:
    """Every mutant of a stored query, its typed header left alone."""
    start = max((match.end() for match in re.finditer(rb"^//[^\n]*\n", source, re.MULTILINE)), default=0)
    for kind, pattern in CYPHER:
        for match in pattern.finditer(source, start):
            found = match[0].decode()
            written = _closing(found) if kind == "condition dropped" else SWAPPED.get(found, "")
            yield Mutant(file, source.count(b"\n", 0, match.start()) + 1, kind, source, *match.span(), written)


def _closing(line: str) -> str:
    """What must stay of a line that goes: the brackets that close what other lines opened."""
    while (shorter := re.sub(r"\([^(){}]*\)|\{[^(){}]*\}", "", line)) != line:
        line = shorter
    return "".join(re.findall(r"[(){}]", line))
