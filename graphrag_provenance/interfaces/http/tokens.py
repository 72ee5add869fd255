"""Tokens of an issuer: signed JWTs, checked with the issuer's published keys (spec 5, HTTP: identity).

Owns: which signatures count (asymmetric algorithms that the settings list; the kind of the key must be that of the algorithm), which
claims a token must have (iss, aud, exp, and nbf unless the settings say otherwise), how claims become a reader, and how long fetched keys
count. Keys are fetched when they are old, or when a token names one that is not among them, then at most once in
`_REST_SECONDS`, so that made-up tokens do not become requests to the issuer. Keys that are too old prove nothing: if no new ones can be
fetched, nobody is let in.
"""

from __future__ import annotations

import ipaddress
import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import jwt

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import AccessDeniedError, ConfigurationError, IdentityUnavailableError, ProvenanceError
from graphrag_provenance.events import report
from graphrag_provenance.model.readers import Reader, Role

_KINDS = {"RS": ("RSA", None), "PS": ("RSA", None), "ES256": ("EC", "P-256"), "ES384": ("EC", "P-384"), "ES512": ("EC", "P-521"),
          "EdDSA": ("OKP", "Ed25519")}
ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
_REST_SECONDS = 10.0
_MOST_BYTES, _MOST_KEYS = 1_000_000, 200
_TYPES = ("jwt", "at+jwt", "application/at+jwt")
Fetch = Callable[[str], bytes]
Refused = Callable[[], ProvenanceError]


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Where a token says who its bearer is."""

    principal: str = "sub"
    tenant: str = "tenant"
    clearances: str = "clearances"
    roles: str = "roles"


class IssuedTokens:
    """Tokens of one issuer for one audience."""

    def __init__(
        self, issuer: str, audience: str, keys: PublishedKeys, refused: Refused, *, algorithms: Iterable[str] = ("RS256", "ES256"),
        claims: ClaimNames = ClaimNames(), require_nbf: bool = True, leeway: float = 30.0,
    ) -> None:
        self._issuer, self._audience, self._keys, self._refused = issuer, audience, keys, refused
        self._algorithms, self._claims, self._leeway = frozenset(algorithms), claims, leeway
        self._required = ["exp", "iss", "aud", *(["nbf"] if require_nbf else [])]

    @classmethod
    def of(cls, settings: Settings, refused: Refused) -> IssuedTokens:
        """As the settings say. Raises ConfigurationError for half of them, or for what would prove nothing."""
        missing = [name for name in ("oidc_issuer", "oidc_audience", "oidc_jwks_url") if not getattr(settings, name)]
        if missing:
            raise ConfigurationError(f"Setting '{missing[0]}' is missing.", hint="Tokens need an issuer, an audience and a JWKS address.")
        unfit = sorted(set(settings.oidc_algorithms) - ALGORITHMS)
        if unfit or not settings.oidc_algorithms:
            raise ConfigurationError(f"Setting 'oidc_algorithms': {', '.join(unfit) or 'none at all'} cannot be accepted.",
                                     hint=f"Choose from {', '.join(sorted(ALGORITHMS))}.")
        names = ClaimNames(settings.oidc_principal_claim, settings.oidc_tenant_claim, settings.oidc_clearance_claim,
                           settings.oidc_roles_claim)
        return cls(str(settings.oidc_issuer), str(settings.oidc_audience),
                   PublishedKeys(str(settings.oidc_jwks_url), seconds=settings.oidc_jwks_seconds), refused,
                   algorithms=settings.oidc_algorithms, claims=names, require_nbf=settings.oidc_require_nbf,
                   leeway=settings.oidc_leeway_seconds)

    def reader(self, token: str) -> Reader:
        """The reader that a token proves. Raises IdentityUnavailableError if the issuer's keys cannot be had."""
        try:
            header = jwt.get_unverified_header(token)
            algorithm, name = header.get("alg"), header.get("kid")
            if algorithm not in self._algorithms or "crit" in header or str(header.get("typ", "JWT")).lower() not in _TYPES:
                raise self._refused()
            if name is not None and not isinstance(name, str):
                raise self._refused()
            key = self._keys.key(name, algorithm)
            if key is None:
                raise self._refused()
            claims = jwt.decode(token, key, algorithms=[algorithm], audience=self._audience, issuer=self._issuer, leeway=self._leeway,
                                options={"require": self._required, "verify_signature": True})
            return self._of(claims)
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError, AccessDeniedError):
            raise self._refused() from None

    def _of(self, claims: Mapping[str, Any]) -> Reader:
        principal, tenant = _claim(claims, self._claims.principal), _claim(claims, self._claims.tenant)
        if not isinstance(principal, str) or not isinstance(tenant, str):
            raise self._refused()
        roles = {Role(word) for word in _words(_claim(claims, self._claims.roles)) if word in set(Role)}
        return Reader(principal, tenant, frozenset(_words(_claim(claims, self._claims.clearances))), frozenset(roles or {Role.READER}))


