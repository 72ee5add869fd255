"""The stages of a first load on one machine: processes, and files between them (spec 6, bulk load).

Owns: how messages travel here. One message is one file, in the folder of the part that it is for, and goes when that part is done: on
disk stands what is still to be worked on. A part that fails ends the load. Leaves to others: what is said (`ingest.stages`).

Memory: one part or block a process, whatever the size of the input.
"""

from __future__ import annotations

import errno
import multiprocessing
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from graphrag_provenance.errors import InputError, StoreError
from graphrag_provenance.ingest.partitions import Job, Stage, Told, rejects_of, told_by
from graphrag_provenance.ingest.stages import carry_out
from graphrag_provenance.store.counting import Reject


class Shuffle:
    """The messages of one load, in a folder."""

    def __init__(self, folder: Path, pool: ProcessPoolExecutor | None) -> None:
        self._folder = folder
        self._pool = pool

    def carry_out(self, stage: Stage, job: Job, done: Callable[[int], None]) -> Told:
        """Every part of a stage; returns what they come to. `done` is called with each part that is done."""
        parts = range(len(job.blocks) if stage is Stage.READ else job.parts)
        total = Told()
        for part, told in self._all(stage, job, parts):
            total.add(told)
            done(part)
        return total

    def _all(self, stage: Stage, job: Job, parts: Iterable[int]) -> Iterator[tuple[int, Told]]:
        if self._pool is None:
            for part in parts:
                yield part, _work(self._folder, stage, job, part)
            return
        left, running = iter(parts), dict[Future[Told], int]()
        while True:
            for part in islice(left, 2 * multiprocessing.cpu_count() + 2 - len(running)):
                running[self._pool.submit(_work, self._folder, stage, job, part)] = part
            if not running:
                return
            for one in wait(running, return_when=FIRST_COMPLETED).done:
                try:
                    yield running.pop(one), one.result()
                except BrokenProcessPool:
                    raise StoreError("A process of the load was ended from outside, perhaps for want of memory.",
                                     hint="Nothing was loaded; try again with fewer --workers.") from None

    def rejects(self, block: int) -> list[Reject]:
        """What was refused of the lines of a block, in their order."""
        return rejects_of(_bodies(self._folder / Stage.REJECTS / str(block)))


@contextmanager
def shuffle(folder: Path, workers: int) -> Iterator[Shuffle]:
    """The means for one load: so many processes (1: this one), and files below `folder`."""
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) if workers > 1 else None
    try:
        yield Shuffle(folder, pool)
    except OSError as error:
        raise disk_error(error, folder) from None
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def disk_error(error: OSError, folder: Path) -> InputError:
    """What to say of files that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"The disk is full: {folder}.", hint="Nothing was loaded; make room, or name a folder on another disk.")
    return InputError(f"{error.filename or folder} cannot be written: {error.strerror}.", hint="Nothing was loaded.")


def _work(folder: Path, stage: Stage, job: Job, part: int) -> Told:
    inbox = folder / stage / str(part)
    told = Told()
    for number, (to, place, body) in enumerate(carry_out(stage, job, part, _bodies(inbox))):
        if to is Stage.TOLD:
            told = told_by(body)
            continue
        target = folder / to / str(place)
        target.mkdir(parents=True, exist_ok=True)
        (target / f"{stage}-{part}-{number}").write_bytes(body)
    shutil.rmtree(inbox, ignore_errors=True)
    return told


def _bodies(inbox: Path) -> Iterator[bytes]:
    if inbox.is_dir():
        for file in inbox.iterdir():
            yield file.read_bytes()
