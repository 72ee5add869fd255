"""The corpus as input of the product, and its load.

Owns: that a load which refuses or withholds something ends the measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import data
from servers import PIPELINE, Bench

from graphrag_provenance.config import Settings
from graphrag_provenance.ingest import IngestOptions, Summary, ingest
from graphrag_provenance.rules.policies import parse_policies


@dataclass(frozen=True, slots=True)
class Input:
    """The corpus, and the same as record files."""

    corpus: data.Corpus
    files: list[Path]
    options: IngestOptions


def prepared(edges: int, folder: Path, workers: int | None = None, batch_size: int | None = None) -> Input:
    """The corpus written as standard records, and how they are loaded: as the command line does by default."""
    corpus = data.corpus(edges)
    file = data.write_lines(data.records(corpus), folder / "records.jsonl")
    options = IngestOptions(
        policies=parse_policies(data.POLICY_FILE, "the benchmark's policies"), tenant=data.TENANT, actor="benchmark",
        pipeline=PIPELINE, batch_size=batch_size or Settings.model_fields["batch_size"].default,
        rejects=folder / "rejected.jsonl", **({} if workers is None else {"workers": workers}))
    return Input(corpus, [file], options)


def load(server: Bench, given: Input) -> Summary:
    """One full load; a record that is refused or withheld spoils the measurement, so it ends it."""
    summary = ingest(server.database, given.files, given.options)
    if summary.findings:
        raise SystemExit(f"The load has findings: {summary.rejected}, {dict(summary.outcome.edges)}.")
    return summary
