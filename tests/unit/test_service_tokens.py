"""Tokens and keys: what proves who asks, and what proves nothing (spec 5, HTTP: identity)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import ConfigurationError, IdentityUnavailableError, UnauthenticatedError
from graphrag_provenance.interfaces.http.identity import Identities, bearer, identity_for, refused
from graphrag_provenance.interfaces.http.keys import KeyFile, new_key
from graphrag_provenance.interfaces.http.tokens import ClaimNames, IssuedTokens, PublishedKeys
from graphrag_provenance.model.readers import Reader, Role

RSA, OTHER_RSA = (rsa.generate_private_key(65537, 2048) for _ in range(2))
EC, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
ISSUER, AUDIENCE = "https://id.example.org/", "gprov"


def jwk(key: Any, **more: Any) -> dict[str, Any]:
    kind = {rsa.RSAPrivateKey: "RS256", ec.EllipticCurvePrivateKey: "ES256", ed25519.Ed25519PrivateKey: "EdDSA"}
    name = next(name for cls, name in kind.items() if isinstance(key, cls))
    return {**json.loads(jwt.get_algorithm_by_name(name).to_jwk(key.public_key())), "use": "sig", **more}


class Issuer:
    """Publishes keys; can be silent, and counts how often it is asked."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.keys, self.asked, self.silent, self.now = list(keys), 0, False, 1000.0

    def fetch(self, _: str) -> bytes:
        self.asked += 1
        if self.silent:
            raise OSError("no route")
        return json.dumps({"keys": self.keys}).encode()

    def published(self, seconds: float = 300.0) -> PublishedKeys:
        return PublishedKeys("https://id.example.org/jwks", seconds=seconds, fetch=self.fetch, clock=lambda: self.now)

    def tokens(self, **more: Any) -> IssuedTokens:
        return IssuedTokens(ISSUER, AUDIENCE, self.published(), refused, **{"algorithms": ("RS256", "ES256"), **more})


def claims(**more: Any) -> dict[str, Any]:
    now = int(time.time())
    return {"iss": ISSUER, "aud": AUDIENCE, "exp": now + 600, "nbf": now - 10, "sub": "ann", "tenant": "ACME", "clearances": ["internal"],
            "roles": ["auditor", "offline_access"]} | more


def signed(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "r1", headers: dict[str, Any] | None = None, **more: Any) -> str:
    told = {name: value for name, value in claims(**more).items() if value is not ...}
    return jwt.encode(told, key, algorithm, {**({} if kid is None else {"kid": kid}), **(headers or {})})


@pytest.fixture
def issuer() -> Issuer:
    return Issuer(jwk(RSA, kid="r1", alg="RS256"), jwk(EC, kid="e1"), {"kty": "oct", "kid": "o1", "k": "c2VjcmV0"})


def test_a_token_becomes_a_reader(issuer: Issuer) -> None:
    wanted = Reader("ann", "ACME", frozenset({"internal"}), frozenset({Role.AUDITOR}))
    assert issuer.tokens().reader(signed()) == wanted
    assert issuer.tokens().reader(signed(EC, "ES256", "e1")) == wanted
    assert issuer.tokens().reader(signed(clearances="internal", roles="auditor x")) == wanted


def test_claims_are_found_where_the_settings_say(issuer: Issuer) -> None:
    names = ClaimNames("email", "https://example.org/tenant", "resource.clear", "realm_access.roles")
    token = signed(email="a@b", **{"https://example.org/tenant": "T", "resource": {"clear": ["public"]},
                                   "realm_access": {"roles": ["operator"]}})
    assert issuer.tokens(claims=names).reader(token) == Reader("a@b", "T", frozenset({"public"}), frozenset({Role.OPERATOR}))


def test_no_role_in_the_token_is_the_role_of_a_reader_and_no_clearance_sees_nothing(issuer: Issuer) -> None:
    found = issuer.tokens().reader(signed(roles=..., clearances=...))
    assert (found.roles, found.clearances) == ({Role.READER}, frozenset())


PUBLIC_PEM = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def forged(header: dict[str, Any], body: dict[str, Any], signature: bytes = b"") -> str:
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (
        json.dumps(header).encode(), json.dumps(body).encode(), signature))


