"""What the query service counts and times, exported by Ray for Prometheus.

Every label has few values: a route is its template, a reason its kind. ``docs/observability.md``
lists the metrics; Ray puts ``ray_`` before each name.
"""

import weakref
from collections.abc import Sequence
from threading import Event, Lock, Thread
from typing import Protocol, cast

from ray.serve.metrics import Counter, Gauge, Histogram

from scp_ray.serve.models import LATE, QUESTION, DegradedModel

_SECONDS = [
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075),
    *(0.1, 0.15, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0),
]
_SHARES = [0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0]
# Ray keeps of an observation only its bucket, and sums up the buckets' middles: one question
# counts as one, and two as two.
_QUESTIONS = [0.5, 1.5, 2.5, 4.5, 8.5, 16.5, 32.5, 64.5, 128.5]
_STATUSES = range(100, 600)
_REMIND_S = 1.0


class Metrics(Protocol):
    """What the service tells of itself. No call blocks or fails."""

    def request_done(self, route: str, status: int, seconds: float) -> None:
        """Count an HTTP request by its route's template."""
        ...

    def call_done(self, group: str, step: str, seconds: float, outcome: str) -> None:
        """Time a call to a group.

        Args:
            group: Its name.
            step: ``first_pass``, ``second_pass``, ``search``, ``results``, ``texts`` or ``encode``.
            seconds: From the call until its outcome.
            outcome: ``ok``, ``late``, ``failed`` or ``cancelled``.
        """
        ...

    def call_size(self, group: str, step: str, num_questions: int) -> None:
        """Count the questions that went to a group in one call."""
        ...

    def hedged(self, group: str) -> None:
        """Count a call that was made to a second replica too."""
        ...

    def answered(
        self,
        coverage: float,
        degraded: Sequence[DegradedModel],
        num_gap_drops: int,
        num_deepenings: int,
    ) -> None:
        """Count an answer.

        Args:
            coverage: Share of the shards that answered, in [0, 1].
            degraded: The reply's ``degraded``; of each only its kind is kept.
            num_gap_drops: Candidates that were too near to a better one.
            num_deepenings: Times that a shard was searched again for more candidates.
        """
        ...

    def in_flight(self, count: int) -> None:
        """Say how many questions are being answered."""
        ...

    def waiting(self, group: str, count: int) -> None:
        """Say how many questions wait for a group's next call."""
        ...

    def serving(self, generation: int) -> None:
        """Say which generation is served."""
        ...

    def reloaded(self, result: str) -> None:
        """Count a new generation that was ``swapped`` in, or that ``failed``."""
        ...

    def current(self, *, is_readable: bool) -> None:
        """Say whether ``CURRENT`` can be read."""
        ...

    def memory(self, num_open_generations: int) -> None:
        """Say how many generations are open: two while one takes over from another."""
        ...

    def audit_lost(self, count: int) -> None:
        """Count answers that are missing in the audit log."""
        ...


class NoMetrics:
    """Counts nothing; for a service outside of Ray."""

    def request_done(self, route: str, status: int, seconds: float) -> None:
        """See ``Metrics.request_done``."""

    def call_done(self, group: str, step: str, seconds: float, outcome: str) -> None:
        """See ``Metrics.call_done``."""

    def call_size(self, group: str, step: str, num_questions: int) -> None:
        """See ``Metrics.call_size``."""

    def hedged(self, group: str) -> None:
        """See ``Metrics.hedged``."""

    def answered(
        self,
        coverage: float,
        degraded: Sequence[DegradedModel],
        num_gap_drops: int,
        num_deepenings: int,
    ) -> None:
        """See ``Metrics.answered``."""

    def in_flight(self, count: int) -> None:
        """See ``Metrics.in_flight``."""

    def waiting(self, group: str, count: int) -> None:
        """See ``Metrics.waiting``."""

    def serving(self, generation: int) -> None:
        """See ``Metrics.serving``."""

    def reloaded(self, result: str) -> None:
        """See ``Metrics.reloaded``."""

    def current(self, *, is_readable: bool) -> None:
        """See ``Metrics.current``."""

    def memory(self, num_open_generations: int) -> None:
        """See ``Metrics.memory``."""

    def audit_lost(self, count: int) -> None:
        """See ``Metrics.audit_lost``."""


