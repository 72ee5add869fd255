"""One execution of a pipeline: extract, load, report (spec 5, "Pipelines").

Owns: what the run record says the input was: the source's files and the pipeline's own, each with its hash, and the options; so that
a load that was cut off is completed only with the same of all three.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest.extract import extract
from graphrag_provenance.ingest.load import IngestOptions, Progress, Summary
from graphrag_provenance.ingest.loading import ingest
from graphrag_provenance.ingest.losses import LossReport, report
from graphrag_provenance.ingest.pipelines import Bound
from graphrag_provenance.ingest.sources import Source, content_hash
from graphrag_provenance.ingest.staging import stage
from graphrag_provenance.model.identifiers import canonical_json
from graphrag_provenance.store.database import Database


def run_pipeline(
    database: Database, bound: Bound, options: IngestOptions, *, memory_mb: int = 512, allow_network: bool = False,
    progress: Callable[[Progress], None] | None = None, notify: Callable[[str], None] | None = None,
) -> tuple[Summary, LossReport]:
    """Load what the pipeline makes of its inputs, as one run. Raises what `extract` and `ingest` raise; nothing is loaded before every
    query has given all of its rows."""
    pipeline = bound.pipeline
    with tempfile.TemporaryDirectory(prefix="gprov-pipeline-") as name:
        made_from = _made_from(bound)
        extracted = extract(bound, Path(name), memory_mb=memory_mb, max_line_bytes=options.max_line_bytes, allow_network=allow_network)
        if _made_from(bound) != made_from:
            raise InputError("An input changed while it was read.", hint="Nothing was loaded; run the pipeline again.")
        asked = replace(options, pipeline=pipeline.name, version=pipeline.version, made_from=made_from,
                        unreadable=extracted.unreadable)
        summary = (stage if asked.stage else ingest)(database, extracted.sources, asked, progress=progress, notify=notify)
        return summary, report(pipeline, extracted, summary, options.max_line_bytes)


def _made_from(bound: Bound) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = []
    for name, place in bound.files.items():
        if isinstance(place, Path):
            files.append(_file(bound.told.get(name, str(place)), place))
        elif place is not None:
            files.append({"name": place, "bytes": None, "sha256": ""})  # an address has no hash before it is read
    files += [_file(f"{bound.pipeline.name}/{path.name}", path) for path in bound.pipeline.files]
    if bound.values:
        told = canonical_json(dict(bound.values))
        files.append({"name": f"{bound.pipeline.name}/options", "bytes": len(told), "sha256": "sha256:" + hashlib.sha256(told).hexdigest()})
    return files


def _file(name: str, path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    return {"name": name, "bytes": size, "sha256": content_hash(Source(name, path, size))}