class PublishedKeys:
    """The keys that an issuer publishes (JWKS), fetched when needed and kept for a while."""

    def __init__(
        self, url: str, *, seconds: float = 300.0, fetch: Fetch | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not _safe(url):
            raise ConfigurationError("Setting 'oidc_jwks_url' must begin with https://.", hint="Plain http is accepted on loopback only.")
        self._url, self._seconds, self._fetch, self._clock = url, seconds, fetch or _fetched, clock
        self._fetching = threading.Lock()
        self._kept: tuple[float, tuple[Mapping[str, Any], ...]] | None = None
        self._tried: float | None = None

    def key(self, name: str | None, algorithm: str) -> Any:
        """The public key for a token that names it (or names none, where only one fits); None if there is no such key.

        Raises IdentityUnavailableError without keys that are young enough."""
        found = self._fitting(name, algorithm)
        if found is None:
            with self._fetching:
                found = self._fitting(name, algorithm)  # another thread may have fetched meanwhile
                if found is None and (self._tried is None or self._clock() - self._tried >= _REST_SECONDS):
                    self._renew()
                    found = self._fitting(name, algorithm)
        if found is None and not self._fresh():
            raise IdentityUnavailableError("The keys of the issuer cannot be had.", hint="Try again in a few seconds.")
        return found

    def _renew(self) -> None:
        self._tried = now = self._clock()
        try:
            keys = json.loads(self._fetch(self._url))["keys"]
            if not isinstance(keys, list) or len(keys) > _MOST_KEYS:
                raise ValueError("it is no list of keys")
            self._kept = now, tuple(one for one in keys if isinstance(one, dict))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            report("error", "the keys of the issuer cannot be fetched", url=self._url, message=f"{type(error).__name__}: {error}")

    def _fresh(self) -> tuple[Mapping[str, Any], ...]:
        kept = self._kept
        return kept[1] if kept is not None and self._clock() - kept[0] < self._seconds else ()

    def _fitting(self, name: str | None, algorithm: str) -> Any:
        kind, curve = _KINDS.get(algorithm) or _KINDS[algorithm[:2]]
        fits = [
            one for one in self._fresh()
            if one.get("kty") == kind and one.get("crv") == (curve or one.get("crv")) and one.get("alg", algorithm) == algorithm
            and one.get("use", "sig") == "sig" and (name is None or one.get("kid") == name)]
        return jwt.PyJWK(dict(fits[0]), algorithm).key if len(fits) == 1 else None


def _safe(url: str) -> bool:
    parts = urlsplit(url)
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme != "http" or not parts.hostname:
        return False
    try:
        return parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        return False


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _fetched(url: str) -> bytes:
    with _OPENER.open(url, timeout=5) as answer:
        body: bytes = answer.read(_MOST_BYTES + 1)
    if len(body) > _MOST_BYTES:
        raise ValueError("too long")
    return body


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, or, where none has that name, along its dots."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _words(value: Any) -> list[str]:
    words = value.split() if isinstance(value, str) else value
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
