"""graphrag-provenance: a store for GraphRAG edges that carry their evidence, access policy and history."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("graphrag-provenance")
except PackageNotFoundError:
    __version__ = "0+unknown"
