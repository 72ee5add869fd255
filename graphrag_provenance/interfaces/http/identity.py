"""Who asks: a token becomes a reader, or nobody is let in (spec 5, HTTP: identity).

Owns: that the reader comes from a verified token alone, which of the two kinds a token is, and that every refusal is the same one.
Leaves to others: API keys (`keys`), tokens of an issuer (`tokens`). Nothing else in a request is ever asked who reads.
"""

from __future__ import annotations

from typing import Protocol

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import ConfigurationError, UnauthenticatedError
from graphrag_provenance.interfaces.http.keys import PREFIX, KeyFile
from graphrag_provenance.interfaces.http.tokens import IssuedTokens
from graphrag_provenance.model.readers import Reader

MOST_TOKEN = 16_384
"""Characters of the longest token that is looked at."""


class Identity(Protocol):
    """What proves who asks."""

    def reader(self, token: str) -> Reader:
        """The reader that a token proves. Raises UnauthenticatedError; IdentityUnavailableError where nobody can say."""
        ...


def refused() -> UnauthenticatedError:
    """The one refusal."""
    return UnauthenticatedError("A valid token is needed.", hint="Send it as: Authorization: Bearer TOKEN.")


class Identities:
    """API keys, tokens of an issuer, or both: the form of a token says which it is."""

    def __init__(self, keys: Identity | None, issued: Identity | None) -> None:
        self._keys, self._issued = keys, issued

    def reader(self, token: str) -> Reader:
        """As `Identity.reader`."""
        of = self._keys if token.startswith(PREFIX) else self._issued
        if of is None or not token or len(token) > MOST_TOKEN or not token.isascii():
            raise refused()
        return of.reader(token)


def identity_for(settings: Settings) -> Identities:
    """The identity that the settings ask for. Raises ConfigurationError for none, or half of one."""
    keys = None if settings.serve_api_keys is None else KeyFile(settings.serve_api_keys, refused)
    issued = None
    if settings.oidc_issuer is not None:
        issued = IssuedTokens.of(settings, refused)
    elif settings.oidc_jwks_url is not None or settings.oidc_audience is not None:
        raise ConfigurationError("Setting 'oidc_issuer' is missing.", hint="Name the issuer word for word as its tokens do.")
    if keys is None and issued is None:
        raise ConfigurationError(
            "Nothing is set that could tell who asks.",
            hint="Set serve_api_keys (make a key with: gprov key new), or oidc_issuer, oidc_audience and oidc_jwks_url.")
    if keys is not None:
        keys.check()
    return Identities(keys, issued)


def bearer(header: bytes | None) -> str:
    """The token of an Authorization header. Raises UnauthenticatedError."""
    words = (header or b"").decode("latin-1").split(" ")
    if len(words) != 2 or words[0].lower() != "bearer" or not words[1]:
        raise refused()
    return words[1]
