"""A front's view of one shard group, of one generation: typed calls, gathered, checked."""

import math
import reprlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

from scp_ray.errors import ShardUnavailableError
from scp_ray.protocols import Float32Array
from scp_ray.records import (
    ChunkKey,
    Decision,
    PositionPrior,
    QueryParams,
    ScoredChunk,
    Selection,
)
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.two_pass import QueryOutcome
from scp_ray.serve.group_calls import GroupCall, Step
from scp_ray.serve.models import ResultModel
from scp_ray.storage.publish import GenerationEntry

T = TypeVar("T")

Filter = dict[str, Any] | None


class GroupClient(Protocol):
    """A shard group somewhere else; the calls of ``ShardGroup``, awaited.

    Attributes:
        name: For replies and logs.
        shard_ids: The shards that it answers for.
    """

    name: str
    shard_ids: frozenset[int]

    async def first_pass(
        self, query: Float32Array, params: QueryParams, row_filter: Filter
    ) -> list[ScoredChunk]:
        """See ``ShardGroup.first_pass``."""
        ...

    async def second_pass(
        self,
        question: Question,
        prior: PositionPrior | None,
        params: QueryParams,
        row_filter: Filter,
    ) -> Selection:
        """See ``ShardGroup.second_pass``."""
        ...

    async def search(
        self, question: Question, params: QueryParams, row_filter: Filter
    ) -> QueryOutcome:
        """See ``ShardGroup.search``."""
        ...

    async def results(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, ResultModel]:
        """See ``ShardGroup.results``."""
        ...

    async def texts(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, str]:
        """See ``ShardGroup.texts``."""
        ...


class CallingClient:
    """A ``GroupClient`` that makes ``GroupCall`` of its methods, and looks at the answers.

    Args:
        name: Of the group.
        shard_ids: The shards that it holds of the generation.
        generation: The generation.
        ask: Makes a call.

    Every method raises ``ShardUnavailableError`` for an answer that is none of this group's.
    """

    def __init__(
        self,
        name: str,
        shard_ids: frozenset[int],
        generation: GenerationEntry,
        ask: Callable[[GroupCall], Awaitable[Any]],
    ) -> None:
        self.name = name
        self.shard_ids = shard_ids
        self._generation = generation
        self._call = ask

    async def first_pass(
        self, query: Float32Array, params: QueryParams, row_filter: Filter
    ) -> list[ScoredChunk]:
        """See ``ShardGroup.first_pass``."""
        hits: list[ScoredChunk] = await self._ask(Step.FIRST_PASS, list, query, params, row_filter)
        self._check_own(hits)
        return hits

    async def second_pass(
        self,
        question: Question,
        prior: PositionPrior | None,
        params: QueryParams,
        row_filter: Filter,
    ) -> Selection:
        """See ``ShardGroup.second_pass``."""
        selection = await self._ask(
            Step.SECOND_PASS, Selection, question, prior, params, row_filter
        )
        self._check_selection(selection)
        return selection

    async def search(
        self, question: Question, params: QueryParams, row_filter: Filter
    ) -> QueryOutcome:
        """See ``ShardGroup.search``."""
        outcome = await self._ask(Step.SEARCH, QueryOutcome, question, params, row_filter)
        self._check_own(outcome.first_pass)
        self._check_selection(outcome.selection)
        return outcome

    async def results(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, ResultModel]:
        """See ``ShardGroup.results``."""
        return await self._ask_of_each(Step.RESULTS, ResultModel, hits)

    async def texts(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, str]:
        """See ``ShardGroup.texts``."""
        return await self._ask_of_each(Step.TEXTS, str, hits)

    async def _ask(self, step: Step, kind: type[T], *arguments: object) -> T:
        answer = await self._call(GroupCall(self._generation, step, arguments))
        if not isinstance(answer, kind):
            message = f"{step} gave {type(answer).__name__}, not {kind.__name__}"
            raise ShardUnavailableError(message)
        return answer

    async def _ask_of_each(
        self, step: Step, kind: type[T], hits: Sequence[ScoredChunk]
    ) -> dict[ChunkKey, T]:
        answer: dict[ChunkKey, T] = await self._ask(step, dict, hits)
        wanted = {hit.key for hit in hits}
        for key, value in answer.items():
            if key not in wanted or not isinstance(value, kind):
                _refuse(step, (key, value))
        return answer

    def _check_selection(self, selection: object) -> None:
        if not isinstance(selection, Selection) or not isinstance(selection.decisions, tuple):
            _refuse("selection", selection)
        for decision in selection.decisions:
            if not isinstance(decision, Decision):
                _refuse("decision", decision)
        self._check_own([decision.candidate for decision in selection.decisions])
        self._check_own(selection.ranking)

    def _check_own(self, hits: object) -> None:
        """Check that they are chunks of this group with a place in the ranking."""
        if not isinstance(hits, list | tuple):
            _refuse("chunks", hits)
        for hit in hits:
            if not isinstance(hit, ScoredChunk) or hit.shard_id not in self.shard_ids:
                _refuse("chunk of this group", hit)
            if not _have_kinds((hit.key, ChunkKey), (hit.score, float), (hit.position, float)):
                _refuse("chunk with a score", hit)
            if not (math.isfinite(hit.score) and math.isfinite(hit.position)):
                _refuse("chunk with a score", hit)


def _have_kinds(*pairs: tuple[object, type]) -> bool:
    return all(isinstance(value, kind) for value, kind in pairs)


def _refuse(wanted: str, given: object) -> NoReturn:
    message = f"an answer holds {reprlib.repr(given)}, which is no {wanted}"
    raise ShardUnavailableError(message)
