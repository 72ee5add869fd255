"""Runs as OpenLineage events (spec 5, exports).

Owns: which event says what about a run: START when it began, COMPLETE, FAIL or ABORT when it ended; its files are the inputs, the graph
is the output, the pipeline is the job. The id of the run is the store's, so the same run is the same run in every export. Leaves to
others: the event classes (package `openlineage-python`), what the run facet holds (`model.lineage`), what may be read (`store.exporting`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from graphrag_provenance.errors import InputError, MissingExtraError, StoreError
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.model.lineage import FACET, FACET_SCHEMA, RunFacetReport
from graphrag_provenance.store.exporting import Everything
from graphrag_provenance.version import __version__

try:
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import (
        RunFacet,
        dataset_version_dataset,
        input_statistics_input_dataset,
        job_type_job,
        processing_engine_run,
    )
    from openlineage.client.serde import Serde
except ImportError as error:
    raise MissingExtraError(
        f"OpenLineage needs the package '{(error.name or 'openlineage').partition('.')[0]}', which is not installed.",
        hint="Run: pip install 'graphrag-provenance[export]'.") from None

NAMESPACE = "graphrag-provenance"
PRODUCER = f"urn:gprov:producer:{__version__}"
GRAPH = "graph"
"""Name of the output: the graph of the store, whose version is its hash."""
_ENDS = {"finished": RunState.COMPLETE, "failed": RunState.FAIL, "interrupted": RunState.ABORT}


class _GprovRunFacet(RunFacet):
    @staticmethod
    def _get_schema() -> str:
        return FACET_SCHEMA


def run_events(
    everything: Everything, *, first: int | None = None, last: int | None = None, namespace: str = NAMESPACE,
) -> Iterator[str]:
    """The events of the runs from `first` to `last`, each a line of JSON, in order. Raises InputError for a range that is none."""
    if first is not None and last is not None and first > last:
        raise InputError(f"There are no runs from {first} to {last}.", hint="Write the smaller number first.")
    for row in everything.runs():
        seq = row["node"]["seq"]
        if (first is None or seq >= first) and (last is None or seq <= last):
            for event in _events(row["node"], namespace):
                yield json.dumps(Serde.to_dict(event), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _events(run: Mapping[str, Any], namespace: str) -> Iterator[RunEvent]:
    try:
        yield _event(run, namespace, RunState.START)
        if run["status"] in _ENDS:
            yield _event(run, namespace, _ENDS[run["status"]])
    except (KeyError, TypeError, ValueError):
        raise StoreError(f"Run {run.get('seq')} is not recorded as a run is.", hint="See: gprov audit verify.") from None


def _event(run: Mapping[str, Any], namespace: str, state: RunState) -> RunEvent:
    ended = state is not RunState.START
    inputs = json.loads(run["inputs"])
    files = [one for one in inputs if "name" in one and "sha256" in one]
    told = RunFacetReport(
        seq=run["seq"], kind=run["kind"], actor=run["actor"], pipeline_version=run["version"], trace_id=run["trace_id"],
        status=run["status"] if ended else "running", policies_hash=run.get("policies_hash"), resumes=run.get("resumes"),
        graph_hash=run.get("graph_hash") if ended else None, digest=run.get("digest") if ended else None,
        previous=run.get("previous") if ended else None, counts=json.loads(run["counts"]) if ended else {},
        parameters=[one for one in inputs if one not in files])
    facets: dict[str, Any] = {
        FACET: _GprovRunFacet(producer=PRODUCER).with_additional_properties(**told.model_dump(exclude_none=True)),
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            version=__version__, name="graphrag-provenance", producer=PRODUCER)}
    kind = job_type_job.JobTypeJobFacet(processingType="BATCH", integration="GPROV", jobType=run["kind"].upper(), producer=PRODUCER)
    return RunEvent(
        eventType=state, eventTime=format_instant(run["finished_at" if ended else "started_at"]), producer=PRODUCER,
        run=Run(run["run_id"], facets),
        job=Job(namespace, run["pipeline"], {"jobType": kind}),
        inputs=[_input(one) for one in files],
        outputs=[OutputDataset(namespace, GRAPH, facets={"version": dataset_version_dataset.DatasetVersionDatasetFacet(
            datasetVersion=run["graph_hash"], producer=PRODUCER)})] if ended and run.get("graph_hash") else [])


def _input(file: Mapping[str, Any]) -> InputDataset:
    """A file by its name, or by its address, as OpenLineage names datasets; its version is its hash."""
    place = urlsplit(file["name"]) if "://" in file["name"] else None
    facets: dict[str, Any] = {"version": dataset_version_dataset.DatasetVersionDatasetFacet(
        datasetVersion=file["sha256"], producer=PRODUCER)} if file["sha256"] else {}
    read: dict[str, Any] = {"inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
        size=file.get("bytes"), fileCount=1, producer=PRODUCER)}
    return InputDataset(
        f"{place.scheme}://{place.netloc}" if place else "file", place.path.lstrip("/") if place else file["name"],
        facets=facets, inputFacets=read)
