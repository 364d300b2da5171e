"""The new order after a reranking, and the gap selector over it."""

import numpy as np
import pytest

from scp_ray.config import Settings
from scp_ray.records import ChunkKey, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.rerank import (
    RerankedChunk,
    ranked_for_selection,
    rerank,
    select_reranked,
)


def ranked(*keys: tuple[str, int]) -> list[ScoredChunk]:
    """Candidates whose scores fall in the order given."""
    return [
        ScoredChunk(
            key=ChunkKey(doc_id, index),
            position=0.5,
            score=1.0 - rank / 100,
            semantic_score=0.0,
            lexical_score=0.0,
            position_score=0.0,
            row=rank,
            shard_id=0,
        )
        for rank, (doc_id, index) in enumerate(keys)
    ]


def asked(top_k: int, min_index_gap: int = 2) -> QueryParams:
    return Settings().query_params(top_k=top_k, min_index_gap=min_index_gap)


def places(chunks: list[ScoredChunk] | tuple[ScoredChunk, ...]) -> list[tuple[str, int]]:
    return [(chunk.key.doc_id, chunk.key.chunk_index) for chunk in chunks]


def verdicts(selection: Selection) -> list[tuple[str, int, int | None]]:
    return [
        (d.candidate.key.doc_id, d.candidate.key.chunk_index, d.near) for d in selection.decisions
    ]


def test_rerank_scores_replace_the_order_and_both_are_kept() -> None:
    first, second, third = ranked(("a", 1), ("b", 2), ("c", 3))
    assert rerank([first, second, third], np.array([-3.0, 2.5, 0.0])) == [
        RerankedChunk(second, 2.5),
        RerankedChunk(third, 0.0),
        RerankedChunk(first, -3.0),
    ]


def test_ties_keep_the_first_order() -> None:
    candidates = ranked(("b", 1), ("a", 10), ("a", 9), ("c", 0))
    reranked = rerank(candidates, np.array([0.0, -0.0, 0.0, 1.0]))
    assert places([hit.chunk for hit in reranked]) == [("c", 0), ("b", 1), ("a", 10), ("a", 9)]


def test_every_candidate_needs_its_score() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        rerank(ranked(("a", 1), ("b", 2)), np.array([1.0]))


def test_the_gap_rule_goes_down_the_new_order_and_then_the_rest() -> None:
    ranking = ranked(("a", 1), ("a", 2), ("b", 7), ("b", 8))
    reranked = rerank(ranking[:3], np.array([0.1, 0.9, 0.5]))
    found = select_reranked(reranked, ranking, asked(4))
    assert verdicts(found) == [("a", 2, None), ("b", 7, None), ("a", 1, 2), ("b", 8, 7)]
    assert places(found.ranking) == [("a", 2), ("b", 7), ("a", 1), ("b", 8)]


def test_it_stops_after_the_last_result_and_ranks_what_follows() -> None:
    ranking = ranked(("a", 1), ("b", 1), ("c", 1))
    found = select_reranked(rerank(ranking[:2], np.array([0.0, 1.0])), ranking, asked(2))
    assert verdicts(found) == [("b", 1, None), ("a", 1, None)]
    assert places(found.ranking) == [("b", 1), ("a", 1), ("c", 1)]
    assert not found.exhausted


def test_too_few_results_are_exhausted() -> None:
    ranking = ranked(("a", 1), ("a", 2), ("a", 3))
    # In the first order 1 and 3 are kept; in this one only 2 is.
    found = select_reranked(rerank(ranking, np.array([0.0, 1.0, 0.5])), ranking, asked(2))
    assert [chunk.key for chunk in found.kept] == [ChunkKey("a", 2)]
    assert found.exhausted


def test_nothing_to_rerank_leaves_the_ranking() -> None:
    ranking = ranked(("b", 1), ("a", 4))
    found = select_reranked(rerank([], np.array([])), ranking, asked(5))
    assert places(found.ranking) == [("b", 1), ("a", 4)]
    assert found.exhausted
    assert select_reranked([], [], asked(5)) == Selection((), exhausted=True)


def test_a_ranking_is_long_enough_when_the_gap_cannot_drop_too_many() -> None:
    assert ranked_for_selection(asked(5, min_index_gap=1)) == 5
    assert ranked_for_selection(asked(5, min_index_gap=3)) == 25
