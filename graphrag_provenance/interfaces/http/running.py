"""Running an application until it is told to stop.

Owns: how long a stop waits, what is said at the start, and the warning for a service that others reach without TLS. Leaves to others:
the application.
"""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.store.database import Connection
from graphrag_provenance.store.loop import LoopDatabase

_RETRY_SECONDS = 2.0
"""How long a read tries a store that does not answer: the caller is told soon, and asks again."""


def served_database(settings: Settings, connection: Connection) -> LoopDatabase:
    """The store as a service uses it: it need not answer yet, and may go and come back."""
    return LoopDatabase(connection, read_timeout=settings.query_timeout_seconds, retry_seconds=_RETRY_SECONDS)


def check_exposure(settings: Settings, warn: Callable[[str], None]) -> None:
    """Warns of a service that other machines reach without TLS. Raises ConfigurationError for half a TLS setting."""
    certificate, key = settings.serve_tls_certificate, settings.serve_tls_key
    if (certificate is None) != (key is None):
        raise ConfigurationError("TLS needs both 'serve_tls_certificate' and 'serve_tls_key'.",
                                 hint="Set the other one, or leave TLS to a proxy.")
    for file in (certificate, key):
        if file is not None and not file.is_file():
            raise ConfigurationError(f"There is no file {file}.", hint="Set serve_tls_certificate and serve_tls_key to PEM files.")
    if not _loopback(settings.serve_host) and certificate is None and not settings.serve_proxies:
        warn(f"Warning: {settings.serve_host} is reached from other machines, and tokens travel unencrypted. Put a proxy with TLS in "
             "front (setting serve_proxies), or set serve_tls_certificate and serve_tls_key.")


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Server(uvicorn.Server):
    """Says where it listens, once it does."""

    def __init__(self, config: uvicorn.Config, said: Callable[[], None]) -> None:
        super().__init__(config)
        self._said = said

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._said()


def run(app: ASGIApp, settings: Settings, say: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM; requests that are being worked on are answered first, then the process ends with code 0.

    Raises ConfigurationError for an address that cannot be listened on.
    """
    listener = listening(settings)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_keep_alive=5, lifespan="on",
        timeout_graceful_shutdown=int(settings.serve_timeout_seconds) + 1,
        proxy_headers=bool(settings.serve_proxies), forwarded_allow_ips=list(settings.serve_proxies),
        ssl_certfile=settings.serve_tls_certificate, ssl_keyfile=settings.serve_tls_key,
    )
    host, port = listener.getsockname()[:2]
    where = f"{'http' if settings.serve_tls_certificate is None else 'https'}://{f'[{host}]' if ':' in host else host}:{port}"
    before = signal.signal(signal.SIGTERM, _end)
    try:
        _Server(config, lambda: say(f"Serving at {where}. Stop with Ctrl-C.")).run(sockets=[listener])
    except KeyboardInterrupt:
        say("Stopped.")
    finally:
        signal.signal(signal.SIGTERM, before)
        listener.close()


def listening(settings: Settings) -> socket.socket:
    """The socket of a service. Raises ConfigurationError."""
    host, port = settings.serve_host, settings.serve_port
    try:
        (family, *_, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        made = socket.create_server(address[:2], family=family, backlog=2048)
        # asyncio sends small answers at once only on a socket that says it is TCP; on another each waits some 40 ms for an acknowledgement.
        return socket.socket(made.family, made.type, socket.IPPROTO_TCP, fileno=made.detach())
    except OSError as error:
        raise ConfigurationError(f"The service cannot listen on {host}:{port}: {error.strerror or error}.",
                                 hint="Choose another one with --host and --port.") from None


def _end(_: int, __: FrameType | None) -> None:
    raise SystemExit(0)
