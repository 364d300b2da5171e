"""Merging ranked lists is sorting their union."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from scp_ray.config import Settings
from scp_ray.records import ChunkKey, ScoredChunk, Selection
from scp_ray.retrieval.gap_selector import select_with_gap
from scp_ray.retrieval.merge import merge_first_pass, merge_selections


@st.composite
def shard_rankings(draw: st.DrawFn) -> list[list[ScoredChunk]]:
    """Rankings of shards with documents of their own and few distinct scores."""
    num_shards = draw(st.integers(1, 5))
    keys = draw(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 15)), max_size=60))
    rankings: list[list[ScoredChunk]] = [[] for _ in range(num_shards)]
    for document, index in sorted(keys):
        score = draw(st.sampled_from([0.1, 0.2, 0.3]))
        shard_id = document % num_shards
        rankings[shard_id].append(
            ScoredChunk(
                ChunkKey(f"doc-{document}", index), 0.5, score, score, 0.0, 0.0, 0, shard_id
            )
        )
    return [sorted(ranking, key=lambda hit: hit.rank_key) for ranking in rankings]


def union(rankings: list[list[ScoredChunk]]) -> list[ScoredChunk]:
    return sorted((hit for ranking in rankings for hit in ranking), key=lambda hit: hit.rank_key)


@given(shard_rankings(), st.integers(1, 70))
def test_first_pass_is_the_head_of_the_sorted_union(
    rankings: list[list[ScoredChunk]], num_wanted: int
) -> None:
    params = Settings().query_params(first_pass_candidates=num_wanted)
    assert merge_first_pass(rankings, params) == union(rankings)[:num_wanted]


@given(shard_rankings(), st.integers(1, 20), st.integers(1, 5), st.integers(0, 12))
def test_selections_merge_to_the_selection_of_the_union(
    rankings: list[list[ScoredChunk]], top_k: int, gap: int, num_ranked: int
) -> None:
    params = dataclasses.replace(Settings().query_params(top_k=top_k), num_ranked=num_ranked)

    def select(ranking: list[ScoredChunk]) -> Selection:
        decisions = select_with_gap(ranking, top_k=top_k, min_index_gap=gap)
        num_kept = sum(decision.kept for decision in decisions)
        return Selection(tuple(decisions), num_kept < top_k, tuple(ranking[:num_ranked]))

    merged = merge_selections([select(ranking) for ranking in rankings], params)
    assert merged == select(union(rankings))
