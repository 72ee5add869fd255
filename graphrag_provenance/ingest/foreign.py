"""A pipeline whose source is another tool's Neo4j (spec 5, "Pipelines").

Owns: which inputs of a pipeline are files of such a database, and how the run record calls them. Leaves to others: reading it
(`store.foreign`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest.pipelines import Bound, Pipeline, bind
from graphrag_provenance.store.database import Connection
from graphrag_provenance.store.foreign import FILES, dump_foreign


@contextmanager
def bound_to_neo4j(
    pipeline: Pipeline, source: Connection, *, given: Mapping[str, str] | None = None, options: Mapping[str, str] | None = None,
    allow_network: bool = False,
) -> Iterator[Bound]:
    """The pipeline bound to the database, which is read into a temporary folder. Raises InputError for one that reads no Neo4j, and
    what `bind` and `dump_foreign` raise."""
    inputs = {name: declared.file for name, declared in pipeline.inputs.items() if declared.file in FILES and name not in (given or {})}
    if not inputs:
        raise InputError(f"Pipeline '{pipeline.name}' reads no Neo4j.", hint=f"One that does has the inputs {' and '.join(FILES)}.")
    with tempfile.TemporaryDirectory(prefix="gprov-source-") as name:
        dump_foreign(source, Path(name))
        found = bind(pipeline, given={**(given or {}), **{one: f"{name}/{file}" for one, file in inputs.items()}}, options=options,
                     allow_network=allow_network)
        place = f"{source.uri}/{source.database}" if source.database else source.uri
        yield replace(found, told={one: f"{place}/{file}" for one, file in inputs.items()})
