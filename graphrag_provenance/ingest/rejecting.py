"""The reject file: every refused record with its place and reason (spec 1, "What bad input gets").

Owns: its format, one JSON object a line: file, line, code, message, record (replacement characters where it was not UTF-8).
The file is made when the first record is refused.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TextIO

from graphrag_provenance.errors import InputError
from graphrag_provenance.private import private
from graphrag_provenance.store.counting import Reject

_MESSAGE = 1_000
MOST_UNREADABLE = 100_000
"""Rows of a pipeline's input that may be unreadable before the input counts as another format."""


class RejectFile:
    """Collects rejects; safe to share between threads. Without a path it only counts."""

    def __init__(self, path: Path | None, *, places: bool = False) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.by_file: Counter[tuple[str, str]] = Counter()
        self.places: set[tuple[str, int]] | None = set() if places else None
        """(file, line) of each, for whom asks for it: it grows with what is refused."""

    @property
    def total(self) -> int:
        """Rejected records so far."""
        return sum(self.counts.values())

    @property
    def name(self) -> str | None:
        """The file's name, or None when nothing was written."""
        return str(self._path) if self._path is not None and self.counts else None

    def __enter__(self) -> RejectFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is not None:
            with suppress(OSError):  # every line was flushed when it was written, or said that it could not be
                self._file.close()

    def write(self, reject: Reject) -> None:
        """Count and write one reject."""
        message = reject.message if len(reject.message) <= _MESSAGE else reject.message[:_MESSAGE] + " …"
        line = json.dumps({"file": reject.file, "line": reject.line, "code": reject.code.value, "message": message,
                           "record": reject.record.decode("utf-8", "replace")}, ensure_ascii=True)
        with self._lock:
            self.counts[reject.code.value] += 1
            self.by_file[reject.file, reject.code.value] += 1
            if self.places is not None:
                self.places.add((reject.file, reject.line))
            if self._path is None:
                return
            try:
                if self._file is None:
                    self._file = open(self._path, "w", encoding="utf-8", newline="\n", opener=private)  # noqa: SIM115
                self._file.write(line + "\n")
                self._file.flush()
            except OSError as error:
                raise InputError(f"The reject file {self._path} cannot be written: {error.strerror}.",
                                 hint="Name another one with --rejects.") from None
