"""What each event of the service becomes, and that labels are bounded."""

import gc
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.serve import metrics as module
from scp_ray.serve.metrics import Metrics, NoMetrics, ServeMetrics, kind_of
from scp_ray.serve.models import LATE, QUESTION, DegradedModel


class Instrument:
    """Keeps what it is told, and refuses what Ray refuses."""

    made: dict[str, "Instrument"]

    def __init__(
        self,
        name: str,
        description: str = "",
        boundaries: list[float] | tuple[str, ...] | None = None,
        tag_keys: tuple[str, ...] | None = None,
    ) -> None:
        labels = boundaries if isinstance(boundaries, tuple) else tag_keys
        self.labels = set(labels or ())
        self.told: list[tuple[float, dict[str, str]]] = []
        assert description
        assert name not in self.made
        self.made[name] = self

    def _tell(self, value: float, tags: dict[str, str]) -> None:
        assert set(tags) == self.labels
        assert all(isinstance(label, str) for label in tags.values())
        self.told.append((value, tags))

    def inc(self, value: float, tags: dict[str, str]) -> None:
        assert value > 0
        self._tell(value, tags)

    def observe(self, value: float, tags: dict[str, str]) -> None:
        self._tell(value, tags)

    def set(self, value: float, tags: dict[str, str]) -> None:
        self._tell(value, tags)


def missing_group(reason: str) -> DegradedModel:
    return DegradedModel(group="group-1", reason=reason)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Instrument]]:
    """The instruments that ``ServeMetrics`` makes, by name."""
    Instrument.made = {}
    for kind in ("Counter", "Gauge", "Histogram"):
        monkeypatch.setattr(module, kind, Instrument)
    return Instrument.made


def _values(instrument: Instrument) -> list[Any]:
    return [(value, *labels.values()) for value, labels in instrument.told]


def test_each_event_has_its_metric(told: dict[str, Instrument]) -> None:
    metrics: Metrics = ServeMetrics()
    metrics.request_done("/v1/query", 200, 0.25)
    metrics.call_done("group-1", "first_pass", 0.01, "late")
    metrics.call_size("group-1", "first_pass", 3)
    metrics.hedged("group-1")
    missing = [missing_group(LATE), missing_group("OSError: disk on fire")]
    metrics.answered(0.5, missing, num_gap_drops=7, num_deepenings=2)
    metrics.in_flight(4)
    metrics.waiting("group-1", 5)
    metrics.serving(17)
    metrics.memory(2)
    metrics.audit_lost(6)
    assert {name: _values(instrument) for name, instrument in told.items() if instrument.told} == {
        "scp_ray_requests": [(1, "/v1/query", "200")],
        "scp_ray_request_seconds": [(0.25, "/v1/query")],
        "scp_ray_call_seconds": [(0.01, "group-1", "first_pass", "late")],
        "scp_ray_call_questions": [(3, "group-1", "first_pass")],
        "scp_ray_hedged_calls": [(1, "group-1")],
        "scp_ray_coverage": [(0.5,)],
        "scp_ray_degraded": [(1, "late"), (1, "failed")],
        "scp_ray_gap_drops": [(7,)],
        "scp_ray_deeper_searches": [(2,)],
        "scp_ray_in_flight": [(4,)],
        "scp_ray_waiting": [(5, "group-1")],
        "scp_ray_serving_generation": [(17,)],
        "scp_ray_open_generations": [(2,)],
        "scp_ray_audit_lost": [(6,)],
    }


def test_failed_reload_shows_until_one_goes_well(told: dict[str, Instrument]) -> None:
    metrics = ServeMetrics()
    for result in ("swapped", "failed", "swapped"):
        metrics.reloaded(result)
    assert _values(told["scp_ray_reloads"]) == [(1, "swapped"), (1, "failed"), (1, "swapped")]
    assert _values(told["scp_ray_reload_failed"]) == [(0,), (1,), (0,)]


def test_current_shows_while_it_cannot_be_read(told: dict[str, Instrument]) -> None:
    metrics = ServeMetrics()
    for is_readable in (True, False, True):
        metrics.current(is_readable=is_readable)
    assert _values(told["scp_ray_current_unreadable"]) == [(0,), (1,), (0,)]


def test_gauges_are_told_again_as_long_as_the_metrics_live(
    told: dict[str, Instrument], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_REMIND_S", 0.001)
    before = set(threading.enumerate())
    metrics = ServeMetrics()
    (reminding,) = set(threading.enumerate()) - before
    for generation in (16, 17):
        metrics.serving(generation)
    metrics.waiting("group-0", 1)
    metrics.waiting("group-1", 2)
    metrics.hedged("group-0")
    generation, waiting = told["scp_ray_serving_generation"], told["scp_ray_waiting"]
    ends = time.monotonic() + 10
    while len(waiting.told) < 20 or len(generation.told) < 12:
        assert time.monotonic() < ends
        time.sleep(0.001)
    assert _values(generation)[-5:] == [(17,)] * 5
    assert set(_values(waiting)[-2:]) == {(1, "group-0"), (2, "group-1")}
    assert len(told["scp_ray_hedged_calls"].told) == 1
    del metrics
    gc.collect()
    reminding.join(10)
    assert not reminding.is_alive()


def test_nothing_counts_as_nothing(told: dict[str, Instrument]) -> None:
    metrics = ServeMetrics()
    metrics.answered(1.0, [], num_gap_drops=0, num_deepenings=0)
    metrics.audit_lost(0)
    assert [name for name, instrument in told.items() if instrument.told] == ["scp_ray_coverage"]


@given(st.lists(st.text()), st.integers())
def test_labels_are_bounded_whatever_is_told(reasons: list[str], status: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        Instrument.made = {}
        for kind in ("Counter", "Gauge", "Histogram"):
            patch.setattr(module, kind, Instrument)
        metrics = ServeMetrics()
        metrics.answered(1.0, [missing_group(reason) for reason in reasons], 0, 0)
        metrics.request_done("/v1/query", status, 0.1)
    kinds = {labels["kind"] for _, labels in Instrument.made["scp_ray_degraded"].told}
    assert kinds <= {"late", "cut", "failed"}
    ((_, labels),) = Instrument.made["scp_ray_requests"].told
    assert re.fullmatch(r"[1-5]\d\d|other", labels["status"])


def test_reasons_of_replies_have_their_kind() -> None:
    assert kind_of(missing_group(LATE)) == "late"
    assert kind_of(DegradedModel(group=QUESTION, reason="its vector is of a part")) == "cut"
    assert kind_of(missing_group("OSError: disk on fire")) == "failed"


def test_service_outside_of_ray_counts_nothing() -> None:
    metrics: Metrics = NoMetrics()
    metrics.request_done("/v1/query", 200, 0.25)
    metrics.call_done("group-1", "search", 0.01, "ok")
    metrics.answered(1.0, [], 0, 0)
    assert vars(metrics) == {}
