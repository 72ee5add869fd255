"""graphrag-provenance: a store for GraphRAG edges that carry their evidence, access policy and history.

What a program needs is imported from here, each name when it is first used: `import graphrag_provenance` alone loads nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphrag_provenance.version import __version__ as __version__

if TYPE_CHECKING:
    from graphrag_provenance.access.file_source import FileSource as FileSource
    from graphrag_provenance.access.interface import AccessSource as AccessSource
    from graphrag_provenance.api.store import Store as Store
    from graphrag_provenance.api.threads import AsyncStore as AsyncStore
    from graphrag_provenance.errors import AccessDeniedError as AccessDeniedError
    from graphrag_provenance.errors import ConfigurationError as ConfigurationError
    from graphrag_provenance.errors import InputError as InputError
    from graphrag_provenance.errors import MissingExtraError as MissingExtraError
    from graphrag_provenance.errors import NotFoundError as NotFoundError
    from graphrag_provenance.errors import ProvenanceError as ProvenanceError
    from graphrag_provenance.errors import SchemaVersionError as SchemaVersionError
    from graphrag_provenance.errors import ServerError as ServerError
    from graphrag_provenance.errors import StoreConflictError as StoreConflictError
    from graphrag_provenance.errors import StoreError as StoreError
    from graphrag_provenance.errors import StoreTimeoutError as StoreTimeoutError
    from graphrag_provenance.errors import StoreUnavailableError as StoreUnavailableError
    from graphrag_provenance.ingest.load import Summary as Summary
    from graphrag_provenance.model.readers import Reader as Reader
    from graphrag_provenance.model.readers import Role as Role
    from graphrag_provenance.model.reports import AnswerReport as AnswerReport
    from graphrag_provenance.model.reports import RetrievalReport as RetrievalReport
    from graphrag_provenance.rules.answers import Trace as Trace
    from graphrag_provenance.rules.chains import Question as Question
    from graphrag_provenance.rules.context import Context as Context
    from graphrag_provenance.rules.ledger import Ledger as Ledger
    from graphrag_provenance.rules.telling import Citation as Citation
    from graphrag_provenance.store.gate import Judgement as Judgement

_HOME = {
    "AccessSource": "access.interface", "AnswerReport": "model.reports", "AsyncStore": "api.threads",
    "Citation": "rules.telling", "Context": "rules.context", "FileSource": "access.file_source", "Judgement": "store.gate",
    "Ledger": "rules.ledger", "Question": "rules.chains", "Reader": "model.readers", "RetrievalReport": "model.reports",
    "Role": "model.readers", "Store": "api.store", "Summary": "ingest.loading", "Trace": "rules.answers",
    **dict.fromkeys((
        "AccessDeniedError", "ConfigurationError", "InputError", "MissingExtraError", "NotFoundError", "ProvenanceError",
        "SchemaVersionError", "ServerError", "StoreConflictError", "StoreError", "StoreTimeoutError", "StoreUnavailableError"), "errors"),
}  # fmt: skip
"""Public name → the module it lives in."""

__all__ = [
    "AccessDeniedError", "AccessSource", "AnswerReport", "AsyncStore", "Citation", "ConfigurationError", "Context", "FileSource",
    "InputError", "Judgement", "Ledger", "MissingExtraError", "NotFoundError", "ProvenanceError", "Question", "Reader",
    "RetrievalReport", "Role", "SchemaVersionError", "ServerError", "Store", "StoreConflictError", "StoreError", "StoreTimeoutError",
    "StoreUnavailableError", "Summary", "Trace", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"graphrag_provenance.{_HOME[name]}"), name)
    raise AttributeError(f"module 'graphrag_provenance' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
