"""Folders that a command makes.

Owns: that such a folder appears whole or not at all.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphrag_provenance.errors import InputError


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A new folder that appears under its name when all of it is written."""
    if path.exists():
        raise InputError(f"{path} exists already.", hint="Name a new folder.")
    try:
        made = Path(tempfile.mkdtemp(dir=path.absolute().parent, prefix=f".{path.name}."))
        try:
            yield made
            made.rename(path)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
