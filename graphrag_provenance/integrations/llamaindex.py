"""Retriever for LlamaIndex (extra `llamaindex`; spec 5, for GraphRAG frameworks).

Owns: the nodes that LlamaIndex gets: one an edge, and one note for what is missing. What stands beside the text is kept from the model
and from embeddings, which LlamaIndex would otherwise put in front of it: the model sees the text of the context, and the budget holds.
"""

from __future__ import annotations

import asyncio
from typing import Any, Unpack

from graphrag_provenance.api.store import ContextOptions, Store
from graphrag_provenance.integrations.retrieving import Retrieving, beside, missing
from graphrag_provenance.model.identifiers import derive_id
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.context import Context

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise missing("LlamaIndex", "llamaindex", error) from None


class ProvenanceRetriever(BaseRetriever):
    """Edges with their evidence, for one reader, as LlamaIndex nodes without scores.

    `retrieve(question)` looks for the entities that the question names. The options are those of `Store.context`. Raises what that
    raises; AccessDeniedError without a reader.
    """

    def __init__(self, store: Store, reader: Reader, **options: Unpack[ContextOptions]) -> None:
        self._retrieving = Retrieving(store, reader, options)
        super().__init__()

    def context(self, question: str | None = None, **given: Any) -> Context:
        """The context itself, with the way back from `[n]` in an answer; `entities` and `claims` may be given."""
        return self._retrieving.context(question, **given)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes(self._retrieving.context(query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def nodes(context: Context) -> list[NodeWithScore]:
    """A context as LlamaIndex nodes, in its order; the same part has the same id."""
    made = []
    for part in context.parts:
        told = beside(context, part)
        node = TextNode(
            id_=derive_id("context", [told.get("edge_id"), part.text]), text=part.text, metadata=told,
            excluded_llm_metadata_keys=list(told), excluded_embed_metadata_keys=list(told))
        made.append(NodeWithScore(node=node))
    return made
