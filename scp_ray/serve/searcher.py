"""An index opened in this process: the two-pass query without a service."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from scp_ray.config import Settings
from scp_ray.protocols import Reranker
from scp_ray.records import PriorScope
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.shard_search import DEEPENING
from scp_ray.retrieval.two_pass import QueryOutcome
from scp_ray.serve.context import context_of
from scp_ray.serve.models import QueryReply, QueryRequest
from scp_ray.serve.query_plan import QueryPlan, plan_query
from scp_ray.serve.question import QuestionReader
from scp_ray.serve.reply import Findings, build_reply
from scp_ray.serve.reranking import Reranking, load_reranker, reranking_of
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current


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


class LocalSearcher:
    """One generation with all of its shards and its encoder; threads may share it.

    Attributes:
        manifest: The generation.
    """

    def __init__(
        self,
        manifest: Manifest,
        group: ShardGroup,
        reader: QuestionReader,
        settings: Settings,
        reranker: Reranker | None = None,
    ) -> None:
        self.manifest = manifest
        self._group = group
        self._reader = reader
        self._settings = settings
        self._reranker = reranker

    @classmethod
    def open(cls, index: str, settings: Settings) -> "LocalSearcher":
        """Open the current generation of an index.

        Raises:
            IndexFormatError: If there is none, or this version cannot read it.
            ChecksumError: If a file is missing or damaged.
            EncoderError: If its encoder is not here.
        """
        store = open_store(index)
        manifest = load_current(store)
        shard_ids = [entry.shard_id for entry in manifest.shards]
        group = ShardGroup.open(index, manifest, shard_ids, settings)
        reader = QuestionReader.open(store, manifest, settings)
        return cls(manifest, group, reader, settings, load_reranker(settings))

    def answer(self, request: QueryRequest) -> QueryReply:
        """Answer one question.

        Raises:
            ConfigError: If the question cannot be asked of this index.
        """
        plan = plan_query(request, self.manifest, self._settings)
        params, watch = plan.params, Stopwatch()
        with watch.measure("total"):
            with watch.measure("encode"):
                question, degraded = self._reader.read(request)
            with watch.measure("search"):
                outcome = self._group.search(question, params, request.filter)
            reranking = reranking_of(request, plan, self._reranker)
            if reranking is not None:
                with watch.measure("rerank"):
                    outcome = self._rerank(reranking, question, outcome, plan, request.filter)
            with watch.measure("fetch"):
                in_context = plan.context_chunks(outcome.selection)
                results = self._group.results({*outcome.selection.kept, *in_context})
            with watch.measure("context"):
                context = context_of(in_context, results, plan, self._reader.context_tokenizer)
        findings = Findings(
            question,
            params,
            outcome.first_pass,
            outcome.prior if params.prior_scope is PriorScope.GLOBAL else None,
            outcome.prior_applied,
            outcome.selection,
            self._group.shard_ids,
            context,
            reranking.scores if reranking else {},
            degraded,
            watch.timings_ms,
        )
        return build_reply(self.manifest, findings, results, explain=request.explain)

    def _rerank(
        self,
        reranking: Reranking,
        question: Question,
        outcome: QueryOutcome,
        plan: QueryPlan,
        row_filter: dict[str, Any] | None,
    ) -> QueryOutcome:
        params = plan.params
        texts = self._group.texts(reranking.head(outcome.selection))
        reranking.read(outcome.selection, texts)
        while (again := reranking.select(outcome.selection, params)).needs_more:
            params = replace(params, num_ranked=DEEPENING * params.num_ranked)
            outcome = self._group.search(question, params, row_filter)
        return replace(outcome, selection=again.selection)
