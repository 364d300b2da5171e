"""From ranked chunks and their texts to the context of a reply."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from scp_ray.protocols import Tokenizer
from scp_ray.records import ChunkKey, ScoredChunk
from scp_ray.retrieval.context import ContextHit, assemble_context
from scp_ray.serve.models import ContextModel, PassageModel, ResultModel, SkippedModel
from scp_ray.serve.query_plan import QueryPlan


def context_of(
    chunks: Sequence[ScoredChunk],
    results: Mapping[ChunkKey, ResultModel],
    plan: QueryPlan,
    tokenizer: Tokenizer,
) -> ContextModel | None:
    """Return the context that a plan asks for, or None if it asks for none.

    Args:
        chunks: ``plan.context_chunks``.
        results: Text and origin of chunks; one that is missing, because its group left the query,
            is left out.
        plan: Budget and rule.
        tokenizer: Counts.
    """
    if plan.max_context_tokens == 0:
        return None
    hits = [
        ContextHit(
            chunk.key.doc_id,
            chunk.key.chunk_index,
            results[chunk.key].char_start,
            results[chunk.key].char_end,
            results[chunk.key].text,
            chunk.score,
        )
        for chunk in chunks
        if chunk.key in results
    ]
    context = assemble_context(
        hits, max_tokens=plan.max_context_tokens, count_tokens=tokenizer.count_tokens
    )
    return ContextModel(
        rule=plan.context_rule,
        tokens=context.tokens,
        passages=[PassageModel(**asdict(passage)) for passage in context.passages],
        skipped=[SkippedModel(**asdict(skipped)) for skipped in context.skipped],
    )
