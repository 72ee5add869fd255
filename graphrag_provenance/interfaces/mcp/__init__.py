"""`gprov mcp`: the store for language models (spec 5, MCP). Extra `mcp`.

Owns: the one sentence that says what to install. Leaves to others: which tools there are (`tools`), how they are reached (`serving`).
"""

from graphrag_provenance.errors import MissingExtraError

try:
    import mcp.server.lowlevel as _lowlevel  # noqa: F401
    import mcp.types as _types  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        f"MCP needs the package '{(error.name or 'mcp').partition('.')[0]}', which is not installed.",
        hint="Run: pip install 'graphrag-provenance[mcp]'.") from None