class ServeMetrics:
    """The metrics of one process, which its Ray node exports; threads may share it.

    Make one in each process: Ray keeps metrics of one name apart by process alone. Inside a
    replica each has the labels ``application``, ``deployment`` and ``replica`` as well.
    """

    def __init__(self) -> None:
        self._gauges = _Gauges()
        self._make_request_metrics()
        self._make_call_metrics()
        self._make_answer_metrics()
        self._make_generation_metrics()

    def request_done(self, route: str, status: int, seconds: float) -> None:
        """See ``Metrics.request_done``."""
        told = str(status) if status in _STATUSES else "other"
        self._requests.inc(1, {"route": route, "status": told})
        self._request_seconds.observe(seconds, {"route": route})

    def call_done(self, group: str, step: str, seconds: float, outcome: str) -> None:
        """See ``Metrics.call_done``."""
        self._call_seconds.observe(seconds, {"group": group, "step": step, "outcome": outcome})

    def call_size(self, group: str, step: str, num_questions: int) -> None:
        """See ``Metrics.call_size``."""
        self._call_questions.observe(num_questions, {"group": group, "step": step})

    def hedged(self, group: str) -> None:
        """See ``Metrics.hedged``."""
        self._hedged_calls.inc(1, {"group": group})

    def answered(
        self,
        coverage: float,
        degraded: Sequence[DegradedModel],
        num_gap_drops: int,
        num_deepenings: int,
    ) -> None:
        """See ``Metrics.answered``."""
        self._coverage.observe(coverage, {})
        for one in degraded:
            self._degraded.inc(1, {"kind": kind_of(one)})
        if num_gap_drops > 0:
            self._gap_drops.inc(num_gap_drops, {})
        if num_deepenings > 0:
            self._deeper_searches.inc(num_deepenings, {})

    def in_flight(self, count: int) -> None:
        """See ``Metrics.in_flight``."""
        self._gauges.set(self._in_flight, count, {})

    def waiting(self, group: str, count: int) -> None:
        """See ``Metrics.waiting``."""
        self._gauges.set(self._waiting, count, {"group": group})

    def serving(self, generation: int) -> None:
        """See ``Metrics.serving``."""
        self._gauges.set(self._generation, generation, {})

    def reloaded(self, result: str) -> None:
        """See ``Metrics.reloaded``."""
        self._reloads.inc(1, {"result": result})
        self._gauges.set(self._reload_failed, int(result == "failed"), {})

    def current(self, *, is_readable: bool) -> None:
        """See ``Metrics.current``."""
        self._gauges.set(self._unreadable, int(not is_readable), {})

    def memory(self, num_open_generations: int) -> None:
        """See ``Metrics.memory``."""
        self._gauges.set(self._open_generations, num_open_generations, {})

    def audit_lost(self, count: int) -> None:
        """See ``Metrics.audit_lost``."""
        if count > 0:
            self._audit_lost.inc(count, {})

    def _make_request_metrics(self) -> None:
        self._requests = Counter("scp_ray_requests", "HTTP requests", _labels("route", "status"))
        self._request_seconds = Histogram(
            "scp_ray_request_seconds", "Duration of an HTTP request", _SECONDS, _labels("route")
        )
        self._in_flight = Gauge("scp_ray_in_flight", "Questions that are being answered")
        self._audit_lost = Counter("scp_ray_audit_lost", "Answers missing in the audit log")

    def _make_call_metrics(self) -> None:
        self._call_seconds = Histogram(
            "scp_ray_call_seconds",
            "Duration of a call to a shard group",
            _SECONDS,
            _labels("group", "step", "outcome"),
        )
        self._call_questions = Histogram(
            "scp_ray_call_questions", "Questions of one call", _QUESTIONS, _labels("group", "step")
        )
        self._hedged_calls = Counter(
            "scp_ray_hedged_calls", "Calls made to a second replica too", _labels("group")
        )
        self._waiting = Gauge(
            "scp_ray_waiting", "Questions that wait for a group's next call", _labels("group")
        )

    def _make_answer_metrics(self) -> None:
        self._coverage = Histogram(
            "scp_ray_coverage", "Share of the shards that answered a question", _SHARES
        )
        self._degraded = Counter(
            "scp_ray_degraded", "What did not contribute to an answer in full", _labels("kind")
        )
        self._gap_drops = Counter(
            "scp_ray_gap_drops", "Candidates dropped as too near to a better one"
        )
        self._deeper_searches = Counter(
            "scp_ray_deeper_searches", "Searches repeated for more candidates"
        )

    def _make_generation_metrics(self) -> None:
        self._generation = Gauge("scp_ray_serving_generation", "Generation that is served")
        self._open_generations = Gauge("scp_ray_open_generations", "Generations that are open")
        self._reloads = Counter(
            "scp_ray_reloads", "New generations by what came of them", _labels("result")
        )
        self._reload_failed = Gauge(
            "scp_ray_reload_failed", "1 while the newest generation could not be taken"
        )
        self._unreadable = Gauge(
            "scp_ray_current_unreadable", "1 while CURRENT is missing or cannot be read"
        )


class _Gauges:
    """The values of the gauges, told again each second.

    Ray's agent forgets a gauge that it has not heard of for two of its reports, 20 s.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[int, str], tuple[Gauge, float, dict[str, str]]] = {}
        self._lock = Lock()
        Thread(target=_remind, args=(weakref.ref(self),), daemon=True).start()

    def set(self, gauge: Gauge, value: float, labels: dict[str, str]) -> None:
        with self._lock:
            self._values[id(gauge), "".join(labels.values())] = (gauge, value, labels)
            gauge.set(value, labels)

    def tell_again(self) -> None:
        with self._lock:
            for gauge, value, labels in self._values.values():
                gauge.set(value, labels)


def _remind(gauges: "weakref.ref[_Gauges]") -> None:
    pause = Event()
    while not pause.wait(_REMIND_S):
        told = gauges()
        if told is None:
            return
        told.tell_again()
        del told


def kind_of(one: DegradedModel) -> str:
    """Return the kind of an entry of ``degraded``: ``late``, ``cut`` or ``failed``."""
    if one.reason == LATE:
        return "late"
    return "cut" if one.group == QUESTION else "failed"


def _labels(*names: str) -> tuple[str]:
    """Return names of labels: Ray takes any number, and its annotation says one."""
    return cast("tuple[str]", names)
