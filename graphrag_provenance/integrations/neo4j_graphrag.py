"""Retriever for neo4j-graphrag (extra `neo4j-graphrag`; spec 5, for GraphRAG frameworks).

Owns: the items that neo4j-graphrag gets: one an edge, and one note for what is missing. It has no driver and sends no Cypher of its own:
the store does, for one reader.
"""

from __future__ import annotations

from typing import Any, Unpack

from graphrag_provenance.api.store import ContextOptions, Store
from graphrag_provenance.errors import InputError
from graphrag_provenance.integrations.retrieving import Retrieving, beside, missing
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.context import Context
from graphrag_provenance.store.database import as_record

try:
    from neo4j_graphrag.retrievers.base import Retriever
    from neo4j_graphrag.types import RawSearchResult, RetrieverResultItem
except ImportError as error:
    raise missing("neo4j-graphrag", "neo4j-graphrag", error) from None


class ProvenanceRetriever(Retriever):
    """Edges with their evidence, for one reader, as items for `GraphRAG`.

    `search(query_text=…)` looks for the entities that the question names; `search(source=…, target=…)` asks for a claim. The options are
    those of `Store.context`. Raises what that raises; AccessDeniedError without a reader.
    """

    def __init__(self, store: Store, reader: Reader, **options: Unpack[ContextOptions]) -> None:  # the store has the driver
        self._retrieving = Retrieving(store, reader, options)

    def context(self, question: str | None = None, **given: Any) -> Context:
        """The context itself, with the way back from `[n]` in an answer; `entities` and `claims` may be given."""
        return self._retrieving.context(question, **given)

    def get_search_results(self, query_text: str = "", source: str = "", target: str = "") -> RawSearchResult:
        """Edges with their evidence.

        Args:
            query_text (str): A question that names entities.
            source (str): Where a claim starts, Type:id.
            target (str): Where it ends, Type:id.

        Returns:
            RawSearchResult: A record for each edge, and one for what is missing.
        """
        if bool(source) != bool(target):
            raise InputError("A claim has two ends.", hint="Give source and target, or neither.")
        found = self._retrieving.context(query_text, claims=[(source, target)] if source else [])
        records = [as_record({"content": part.text, "metadata": beside(found, part)}) for part in found.parts]
        return RawSearchResult(records=records, metadata=found.as_json())

    def default_record_formatter(self, record: Any) -> RetrieverResultItem:
        """The text of a part, and what stands beside it."""
        return RetrieverResultItem(content=record["content"], metadata=record["metadata"])
