"""Recall of graph search against exact search, on clustered vectors made from a seed.

The vectors lie near a low-dimensional subspace, in families of topics of near-duplicates, as chunks
of similar manuals do. Uniform random vectors would be far from any corpus.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scp_ray.index.build import ShardBuildReport, build_shard
from scp_ray.index.shard import Shard
from scp_ray.protocols import Float32Array
from scp_ray.records import PositionPrior
from scp_ray.retrieval.positional_code import (
    first_pass_vector,
    second_pass_vector,
    store_vectors,
)
from scp_ray.sections import IndexConfig, RetrievalConfig
from scp_ray.testing.shard_tables import shard_tables

DIM = 384
LATENT = 48
NUM_QUERIES = 200
RECALL_AT = 10


def _unit(vectors: Float32Array) -> Float32Array:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def clustered(num_vectors: int, seed: int) -> tuple[Float32Array, Float32Array]:
    """Return vectors in topics of 25 near-duplicates, and questions about the topics."""
    generator = np.random.default_rng(seed)
    families = generator.standard_normal((max(num_vectors // 500, 1), LATENT))
    topics = families[generator.integers(0, len(families), num_vectors // 25)]
    topics = topics + 0.8 * generator.standard_normal(topics.shape)
    basis = generator.standard_normal((LATENT, DIM)) / np.sqrt(DIM)
    members = np.repeat(topics, 25, axis=0) + 0.3 * generator.standard_normal((num_vectors, LATENT))
    jitter = 0.02 * np.sqrt(LATENT / DIM) * generator.standard_normal((num_vectors, DIM))
    about = topics[generator.integers(0, len(topics), NUM_QUERIES)]
    asked = about + 0.9 * generator.standard_normal(about.shape)
    return _unit(members @ basis + jitter), _unit(asked @ basis)


def in_documents(vectors: Float32Array, length: int) -> dict[str, Float32Array]:
    return {
        f"doc-{start:06d}": vectors[start : start + length]
        for start in range(0, len(vectors), length)
    }


Build = Callable[[dict[str, Float32Array]], tuple[Shard, ShardBuildReport]]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def run(documents: dict[str, Float32Array]) -> tuple[Shard, ShardBuildReport]:
        config = IndexConfig()
        report = build_shard(*shard_tables(documents, dim=DIM), config, tmp_path)
        return Shard(tmp_path, shard_id=0, ef_search=config.ef_search), report

    return run


def recalls(shard: Shard, queries: Float32Array) -> tuple[float, float]:
    """Return recall@10 of both passes; a chunk as near as the tenth counts as found."""
    every = np.arange(shard.num_chunks)
    stored = store_vectors(shard.embeddings(every), shard.positions(every), shard.code_weight)
    generator = np.random.default_rng(0)
    weight = RetrievalConfig().position_weight
    priors = [PositionPrior(position, 1.0) for position in generator.uniform(size=len(queries))]
    passes = (
        [first_pass_vector(query) for query in queries],
        [
            second_pass_vector(query, prior, weight, shard.code_weight)
            for query, prior in zip(queries, priors, strict=True)
        ],
    )
    first, second = (_recall(shard, stored, np.stack(vectors)) for vectors in passes)
    return first, second


def _recall(shard: Shard, stored: Float32Array, vectors: Float32Array) -> float:
    exact = np.partition(vectors @ stored.T, -RECALL_AT, axis=1)[:, -RECALL_AT]
    found = 0
    for vector, tenth in zip(vectors, exact, strict=True):
        products, _ = shard.nearest(vector, RECALL_AT, exact=False)
        found += np.count_nonzero(products[:RECALL_AT] >= tenth - 1e-6)
    return found / (len(vectors) * RECALL_AT)


def test_the_defaults_find_99_of_100_in_both_passes(build: Build) -> None:
    vectors, queries = clustered(20_000, seed=1)
    shard, report = build(in_documents(vectors, 80))
    first, second = recalls(shard, queries)
    assert first >= 0.99
    assert second >= 0.99
    assert report.audit.recall >= 0.99
    assert report.audit.num_unreachable == 0


def _one_vector(vectors: Float32Array, copies: Float32Array) -> Float32Array:
    copies[:] = vectors[17]
    return copies


def _one_vector_nearly(vectors: Float32Array, copies: Float32Array) -> Float32Array:
    noise = np.random.default_rng(1).standard_normal(copies.shape)
    return _unit(vectors[17] + 1e-7 * noise)


def _fifty_vectors(vectors: Float32Array, copies: Float32Array) -> Float32Array:
    copies[:] = vectors[np.arange(len(copies)) % 50]
    return copies


@pytest.mark.parametrize(
    ("duplicate", "length"),
    [(_one_vector, 1), (_one_vector, 40), (_one_vector_nearly, 1), (_fifty_vectors, 1)],
)
def test_a_quarter_of_duplicates_does_no_harm(
    build: Build, duplicate: Callable[[Float32Array, Float32Array], Float32Array], length: int
) -> None:
    vectors, queries = clustered(6_000, seed=2)
    vectors[4_500:] = duplicate(vectors, vectors[4_500:].copy())
    shuffled = vectors[np.random.default_rng(3).permutation(len(vectors))]
    shard, report = build(in_documents(shuffled, length))
    assert report.audit.num_unreachable == 0
    for asked in (queries, shuffled[::40]):
        first, second = recalls(shard, asked)
        assert first >= 0.95
        assert second >= 0.95
