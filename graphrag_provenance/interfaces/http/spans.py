"""OpenTelemetry spans of requests (extra `otel`, setting `serve_otel`; spec 5, HTTP).

Owns: what a span says: the route as the service declares it, method and status. Never an id, a reader or what was asked. Where spans
go, the standard variables `OTEL_*` say. Leaves to others: trace ids without spans (`guard`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphrag_provenance.errors import MissingExtraError
from graphrag_provenance.version import __version__

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as error:
    raise MissingExtraError(
        f"Spans need the package '{(error.name or 'opentelemetry').replace('.', '-')}', which is not installed.",
        hint="Run: pip install 'graphrag-provenance[otel]', or leave serve_otel off.") from None


class Spans:
    """A span a request."""

    def __init__(self, processor: SpanProcessor | None = None) -> None:
        resource = Resource.create().merge(Resource({SERVICE_NAME: "graphrag-provenance"}))
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(processor or BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("graphrag_provenance", __version__)
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def request(self, method: str, traceparent: str | None) -> Iterator[RequestSpan]:
        """The span of one request, in the caller's trace."""
        context = self._propagator.extract({} if traceparent is None else {"traceparent": traceparent})
        with self._tracer.start_as_current_span(method, context=context, kind=SpanKind.SERVER) as span:
            yield RequestSpan(span, method)

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


class RequestSpan:
    """One span, while its request is worked on."""

    def __init__(self, span: Any, method: str) -> None:
        self._span, self._method = span, method

    @property
    def trace_id(self) -> str:
        """The trace that the span is part of."""
        return f"{self._span.get_span_context().trace_id:032x}"

    def end(self, route: str, status: int) -> None:
        """What became of the request."""
        self._span.update_name(f"{self._method} {route}")
        self._span.set_attributes({"http.request.method": self._method, "http.route": route, "http.response.status_code": status})
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)
