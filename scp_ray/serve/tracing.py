"""Spans of OpenTelemetry, where ``serve.otlp_endpoint`` says so: of each request and its steps.

The spans hold names, numbers and kinds of errors, and never a word of a question or a document.
A call that is not traced costs less than a microsecond.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Thread
from typing import TYPE_CHECKING, Any

from scp_ray.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

_PATH = "/v1/traces"
_SERVER_ERROR = 500
_STOPPING_S = 2.0
_NOTHING = nullcontext()


class RequestSpan:
    """The span of one HTTP request; without tracing it is none.

    Attributes:
        trace_id: Names the trace, 32 hexadecimal digits; None = not traced.
    """

    def __init__(self, span: "Span | None" = None) -> None:
        self._span = span
        self.trace_id = None if span is None else f"{span.get_span_context().trace_id:032x}"

    def ended(self, method: str, route: str, status: int, request_id: str) -> None:
        """Say what came of the request."""
        if self._span is None:
            return
        self._span.set_attribute("http.request.method", method)
        self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        self._span.set_attribute("scp_ray.request_id", request_id)
        if status >= _SERVER_ERROR:
            _mark_failed(self._span, str(status))


class _Tracing:
    """What this process traces with; one process has one."""

    provider: "TracerProvider | None" = None
    tracer: "Tracer | None" = None


_UNTRACED = nullcontext(RequestSpan())


def start_tracing(endpoint: str | None) -> None:
    """Send the spans of this process to a collector, in the background; None = trace nothing.

    The variables ``OTEL_*`` that the SDK reads hold too, for sampling, headers and batches. While
    the collector cannot be reached spans are dropped.

    Args:
        endpoint: Base address of OTLP over HTTP, such as ``http://host:4318``.

    Raises:
        ConfigError: If the exporter is not installed.
    """
    stop_tracing()
    if endpoint is None:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        message = f"serve.otlp_endpoint needs opentelemetry-exporter-otlp-proto-http: {error}"
        raise ConfigError(message) from error
    address = endpoint.rstrip("/").removesuffix(_PATH) + _PATH
    resource = Resource.create({"service.name": "scp-ray"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
    _Tracing.provider, _Tracing.tracer = provider, provider.get_tracer("scp_ray.serve")


def stop_tracing() -> None:
    """Send what spans are left, as far as two seconds suffice, and trace nothing from now on."""
    provider, _Tracing.provider, _Tracing.tracer = _Tracing.provider, None, None
    if provider is not None:
        sending = Thread(target=provider.shutdown, name="scp_ray last spans", daemon=True)
        sending.start()
        sending.join(_STOPPING_S)


def span(name: str, **attributes: str | int | float | bool) -> AbstractContextManager[object]:
    """Trace a step of a request, as a child of the span around it.

    Args:
        name: The step.
        **attributes: What to know of it, such as ``generation`` and ``group``; no text.
    """
    if _Tracing.tracer is None:
        return _NOTHING
    return _traced(_Tracing.tracer, name, attributes)


def request_span(
    headers: Iterable[tuple[bytes, bytes]],
) -> AbstractContextManager[RequestSpan]:
    """Trace a whole request; it continues the trace of its ``traceparent`` header (W3C)."""
    if _Tracing.tracer is None:
        return _UNTRACED
    return _traced_request(_Tracing.tracer, headers)


@contextmanager
def _traced(tracer: "Tracer", name: str, attributes: dict[str, Any]) -> Iterator[None]:
    named = {f"scp_ray.{key}": value for key, value in attributes.items()}
    with tracer.start_as_current_span(
        name, attributes=named, record_exception=False, set_status_on_exception=False
    ) as started:
        try:
            yield
        except BaseException as error:
            _mark_failed(started, type(error).__name__)
            raise


@contextmanager
def _traced_request(
    tracer: "Tracer", headers: Iterable[tuple[bytes, bytes]]
) -> Iterator[RequestSpan]:
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
    with tracer.start_as_current_span(
        "request",
        context=TraceContextTextMapPropagator().extract(carrier),
        kind=SpanKind.SERVER,
        record_exception=False,
        set_status_on_exception=False,
    ) as started:
        yield RequestSpan(started)


def _mark_failed(failed: "Span", kind: str) -> None:
    """Give a span the kind of an error; its message may hold words of a question."""
    from opentelemetry.trace import Status, StatusCode

    failed.set_status(Status(StatusCode.ERROR))
    failed.set_attribute("error.type", kind)
