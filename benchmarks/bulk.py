"""The first load by import files, beside the import of the same bare entities and edges.

Owns: what the floor's files hold: ids, labels and types, nothing else. Both imports run in a home of their own, through the same jars.
Processor time is that of this process and of all that it started and that has ended, the import among them.
"""

from __future__ import annotations

import csv
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from data import Corpus
from loads import Input
from reporting import Goal, Report, seconds_of
from servers import Bench

from graphrag_provenance.config import load_settings
from graphrag_provenance.exports.import_files import ImportFolder, import_arguments, read_manifest
from graphrag_provenance.ingest.bulk import bulk_load
from graphrag_provenance.server.admin import import_files
from graphrag_provenance.server.local import LocalServer


def measure_bulk(server: Bench, given: Input, rounds: int, report: Report) -> None:
    """Import of bare files; records to import files, and their import."""
    count = len(given.corpus.edges)
    with tempfile.TemporaryDirectory(prefix="gprov-bench-bulk-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        settings = load_settings(workspace=folder, home=folder / "home").model_copy(update={"neo4j_uri": None})
        local = LocalServer(settings, version=server.version)
        bare = _bare_files(given.corpus, _fresh(folder / "bare"))
        for number in range(rounds + 1):
            floor = _cost(lambda: import_files(local, bare))
            files = _fresh(folder / "files")
            made = _cost(lambda: _make(given, files))  # noqa: B023
            taken = _cost(lambda: import_files(local, import_arguments(files)))  # noqa: B023
            if number == 0 and rounds:
                continue
            steps = {"floor: import of bare files": floor, "bulk: import files made": made, "bulk: import of these": taken}
            for step, (seconds, cpu) in steps.items():
                report.value(step, "s", seconds)
                report.value(f"{step}, processor time", "s", cpu)
            report.value("bulk load", "edges/s", count / (made[0] + taken[0]))
            report.value("bulk: size of the import files", "MB", sum(one.stat().st_size for one in files.iterdir()) / 1e6)
            report.ratio("bulk load / import of bare files", floor[0] / (made[0] + taken[0]), Goal("≥", 0.4))
            report.ratio("bulk load / import of bare files, by processor time", floor[1] / (made[1] + taken[1]))


def _make(given: Input, files: Path) -> None:
    summary = bulk_load(given.files, replace(given.options), ImportFolder(files), files / "unfinished")
    if summary.findings or read_manifest(files)["graph_hash"] != summary.run["graph_hash"]:
        raise SystemExit(f"The bulk load has findings: {summary.rejected}, {dict(summary.outcome.edges)}.")


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _cost(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the clock and of the processors."""
    def used() -> float:
        return sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

    before = used()
    seconds = seconds_of(work)
    return seconds, used() - before


@contextmanager
def _table(path: Path, *header: str) -> Iterator[Any]:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(header)
        yield rows


def _bare_files(data: Corpus, folder: Path) -> list[str]:
    with _table(folder / "nodes.csv", ":ID", ":LABEL", "id") as rows:
        rows.writerows((one["id"], one["label"], one["id"]) for one in data.entities)
    with _table(folder / "edges.csv", ":START_ID", ":END_ID", ":TYPE") as rows:
        rows.writerows((one["source"], one["target"], one["type"]) for one in data.edges)
    return [f"--nodes={folder}/nodes.csv", f"--relationships={folder}/edges.csv"]
