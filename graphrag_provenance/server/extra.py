"""The optional packages of the local server (extra `local`), loaded when first needed.

Owns: the one sentence that says what to install. Leaves to others: what the packages are used for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from graphrag_provenance.errors import MissingExtraError


def load_extra(module: str) -> Any:
    """The module of that name. Raises MissingExtraError if the extra `local` is not installed."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"The local Neo4j needs the package '{package}', which is not installed.",
            hint="Run: pip install 'graphrag-provenance[local]' (or set NEO4J_URI to use a server of your own).",
        ) from None
