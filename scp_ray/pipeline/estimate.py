"""What a run would cost, from its plan and a sample of the documents that it would do."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from scp_ray.annotators.factory import annotation_fingerprint
from scp_ray.config import Settings
from scp_ray.pipeline.executor import Executor
from scp_ray.pipeline.llm_estimate import LlmCost, llm_cost
from scp_ray.pipeline.plan import DocumentState, Locator, locators_table
from scp_ray.pipeline.preparation import IndexRequest, Preparation
from scp_ray.pipeline.processing import read_stage
from scp_ray.pipeline.shard_plan import reusable_shards, shard_contents
from scp_ray.pipeline.staged_parts import StagedDocument
from scp_ray.pipeline.work import WorkItem, items_from_table
from scp_ray.storage.annotation_cache import StoredAnnotationCache
from scp_ray.storage.opening import open_store

_SAMPLE_DOCUMENTS = 64


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What a run would do.

    Attributes:
        documents: Documents by state.
        shards_touched: Shards that would be built, if no document fails after it was read.
        num_shards: All shards.
        chunks: Chunks that would be annotated and embedded.
        embedding_tokens: Their tokens, without prefixes.
        continuity_decisions: Pairs of neighbouring chunks that CHOP would decide on.
        llm: Requests to a language model; none for annotators without one.
        is_estimate: False when every document was read to count.
    """

    documents: dict[str, int]
    shards_touched: int
    num_shards: int
    chunks: int
    embedding_tokens: int
    continuity_decisions: int
    llm: LlmCost
    is_estimate: bool


def estimate_cost(executor: Executor, request: IndexRequest, prepared: Preparation) -> CostEstimate:
    """Read and chunk up to 64 of the documents to be done, and scale up by their size."""
    todo, settings = prepared.plan.todo, request.settings
    stride = max(1, -(-len(todo) // _SAMPLE_DOCUMENTS))
    sample = todo[::stride]
    counted = _count(executor, request, prepared, sample)
    sampled_bytes = sum(locator.size_bytes for locator in sample)
    scale = sum(locator.size_bytes for locator in todo) / max(sampled_bytes, 1)
    num_chunks = round(counted.chunks * scale)
    return CostEstimate(
        documents={str(state): prepared.plan.count(state) for state in DocumentState},
        shards_touched=_shards_touched(prepared, settings, counted.failed),
        num_shards=settings.index.num_shards,
        chunks=num_chunks,
        embedding_tokens=round(counted.tokens * scale),
        continuity_decisions=max(0, num_chunks - len(todo)),
        llm=counted.llm.scaled(scale),
        is_estimate=len(sample) < len(todo),
    )


@dataclass(frozen=True, slots=True)
class _Counted:
    chunks: int
    tokens: int
    llm: LlmCost
    failed: frozenset[str]


def _count(
    executor: Executor,
    request: IndexRequest,
    prepared: Preparation,
    sample: Sequence[Locator],
) -> _Counted:
    settings = request.settings
    rows = locators_table(sample, settings.index.num_shards)
    stage = read_stage(request.corpus, settings, prepared.encoder, batch_rows=8)
    tables = executor.run(rows, [stage])
    items = [item for table in tables for item in items_from_table(table)]
    return _Counted(
        chunks=sum(len(item.spans) for item in items),
        tokens=sum(span.num_tokens for item in items for span in item.spans),
        llm=_llm_cost(items, request),
        failed=frozenset(item.doc_id for item in items if item.failure),
    )


def _llm_cost(items: Iterable[WorkItem], request: IndexRequest) -> LlmCost:
    settings = request.settings
    if not settings.chop.annotator.needs_llm:
        return LlmCost()
    cache = StoredAnnotationCache(open_store(request.index), annotation_fingerprint(settings))
    return llm_cost((item.chunk_texts for item in items), cache)


def _shards_touched(prepared: Preparation, settings: Settings, failed: Set[str]) -> int:
    staged = {
        locator.doc_id: StagedDocument("", 0)
        for locator in prepared.plan.todo
        if locator.doc_id not in failed
    }
    quarantined = {problem.doc_id for problem in prepared.plan.quarantined}
    previous = {doc_id: prepared.previous_version(doc_id) for doc_id in failed | quarantined}
    kept = prepared.plan.unchanged | {doc: row for doc, row in previous.items() if row}
    contents = shard_contents(staged, kept, settings.index.num_shards)
    reusable = reusable_shards(contents, prepared.state.manifest, settings)
    return len(contents) - len(reusable)
