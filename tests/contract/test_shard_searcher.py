"""What the method relies on in a shard, for the one in files and the one in memory."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from scp_ray.index.build import build_shard
from scp_ray.index.shard import Shard
from scp_ray.protocols import Float32Array
from scp_ray.records import ChunkKey, PositionPrior
from scp_ray.retrieval.candidates import ShardSearcher
from scp_ray.retrieval.positional_code import (
    first_pass_vector,
    position,
    second_pass_vector,
    store_vectors,
)
from scp_ray.sections import IndexConfig
from scp_ray.testing.exact_index import ExactIndex
from scp_ray.testing.shard_tables import shard_tables

DIM = 24
MakeShard = Callable[[Mapping[str, Float32Array]], ShardSearcher]


def unit_vectors(count: int, seed: int) -> Float32Array:
    vectors = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


DOCUMENTS = {"zeta": unit_vectors(50, 0), "alpha": unit_vectors(2, 1), "été": unit_vectors(1, 2)}
QUERY = unit_vectors(1, 3)[0]


@pytest.fixture(params=["memory", "files"])
def make_shard(request: pytest.FixtureRequest, tmp_path: Path) -> MakeShard:
    def in_memory(documents: Mapping[str, Float32Array]) -> ShardSearcher:
        return ExactIndex(documents, dim=DIM)

    def in_files(documents: Mapping[str, Float32Array]) -> ShardSearcher:
        config = IndexConfig(m=8, ef_construction=60)
        build_shard(*shard_tables(documents, dim=DIM), config, tmp_path)
        return Shard(tmp_path, shard_id=0, ef_search=64)

    return in_memory if request.param == "memory" else in_files


def test_rows_are_in_the_order_of_keys(make_shard: MakeShard) -> None:
    shard = make_shard(DOCUMENTS)
    every = np.arange(shard.num_chunks)
    keys = shard.keys(every)
    assert keys == sorted(keys)
    assert keys[:3] == [ChunkKey("alpha", 0), ChunkKey("alpha", 1), ChunkKey("zeta", 0)]
    positions = shard.positions(every)
    assert positions.dtype == np.float64
    assert positions[[0, 1, 2, 51, 52]].tolist() == [0.0, 1.0, 0.0, 1.0, 0.5]


def test_embeddings_are_the_bits_that_came(make_shard: MakeShard) -> None:
    shard = make_shard(DOCUMENTS)
    embeddings = shard.embeddings(np.array([2, 0]))
    assert embeddings.tobytes() == np.stack([DOCUMENTS["zeta"][0], DOCUMENTS["alpha"][0]]).tobytes()


@pytest.mark.parametrize("depth", [1, 7, 53, 500])
@pytest.mark.parametrize("exact", [True, False])
def test_nearest_are_the_best_by_stored_vector(
    make_shard: MakeShard, depth: int, *, exact: bool
) -> None:
    shard = make_shard(DOCUMENTS)
    every = np.arange(shard.num_chunks)
    stored = store_vectors(shard.embeddings(every), shard.positions(every), shard.code_weight)
    prior = PositionPrior(0.2, 1.0)
    for vector in (
        first_pass_vector(QUERY),
        second_pass_vector(QUERY, prior, 0.3, shard.code_weight),
    ):
        products, rows = shard.nearest(vector, depth, exact=exact)
        assert len(rows) >= min(depth, 53)
        assert len(set(rows.tolist())) == len(rows)
        np.testing.assert_allclose(products, stored[rows] @ vector, atol=1e-6)
        assert np.all(np.diff(products) <= 0)
        left_out = np.setdiff1d(every, rows)
        assert all(stored[left_out] @ vector <= products[-1] + 1e-6)


def test_a_filtered_scan_sees_allowed_rows_alone(make_shard: MakeShard) -> None:
    shard = make_shard(DOCUMENTS)
    allowed = np.zeros(53, dtype=np.bool_)
    allowed[[1, 30, 52]] = True
    _, rows = shard.nearest(first_pass_vector(QUERY), 2, exact=True, allowed=allowed)
    assert len(rows) == 2
    assert allowed[rows].all()
    _, rows = shard.nearest(first_pass_vector(QUERY), 10, exact=True, allowed=allowed)
    assert sorted(rows.tolist()) == [1, 30, 52]


def test_nothing_is_found_in_nothing(make_shard: MakeShard) -> None:
    shard = make_shard({})
    assert (shard.num_chunks, shard.dim) == (0, DIM)
    for exact in (True, False):
        assert len(shard.nearest(first_pass_vector(QUERY), 3, exact=exact)[1]) == 0
    nothing = np.empty(0, dtype=np.int64)
    assert shard.keys(nothing) == []
    assert shard.embeddings(nothing).shape == (0, DIM)
    assert shard.positions(nothing).shape == position(nothing, nothing).shape
