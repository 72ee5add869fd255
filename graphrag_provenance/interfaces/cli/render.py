"""How data looks on stdout: tables for people, JSON for programs.

Owns: safe text (what a source wrote never moves the cursor or changes colours), tables, JSON and JSON lines.
Colour only on a terminal and without NO_COLOR. Leaves to others: which data (`store`), the path picture (`picture`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphrag_provenance.interfaces.cli.options import Format
from graphrag_provenance.interfaces.cli.visible import visible
from graphrag_provenance.notation import json_text

_WIDE = 100_000


def console() -> Console:
    """A console on stdout that never wraps or cuts what goes to a file or a pipe."""
    terminal = sys.stdout.isatty()
    styled = terminal and not os.environ.get("NO_COLOR")
    return Console(
        file=sys.stdout,
        width=None if terminal else _WIDE,
        color_system="auto" if styled else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def plain(value: object) -> str:
    """`value` as one line of text; control, direction and other invisible characters are shown as escapes."""
    return visible(value if isinstance(value, str) else _brief(value))


def address_of(entity: Mapping[str, Any]) -> str:
    """`Type:id`, as commands take it, safe to print."""
    return f"{plain(entity['type'])}:{plain(entity['id'])}"


def _brief(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(plain(item) for item in value) or "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{plain(k)} {plain(v)}" for k, v in value.items()) or "-"
    return str(value)


def print_json(value: object) -> None:
    """One JSON document."""
    sys.stdout.write(json_text(value, indent=2) + "\n")


def print_lines(values: Iterable[object]) -> None:
    """One JSON document a line."""
    for value in values:
        sys.stdout.write(json_text(value, separators=(",", ":")) + "\n")


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, titles: Mapping[str, str] | None = None) -> None:
    """Rows under the given columns; a column that no row fills is left out."""
    shown = [name for name in columns if any(row.get(name) not in (None, [], "") for row in rows)] or list(columns[:1])
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for name in shown:
        numbers = all(type(row.get(name)) in (int, float) for row in rows if row.get(name) is not None)
        title = (titles or {}).get(name, name.replace("_", " "))
        drawn.add_column(title, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(plain(row.get(name))) for name in shown))
    console().print(drawn)


def fields(values: Mapping[str, Any], *, indent: int = 0) -> None:
    """Names and values, one a line, nested ones below their name."""
    out = console()
    width = max((len(name) for name, value in values.items() if not _nested(value)), default=0)
    for name, value in values.items():
        label = name.replace("_", " ")
        if _nested(value):
            out.print(Text(f"{'':{indent}}{label}", style="bold"), soft_wrap=True)
            items = [value] if isinstance(value, Mapping) else value
            for number, item in enumerate(items):
                if number:
                    out.print()
                fields(item, indent=indent + 2)
        else:
            out.print(Text.assemble(f"{'':{indent}}", (f"{label:<{width}}", "dim"), f"  {plain(value)}"), soft_wrap=True)


def _nested(value: object) -> bool:
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, Mapping) for item in value)


def show_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    form: Format,
    *,
    name: str,
    empty: str,
    more: bool = False,
) -> None:
    """A list in the asked form. `name` is its key in JSON, `empty` the sentence for people when there is nothing."""
    if form is Format.JSON:
        print_json({"schema": 1, name: list(rows), "truncated": more})
    elif form is Format.JSONL:
        print_lines(rows)
    elif rows:
        table(rows, columns)
    else:
        sys.stderr.write(empty + "\n")


def show_thing(value: Mapping[str, Any], form: Format) -> None:
    """One thing in the asked form; its JSON says its schema."""
    body = value if "schema" in value else {"schema": 1, **value}
    if form is Format.JSON:
        print_json(body)
    elif form is Format.JSONL:
        print_lines([body])
    else:
        fields({k: v for k, v in value.items() if k != "schema"})
