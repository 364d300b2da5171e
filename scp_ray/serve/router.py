"""Answers a question over the shard groups of a generation. Knows nothing of HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

from scp_ray.config import Settings
from scp_ray.errors import EncoderError, ShardUnavailableError
from scp_ray.protocols import Reranker
from scp_ray.records import ChunkKey, PriorScope, ScoredChunk
from scp_ray.retrieval.filters import parse_filter
from scp_ray.retrieval.merge import merge_first_pass, merge_selections
from scp_ray.retrieval.prior import prior_in_force
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.rerank import RerankedChunk, select_reranked
from scp_ray.retrieval.two_pass import QueryOutcome, merge_outcomes, prior_of
from scp_ray.serve.audit_log import AuditLog
from scp_ray.serve.context import context_of
from scp_ray.serve.fan_out import FanOut, reason_of
from scp_ray.serve.group_calls import Step
from scp_ray.serve.group_client import GroupClient
from scp_ray.serve.metrics import Metrics, NoMetrics
from scp_ray.serve.models import (
    LATE,
    ContextModel,
    DegradedModel,
    QueryReply,
    QueryRequest,
    ResultModel,
)
from scp_ray.serve.query_encoding import Encoded
from scp_ray.serve.query_plan import QueryPlan, plan_query
from scp_ray.serve.question_reader import QuestionReader, ReadQuestion
from scp_ray.serve.reply import Findings, build_reply
from scp_ray.serve.reranking import not_reranked, read_again
from scp_ray.serve.stopwatch import Stopwatch
from scp_ray.storage.manifest import Manifest

# Shares of the time left that a step may take, so that the next ones have some.
_ENCODE_SHARE = 0.8
_FIRST_PASS_SHARE = 0.5
_SEARCH_SHARE = 0.8
_RERANK_SHARE = 0.6
_CANARY_MS = 5000
_ENCODER = "encoder"  # in place of a group's name


class Reading(NamedTuple):
    """How a request becomes a question.

    Attributes:
        encode: Encodes a text.
        reader: Does the rest.
    """

    encode: Callable[[str], Awaitable[Encoded]]
    reader: QuestionReader


class Observers(NamedTuple):
    """Who is told of every answer; nobody by default."""

    metrics: Metrics = NoMetrics()
    audit_log: AuditLog | None = None


class Router:
    """Answers questions over the groups of one generation.

    A group that fails or is late is left out of the rest of the query and named in the reply.

    Args:
        manifest: The generation.
        groups: All of its groups.
        reading: Makes questions of requests.
        settings: Defaults of a query, and the deadline.
        reranker: The cross-encoder of ``rerank.model``, if there is one.
        observers: Are told of every answer.

    Attributes:
        manifest: The generation.
    """

    def __init__(
        self,
        manifest: Manifest,
        groups: Sequence[GroupClient],
        reading: Reading,
        settings: Settings,
        reranker: Reranker | None = None,
        observers: Observers | None = None,
    ) -> None:
        self.manifest = manifest
        self._metrics, self._audit_log = observers or Observers()
        self._groups = groups
        self._encode, self._reader = reading
        self._settings = settings
        self._reranker = reranker
        self._rerank_thread = ThreadPoolExecutor(1, "scp_ray rerank")

    async def answer(self, request: QueryRequest) -> QueryReply:
        """Answer one question by its deadline with what the groups found by then.

        Raises:
            ConfigError: If the question cannot be asked of this index.
            ShardUnavailableError: If no group answered, or ``strict`` and one did not.
        """
        findings, results = await self._find(request)
        self._tell(request, findings)
        return build_reply(self.manifest, findings, results, explain=request.explain)

    async def check(self) -> None:
        """Search every shard once, for any vector; counts as no answer.

        Raises:
            ShardUnavailableError: If a group does not answer.
        """
        vector = [1.0] * self.manifest.encoder.dim
        canary = QueryRequest(embedding=vector, top_k=1, strict=True, deadline_ms=_CANARY_MS)
        await self._find(canary)

    async def _find(self, request: QueryRequest) -> tuple[Findings, dict[ChunkKey, ResultModel]]:
        plan = plan_query(request, self.manifest, self._settings)
        if request.filter is not None:
            parse_filter(request.filter)
        watch = Stopwatch()
        deadline_ms = request.deadline_ms or self._settings.serve.deadline_ms
        seconds, generation = deadline_ms / 1000, self.manifest.generation
        fan_out = FanOut(self._groups, seconds, generation, self._metrics)
        with watch.measure("total"):
            with watch.measure("encode"):
                question, notes = await self._read(fan_out, request, plan)
            outcome = await self._search(fan_out, question, plan, request.filter, watch)
            reranked: list[RerankedChunk] = []
            if plan.rerank_candidates > 0:
                with watch.measure("rerank"):
                    head = outcome.selection.ranking[: plan.rerank_candidates]
                    reranked = await self._read_again(fan_out, request, head, notes)
                    selection = select_reranked(reranked, outcome.selection.ranking, plan.params)
                    outcome = replace(outcome, selection=selection)
            in_context = plan.context_chunks(outcome.selection)
            with watch.measure("fetch"):
                results = await fan_out.gather(
                    Step.RESULTS,
                    {*outcome.selection.kept, *in_context},
                    lambda group, hits: group.results(hits),
                    share=1.0,
                )
            with watch.measure("context"):
                context = await self._context(fan_out, plan, outcome, results, notes)
        if fan_out.degraded and (request.strict or not fan_out.alive):
            missing = "; ".join(f"{one.group}: {one.reason}" for one in fan_out.degraded)
            message = f"not all shards answered: {missing}"
            raise ShardUnavailableError(message)
        findings = Findings(
            plan,
            question,
            _as_far_as_seen(outcome, fan_out.degraded),
            reranked,
            context,
            frozenset().union(*(group.shard_ids for group in fan_out.alive)),
            [*fan_out.degraded, *notes],
            watch.timings_ms,
        )
        return findings, results

    async def _read(self, fan_out: FanOut, request: QueryRequest, plan: QueryPlan) -> ReadQuestion:
        """Read the question; without its vector there is nothing to answer.

        Raises:
            ShardUnavailableError: If the encoder is late or fails.
        """
        if request.query is None:
            return self._reader.read(request, plan.params, None)
        encoding = fan_out.timed(Step.ENCODE, _ENCODER, self._encode(request.query), _ENCODE_SHARE)
        try:
            encoded: Encoded = await encoding
        except EncoderError as error:
            encoded = error  # the text's fault, and not the service's
        except Exception as error:
            reason = reason_of(error)
            message = f"the encoder did not answer: {reason}"
            raise ShardUnavailableError(message) from error
        return self._reader.read(request, plan.params, encoded)

    def _tell(self, request: QueryRequest, findings: Findings) -> None:
        num_shards = len(self.manifest.shards)
        selection = findings.outcome.selection
        self._metrics.answered(
            len(findings.shards_ok) / num_shards if num_shards else 1.0,
            findings.degraded,
            sum(not decision.kept for decision in selection.decisions),
            selection.num_deepenings,
        )
        if self._audit_log is not None:
            self._audit_log.record(request, self.manifest.generation, findings)

    async def _search(
        self,
        fan_out: FanOut,
        question: Question,
        plan: QueryPlan,
        row_filter: dict[str, Any] | None,
        watch: Stopwatch,
    ) -> QueryOutcome:
        params = plan.params
        if params.prior_scope is PriorScope.SHARD or len(self._groups) == 1:
            with watch.measure("search"):  # no group waits for another: one call does
                outcomes = await fan_out.call(
                    Step.SEARCH,
                    lambda group: group.search(question, params, row_filter),
                    share=_SEARCH_SHARE,
                )
            return merge_outcomes(list(outcomes.values()), params)
        with watch.measure("first_pass"):
            lists = await fan_out.call(
                Step.FIRST_PASS,
                lambda group: group.first_pass(question.vector, params, row_filter),
                share=_FIRST_PASS_SHARE,
            )
            hits = merge_first_pass(lists.values(), params)
            prior = prior_of(hits, params)
        with watch.measure("second_pass"):
            selections = await fan_out.call(
                Step.SECOND_PASS,
                lambda group: group.second_pass(question, prior, params, row_filter),
                share=_SEARCH_SHARE,
            )
        selection = merge_selections(selections.values(), params)
        return QueryOutcome(hits, prior, prior_in_force(prior, params) is not None, selection)

    async def _read_again(
        self,
        fan_out: FanOut,
        request: QueryRequest,
        head: Sequence[ScoredChunk],
        notes: list[DegradedModel],
    ) -> list[RerankedChunk]:
        """Let the cross-encoder read the head; where it is late, the order stays."""
        if self._reranker is None:
            return []
        reading = self._texts_and_scores(fan_out, self._reranker, str(request.query), head)
        try:
            return await asyncio.wait_for(reading, fan_out.seconds_left(_RERANK_SHARE))
        except TimeoutError:
            notes.append(not_reranked(LATE))
        except EncoderError as error:
            notes.append(not_reranked(error))
        return []

    async def _texts_and_scores(
        self, fan_out: FanOut, reranker: Reranker, question: str, head: Sequence[ScoredChunk]
    ) -> list[RerankedChunk]:
        shares = {
            group: [hit for hit in head if hit.shard_id in group.shard_ids]
            for group in fan_out.alive
        }
        # A group that fails here is not left out of the query: the answer does not need its text.
        answers = await asyncio.gather(
            *(
                fan_out.timed(Step.TEXTS, group.name, group.texts(hits), share=1.0)
                for group, hits in shares.items()
                if hits
            ),
            return_exceptions=True,
        )
        texts: dict[ChunkKey, str] = {}
        for some in answers:
            if not isinstance(some, BaseException):
                texts |= some
        loop = asyncio.get_running_loop()
        # A thread of its own: one that nobody waits for any more must not keep others waiting.
        return await loop.run_in_executor(
            self._rerank_thread, read_again, reranker, question, head, texts
        )

    async def _context(
        self,
        fan_out: FanOut,
        plan: QueryPlan,
        outcome: QueryOutcome,
        results: dict[ChunkKey, ResultModel],
        notes: list[DegradedModel],
    ) -> ContextModel | None:
        if plan.max_context_tokens == 0:
            return None
        chunks, tokenizer = plan.context_chunks(outcome.selection), self._reader.context_tokenizer
        making = asyncio.to_thread(context_of, chunks, results, plan, tokenizer)
        try:
            return await asyncio.wait_for(making, fan_out.seconds_left(1.0))
        except TimeoutError:
            notes.append(DegradedModel(group="context", reason=LATE))
            return None


def _as_far_as_seen(outcome: QueryOutcome, degraded: Sequence[DegradedModel]) -> QueryOutcome:
    """Nothing is exhausted while a group is missing."""
    selection = outcome.selection
    seen = replace(selection, exhausted=selection.exhausted and not degraded)
    return replace(outcome, selection=seen)
