"""What the service counts (spec 5, HTTP: Prometheus metrics).

Owns: names and labels. A label is a path as the service declares it, a method, a status or a reason: never an id, a tenant or a reader.
"""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The counters of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("gprov_http_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry)
        self._seconds = Histogram(
            "gprov_http_request_seconds", "Time to the answer.", ("route",), registry=self._registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30))
        self._refused = Counter("gprov_http_refused", "Requests that came to no work.", ("reason",), registry=self._registry)
        self.in_flight = Gauge("gprov_http_in_flight", "Requests that are being worked on.", registry=self._registry)
        self.ready = Gauge("gprov_ready", "1 if the store answered when it was last looked at.", registry=self._registry)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def refused(self, reason: str) -> None:
        """Count a refusal."""
        self._refused.labels(reason).inc()

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
