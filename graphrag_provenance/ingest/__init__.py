"""Loading: standard records (spec 1) into the store, as runs."""

from graphrag_provenance.ingest.load import IngestOptions, Progress, Summary
from graphrag_provenance.ingest.loading import ingest

__all__ = ["IngestOptions", "Progress", "Summary", "ingest"]
