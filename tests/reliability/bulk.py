"""Cuts of `gprov ingest --bulk`: afterwards the store is empty or whole, and doing again what the message says makes it whole.

Owns: a local server of its own, made empty again before each cut. What is killed is the command alone (the server, or the import tool
that it started, goes on), or everything that belongs to the home at once, as a loss of power does.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from graphrag_provenance.config import load_settings
from graphrag_provenance.server.local import LocalServer
from tests.corpus.records import write
from tests.reliability.cutting import Ended, asked, changed_environment, ended, typed
from tests.reliability.deeds import policy_file, records

BulkKind = Literal["client", "power"]
BULK_KINDS: tuple[BulkKind, ...] = ("client", "power")


class Bulk:
    """Bulk loads into one home, cut off."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self._folder, self._rng = folder, rng
        folder.mkdir()
        self._home = folder / "home"
        self._server = LocalServer(load_settings(home=self._home, workspace=folder))
        self._environment = {"GRAPHRAG_PROVENANCE_HOME": str(self._home)}
        source = write(folder / "records.jsonl", records())
        self._load = ("ingest", str(source), "--policies", str(policy_file(folder / "policies.toml")))
        self._bulk = (*self._load, "--bulk")
        self._hash, self.seconds = "", 0.0

    def __enter__(self) -> Bulk:
        """The uninterrupted load, which tells the graph hash and how long it takes; and the empty server to go back to."""
        self._server.start()
        assert self._run("schema", "apply").code == 0
        self._server.stop()
        shutil.copytree(self._data, self._folder / "empty")
        self._server.start()
        started = time.monotonic()
        done = self._run(*self._bulk)
        self.seconds = time.monotonic() - started
        assert done.code in (0, 1), done.err
        self._hash, wrong = self._checked()
        assert wrong == [], wrong
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def cut(self, kind: BulkKind, wrong: Callable[[str], None], after: float | None = None) -> str:
        """One cut, `after` so many seconds. Returns how it was completed."""
        self._empty()
        after = self._rng.uniform(0, self.seconds) if after is None else after
        place = f"{kind} cut {after:.2f} s into bulk"
        child = self._begin(*self._bulk)
        time.sleep(after)
        if kind == "power":
            os.kill(child.pid, signal.SIGSTOP)  # it starts nothing while the others die
            for process in self._processes():
                os.kill(process, signal.SIGKILL)
        child.kill()
        cut_off = ended(child)
        how = "needed nothing more" if cut_off.code in (0, 1) else "repeated"
        for command in (self._bulk, self._load):
            if how == "needed nothing more":
                break
            again = self._run(*command)
            if "Traceback" in again.err or again.code not in (0, 1, 3):
                wrong(f"{place}: exit code {again.code}: {again.err}")
            if again.code in (0, 1):
                break
            if "--bulk" in command and "Leave out --bulk" not in again.err:  # all else would be a loss: the store was empty, or whole
                wrong(f"{place}: not completed: {again.err}")
            how = "repeated without --bulk, the store was whole"
        found, violations = self._checked()
        if violations:
            wrong(f"{place}: verify: {violations}")
        if found != self._hash:
            wrong(f"{place}: graph hash {found}, without the cut {self._hash}")
        return f"{place}: {how}"

    @property
    def _data(self) -> Path:
        return self._server.layout.data

    def _empty(self) -> None:
        self._server.stop()
        shutil.rmtree(self._data)
        shutil.copytree(self._folder / "empty", self._data)
        if self._rng.random() < 0.5:
            self._server.start()  # a load finds a server that runs, or starts it

    def _processes(self) -> list[int]:
        """Every process of the home: the server, and the import tool."""
        found = []
        for place in Path("/proc").iterdir():
            try:
                home = (place / "environ").read_bytes() if place.name.isdigit() else b""
            except OSError:
                continue
            if f"NEO4J_HOME={self._server.layout.root}".encode() in home.split(b"\0"):
                found.append(int(place.name))
        return found

    def _begin(self, *arguments: str) -> subprocess.Popen[str]:
        return typed(self._folder, self._environment, *arguments)

    def _run(self, *arguments: str) -> Ended:
        return ended(self._begin(*arguments))

    def _checked(self) -> tuple[str, list[Any]]:
        with changed_environment(self._environment):
            verified = asked("verify", "--format", "json", "--workspace", str(self._folder)).json()
        return verified["graph_hash"], verified["violations"]
