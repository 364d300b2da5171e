"""A group finds the same with threads as without."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from scp_ray.config import Settings
from scp_ray.records import PriorScope
from scp_ray.retrieval.question import Question
from scp_ray.serve.shard_group import ShardGroup
from scp_ray.testing.exact_index import ExactIndex

DIM = 24


def _shards(seed: int, num_shards: int) -> tuple[list[ExactIndex], np.ndarray]:
    """Shards with many equal vectors, so that there are ties to break, and a question."""
    generator = np.random.default_rng(seed)
    pool = generator.standard_normal((20, DIM)).astype(np.float32)
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    shards = [
        ExactIndex(
            {f"doc-{shard}-{n}": pool[generator.integers(0, 20, 40)] for n in range(5)},
            dim=DIM,
            shard_id=shard,
        )
        for shard in range(num_shards)
    ]
    return shards, pool[0]


@pytest.mark.parametrize("scope", PriorScope)
@pytest.mark.parametrize("num_shards", [1, 2, 7])
def test_threads_find_what_one_thread_finds_bit_for_bit(scope: PriorScope, num_shards: int) -> None:
    shards, query = _shards(num_shards, num_shards)
    params = Settings().query_params(top_k=12, min_index_gap=3, exact=True)
    params = dataclasses.replace(params, prior_scope=scope, num_ranked=20)
    question = Question(query)
    alone = ShardGroup(range(num_shards), shards)
    some = {"doc_id": [f"doc-{shard}-{n}" for shard in range(num_shards) for n in (1, 4)]}
    with ThreadPoolExecutor(4) as calls, ThreadPoolExecutor(3) as searches:
        together = ShardGroup(range(num_shards), shards, searches.map)
        for row_filter in (None, some):
            outcome = alone.search(question, params, row_filter)
            asking = [calls.submit(together.search, question, params, row_filter) for _ in range(8)]
            assert all(one.result() == outcome for one in asking)
            assert together.first_pass(query, params, row_filter) == alone.first_pass(
                query, params, row_filter
            )
            passes = [
                group.second_pass(question, outcome.prior, params, row_filter)
                for group in (alone, together)
            ]
            assert passes[0] == passes[1]
            assert len(passes[0].kept) == 12
