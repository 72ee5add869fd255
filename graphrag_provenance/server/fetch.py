"""Fetches the jars of Neo4j into the user's cache, so that only files named in a shipped lock are ever run.

Owns: the rule that a file counts only when its size and SHA-256 are those of the lock. A file appears under its final
name in one step (temporary file, then rename), so a cut download is never mistaken for a jar and several processes may
fetch into one cache at once. Files that are right already are verified and not fetched again.
Leaves to others: running the jars (`local`), showing progress (`progress`).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import ConfigurationError, ServerError
from graphrag_provenance.server.extra import load_extra

if TYPE_CHECKING:
    import httpx

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all; calls come one at a time, from any thread."""

_WORKERS = 16
_ATTEMPTS = 4
_LOCK_SUFFIX = ".lock.json"
_STALE_SECONDS = 86_400.0
_TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of a lock: its path in a Maven repository, its SHA-256 in hex and its size in bytes."""

    path: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """File name."""
        return self.path.rpartition("/")[2]


class _TransientFault(Exception):
    """A download that may go well if tried again."""


class _Meter:
    """Adds up bytes over all threads and reports them in order."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._lock = threading.Lock()
        self._done = 0
        self._total = total
        self._progress = progress

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            if self._progress is not None:
                self._progress(self._done, self._total)


def locked_versions() -> tuple[str, ...]:
    """The Neo4j versions that have a shipped lock, in name order."""
    folder = files("graphrag_provenance.server") / "locks"
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(n[len("neo4j-") : -len(_LOCK_SUFFIX)] for n in names if n.endswith(_LOCK_SUFFIX)))


def read_lock(version: str) -> tuple[Artifact, ...]:
    """The jars of that Neo4j version. Raises ConfigurationError if no lock of it is shipped."""
    if version not in locked_versions():
        raise ConfigurationError(
            f"Neo4j {version} is not a version that the local server knows.",
            hint=f"Choose one of {', '.join(locked_versions())}, or set NEO4J_URI to use a server of your own.",
        )
    text = (files("graphrag_provenance.server") / "locks" / f"neo4j-{version}{_LOCK_SUFFIX}").read_text("utf-8")
    return tuple(Artifact(**entry) for entry in json.loads(text))


def maven_cache(settings: Settings) -> Path:
    """The folder that mirrors the Maven repository's layout. Raises ConfigurationError if Java could not read it."""
    folder = settings.cache.expanduser().absolute() / "maven"
    if os.pathsep in str(folder):
        raise ConfigurationError(
            f"The cache folder {folder} has a '{os.pathsep}' in its path, which a Java class path cannot hold.",
            hint="Set GRAPHRAG_PROVENANCE_CACHE to another folder.",
        )
    return folder


def looks_fetched(artifacts: Sequence[Artifact], folder: Path) -> bool:
    """Whether every file is there with its size: a glance, not a verification."""
    return all(_size_of(folder / artifact.path) == artifact.size for artifact in artifacts)


def fetch(artifacts: Sequence[Artifact], settings: Settings, progress: Progress | None = None) -> list[Path]:
    """Makes every artifact present and verified in the cache; returns their paths in the order given.

    Raises ServerError naming the file that has the wrong content or cannot be fetched.
    """
    folder = maven_cache(settings)
    meter = _Meter(sum(artifact.size for artifact in artifacts), progress)
    with ThreadPoolExecutor(_WORKERS) as pool:
        right = list(pool.map(lambda artifact: _is_right(artifact, folder), artifacts))
    missing = [artifact for artifact, ok in zip(artifacts, right, strict=True) if not ok]
    if missing:
        meter.add(sum(artifact.size for artifact, ok in zip(artifacts, right, strict=True) if ok))
        _fetch_missing(missing, folder, settings, meter)
    return [folder / artifact.path for artifact in artifacts]


