"""Loading: standard records (spec 1) into the store, as runs."""

from graphrag_provenance.ingest.loading import IngestOptions, Progress, Summary, ingest

__all__ = ["IngestOptions", "Progress", "Summary", "ingest"]
