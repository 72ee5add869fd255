"""How far a load is, on stderr: a bar on a terminal, a line every few seconds elsewhere.

Owns: how progress of a load looks. Leaves to others: what is loaded (`ingest`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from graphrag_provenance.ingest import Progress
from graphrag_provenance.interfaces.cli import logs

SECONDS_BETWEEN_LINES = 5.0
_PHASES = {"sources": "documents and entities", "edges": "edges"}


@contextmanager
def shown() -> Iterator[Callable[[Progress], None]]:
    """A callback for `ingest` that shows progress on stderr."""
    if logs.as_json() or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _lines()
        return
    console = Console(stderr=True, color_system=None if os.environ.get("NO_COLOR") else "auto")
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Loading", total=None)
        yield lambda now: bar.update(task, description=_text(now), completed=now.done, total=now.total)


def _lines() -> Callable[[Progress], None]:
    last = time.monotonic()

    def line(now: Progress) -> None:
        nonlocal last
        if time.monotonic() - last < SECONDS_BETWEEN_LINES:
            return
        last = time.monotonic()
        if logs.as_json():
            logs.note("loading", phase=now.phase, done=now.done, total=now.total, records=now.records, rejected=now.rejected)
            return
        share = f", {100 * now.done // now.total}%" if now.total else ""
        sys.stderr.write(f"{_text(now)}{share}\n")

    return line


def _text(now: Progress) -> str:
    rejected = f", {now.rejected:,} rejected" if now.rejected else ""
    return f"Loading {_PHASES.get(now.phase, now.phase)}: {now.records:,} records read{rejected}"
