"""What the driver says went wrong, as one of ours, with what to do (spec 5, errors).

Owns: the mapping, for every way in which a statement travels (`links`, `loop`). Only `store` knows the driver's error classes.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import neo4j.exceptions
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConstraintError,
    DatabaseError,
    DriverError,
    GqlError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from graphrag_provenance.errors import (
    ConfigurationError,
    ProvenanceError,
    StoreConflictError,
    StoreError,
    StoreTimeoutError,
    StoreUnavailableError,
)

_SCHEMES = frozenset(f"{name}{tls}" for name in ("neo4j", "bolt") for tls in ("", "+s", "+ssc"))


def passing(error: Exception) -> bool:
    """Whether the driver holds that trying again may help."""
    return isinstance(error, (Neo4jError, DriverError)) and error.is_retryable()


@contextmanager
def errors(uri: str) -> Iterator[None]:
    """Every driver error leaves as one of ours, with what to do."""
    try:
        yield
    except ProvenanceError:
        raise
    except AuthError:
        raise StoreUnavailableError(
            f"The server at {uri} refuses the credentials.", hint="Check NEO4J_USERNAME and NEO4J_PASSWORD."
        ) from None
    except (ServiceUnavailable, SessionExpired) as error:
        if (why := _tls_failure(error)) is not None:
            raise StoreUnavailableError(
                f"No TLS connection to {uri}: {why}.",
                hint="The server's certificate must be of an authority that this machine trusts (+ssc in the address: of any), and the "
                     "server must speak TLS.") from error
        hint = "Start it (gprov db start), or set NEO4J_URI."
        if "+s" in uri.partition("://")[0]:  # of a routed address the driver does not say why
            hint += " It ends like this, too, if the server speaks no TLS, or this machine does not trust its certificate."
        raise StoreUnavailableError(f"No Neo4j answers at {uri}.", hint=hint) from error
    except TransientError as error:
        raise StoreUnavailableError(f"The server is overloaded or changing: {_first(error)}", hint="Try again.") from error
    except ConstraintError as error:
        raise StoreConflictError(f"The store refused a duplicate: {_first(error)}") from error
    except ClientError as error:
        if "TransactionTimedOut" in (error.code or "") or "Terminated" in (error.code or ""):
            raise StoreTimeoutError("The query passed its time limit.", hint="Ask with fewer hops, a relation or a scope.") from error
        if "DatabaseNotFound" in (error.code or ""):
            raise StoreUnavailableError(f"{_first(error)}", hint="Check NEO4J_DATABASE.") from error
        raise StoreError(f"The server refused the query: {_first(error)}") from error
    except DatabaseError as error:
        raise StoreUnavailableError(f"The server failed: {_first(error)}", hint="See: gprov db logs.") from error
    except neo4j.exceptions.ConfigurationError as error:
        raise ConfigurationError(f"The server at {uri} cannot be used like this: {_first(error)}", hint="Check NEO4J_URI.") from error
    except GqlError as error:
        if isinstance(error, DriverError) and "closed" in str(error):
            raise StoreError("The store is closed.", hint="Open it again.") from error
        raise StoreError(f"The store failed: {_first(error)}") from error


def _tls_failure(error: BaseException | None) -> str | None:
    """Why the encryption failed, if it is that which failed."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return getattr(error, "verify_message", None) or (error.reason or type(error).__name__).lower().replace("_", " ")
        error = error.__cause__ or error.__context__
    return None


def _first(error: Exception) -> str:
    """Its words, in one line. Only an error of the server has them as its message; that of the driver's own is a general sentence."""
    text = (error.message if isinstance(error, Neo4jError) else None) or str(error)
    return next(iter(text.splitlines()), "") or type(error).__name__


def check_address(uri: str) -> None:
    """Raise ConfigurationError for what is no address of a server; the driver would tell only when it connects, and in its own way."""
    try:
        parts = urlsplit(uri)
        host, _ = (parts.hostname or "").encode("idna"), parts.port
    except ValueError:
        host, parts = b"", urlsplit("")
    if parts.username is not None or parts.password is not None:  # not repeated: it would stand in messages and logs
        raise ConfigurationError("The address of the Neo4j server holds a user name or a password.",
                                 hint="Set NEO4J_USERNAME and NEO4J_PASSWORD instead.")
    if uri.partition("://")[0] not in _SCHEMES or not host:
        raise ConfigurationError(f"'{uri}' is no address of a Neo4j server.",
                                 hint="Write it as neo4j://HOST:7687 or bolt://HOST:7687; with TLS as neo4j+s:// or bolt+s://.")
