"""A small store that is served: four readers of two tenants, the same names in both, and what some of them may not see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from corpus.records import Store, chunk, cites, document, edge, entity, revision, sha256
from graphrag_provenance.config import Settings
from graphrag_provenance.interfaces.http import running
from graphrag_provenance.interfaces.http.app import create_app
from graphrag_provenance.interfaces.http.identity import identity_for
from graphrag_provenance.interfaces.http.keys import new_key
from graphrag_provenance.interfaces.http.service import Service
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.store.database import Connection
from graphrag_provenance.store.loop import LoopDatabase

READERS = {
    "ann": Reader("ann", "ACME", frozenset({"internal"})),
    "bob": Reader("bob", "ACME", frozenset({"public"})),
    "aud": Reader("aud", "ACME", frozenset({"secret"}), frozenset(Role)),
    "eve": Reader("eve", "OTHER", frozenset({"internal"})),
    "odd": Reader("odd", "ACME", frozenset({"pubilc"})),
}


def _records(tenant: str, policy: str) -> list[dict[str, Any]]:
    of = {"tenant": tenant}
    access = {"access": of}
    made: list[dict[str, Any]] = [document("d", policy=policy, **of), document("s", policy="secret", **of),
                                  document("p", policy="public", **of)]
    for doc, text in (("d@1", f"The {tenant} ledger needs the vault."), ("s@1", f"A {tenant} secret."), ("p@1", f"{tenant} says so.")):
        made += [revision(doc, **of), chunk(doc, "c", text=text, content_sha256=sha256(text), **of)]
    made += [revision("d@2", effective_at="2026-02-01T00:00:00Z", supersedes="d@1", **of), chunk("d@2", "c", **of)]
    made += [entity(f"System:{name}", name=f"{tenant} {name}", **of) for name in "abcd"]
    return [*made,
            edge("System:a", "calls", "System:b", "p@1#c", edge_id="ab", **access),
            edge("System:b", "calls", "System:c", "d@1#c", "d@2#c", edge_id=f"bc-{tenant}", **access),
            edge("System:c", "calls", "System:d", "s@1#c", edge_id=f"cd-{tenant}", **access),
            edge("System:a", "owns", "System:d", cites("p@1#c", policy="pubilc"), edge_id=f"odd-{tenant}", **access)]


def load(store: Store, *, other: bool = True) -> None:
    """Both tenants, as two runs. In ACME the middle step is internal, in OTHER it is public."""
    store.load(*_records("ACME", "internal"))
    if other:
        store.load(*_records("OTHER", "public"))
    store.cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")


def key_file(folder: Path, readers: Mapping[str, Reader] = READERS) -> tuple[Path, dict[str, str]]:
    """A file of API keys, and the key of each reader."""
    made = {name: new_key(one.principal, one.tenant, sorted(one.clearances), sorted(one.roles)) for name, one in readers.items()}
    path = folder / "keys.toml"
    path.touch(mode=0o600, exist_ok=True)
    path.write_text("".join(entry.as_toml() for _, entry in made.values()), encoding="utf-8")
    return path, {name: key for name, (key, _) in made.items()}


@dataclass(frozen=True)
class Served:
    """An application that runs, and who may ask it."""

    app: FastAPI
    client: TestClient
    keys: dict[str, str]
    settings: Settings

    def headers(self, who: str) -> dict[str, str]:
        """The headers by which a reader is known."""
        return {"Authorization": f"Bearer {self.keys[who]}"}

    def get(self, who: str, path: str, **params: Any) -> Any:
        """A GET by a reader."""
        return self.client.get(path, params=params, headers=self.headers(who))

    def post(self, who: str, path: str, body: Any) -> Any:
        """A POST by a reader."""
        return self.client.post(path, content=json.dumps(body), headers={**self.headers(who), "Content-Type": "application/json"})


def settings_of(folder: Path, **more: Any) -> tuple[Settings, dict[str, str]]:
    """Settings of a service with a file of keys."""
    path, keys = key_file(folder)
    return Settings(serve_api_keys=path, serve_burst=10_000, serve_rate_per_minute=100_000, serve_timeout_seconds=120, **more), keys


def service_of(connection: Connection, folder: Path, **more: Any) -> tuple[FastAPI, dict[str, str], Settings]:
    """A service of the store at `connection`, the keys of its readers, and its settings."""
    settings, keys = settings_of(folder, **more)
    database = LoopDatabase(connection, read_timeout=120, retry_seconds=0.5)
    return create_app(Service(database, settings), identity_for(settings)), keys, settings


@contextmanager
def listening(app: ASGIApp) -> Iterator[str]:
    """The address of an application that listens on loopback, in a thread of this process."""
    with running.listening(Settings(serve_port=0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)


@contextmanager
def serving(connection: Connection, folder: Path, **more: Any) -> Iterator[Served]:
    """A service of the store at `connection`, in this process."""
    app, keys, settings = service_of(connection, folder, **more)
    with TestClient(app, base_url="http://testserver", raise_server_exceptions=True) as client:
        yield Served(app, client, keys, settings)


def browser_of(client: TestClient, scheme: str = "http") -> TestClient:
    """A browser of the application that `client` runs, on its event loop."""
    made = TestClient(client.app, base_url=f"{scheme}://testserver", follow_redirects=False, headers={"Accept": "text/html"})
    made.portal = client.portal
    return made


@contextmanager
def serve_process(connection: Connection, folder: Path, **more: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """`gprov serve` as a process of its own: its address, and the keys of its readers. It has ended well when this ends."""
    path, keys = key_file(folder)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_"))},
        "NEO4J_URI": connection.uri, "NEO4J_USERNAME": connection.username,
        "NEO4J_PASSWORD": connection.password.get_secret_value(), "GRAPHRAG_PROVENANCE_SERVE_API_KEYS": str(path),
        "GRAPHRAG_PROVENANCE_SERVE_BURST": "100000", "GRAPHRAG_PROVENANCE_SERVE_RATE_PER_MINUTE": "1000000",
        **{f"GRAPHRAG_PROVENANCE_{name.upper()}": str(value) for name, value in more.items()},
    }
    command = [sys.executable, "-m", "graphrag_provenance.interfaces.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            first = process.stderr.readline()
            assert first.startswith("Serving at http://127.0.0.1:"), first + process.stderr.read()
            yield first.split()[2].rstrip("."), keys
        finally:
            process.terminate()
        assert process.wait(60) == 0
