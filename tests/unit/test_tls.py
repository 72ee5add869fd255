"""An address with TLS: a wrong certificate, or a server that speaks none, is told as such, and no password is sent before."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import SecretStr

from graphrag_provenance.errors import ConfigurationError, StoreUnavailableError
from graphrag_provenance.store.database import Connection, Database

PASSWORD = "a-password-that-must-not-be-sent"


class Endpoint:
    """A port that notes what it is sent, with a certificate of its own or without any TLS."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.received = b""
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            with near:
                near.settimeout(5)
                try:
                    with near if self._context is None else self._context.wrap_socket(near, server_side=True) as open_one:
                        self.received += open_one.recv(4096)
                except OSError:
                    continue


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A certificate that nobody signed but itself."""
    folder: Path = tmp_path_factory.mktemp("tls")
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
            .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256()))
    (folder / "c.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.load_cert_chain(folder / "c.pem")
    return found


@pytest.fixture
def endpoint(request: pytest.FixtureRequest, context: ssl.SSLContext) -> Iterator[Endpoint]:
    made = Endpoint(context if request.param == "own certificate" else None)
    yield made
    made.close()


@pytest.mark.parametrize(("endpoint", "scheme", "told"), [
    ("own certificate", "bolt+s", "self-signed certificate"), ("own certificate", "neo4j+s", "does not trust its certificate"),
    ("own certificate", "bolt+ssc", "No Neo4j answers"), ("no TLS", "bolt+s", "No TLS connection"),
    ("no TLS", "neo4j+ssc", "speaks no TLS"),
], indirect=["endpoint"])
def test_what_is_wrong_with_the_encryption_is_told(endpoint: Endpoint, scheme: str, told: str) -> None:
    connection = Connection(f"{scheme}://localhost:{endpoint.port}", "neo4j", SecretStr(PASSWORD))
    with pytest.raises(StoreUnavailableError) as refused, Database(connection, retry_seconds=0.1) as database:
        database.verify()
    assert told in str(refused.value).replace("self signed", "self-signed")  # OpenSSL 1 and 3
    assert PASSWORD.encode() not in endpoint.received
    assert PASSWORD not in repr(connection) + repr(database) + str(refused.value)


@pytest.mark.parametrize("uri", ["bolt://neo4j:marked@localhost:7687", "neo4j+s://:marked@h", "bolt://marked@localhost"])
def test_an_address_with_a_password_is_refused_and_not_repeated(uri: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Database(Connection(uri, "neo4j", SecretStr("x")))
    assert "marked" not in str(refused.value)
    assert "NEO4J_PASSWORD" in str(refused.value)
