"""`/v1/document`, `/v1/document/diff`: documents, their revisions, and what changed between two of them.

Owns: nothing but the requests. Leaves to others: what a reader may see (`store.documents`).
"""

from __future__ import annotations

from fastapi import APIRouter

from graphrag_provenance.interfaces.http.failures import Json
from graphrag_provenance.interfaces.http.queries import DocumentQuery, RevisionsQuery
from graphrag_provenance.interfaces.http.responses import answers
from graphrag_provenance.interfaces.http.service import Asking, ReaderOf, ServiceOf
from graphrag_provenance.interfaces.http.shapes.documents import DocumentAnswer, DocumentDiff
from graphrag_provenance.store.bridge import aside
from graphrag_provenance.store.documents import doc_diff, doc_show

router = APIRouter(prefix="/v1", route_class=Asking, tags=["documents"])


@router.get("/document", **answers(DocumentAnswer, 404))
def document(service: ServiceOf, reader: ReaderOf, asked: DocumentQuery) -> Json:
    """A document: its revisions with head, chunks and chunker versions, and the edges that cite it."""
    return Json(doc_show(service.database, reader, asked.id, limit=asked.limit, access=service.access))


@router.get("/document/diff", **answers(DocumentDiff, 404))
async def document_diff(service: ServiceOf, reader: ReaderOf, asked: RevisionsQuery) -> Json:
    """Which edges were kept, gained, lost or came under another policy, where quotes stand now, what became of the chunks."""
    before, after = (f"{asked.id}@{version}" for version in (asked.before, asked.after))
    return await aside(lambda: Json(doc_diff(service.database, reader, before, after, access=service.access)))
