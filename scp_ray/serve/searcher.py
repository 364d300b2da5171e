"""An index opened in this process: the two-pass query without a service."""

from dataclasses import replace

from scp_ray.config import Settings
from scp_ray.errors import EncoderError
from scp_ray.protocols import Encoder, Reranker
from scp_ray.retrieval.rerank import RerankedChunk, select_reranked
from scp_ray.retrieval.two_pass import QueryOutcome
from scp_ray.serve.context import context_of
from scp_ray.serve.models import DegradedModel, QueryReply, QueryRequest
from scp_ray.serve.query_encoding import encode_each, load_query_encoder
from scp_ray.serve.query_plan import QueryPlan, plan_query
from scp_ray.serve.question_reader import QuestionReader, ReadQuestion
from scp_ray.serve.remembered_questions import RememberingEncoder
from scp_ray.serve.reply import Findings, build_reply
from scp_ray.serve.reranking import load_reranker, not_reranked, read_again
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.serve.stopwatch import Stopwatch
from scp_ray.storage.manifest import Manifest
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current


class LocalSearcher:
    """One generation with all of its shards and its encoder; threads may share it.

    Attributes:
        manifest: The generation.
    """

    def __init__(
        self,
        manifest: Manifest,
        group: ShardGroup,
        encoder: Encoder,
        reader: QuestionReader,
        settings: Settings,
        reranker: Reranker | None = None,
    ) -> None:
        self.manifest = manifest
        self._group = group
        self._encoder = encoder
        self._reader = reader
        self._settings = settings
        self._reranker = reranker

    @classmethod
    def open(cls, index: str, settings: Settings) -> "LocalSearcher":
        """Open the current generation of an index.

        Raises:
            IndexFormatError: If there is none, or this version cannot read it.
            ChecksumError: If a file is missing or damaged.
            EncoderError: If a model that it needs is not here.
        """
        store = open_store(index)
        manifest = load_current(store)
        shard_ids = [entry.shard_id for entry in manifest.shards]
        group = ShardGroup.open(index, manifest, shard_ids, settings)
        encoder = load_query_encoder(manifest, settings)
        reader = QuestionReader.open(store, manifest, settings)
        return cls(manifest, group, encoder, reader, settings, load_reranker(settings))

    def remembering(self) -> "LocalSearcher":
        """Return a searcher of the same index that encodes a question once, however often asked."""
        return LocalSearcher(
            self.manifest,
            self._group,
            RememberingEncoder(self._encoder),
            self._reader,
            self._settings,
            self._reranker,
        )

    def answer(self, request: QueryRequest) -> QueryReply:
        """Answer one question.

        Raises:
            ConfigError: If the question cannot be asked of this index.
        """
        plan, watch = plan_query(request, self.manifest, self._settings), Stopwatch()
        with watch.measure("total"):
            with watch.measure("encode"):
                question, notes = self._read(request, plan)
            with watch.measure("search"):
                outcome = self._group.search(question, plan.params, request.filter)
            reranked: list[RerankedChunk] = []
            if self._reranker is not None and plan.rerank_candidates > 0:
                with watch.measure("rerank"):
                    reranked = self._read_again(self._reranker, request, plan, outcome, notes)
                    selection = select_reranked(reranked, outcome.selection.ranking, plan.params)
                    outcome = replace(outcome, selection=selection)
            in_context = plan.context_chunks(outcome.selection)
            with watch.measure("fetch"):
                results = self._group.results({*outcome.selection.kept, *in_context})
            with watch.measure("context"):
                context = context_of(in_context, results, plan, self._reader.context_tokenizer)
        findings = Findings(
            plan,
            question,
            outcome,
            reranked,
            context,
            self._group.shard_ids,
            notes,
            watch.timings_ms,
        )
        return build_reply(self.manifest, findings, results, explain=request.explain)

    def _read(self, request: QueryRequest, plan: QueryPlan) -> ReadQuestion:
        text = request.query
        encoded = None if text is None else encode_each(self._encoder, [text])[0]
        return self._reader.read(request, plan.params, encoded)

    def _read_again(
        self,
        reranker: Reranker,
        request: QueryRequest,
        plan: QueryPlan,
        outcome: QueryOutcome,
        notes: list[DegradedModel],
    ) -> list[RerankedChunk]:
        head = outcome.selection.ranking[: plan.rerank_candidates]
        try:
            return read_again(reranker, str(request.query), head, self._group.texts(head))
        except EncoderError as error:
            notes.append(not_reranked(error))
            return []
