"""Spans where nothing is traced; the traced ones are in the integration tests."""

import sys

import pytest

from scp_ray.errors import ConfigError
from scp_ray.serve.tracing import request_span, span, start_tracing, stop_tracing


def test_without_an_endpoint_nothing_is_traced() -> None:
    start_tracing(None)
    with request_span([(b"traceparent", b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01")]) as outer:
        with span("first pass", generation=3, group="group-1") as inner:
            pass
        outer.ended("GET", "/v1/query", 500, "req-1")
    assert outer.trace_id is None
    assert inner is None


def test_untraced_step_hides_no_error() -> None:
    with pytest.raises(OSError, match="disk on fire"), request_span([]), span("fetch"):
        message = "disk on fire"
        raise OSError(message)


def test_untraced_steps_may_be_nested_and_repeated() -> None:
    with span("second pass"), span("second pass"), span("fetch"):
        pass
    stop_tracing()
    stop_tracing()


def test_missing_exporter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ConfigError, match="needs opentelemetry-exporter-otlp-proto-http"):
        start_tracing("http://127.0.0.1:4318")
