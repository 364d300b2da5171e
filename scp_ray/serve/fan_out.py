"""Asks shard groups at once, and leaves out of a query what fails or is late."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from scp_ray.records import ChunkKey, ScoredChunk
from scp_ray.serve.group_calls import Step
from scp_ray.serve.group_client import GroupClient
from scp_ray.serve.metrics import Metrics
from scp_ray.serve.models import LATE, DegradedModel
from scp_ray.serve.tracing import span

T = TypeVar("T")


class FanOut:
    """The groups that still take part in one query, and the time that is left for it.

    Attributes:
        alive: Groups that answered all that they were asked.
        degraded: The others, with the reason.
    """

    def __init__(
        self, groups: Sequence[GroupClient], seconds: float, generation: int, metrics: Metrics
    ) -> None:
        self.alive = list(groups)
        self.degraded: list[DegradedModel] = []
        self._ends = asyncio.get_running_loop().time() + seconds
        self._generation = generation
        self._metrics = metrics

    async def call(
        self,
        step: Step,
        ask: Callable[[GroupClient], Awaitable[T]],
        *,
        share: float,
        only: Callable[[GroupClient], bool] = lambda _group: True,
    ) -> Mapping[str, T]:
        """Ask groups at once, and return the answers that came; the other groups leave the query.

        Args:
            step: What is asked, for metrics and spans.
            ask: Asks.
            share: Of the time left, so that there is some for the next step: one slow group must
                not cost the answer.
            only: Which groups are asked.
        """
        asked = [group for group in self.alive if only(group)]
        answers = await asyncio.gather(
            *(self.timed(step, group.name, ask(group), share) for group in asked),
            return_exceptions=True,
        )
        answered: dict[str, T] = {}
        for group, answer in zip(asked, answers, strict=True):
            if not isinstance(answer, BaseException):
                answered[group.name] = answer
            elif isinstance(answer, Exception | asyncio.CancelledError):
                self._leave_out(group, answer)
            else:
                raise answer
        return answered

    async def gather(
        self,
        step: Step,
        hits: Collection[ScoredChunk],
        ask: Callable[[GroupClient, list[ScoredChunk]], Awaitable[dict[ChunkKey, T]]],
        *,
        share: float,
    ) -> dict[ChunkKey, T]:
        """Ask each group for those of the hits that it holds; what does not come is missing."""
        shard_ids = {hit.shard_id for hit in hits}
        answers = await self.call(
            step,
            lambda group: ask(group, [hit for hit in hits if hit.shard_id in group.shard_ids]),
            share=share,
            only=lambda group: bool(group.shard_ids & shard_ids),
        )
        gathered: dict[ChunkKey, T] = {}
        for some in answers.values():
            gathered |= some
        return gathered

    def seconds_left(self, share: float) -> float:
        """Return a share of the time until the deadline, >= 0."""
        return share * max(0.0, self._ends - asyncio.get_running_loop().time())

    async def timed(self, step: Step, name: str, answer: Awaitable[T], share: float) -> T:
        """Wait for an answer, a share of the time left at most, and tell how that went.

        Raises:
            TimeoutError: If it is late.
        """
        started, outcome = time.perf_counter(), "failed"
        try:
            with span(step.value, generation=self._generation, group=name):
                given = await asyncio.wait_for(answer, self.seconds_left(share))
            outcome = "ok"
        except TimeoutError:
            outcome = "late"
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            self._metrics.call_done(name, step, time.perf_counter() - started, outcome)
        return given

    def _leave_out(self, group: GroupClient, error: BaseException) -> None:
        self.alive.remove(group)
        self.degraded.append(DegradedModel(group=group.name, reason=reason_of(error)))


def reason_of(error: BaseException) -> str:
    """Return why an answer is missing, for a reply."""
    if isinstance(error, TimeoutError):
        return LATE
    return f"{type(error).__name__}: {error}"
