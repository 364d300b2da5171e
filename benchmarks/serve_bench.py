"""What the parts of the service's benchmark share: the setting, and figures of loads."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import say, spread
from benchmarks.serve_corpus import NUM_RESULTS, ServedCorpus
from benchmarks.serve_load import LoadReport, LoadSpec, load_in_process, percentile
from scp_ray.config import Settings

CLIENTS = (1, 8, 64)
DEFAULT: Mapping[str, Any] = {"top_k": NUM_RESULTS}
VECTORS: Mapping[str, Any] = {**DEFAULT, "lexical_weight": 0.0}  # no words: the paper's method
_P50, _P99 = 0.5, 0.99
_OURS_IF = '"degraded":[]'
_DEADLINE_MS = 60_000  # the others have none

Measured = dict[str, float]


@dataclass(frozen=True, slots=True)
class Bench:
    """How everything is measured.

    Attributes:
        corpus: What is served.
        settings: How it is served.
        rounds: How often each figure is measured.
        duration_s: Seconds of one load.
        warm_s: Seconds before it that do not count.
    """

    corpus: ServedCorpus
    settings: Settings
    rounds: int
    duration_s: float
    warm_s: float

    def spec(
        self,
        port: int,
        num_clients: int,
        body: Mapping[str, Any] = DEFAULT,
        whole_if: str = _OURS_IF,
    ) -> LoadSpec:
        """Return the load of some clients that ask all questions with this body."""
        bodies = [json.dumps({"query": question, **body}) for question in self.corpus.questions]
        return LoadSpec(port, bodies, num_clients, self.warm_s, self.duration_s, whole_if)

    def load(
        self, name: str, port: int, num_clients: int, body: Mapping[str, Any] = DEFAULT
    ) -> Measured:
        """Offer a load to the service and return its figures.

        Raises:
            RuntimeError: If a request failed, or was answered in part.
        """
        return checked(name, num_clients, load_in_process(self.spec(port, num_clients, body)))

    def load_other(self, name: str, port: int, num_clients: int, whole_if: str) -> Measured:
        """Offer a load to another server, whose whole answers contain ``whole_if``.

        Raises:
            RuntimeError: If a request failed.
        """
        spec = self.spec(port, num_clients, whole_if=whole_if)
        return checked(name, num_clients, load_in_process(spec))

    def serve_settings(self, **values: Any) -> Settings:  # noqa: ANN401 - values of settings
        """Return the settings with values of the section ``serve`` changed."""
        given = {"deadline_ms": _DEADLINE_MS, **values}
        return self.settings.with_values("serve", **given)


def checked(name: str, num_clients: int, report: LoadReport) -> Measured:
    """Return the figures of a load.

    Raises:
        RuntimeError: If a request failed, or none was answered.
    """
    if report.errors or not report.latencies_ms:
        message = f"{name}, {num_clients} clients: failed requests {report.errors or 'all'}"
        raise RuntimeError(message)
    figures = {
        "p50_ms": percentile(report.latencies_ms, _P50),
        "p99_ms": percentile(report.latencies_ms, _P99),
        "requests_per_s": report.requests_per_s,
        "generator_cpu": report.generator_cpu,
        "reply_bytes": report.reply_bytes,
        "load_average": os.getloadavg()[0],
    }
    say(
        f"  {name}, {num_clients} clients: p50 {figures['p50_ms']:.1f} ms, "
        f"p99 {figures['p99_ms']:.1f} ms, {figures['requests_per_s']:.1f} requests/s "
        f"(load average {figures['load_average']:.1f})"
    )
    return figures


def summed_up(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the spread of each figure, and of the figures of each group, over runs alike."""
    return {
        name: summed_up([run[name] for run in runs])
        if isinstance(value, Mapping)
        else spread([run[name] for run in runs])
        for name, value in runs[0].items()
    }
