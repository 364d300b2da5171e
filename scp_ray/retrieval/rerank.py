"""A second opinion on the head of a ranking: its scores replace the order, the gap rule stays.

The scores come from outside, so that what reads question and chunk together is not known here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scp_ray.protocols import Float64Array
from scp_ray.records import QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.gap_selector import select_with_gap


@dataclass(frozen=True, slots=True)
class RerankedChunk:
    """A chunk that was read again.

    Attributes:
        chunk: The chunk with its first score.
        rerank_score: The score that decides now, higher is better, on no fixed scale.
    """

    chunk: ScoredChunk
    rerank_score: float


def rerank(candidates: Sequence[ScoredChunk], rerank_scores: Float64Array) -> list[RerankedChunk]:
    """Order candidates by their rerank scores.

    Args:
        candidates: The head of the ranking before the gap rule, in rank order, each chunk once.
        rerank_scores: One a candidate, shape (n,), float64, finite.

    Returns:
        Rerank score descending; equal ones in the order that they had.

    Raises:
        ValueError: If there are not as many scores as candidates.

    Source: re-ranking with a cross-encoder, Nogueira and Cho (arXiv:1901.04085). That its score
        alone decides, and the ties, are our choice.
    """
    pairs = zip(candidates, rerank_scores.tolist(), strict=True)
    reranked = [RerankedChunk(chunk, score) for chunk, score in pairs]
    return sorted(reranked, key=lambda hit: -hit.rerank_score)


def ranked_for_selection(params: QueryParams) -> int:
    """Return how long a ranking must be for any order of it to give ``top_k`` results.

    A kept chunk is too near to at most ``min_index_gap - 1`` others on each side.
    """
    return params.top_k * (2 * params.min_index_gap - 1)


def select_reranked(
    reranked: Sequence[RerankedChunk], ranking: Sequence[ScoredChunk], params: QueryParams
) -> Selection:
    """Go down the new order with the gap selector: what was read again first, then the rest.

    Args:
        reranked: In the order of ``rerank``; none leaves the ranking as it is.
        ranking: The ranking before the gap rule, in rank order: at least ``ranked_for_selection``
            chunks, or all there are.
        params: ``top_k`` and ``min_index_gap`` are used.

    Returns:
        Decisions in the new order down to the ``top_k``-th kept one; ``exhausted`` where fewer
        were kept. Its ``ranking`` is the whole new order.
    """
    first = [hit.chunk for hit in reranked]
    read = {chunk.key for chunk in first}
    order = (*first, *(chunk for chunk in ranking if chunk.key not in read))
    decisions = select_with_gap(order, top_k=params.top_k, min_index_gap=params.min_index_gap)
    num_kept = sum(decision.kept for decision in decisions)
    return Selection(tuple(decisions), num_kept < params.top_k, order)
