"""What the retrievers of all frameworks share (spec 5, for GraphRAG frameworks).

Owns: that a retriever has a reader, what it asks the store, what a program finds beside each piece of text, and the sentence about a
package that is not installed. Leaves to others: what is found (`Store.context`), the shape that a framework wants.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_provenance.api.store import ContextOptions, Entity, Store
from graphrag_provenance.errors import MissingExtraError
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Json
from graphrag_provenance.rules.context import Context
from graphrag_provenance.rules.telling import Part
from graphrag_provenance.store.readers import require_reader


class Retrieving:
    """A store, who reads, and how a context is made."""

    def __init__(self, store: Store, reader: Reader, options: ContextOptions) -> None:
        require_reader(reader)
        self._store, self._reader, self._options = store, reader, options

    def context(
        self, question: str | None, *, entities: Sequence[Entity] = (), claims: Sequence[tuple[Entity, Entity]] = (),
    ) -> Context:
        """What a model may see of a question, of entities, of claims."""
        return self._store.context(question or None, reader=self._reader, entities=entities, claims=claims, **self._options)


def beside(context: Context, part: Part) -> Json:
    """What a program finds beside the text of a part: the edge and the citations of its marks; for a note, what is missing."""
    if part.edge is None:
        return {
            "kind": "note", "left_out": context.left_out, "uncounted": context.uncounted,
            "unresolved": [one.as_json() for one in context.unresolved], "claims": [one.as_json() for one in context.claims],
            "generation": context.generation}
    return {
        "kind": "edge", "edge_id": part.edge["edge_id"], "edge": part.edge, "generation": context.generation,
        "citations": [context.citations[n - 1].as_json() for n in part.citations], "sources_left_out": part.sources_left_out}


def missing(framework: str, extra: str, error: ImportError) -> MissingExtraError:
    """The error for a framework that is not installed."""
    return MissingExtraError(
        f"The retriever for {framework} needs the package '{(error.name or extra).partition('.')[0]}', which is not installed.",
        hint=f"Run: pip install 'graphrag-provenance[{extra}]'.")