def hmac_with_public_key() -> str:
    """The classic confusion: an HS256 token signed with the issuer's public key as the secret."""
    unsigned = forged({"alg": "HS256", "kid": "r1", "typ": "JWT"}, claims()).rpartition(".")[0]
    mac = hmac.new(PUBLIC_PEM, unsigned.encode(), hashlib.sha256).digest()
    return f"{unsigned}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


PAST = int(time.time()) - 3600
BAD = {
    "no signature": lambda: forged({"alg": "none"}, claims()), "None": lambda: forged({"alg": "None", "kid": "r1"}, claims()),
    "empty algorithm": lambda: forged({"alg": "", "kid": "r1"}, claims()), "hmac with the public key": hmac_with_public_key,
    "hmac with a key of the set": lambda: jwt.encode(claims(), b"secret" * 8, "HS256", {"kid": "o1"}),
    "another key": lambda: signed(OTHER_RSA), "an algorithm that is not allowed": lambda: signed(RSA, "RS512"),
    "the kind of another key": lambda: signed(RSA, "RS256", "e1"), "unknown key": lambda: signed(kid="r9"),
    "expired": lambda: signed(exp=PAST), "not yet": lambda: signed(nbf=int(time.time()) + 3600), "no end": lambda: signed(exp=...),
    "no beginning": lambda: signed(nbf=...), "no issuer": lambda: signed(iss=...), "no audience": lambda: signed(aud=...),
    "another issuer": lambda: signed(iss="https://id.example.org"), "another audience": lambda: signed(aud=["x", "y"]),
    "no tenant": lambda: signed(tenant=...), "blank tenant": lambda: signed(tenant=" "),
    "a list of tenants": lambda: signed(tenant=["ACME"]),
    "no principal": lambda: signed(sub=...), "a number as principal": lambda: signed(sub=7),
    "key in the header": lambda: signed(OTHER_RSA, headers={"jwk": jwk(OTHER_RSA)}),
    "critical extension": lambda: signed(headers={"crit": ["b64"], "b64": True}),
    "an id of another kind": lambda: signed(headers={"typ": "dpop+jwt"}),
    "a number as key id": lambda: forged({"alg": "RS256", "kid": 1}, claims(), b"x"), "two parts": lambda: "a.b",
    "four parts": lambda: "a.b.c.d",
    "not base64": lambda: "!.!.!", "a list": lambda: forged([], claims()),  # type: ignore[arg-type]
    "a header without end": lambda: f"{base64.urlsafe_b64encode(b'[' * 9_000).decode()}.e30.x",
    "an infinite beginning": lambda: signed(iat=float("inf")), "an infinite end": lambda: signed(exp=float("inf")),
    "a word as end": lambda: forged({"alg": "RS256", "kid": "r1"}, claims(exp="never"), b"x"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_proves_nothing_is_refused_in_the_same_words(issuer: Issuer, name: str) -> None:
    with pytest.raises(UnauthenticatedError) as caught:
        issuer.tokens().reader(BAD[name]())
    assert str(caught.value) == str(refused())


def test_a_token_without_nbf_may_be_accepted_by_setting_but_nbf_is_always_obeyed(issuer: Issuer) -> None:
    tokens = issuer.tokens(require_nbf=False)
    assert tokens.reader(signed(nbf=...)).principal == "ann"
    with pytest.raises(UnauthenticatedError):
        tokens.reader(signed(nbf=int(time.time()) + 3600))


def test_a_new_key_is_fetched_when_a_token_names_it_and_an_old_one_stops_counting(issuer: Issuer) -> None:
    tokens = issuer.tokens()
    assert tokens.reader(signed()).principal == "ann"
    issuer.keys = [jwk(OTHER_RSA, kid="r2")]
    issuer.now += 20
    assert tokens.reader(signed(OTHER_RSA, kid="r2")).principal == "ann"
    assert issuer.asked == 2
    with pytest.raises(UnauthenticatedError):
        tokens.reader(signed())


def test_made_up_key_ids_do_not_become_requests_to_the_issuer(issuer: Issuer) -> None:
    tokens = issuer.tokens()
    tokens.reader(signed())
    for number in range(50):
        with pytest.raises(UnauthenticatedError):
            tokens.reader(signed(kid=f"x{number}"))
    assert issuer.asked == 1
    issuer.now += 11
    with pytest.raises(UnauthenticatedError):
        tokens.reader(signed(kid="y"))
    assert issuer.asked == 2


def test_a_silent_issuer_lets_nobody_in_once_its_keys_are_old(issuer: Issuer) -> None:
    tokens = issuer.tokens()
    tokens.reader(signed())
    issuer.silent = True
    issuer.now += 299
    assert tokens.reader(signed()).principal == "ann"
    issuer.now += 2
    with pytest.raises(IdentityUnavailableError):
        tokens.reader(signed())
    issuer.silent, issuer.now = False, issuer.now + 11
    assert tokens.reader(signed()).principal == "ann"


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"keys": 1}', b'{"keys": [1, null]}', b"\xff", b'{"keys": []}'])
def test_what_is_no_set_of_keys_lets_nobody_in(body: bytes) -> None:
    keys = PublishedKeys("https://id.example.org/jwks", fetch=lambda _: body)
    with pytest.raises((UnauthenticatedError, IdentityUnavailableError)):
        IssuedTokens(ISSUER, AUDIENCE, keys, refused).reader(signed())


def test_a_token_without_a_key_id_needs_a_single_fitting_key() -> None:
    assert Issuer(jwk(RSA)).tokens().reader(signed(kid=None)).principal == "ann"
    with pytest.raises(UnauthenticatedError):
        Issuer(jwk(RSA), jwk(OTHER_RSA)).tokens().reader(signed(kid=None))
    assert Issuer(jwk(ED)).tokens(algorithms=["EdDSA"]).reader(signed(ED, "EdDSA", None)).principal == "ann"


@pytest.mark.parametrize(("more", "told"), [
    ({"oidc_jwks_url": "http://id.example.org/jwks"}, "https://"), ({"oidc_jwks_url": "file:///etc/passwd"}, "https://"),
    ({"oidc_algorithms": ("HS256",)}, "HS256"), ({"oidc_algorithms": ("none",)}, "none"), ({"oidc_algorithms": ()}, "none at all"),
    ({"oidc_audience": None}, "oidc_audience"), ({"oidc_jwks_url": None}, "oidc_jwks_url"), ({"oidc_issuer": None}, "oidc_issuer"),
])
def test_settings_that_would_prove_nothing_are_refused(more: dict[str, Any], told: str) -> None:
    given_ = {"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, "oidc_jwks_url": "https://id.example.org/jwks"} | more
    with pytest.raises(ConfigurationError, match=told):
        identity_for(Settings(**given_))


def test_without_any_setting_nothing_is_served() -> None:
    with pytest.raises(ConfigurationError, match="who asks"):
        identity_for(Settings())


# Keys in a file


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, str]:
    key, entry = new_key("bot", "ACME", ["internal"], [Role.READER], datetime(2999, 1, 1, tzinfo=UTC))
    path = tmp_path / "keys.toml"
    path.touch(mode=0o600)
    path.write_text(entry.as_toml(), encoding="utf-8")
    return path, key


def test_a_key_opens_for_its_reader_and_its_file_does_not_hold_it(keys: tuple[Path, str]) -> None:
    path, key = keys
    assert KeyFile(path, refused).reader(key) == Reader("bot", "ACME", frozenset({"internal"}))
    assert key.rpartition("_")[2] not in path.read_text(encoding="utf-8")


def test_any_other_key_is_refused(keys: tuple[Path, str]) -> None:
    path, key = keys
    for other in (key[:-1], key + "x", key.swapcase(), key.replace("gprov_", "gprov_0"), "gprov_", "gprov___", f"{key[:19]}"):
        with pytest.raises(UnauthenticatedError):
            KeyFile(path, refused).reader(other)


def test_a_key_that_is_taken_out_or_has_run_out_opens_nothing(keys: tuple[Path, str]) -> None:
    path, key = keys
    file = KeyFile(path, refused)
    file.reader(key)
    old, entry = new_key("bot", "ACME", ["internal"], [Role.READER], datetime.now(UTC) - timedelta(seconds=1))
    path.write_text(entry.as_toml(), encoding="utf-8")
    for one in (key, old):
        with pytest.raises(UnauthenticatedError):
            file.reader(one)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o602])
