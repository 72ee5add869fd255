"""A database that is set aside while another takes its place: a restore, an import.

Owns: that the replacement happens whole or not at all, a kill -9 or a loss of power at any point included: until it is done, the
database that was there is kept, and whoever locks the server next puts it back. Leaves to others: the lock (`layout`), what takes its
place (`admin`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DATABASE = "neo4j"
_FOLDERS = ("databases", "transactions")
_NONE = "none"


@contextmanager
def set_aside(root: Path) -> Iterator[None]:
    """Keep the present database beside the data of the server in `root`; put it back on failure. For the holder of the server's lock."""
    aside = root / "aside"
    for folder in _FOLDERS:
        (aside / folder).mkdir(parents=True)
        present = root / "data" / folder / DATABASE
        if present.is_dir():
            os.rename(present, aside / folder / DATABASE)
        else:
            (aside / folder / _NONE).mkdir()
    try:
        yield
    except BaseException:
        put_back(root)
        raise
    os.rename(aside, root / "replaced")  # in one step: what is half deleted is never put back
    shutil.rmtree(root / "replaced", ignore_errors=True)


def put_back(root: Path) -> None:
    """What an unfinished replacement set aside takes its place again. Cut off, it is completed by the next call."""
    shutil.rmtree(root / "replaced", ignore_errors=True)
    aside = root / "aside"
    if not aside.is_dir():
        return
    for folder in _FOLDERS:
        kept, present = aside / folder / DATABASE, root / "data" / folder / DATABASE
        if kept.is_dir():
            shutil.rmtree(present, ignore_errors=True)
            os.rename(kept, present)
        elif (aside / folder / _NONE).is_dir():
            shutil.rmtree(present, ignore_errors=True)
    shutil.rmtree(aside)
