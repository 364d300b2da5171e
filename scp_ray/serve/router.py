"""Fans a query out over the shard groups and merges what they find. Knows nothing of HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

from scp_ray.config import Settings
from scp_ray.errors import ShardUnavailableError
from scp_ray.protocols import Float32Array, Reranker
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
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.shard_search import DEEPENING
from scp_ray.retrieval.two_pass import QueryOutcome, merge_outcomes, prior_of
from scp_ray.serve.context import context_of
from scp_ray.serve.models import DegradedModel, QueryReply, QueryRequest, ResultModel
from scp_ray.serve.query_plan import plan_query
from scp_ray.serve.question import QuestionReader
from scp_ray.serve.reply import Findings, build_reply
from scp_ray.serve.reranking import Reranking, reranking_of
from scp_ray.serve.searcher import Stopwatch
from scp_ray.storage.manifest import Manifest

T = TypeVar("T")

_FIRST_PASS_SHARE = 0.5
_SEARCH_SHARE = 0.8
_LATE = "deadline passed"


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


class Router:
    """Answers questions over the groups of one generation.

    A group that fails or is late is left out of the rest of the query and named in the reply.

    Args:
        manifest: The generation.
        groups: All of its groups.
        reader: Makes questions of requests.
        settings: Defaults of a query, and the deadline.
        reranker: The cross-encoder, if questions are reranked.
    """

    def __init__(
        self,
        manifest: Manifest,
        groups: Sequence[GroupClient],
        reader: QuestionReader,
        settings: Settings,
        reranker: Reranker | None = None,
    ) -> None:
        self.manifest = manifest
        self._groups = groups
        self._reader = reader
        self._settings = settings
        self._reranker = reranker

    async def answer(self, request: QueryRequest) -> QueryReply:
        """Answer one question by its deadline with what the groups found by then.

        Raises:
            ConfigError: If the question cannot be asked of this index.
            ShardUnavailableError: If no group answered, or ``strict`` and one did not.
        """
        plan = plan_query(request, self.manifest, self._settings)
        params = plan.params
        if request.filter is not None:
            parse_filter(request.filter)
        watch = Stopwatch()
        deadline_ms = request.deadline_ms or self._settings.serve.deadline_ms
        fan_out = _FanOut(self._groups, deadline_ms / 1000)
        with watch.measure("total"):
            with watch.measure("encode"):
                question, degraded = await asyncio.to_thread(self._reader.read, request)
            inquiry = _Inquiry(question, params, request.filter)
            outcome = await self._search(fan_out, inquiry, watch)
            reranking = reranking_of(request, plan, self._reranker)
            if reranking is not None:
                with watch.measure("rerank"):
                    outcome = await self._rerank(fan_out, reranking, inquiry, outcome)
            with watch.measure("fetch"):
                in_context = plan.context_chunks(outcome.selection)
                wanted = {*outcome.selection.kept, *in_context}
                results = await fan_out.gather(
                    wanted, lambda group, hits: group.results(hits), share=1.0
                )
            with watch.measure("context"):
                context = await asyncio.to_thread(
                    context_of, in_context, results, plan, self._reader.context_tokenizer
                )
        if fan_out.degraded and (request.strict or not fan_out.alive):
            missing = "; ".join(f"{one.group}: {one.reason}" for one in fan_out.degraded)
            message = f"not all shards answered: {missing}"
            raise ShardUnavailableError(message)
        findings = Findings(
            question,
            params,
            outcome.first_pass,
            outcome.prior if params.prior_scope is PriorScope.GLOBAL else None,
            outcome.prior_applied,
            _as_far_as_seen(outcome.selection, fan_out.degraded),
            frozenset().union(*(group.shard_ids for group in fan_out.alive)),
            context,
            reranking.scores if reranking else {},
            [*degraded, *fan_out.degraded],
            watch.timings_ms,
        )
        return build_reply(self.manifest, findings, results, explain=request.explain)

    async def _search(
        self,
        fan_out: "_FanOut",
        inquiry: "_Inquiry",
        watch: Stopwatch,
    ) -> QueryOutcome:
        question, params, row_filter = inquiry
        if params.prior_scope is PriorScope.SHARD or len(self._groups) == 1:
            with watch.measure("search"):  # no group waits for another: one call does
                outcomes = await fan_out.call(
                    lambda group: group.search(question, params, row_filter), share=_SEARCH_SHARE
                )
            return merge_outcomes(list(outcomes.values()), params)
        with watch.measure("first_pass"):
            lists = await fan_out.call(
                lambda group: group.first_pass(question.vector, params, row_filter),
                share=_FIRST_PASS_SHARE,
            )
            hits = merge_first_pass(lists.values(), params)
            prior = prior_of(hits, params)
        with watch.measure("second_pass"):
            selections = await fan_out.call(
                lambda group: group.second_pass(question, prior, params, row_filter),
                share=_SEARCH_SHARE,
            )
        selection = merge_selections(selections.values(), params)
        return QueryOutcome(hits, prior, prior_in_force(prior, params) is not None, selection)

    async def _rerank(
        self,
        fan_out: "_FanOut",
        reranking: Reranking,
        inquiry: "_Inquiry",
        outcome: QueryOutcome,
    ) -> QueryOutcome:
        """Let the cross-encoder decide; where it is late, the order stays and the reply says so."""
        head = reranking.head(outcome.selection)
        texts = await fan_out.gather(
            head, lambda group, hits: group.texts(hits), share=_FIRST_PASS_SHARE
        )
        reading = asyncio.to_thread(reranking.read, outcome.selection, texts)
        try:
            await asyncio.wait_for(reading, fan_out.seconds_left(_SEARCH_SHARE))
        except TimeoutError:
            fan_out.degraded.append(DegradedModel(group="rerank", reason=_LATE))
            return outcome
        while (again := reranking.select(outcome.selection, inquiry.params)).needs_more:
            deeper = DEEPENING * inquiry.params.num_ranked
            inquiry = inquiry._replace(params=replace(inquiry.params, num_ranked=deeper))
            outcome = await self._search(fan_out, inquiry, Stopwatch())
        return replace(outcome, selection=again.selection)


class _Inquiry(NamedTuple):
    """What the groups are asked."""

    question: Question
    params: QueryParams
    row_filter: dict[str, Any] | None


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
        reason = _LATE if late else f"{type(error).__name__}: {error}"
        self.alive.remove(group)
        self.degraded.append(DegradedModel(group=group.name, reason=reason))
