"""How many documents each engine of a language model worked on at once, over the time of a run."""

from datetime import UTC, datetime
from typing import Any

from scp_ray.records import ActivePeriod

_MAX_STEPS = 240  # of a timeline; above that, steps get twice as long


class ActiveDocuments:
    """Timelines of all engines, of bounded size however long the run is."""

    def __init__(self) -> None:
        self._step_s = 1
        self._first = self._last = 0.0
        self._busy: dict[str, dict[int, float]] = {}  # document seconds by step of Unix time

    def add(self, period: ActivePeriod) -> None:
        """Count one document."""
        self._first = min(self._first, period.began) if self._busy else period.began
        self._last = max(self._last, period.ended)
        while self._step(self._last) - self._step(self._first) >= _MAX_STEPS:
            self._coarsen()
        steps = self._busy.setdefault(period.engine, {})
        for step in range(self._step(period.began), self._step(period.ended) + 1):
            start = step * self._step_s
            seconds = min(period.ended, start + self._step_s) - max(period.began, start)
            steps[step] = steps.get(step, 0.0) + max(0.0, seconds)

    def timelines(self) -> dict[str, Any]:
        """Return them for the run report; empty when no engine was at work.

        ``began`` is the time at which all begin (ISO 8601, UTC), ``step_s`` the seconds of a step,
        and ``engines`` has, by the name of the engine, the mean number of documents in each step.
        """
        if not self._busy:
            return {}
        first, last = self._step(self._first), self._step(self._last)
        return {
            "began": datetime.fromtimestamp(first * self._step_s, UTC).isoformat(),
            "step_s": self._step_s,
            "engines": {
                engine: [
                    round(steps.get(step, 0.0) / self._step_s, 2) for step in range(first, last + 1)
                ]
                for engine, steps in sorted(self._busy.items())
            },
        }

    def _step(self, moment: float) -> int:
        return int(moment // self._step_s)

    def _coarsen(self) -> None:
        self._step_s *= 2
        for engine, steps in self._busy.items():
            merged: dict[int, float] = {}
            for step, seconds in steps.items():
                merged[step // 2] = merged.get(step // 2, 0.0) + seconds
            self._busy[engine] = merged