def test_a_file_that_others_may_read_or_write_lets_nobody_in(keys: tuple[Path, str], mode: int) -> None:
    path, key = keys
    file = KeyFile(path, refused)
    file.reader(key)
    os.chmod(path, mode)
    with pytest.raises(IdentityUnavailableError, match="chmod 600"):
        file.reader(key)


def test_two_keys_of_one_id_let_nobody_in(keys: tuple[Path, str]) -> None:
    path, key = keys
    path.write_text(2 * path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(IdentityUnavailableError, match="one id"):
        KeyFile(path, refused).reader(key)


@pytest.mark.parametrize("text", ["", "x", "[[key]]\n", 'key = "x"', "\ufeff[[key]]"])
def test_a_broken_file_lets_nobody_in(keys: tuple[Path, str], text: str) -> None:
    path, key = keys
    path.write_text(text, encoding="utf-8")
    with pytest.raises((IdentityUnavailableError, UnauthenticatedError)):
        KeyFile(path, refused).reader(key)


def test_names_of_any_kind_come_back_from_the_file(tmp_path: Path) -> None:
    names = ['a"b\\c', "ünï\x7f", "a\n\x9bb"]
    key, entry = new_key(names[0], names[1], [names[2]], [Role.OPERATOR])
    path = tmp_path / "keys.toml"
    path.touch(mode=0o600)
    path.write_text(entry.as_toml(), encoding="utf-8")
    assert all(line.isprintable() for line in path.read_text(encoding="utf-8").splitlines())
    assert KeyFile(path, refused).reader(key) == Reader(names[0], names[1], frozenset({names[2]}), frozenset({Role.OPERATOR}))


@pytest.mark.parametrize("header", [None, b"", b"Bearer", b"Bearer ", b"Bearer  x", b"Bearer x y", b"Basic x", b"x", b" Bearer x"])
def test_what_is_no_bearer_token_is_refused(header: bytes | None) -> None:
    with pytest.raises(UnauthenticatedError):
        bearer(header)


def test_a_token_that_is_too_long_is_not_looked_at(issuer: Issuer) -> None:
    tokens = Identities(None, issuer.tokens())
    assert tokens.reader(signed(more="x" * 8_000)).principal == "ann"
    with pytest.raises(UnauthenticatedError):
        tokens.reader(signed(more="x" * 16_000))


PIECES = signed().split(".")


@given(st.one_of(
    st.text(max_size=200), st.binary(max_size=100).map(lambda raw: raw.decode("latin-1")),
    st.text("abcdefghijklmnopqrstuvwxyzABCDEF0123456789-_", max_size=80).map(lambda text: f"gprov_{text}"),
    st.tuples(st.sampled_from(["", *PIECES]), st.sampled_from(["", *PIECES]), st.text("AQgw-_", max_size=8)).map(".".join),
    st.tuples(st.integers(0, 2), st.integers(0, 60), st.sampled_from("AQgwZ9-_.")).map(
        lambda change: ".".join(part[:change[1]] + change[2] + part[change[1] + 1:] if number == change[0] else part
                                for number, part in enumerate(PIECES))).filter(lambda token: token != ".".join(PIECES)),
))
@example("a" * 20_000)
@settings(max_examples=300)
def test_a_fuzzed_token_never_becomes_a_reader(fuzzed: str) -> None:
    issued = Issuer(jwk(RSA, kid="r1")).tokens()
    entries = _fuzz_file()
    with pytest.raises(UnauthenticatedError):
        Identities(entries, issued).reader(fuzzed)


_made: list[KeyFile] = []


def _fuzz_file() -> KeyFile:
    if not _made:
        _, entry = new_key("bot", "ACME", ["internal"], [Role.READER])
        with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
            file.write(entry.as_toml())
        _made.append(KeyFile(Path(file.name), refused))
    return _made[0]
