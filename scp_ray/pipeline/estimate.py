"""What a run would cost, from its plan and a sample of the documents that it would do."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from scp_ray.config import Settings
from scp_ray.pipeline.executor import Executor, StageSpec
from scp_ray.pipeline.front_stages import ReadStage
from scp_ray.pipeline.plan import DocumentState, Locator, locators_table
from scp_ray.pipeline.pools import READ_POOL
from scp_ray.pipeline.preparation import Preparation
from scp_ray.pipeline.shard_plan import reusable_shards, shard_contents
from scp_ray.pipeline.staged_parts import StagedDocument
from scp_ray.pipeline.work import items_from_table

_SAMPLE_DOCUMENTS = 64


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What a run would do.

    Attributes:
        documents: Documents by state.
        shards_touched: Shards that would be built.
        num_shards: All shards.
        chunks: Chunks that would be annotated and embedded.
        embedding_tokens: Their tokens, without prefixes.
        continuity_decisions: Pairs of neighbouring chunks that CHOP would decide on.
        llm_calls: Calls of a language model; 0, since the annotators of this version use none.
        is_estimate: False when every document was read to count.
    """

    documents: dict[str, int]
    shards_touched: int
    num_shards: int
    chunks: int
    embedding_tokens: int
    continuity_decisions: int
    llm_calls: int
    is_estimate: bool


def estimate_cost(
    executor: Executor, corpus: str, prepared: Preparation, settings: Settings
) -> CostEstimate:
    """Read and chunk up to 64 of the documents to be done, and scale up by their size."""
    todo = prepared.plan.todo
    stride = max(1, -(-len(todo) // _SAMPLE_DOCUMENTS))
    sample = todo[::stride]
    chunks, tokens = _count(executor, corpus, sample, settings, prepared.encoder.max_tokens)
    sampled_bytes = sum(locator.size_bytes for locator in sample)
    scale = sum(locator.size_bytes for locator in todo) / max(sampled_bytes, 1)
    num_chunks = round(chunks * scale)
    return CostEstimate(
        documents={str(state): prepared.plan.count(state) for state in DocumentState},
        shards_touched=_shards_touched(prepared, settings),
        num_shards=settings.index.num_shards,
        chunks=num_chunks,
        embedding_tokens=round(tokens * scale),
        continuity_decisions=max(0, num_chunks - len(todo)),
        llm_calls=0,
        is_estimate=len(sample) < len(todo),
    )


def _count(
    executor: Executor, corpus: str, sample: Sequence[Locator], settings: Settings, max_tokens: int
) -> tuple[int, int]:
    rows = locators_table(sample, settings.index.num_shards)
    stage = StageSpec("read", partial(ReadStage, corpus, settings, max_tokens), 8, READ_POOL)
    chunks = tokens = 0
    for table in executor.run(rows, [stage]):
        for item in items_from_table(table):
            chunks += len(item.spans)
            tokens += sum(span.num_tokens for span in item.spans)
    return chunks, tokens


def _shards_touched(prepared: Preparation, settings: Settings) -> int:
    staged = {locator.doc_id: StagedDocument("", 0) for locator in prepared.plan.todo}
    contents = shard_contents(staged, prepared.plan.unchanged, settings.index.num_shards)
    reusable = reusable_shards(contents, prepared.state.manifest, settings)
    return len(contents) - len(reusable)
