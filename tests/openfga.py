"""A real OpenFGA server for the tests: built once from its Go module, kept in the user's cache, started on loopback.

Where Go is missing, and no server was built before, the tests that need it are skipped and say so.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from graphrag_provenance.config import load_settings

VERSION = "v1.22.1"
MODULE = "github.com/openfga/openfga/cmd/openfga"
_BUILD_SECONDS, _START_SECONDS = 1_800, 60


def binary() -> Path:
    """The server, built if there is none. Skips the test where it cannot be."""
    found, missing = build()
    if missing is not None:
        pytest.skip(f"no OpenFGA: {missing}")
    return found


def build() -> tuple[Path, str | None]:
    """Where the server is, and why it is not there. One process builds, with what the machine has left; others wait for it."""
    place = load_settings(workspace=Path("/nonexistent")).cache / "openfga" / VERSION
    found = place / "openfga"
    if found.is_file():
        return found, None
    go = shutil.which("go")
    if go is None:
        return found, f"{found} does not exist, and Go, which would build it, is not installed"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if found.is_file():
            return found, None
        built = subprocess.run(
            ["nice", go, "install", f"{MODULE}@{VERSION}"], env={**os.environ, "GOBIN": str(place), "GOFLAGS": "-trimpath"}, cwd=place,
            capture_output=True, text=True, check=False, timeout=_BUILD_SECONDS)
    return found, None if built.returncode == 0 else f"it could not be built: {built.stderr.strip()[-300:]}"


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


@contextmanager
def running(log: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server of its own, in memory: its address and its process."""
    http, grpc = free_port(), free_port()
    with log.open("wb") as out:
        process = subprocess.Popen(
            [binary(), "run", "--datastore-engine", "memory", "--http-addr", f"127.0.0.1:{http}", "--grpc-addr", f"127.0.0.1:{grpc}",
             "--playground-enabled=false", "--metrics-enabled=false", "--log-level", "warn", *options], stdout=out, stderr=out)
    url = f"http://127.0.0.1:{http}"
    try:
        _wait(url, process, log)
        yield url, process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5) as answer:
                if json.load(answer)["status"] == "SERVING":
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"OpenFGA did not start: {log.read_text(errors='replace')[-500:]}")


def call(url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """One call of the server's own HTTP interface, past the product."""
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


class Server:
    """A store with its authorization model on a running server."""

    def __init__(self, url: str, model: dict[str, Any]) -> None:
        self.url = url
        self.store: str = call(url, "/stores", {"name": "test"})["id"]
        self.model: str = call(url, f"/stores/{self.store}/authorization-models", model)["authorization_model_id"]

    def tuples(self, verb: str, *tuples: tuple[str, str, str]) -> None:
        """Write or delete (user, relation, object), a hundred at a time."""
        for start in range(0, len(tuples), 100):
            keys = [dict(zip(("user", "relation", "object"), one, strict=True)) for one in tuples[start:start + 100]]
            call(self.url, f"/stores/{self.store}/write", {verb: {"tuple_keys": keys}, "authorization_model_id": self.model})
