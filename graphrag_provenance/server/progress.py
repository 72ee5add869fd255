"""Shows a download on stderr: a bar on a terminal, a line each quarter elsewhere.

Owns: how progress looks. Leaves to others: what is fetched (`fetch`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from graphrag_provenance.server import fetch


@contextmanager
def shown_progress(what: str, console: Console | None = None) -> Iterator[fetch.Progress]:
    """A progress callback for `fetch`; nothing is shown when there is nothing to do."""
    console = console or Console(stderr=True)
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(f"Fetching {what}", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    shown = -1

    def line(done: int, total: int) -> None:
        nonlocal shown
        quarter = 4 * done // total if total else 4
        if quarter > shown:
            shown = quarter
            text = f"Fetching {what}: {done / 1e6:.0f} of {total / 1e6:.0f} MB"
            console.print(text, highlight=False, markup=False, soft_wrap=True)

    yield line
