"""A second request to another replica where the first one takes unusually long."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from scp_ray.serve.metrics import Metrics

Q = TypeVar("Q")
A = TypeVar("A")

_REMEMBERED, _LEAST_REMEMBERED = 200, 20
_QUANTILE = 0.95


class HedgedCall(Generic[Q, A]):
    """Makes a call a second time once it has taken longer than 95 % of those before it.

    A call that fails is made a second time at once. The first answer counts and the other call is
    cancelled, so that under steady load one call in twenty is made twice.

    Args:
        call: Made through a load balancer, which picks the replica with the fewest calls.
        group: For the metric.
        metrics: Counts.
    """

    def __init__(self, call: Callable[[Q], Awaitable[A]], group: str, metrics: Metrics) -> None:
        self._call = call
        self._group = group
        self._metrics = metrics
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)

    async def __call__(self, request: Q) -> A:
        """Return the first answer.

        Raises:
            Exception: That of the last call, when both failed.
        """
        started = time.perf_counter()
        calls = {asyncio.ensure_future(self._call(request))}
        try:
            done, running = await asyncio.wait(calls, timeout=self._patience_s)
            if not any(_succeeded(call) for call in done):
                self._metrics.hedged(self._group)
                running.add(asyncio.ensure_future(self._call(request)))
                calls |= running
            while running and not any(_succeeded(call) for call in done):
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            answer = next((call for call in done if _succeeded(call)), next(iter(done))).result()
        finally:
            for call in calls:
                call.cancel()
        self._seconds.append(time.perf_counter() - started)
        return answer

    @property
    def _patience_s(self) -> float | None:
        if len(self._seconds) < _LEAST_REMEMBERED:
            return None
        return sorted(self._seconds)[int(_QUANTILE * len(self._seconds))]


def _succeeded(call: "asyncio.Future[A]") -> bool:
    return not call.cancelled() and call.exception() is None
