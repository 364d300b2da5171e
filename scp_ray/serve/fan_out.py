"""Asks shard groups at once, and leaves out of a query what fails or is late."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from scp_ray.protocols import Float32Array
from scp_ray.records import ChunkKey, PositionPrior, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.two_pass import QueryOutcome
from scp_ray.serve.models import DegradedModel, ResultModel

T = TypeVar("T")

LATE = "deadline passed"


class GroupClient(Protocol):
    """A shard group somewhere else; the calls of ``ShardGroup``, awaited.

    Attributes:
        name: For replies and logs.
        shard_ids: The shards that it answers for.
    """

    name: str
    shard_ids: frozenset[int]

    async def first_pass(
        self, query: Float32Array, params: QueryParams, row_filter: dict[str, Any] | None
    ) -> list[ScoredChunk]:
        """See ``ShardGroup.first_pass``."""
        ...

    async def second_pass(
        self,
        question: Question,
        prior: PositionPrior | None,
        params: QueryParams,
        row_filter: dict[str, Any] | None,
    ) -> Selection:
        """See ``ShardGroup.second_pass``."""
        ...

    async def search(
        self, question: Question, params: QueryParams, row_filter: dict[str, Any] | None
    ) -> QueryOutcome:
        """See ``ShardGroup.search``."""
        ...

    async def results(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, ResultModel]:
        """See ``ShardGroup.results``."""
        ...

    async def texts(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, str]:
        """See ``ShardGroup.texts``."""
        ...


class FanOut:
    """The groups that still take part in one query, and the time that is left for it.

    Attributes:
        alive: Groups that answered all that they were asked.
        degraded: The others, with the reason.
    """

    def __init__(self, groups: Sequence[GroupClient], seconds: float) -> None:
        self.alive = list(groups)
        self.degraded: list[DegradedModel] = []
        self._ends = asyncio.get_running_loop().time() + seconds

    async def call(
        self,
        ask: Callable[[GroupClient], Awaitable[T]],
        *,
        share: float,
        only: Callable[[GroupClient], bool] = lambda _group: True,
    ) -> Mapping[str, T]:
        """Ask groups at once; those that fail, or take more than a share of the time left, leave.

        The share keeps time for the others' next step: one slow group must not cost the answer.
        """
        asked = [group for group in self.alive if only(group)]
        left = self.seconds_left(share)
        answers = await asyncio.gather(
            *(asyncio.wait_for(ask(group), left) for group in asked), return_exceptions=True
        )
        answered: dict[str, T] = {}
        for group, answer in zip(asked, answers, strict=True):
            if isinstance(answer, BaseException):
                self._leave_out(group, answer)
            else:
                answered[group.name] = answer
        return answered

    async def gather(
        self,
        hits: Collection[ScoredChunk],
        ask: Callable[[GroupClient, list[ScoredChunk]], Awaitable[dict[ChunkKey, T]]],
        *,
        share: float,
    ) -> dict[ChunkKey, T]:
        """Ask each group for those of the hits that it holds; what is missing is left out."""
        shard_ids = {hit.shard_id for hit in hits}
        answers = await self.call(
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

    def _leave_out(self, group: GroupClient, error: BaseException) -> None:
        if not isinstance(error, Exception):
            raise error
        late = isinstance(error, TimeoutError)
        reason = LATE if late else f"{type(error).__name__}: {error}"
        self.alive.remove(group)
        self.degraded.append(DegradedModel(group=group.name, reason=reason))
