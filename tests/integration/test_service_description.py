"""The OpenAPI description holds: whatever it allows is answered as it says, whatever it forbids is refused (spec 5, HTTP)."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus.records import Store
from corpus.serving import listening, load, service_of

BOUNDS = """
[phases.coverage]
unexpected-methods = ["DELETE"]
# Its claims are those of /v1/trace, which is covered.
[[operations]]
include-path = "/v1/traces"
phases.coverage.enabled = false
"""


@pytest.fixture(scope="module")
def served(emptied: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Address, and the key of a reader who may ask everything."""
    load(emptied)
    app, keys, _ = service_of(emptied.database.connection, tmp_path_factory.mktemp("keys"))
    app.openapi()  # a busy machine needs longer for it than Schemathesis waits
    with listening(app) as url:
        yield url, keys["aud"]


def test_schemathesis_finds_nothing(served: tuple[str, str], tmp_path: Path) -> None:
    """Examples, coverage and fuzzing of every endpoint, bounded and always the same."""
    url, key = served
    tmp_path.joinpath("schemathesis.toml").write_text(BOUNDS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--header", f"Authorization: Bearer {key}",
         "--phases", "examples,coverage,fuzzing", "--max-examples", "3", "--seed", "1", "--generation-deterministic",
         "--continue-on-failure", "--request-timeout", "120", "--no-color"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
    assert re.search(r"Selected: (\d+)/\1\s+Tested: \1\b", done.stdout), done.stdout[-3000:]
