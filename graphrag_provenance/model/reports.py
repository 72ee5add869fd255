"""What programs report about their own work: quotes to check, answers given, passages retrieved (spec 4).

Owns: the JSON of those files. They are no standard records: nothing in them enters the graph. Frozen, no unknown field, nothing
guessed.
"""

from __future__ import annotations

from graphrag_provenance.model.records import Identifier, Record, RevisionId, Unicode


class QuoteReport(Record):
    """A quote in full, and the passage that it is said to stand in."""

    id: Identifier | None = None
    """How the report calls it; default: its number in the file."""
    doc: RevisionId
    """The revision, `doc@ver`."""
    chunk: Identifier
    """The chunk inside that revision."""
    quote: Unicode
    """The quote, word for word."""
