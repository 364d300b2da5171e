"""Milliseconds of the steps of a query."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Milliseconds of the steps of one query, by name."""

    def __init__(self) -> None:
        self.timings_ms: dict[str, float] = {}

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        """Time a step."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[step] = 1000 * (time.perf_counter() - started)
