"""Reranking against a brute force, and what it must leave as it is."""

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.config import Settings
from scp_ray.records import ChunkKey, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.gap_selector import select_with_gap
from scp_ray.retrieval.rerank import ranked_for_selection, rerank, select_reranked


class Case(NamedTuple):
    """A ranking with many equal scores, its first chunks' rerank scores, and what is asked."""

    ranking: list[ScoredChunk]
    rerank_scores: list[float]
    params: QueryParams


def _chunk(key: tuple[str, int], score: float) -> ScoredChunk:
    return ScoredChunk(ChunkKey(*key), 0.5, score, score, 0.0, 0.0, row=key[1], shard_id=0)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    keys = draw(
        st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 15)), unique=True, max_size=40)
    )
    scores = draw(st.lists(st.integers(0, 5), min_size=len(keys), max_size=len(keys)))
    ranking = sorted(
        (_chunk(key, score / 5) for key, score in zip(keys, scores, strict=True)),
        key=lambda chunk: chunk.rank_key,
    )
    num_candidates = draw(st.integers(0, len(ranking)))
    few = st.sampled_from([-8.5, -1.0, 0.0, 0.25, 7.0])
    rerank_scores = draw(st.lists(few, min_size=num_candidates, max_size=num_candidates))
    params = Settings().query_params(
        top_k=draw(st.integers(1, 20)), min_index_gap=draw(st.integers(1, 5))
    )
    return Case(ranking, rerank_scores, params)


def select(case: Case) -> Selection:
    head = case.ranking[: len(case.rerank_scores)]
    reranked = rerank(head, np.array(case.rerank_scores))
    return select_reranked(reranked, case.ranking, case.params)


def _near(first: ScoredChunk, second: ScoredChunk, min_index_gap: int) -> bool:
    apart = abs(first.key.chunk_index - second.key.chunk_index)
    return first.key.doc_id == second.key.doc_id and apart < min_index_gap


@given(cases())
def test_kept_chunks_are_a_gap_apart_and_no_other_could_be_kept(case: Case) -> None:
    found = select(case)
    kept: list[ScoredChunk] = []
    for chunk in found.ranking:
        if len(kept) == case.params.top_k:
            break
        if not any(_near(chunk, other, case.params.min_index_gap) for other in kept):
            kept.append(chunk)
    assert found.kept == kept
    is_short = len(kept) < case.params.top_k
    assert found.exhausted == is_short
    if len(case.ranking) >= ranked_for_selection(case.params):
        assert not is_short
    if is_short:
        assert len(found.decisions) == len(case.ranking)


@given(cases())
def test_the_new_order_is_by_rerank_score_then_as_it_was(case: Case) -> None:
    order = select(case).ranking
    num_candidates = len(case.rerank_scores)
    scores = dict(zip((chunk.key for chunk in case.ranking), case.rerank_scores, strict=False))
    head = [(-scores[chunk.key], case.ranking.index(chunk)) for chunk in order[:num_candidates]]
    assert head == sorted(head)
    assert list(order[num_candidates:]) == case.ranking[num_candidates:]
    assert {chunk.key for chunk in order[:num_candidates]} == set(scores)


@given(cases())
def test_scores_that_agree_with_the_ranking_change_nothing(case: Case) -> None:
    agreeing = case._replace(
        rerank_scores=[20 * chunk.score - 7 for chunk in case.ranking[: len(case.rerank_scores)]]
    )
    expected = select_with_gap(
        case.ranking, top_k=case.params.top_k, min_index_gap=case.params.min_index_gap
    )
    found = select(agreeing)
    assert found == Selection(tuple(expected), found.exhausted, tuple(case.ranking))
