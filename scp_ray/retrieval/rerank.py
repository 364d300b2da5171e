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
        first_rank: Its rank by the first score, 0-based.
    """

    chunk: ScoredChunk
    rerank_score: float
    first_rank: int


@dataclass(frozen=True, slots=True)
class RerankedSelection:
    """What the gap selector made of the new order.

    Attributes:
        selection: Decisions in the new order down to the last kept one; ``ranking`` is the whole
            new order.
        needs_more: Whether fewer than ``top_k`` were kept and the index may have more chunks: the
            caller should ask for a longer ranking. Never together with ``exhausted``.
    """

    selection: Selection
    needs_more: bool


def rerank(candidates: Sequence[ScoredChunk], rerank_scores: Float64Array) -> list[RerankedChunk]:
    """Order candidates by their rerank scores.

    Args:
        candidates: The head of the ranking before the gap rule, in rank order, each chunk once.
        rerank_scores: One a candidate, shape (n,), float64, finite.

    Returns:
        Rerank score descending, then the first rank.

    Raises:
        ValueError: If there are not as many scores as candidates.

    Source: re-ranking with a cross-encoder, Nogueira and Cho (arXiv:1901.04085). That its score
        alone decides, and the ties, are our choice.
    """
    reranked = [
        RerankedChunk(chunk, score, first_rank)
        for first_rank, (chunk, score) in enumerate(
            zip(candidates, rerank_scores.tolist(), strict=True)
        )
    ]
    return sorted(reranked, key=lambda hit: (-hit.rerank_score, hit.first_rank))


def select_reranked(
    reranked: Sequence[RerankedChunk],
    rest: Sequence[ScoredChunk],
    params: QueryParams,
    *,
    is_complete: bool,
) -> RerankedSelection:
    """Go down the new order with the gap selector: what was read again first, then the rest.

    The scores stay as they are when a longer ranking is tried: only ``rest`` grows.

    Args:
        reranked: In the order of ``rerank``; none leaves the ranking as it is.
        rest: What follows the candidates in the ranking before the gap rule, in rank order.
        params: ``top_k`` and ``min_index_gap`` are used.
        is_complete: Whether both together are every eligible chunk of the index.

    Returns:
        The selection; ``exhausted`` where fewer than ``top_k`` were kept of a complete ranking,
        ``needs_more`` where fewer were kept of another one.
    """
    ranking = (*(hit.chunk for hit in reranked), *rest)
    decisions = select_with_gap(ranking, top_k=params.top_k, min_index_gap=params.min_index_gap)
    is_short = sum(decision.kept for decision in decisions) < params.top_k
    selection = Selection(tuple(decisions), is_short and is_complete, ranking)
    return RerankedSelection(selection, is_short and not is_complete)