def _fetch_missing(missing: Sequence[Artifact], folder: Path, settings: Settings, meter: _Meter) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
    except OSError as error:
        raise ServerError(
            f"The cache folder {folder} cannot be used: {error.strerror}.",
            hint="Set GRAPHRAG_PROVENANCE_CACHE to a folder that you may write.",
        ) from error
    http = load_extra("httpx")
    base = _base_url(settings, http)
    limits = http.Limits(max_connections=_WORKERS, max_keepalive_connections=_WORKERS)
    headers = {"Accept-Encoding": "identity"}
    with http.Client(follow_redirects=True, timeout=30.0, limits=limits, headers=headers) as client:
        pool = ThreadPoolExecutor(_WORKERS)
        try:
            # Large files first: the last to end is then a small one.
            ordered = sorted(missing, key=lambda artifact: -artifact.size)
            jobs = [pool.submit(_fetch_one, client, http, base, artifact, folder, meter) for artifact in ordered]
            wait(jobs, return_when=FIRST_EXCEPTION)
            for job in jobs:
                if job.done():
                    job.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _base_url(settings: Settings, http: Any) -> httpx.URL:
    text = settings.maven_url or str(load_extra("jgo.constants").MAVEN_CENTRAL_URL)
    try:
        url: httpx.URL = http.URL(text.rstrip("/") + "/")
    except http.InvalidURL:
        url = http.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigurationError(
            "The setting 'maven_url' is not an http or https address.",
            hint="Set GRAPHRAG_PROVENANCE_MAVEN_URL to the base address of a Maven repository, or unset it.",
        )
    return url


def _fetch_one(
    client: httpx.Client, http: Any, base: httpx.URL, artifact: Artifact, folder: Path, meter: _Meter
) -> None:
    fault: Exception | None = None
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(min(4.0, 0.25 * 2**attempt) * random.uniform(0.5, 1.0))
        counted = 0

        def count(size: int) -> None:
            nonlocal counted
            counted += size
            meter.add(size)

        try:
            _download(client, base.join(artifact.path), artifact, folder / artifact.path, count)
            return
        except (http.TransportError, _TransientFault) as error:
            fault = error
            meter.add(-counted)
        except OSError as error:
            raise ServerError(
                f"{artifact.name} cannot be written to the cache folder {folder}: {error.strerror}.",
                hint="Make room there or set GRAPHRAG_PROVENANCE_CACHE to another folder.",
            ) from error
    raise ServerError(
        f"{artifact.name} could not be fetched from {base.host} in {_ATTEMPTS} attempts: {_reason(fault)}.",
        hint="Check the network and run the command again (what is there already is kept), "
        "or set GRAPHRAG_PROVENANCE_MAVEN_URL to a mirror.",
    ) from fault


def _download(
    client: httpx.Client, url: httpx.URL, artifact: Artifact, target: Path, count: Callable[[int], None]
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with client.stream("GET", url) as response:
        if response.status_code in _TRANSIENT_STATUS:
            raise _TransientFault(f"the server answered {response.status_code}")
        if response.status_code != 200:
            raise ServerError(
                f"{artifact.name} cannot be fetched from {url.host}: the server answered {response.status_code}.",
                hint="Check GRAPHRAG_PROVENANCE_MAVEN_URL (the base address of a Maven repository).",
            )
        handle, temporary = tempfile.mkstemp(prefix=f".{artifact.name}.", suffix=".part", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                _copy_verified(response, artifact, out, count)
            os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


def _copy_verified(response: httpx.Response, artifact: Artifact, out: Any, count: Callable[[int], None]) -> None:
    digest = hashlib.sha256()
    received = 0
    for chunk in response.iter_bytes(1 << 16):
        received += len(chunk)
        if received > artifact.size:
            raise _mismatch(artifact, f"it is longer than {artifact.size:,} bytes")
        digest.update(chunk)
        out.write(chunk)
        count(len(chunk))
    if received < artifact.size:
        raise _TransientFault(f"the answer ended after {received:,} of {artifact.size:,} bytes")
    if digest.hexdigest() != artifact.sha256:
        raise _mismatch(artifact, "its SHA-256 is another")


def _mismatch(artifact: Artifact, why: str) -> ServerError:
    return ServerError(
        f"{artifact.path} is not the file that the lock names: {why}; it was not kept.",
        hint="The repository or something on the way changed it: use another mirror (GRAPHRAG_PROVENANCE_MAVEN_URL).",
    )


def _is_right(artifact: Artifact, folder: Path) -> bool:
    path = folder / artifact.path
    if _size_of(path) != artifact.size:
        return False
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == artifact.sha256
    except OSError:
        return False


def _size_of(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _sweep(folder: Path) -> None:
    """Removes what killed processes left behind; a day is far longer than any download takes."""
    oldest = time.time() - _STALE_SECONDS
    for part in folder.rglob(".*.part"):
        with suppress(FileNotFoundError):
            if part.stat().st_mtime < oldest:
                part.unlink()


def _reason(fault: Exception | None) -> str:
    return (str(fault) or type(fault).__name__).rstrip(".")
