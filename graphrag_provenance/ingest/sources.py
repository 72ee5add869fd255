"""Where input comes from: files, folders, standard input (spec 1, "What bad input gets").

Owns: the list of files, their hashes, and lines with their places. Reads in a stream: nothing holds a whole file. Standard
input is spooled to a temporary file once, since a load reads its input twice (sources first, then edges).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from graphrag_provenance.errors import InputError

STDIN = Path("-")
_BLOCK = 1 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """One input file."""

    name: str
    """As people know it (`-` for standard input)."""
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line of input with its place."""

    file: str
    number: int
    data: bytes
    """Without its line end; empty when it was too long."""
    too_long: int = 0
    """Length in bytes of a line that passed the limit, else 0."""


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of one source, one after the other."""

    source: Source
    start: int
    """Place of its first byte."""
    end: int
    number: int
    """Number of the line before it."""


@contextmanager
def open_sources(paths: Sequence[Path | Source]) -> Iterator[list[Source]]:
    """The files below `paths` (a folder: its `*.jsonl`, sorted; a source: itself).

    Raises InputError for a missing path or an empty folder.
    """
    spool: Path | None = None
    try:
        sources: list[Source] = []
        for path in paths:
            if isinstance(path, Source):
                sources.append(path)
            elif path == STDIN:
                spool = spool or _spool()
                sources.append(Source("-", spool, spool.stat().st_size))
            elif path.is_dir():
                files = sorted(p for p in path.rglob("*.jsonl") if p.is_file() and not p.name.endswith(".rejected.jsonl"))
                if not files:
                    raise InputError(f"The folder {path} holds no .jsonl file.", hint="Name the files, or another folder.")
                sources += [_source(p) for p in files]
            elif path.is_file():
                sources.append(_source(path))
            else:
                raise InputError(f"There is no file {path}.", hint="Check the path; '-' reads standard input.")
        if not sources:
            raise InputError("There is nothing to load.", hint="Name at least one file or folder, or '-'.")
        yield sources
    finally:
        if spool is not None:
            spool.unlink(missing_ok=True)


def _source(path: Path) -> Source:
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} cannot be read.", hint="Check its permissions.")
    return Source(str(path), path, path.stat().st_size)


def _spool() -> Path:
    with tempfile.NamedTemporaryFile(prefix="gprov-stdin-", suffix=".jsonl", delete=False) as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        return Path(file.name)


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    try:
        with source.path.open("rb", buffering=_BLOCK) as file:
            yield file
    except OSError as error:
        raise InputError(f"{source.name} cannot be read: {error.strerror}.", hint="Check the file, then load it again.") from None


def content_hash(source: Source) -> str:
    """`sha256:` of the file, for the run record."""
    digest = hashlib.sha256()
    with _opened(source) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return "sha256:" + digest.hexdigest()


def blocks(source: Source, size: int) -> Iterator[Block]:
    """A source as blocks of about that many bytes. Every block begins after the end of a line."""
    with _opened(source) as file:
        start = at = number = ended = 0
        while data := file.read(min(_BLOCK, size)):
            if at + len(data) - start >= size and (last := data.rfind(b"\n")) >= 0:
                yield Block(source, start, at + last + 1, number)
                ended += data.count(b"\n")
                start, number = at + last + 1, ended
            else:
                ended += data.count(b"\n")
            at += len(data)
        if start < at:
            yield Block(source, start, at, number)


def content(block: Block) -> bytes:
    """The bytes of a block."""
    with _opened(block.source) as file:
        file.seek(block.start)
        return file.read(block.end - block.start)


def lines(source: Source | Block, limit: int) -> Iterator[Line]:
    """Every line that is not blank. A byte-order mark is skipped, `\\r\\n` ends a line; a line over `limit` bytes comes as
    `too_long`, without its content, and the next one is read normally."""
    block = source if isinstance(source, Block) else Block(source, 0, 1 << 63, 0)
    source = block.source
    with _opened(source) as file:
        if block.start:
            file.seek(block.start)
        number, left = block.number, block.end - block.start
        while left > 0 and (data := file.readline(limit + 2)):
            number += 1
            left -= len(data)
            if len(data) > limit and not data.endswith(b"\n"):
                length = len(data)
                while data and not data.endswith(b"\n"):
                    data = file.readline(_BLOCK)
                    length += len(data)
                    left -= len(data)
                yield Line(source.name, number, b"", too_long=length - (len(data) - len(data.rstrip(b"\r\n"))))
                continue
            if number == 1 and data.startswith(_BOM):
                data = data[len(_BOM):]
            data = data.rstrip(b"\r\n")
            if len(data) > limit:
                yield Line(source.name, number, b"", too_long=len(data))
            elif data.strip():
                yield Line(source.name, number, data)
