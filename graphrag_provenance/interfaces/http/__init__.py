"""`gprov serve`: the store over HTTP (spec 5, HTTP). Extra `serve`.

Owns: the one sentence that says what to install. Leaves to others: who asks (`identity`), what may pass (`guard`), what is answered
(the routes).
"""

from graphrag_provenance.errors import MissingExtraError

try:
    import fastapi as _fastapi  # noqa: F401
    import greenlet as _greenlet  # noqa: F401
    import jwt as _jwt  # noqa: F401
    import prometheus_client as _prometheus_client  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        f"The service needs the package '{(error.name or 'fastapi').partition('.')[0]}', which is not installed.",
        hint="Run: pip install 'graphrag-provenance[serve]'.") from None
