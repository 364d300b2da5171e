"""Fans a query out over the shard groups and merges what they find. Knows nothing of HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from scp_ray.config import Settings
from scp_ray.errors import ShardUnavailableError
from scp_ray.protocols import Encoder, Float32Array
from scp_ray.records import (
    ChunkKey,
    PositionPrior,
    PriorScope,
    QueryParams,
    ScoredChunk,
    Selection,
)
from scp_ray.retrieval.filters import parse_filter
from scp_ray.retrieval.merge import merge_first_pass, merge_selections
from scp_ray.retrieval.prior import prior_in_force
from scp_ray.retrieval.two_pass import QueryOutcome, merge_outcomes, prior_of
from scp_ray.serve.models import DegradedModel, QueryReply, QueryRequest, ResultModel
from scp_ray.serve.reply import Findings, build_reply
from scp_ray.serve.searcher import Stopwatch, query_params, question_vector
from scp_ray.storage.manifest import Manifest

T = TypeVar("T")

_FIRST_PASS_SHARE = 0.5
_SEARCH_SHARE = 0.8


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
        query: Float32Array,
        prior: PositionPrior | None,
        params: QueryParams,
        row_filter: dict[str, Any] | None,
    ) -> Selection:
        """See ``ShardGroup.second_pass``."""
        ...

    async def search(
        self, query: Float32Array, params: QueryParams, row_filter: dict[str, Any] | None
    ) -> QueryOutcome:
        """See ``ShardGroup.search``."""
        ...

    async def results(self, hits: Sequence[ScoredChunk]) -> dict[ChunkKey, ResultModel]:
        """See ``ShardGroup.results``."""
        ...


class Router:
    """Answers questions over the groups of one generation.

    A group that fails or is late is left out of the rest of the query and named in the reply.

    Args:
        manifest: The generation.
        groups: All of its groups.
        encoder: The encoder that made its vectors.
        settings: Defaults of a query, and the deadline.
    """

    def __init__(
        self,
        manifest: Manifest,
        groups: Sequence[GroupClient],
        encoder: Encoder,
        settings: Settings,
    ) -> None:
        self.manifest = manifest
        self._groups = groups
        self._encoder = encoder
        self._settings = settings

    async def answer(self, request: QueryRequest) -> QueryReply:
        """Answer one question by its deadline with what the groups found by then.

        Raises:
            ConfigError: If the question cannot be asked of this index.
            ShardUnavailableError: If no group answered, or ``strict`` and one did not.
        """
        params = query_params(request, self.manifest, self._settings)
        if request.filter is not None:
            parse_filter(request.filter)
        watch = Stopwatch()
        deadline_ms = request.deadline_ms or self._settings.serve.deadline_ms
        fan_out = _FanOut(self._groups, deadline_ms / 1000)
        with watch.measure("total"):
            with watch.measure("encode"):
                vector = await asyncio.to_thread(question_vector, request, self._encoder)
            outcome = await self._search(fan_out, vector, params, request.filter, watch)
            with watch.measure("fetch"):
                results = await self._fetch(fan_out, outcome.selection)
        if fan_out.degraded and (request.strict or not fan_out.alive):
            missing = "; ".join(f"{one.group}: {one.reason}" for one in fan_out.degraded)
            message = f"not all shards answered: {missing}"
            raise ShardUnavailableError(message)
        findings = Findings(
            outcome.first_pass,
            outcome.prior if params.prior_scope is PriorScope.GLOBAL else None,
            outcome.prior_applied,
            _as_far_as_seen(outcome.selection, fan_out.degraded),
            frozenset().union(*(group.shard_ids for group in fan_out.alive)),
            fan_out.degraded,
            watch.timings_ms,
        )
        return build_reply(self.manifest, findings, results, explain=request.explain)

    async def _search(
        self,
        fan_out: "_FanOut",
        vector: Float32Array,
        params: QueryParams,
        row_filter: dict[str, Any] | None,
        watch: Stopwatch,
    ) -> QueryOutcome:
        if params.prior_scope is PriorScope.SHARD or len(self._groups) == 1:
            with watch.measure("search"):  # no group waits for another: one call does
                outcomes = await fan_out.call(
                    lambda group: group.search(vector, params, row_filter), share=_SEARCH_SHARE
                )
            return merge_outcomes(list(outcomes.values()), params)
        with watch.measure("first_pass"):
            lists = await fan_out.call(
                lambda group: group.first_pass(vector, params, row_filter),
                share=_FIRST_PASS_SHARE,
            )
            hits = merge_first_pass(lists.values(), params)
            prior = prior_of(hits, params)
        with watch.measure("second_pass"):
            selections = await fan_out.call(
                lambda group: group.second_pass(vector, prior, params, row_filter),
                share=_SEARCH_SHARE,
            )
        selection = merge_selections(selections.values(), params.top_k)
        return QueryOutcome(hits, prior, prior_in_force(prior, params) is not None, selection)

    async def _fetch(self, fan_out: "_FanOut", selection: Selection) -> dict[ChunkKey, ResultModel]:
        hits = selection.kept
        shard_ids = {hit.shard_id for hit in hits}
        fetched = await fan_out.call(
            lambda group: group.results([hit for hit in hits if hit.shard_id in group.shard_ids]),
            share=1.0,
            only=lambda group: bool(group.shard_ids & shard_ids),
        )
        results: dict[ChunkKey, ResultModel] = {}
        for some in fetched.values():
            results |= some
        return results


def _as_far_as_seen(selection: Selection, degraded: Sequence[DegradedModel]) -> Selection:
    """Nothing is exhausted while a group is missing."""
    return replace(selection, exhausted=selection.exhausted and not degraded)


class _FanOut:
    """The groups that still take part in one query, and the time that is left for it."""

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
        left = share * max(0.0, self._ends - asyncio.get_running_loop().time())
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

    def _leave_out(self, group: GroupClient, error: BaseException) -> None:
        if not isinstance(error, Exception):
            raise error
        late = isinstance(error, TimeoutError)
        reason = "deadline passed" if late else f"{type(error).__name__}: {error}"
        self.alive.remove(group)
        self.degraded.append(DegradedModel(group=group.name, reason=reason))
