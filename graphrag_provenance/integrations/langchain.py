"""Retriever for LangChain (extra `langchain`; spec 5, for GraphRAG frameworks).

Owns: the documents that LangChain gets: one an edge, and one note for what is missing. Joined by blank lines they are the text of the
context, so the budget holds for them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from pydantic import PrivateAttr

from graphrag_provenance.api.store import ContextOptions, Entity, Store
from graphrag_provenance.integrations.retrieving import Retrieving, beside, missing
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.context import Context

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise missing("LangChain", "langchain", error) from None


class ProvenanceRetriever(BaseRetriever):
    """Edges with their evidence, for one reader, as LangChain documents.

    `invoke(question)` looks for the entities that the question names; `invoke(question, claims=[(FROM, TO)], entities=[…])` adds what is
    given. The options are those of `Store.context`. Raises what that raises; AccessDeniedError without a reader.
    """

    _retrieving: Retrieving = PrivateAttr()

    def __init__(
        self, store: Store, reader: Reader, *, tags: list[str] | None = None, metadata: dict[str, Any] | None = None,
        **options: Unpack[ContextOptions],
    ) -> None:
        super().__init__(tags=tags, metadata=metadata)
        self._retrieving = Retrieving(store, reader, options)

    def context(self, question: str | None = None, **given: Any) -> Context:
        """The context itself, with the way back from `[n]` in an answer."""
        return self._retrieving.context(question, **given)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, entities: Sequence[Entity] = (),
        claims: Sequence[tuple[Entity, Entity]] = (),
    ) -> list[Document]:
        found = self._retrieving.context(query, entities=entities, claims=claims)
        return documents(found)


def documents(context: Context) -> list[Document]:
    """A context as LangChain documents, in its order."""
    return [Document(page_content=part.text, metadata=beside(context, part)) for part in context.parts]
