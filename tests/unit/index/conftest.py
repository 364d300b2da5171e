"""Vectors and shards for the tests of one shard."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scp_ray.index.build import build_shard
from scp_ray.index.shard import Shard
from scp_ray.protocols import Float32Array
from scp_ray.sections import IndexConfig
from scp_ray.testing.shard_tables import shard_tables

DIM = 16
METADATA = {
    "a": {"category": "pump", "year": 2019},
    "b": {"category": "valve", "year": 2021},
    "c": {"year": 2023},
}


@pytest.fixture
def small_config() -> IndexConfig:
    """Few links, so that builds are quick."""
    return IndexConfig(m=8, ef_construction=40, ef_search=64, audit_queries=20)


@pytest.fixture
def unit_vectors() -> Callable[[int, int], Float32Array]:
    """Makes ``count`` unit vectors from a seed."""

    def make(count: int, seed: int = 0) -> Float32Array:
        vectors = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    return make


@pytest.fixture
def documents(
    unit_vectors: Callable[[int, int], Float32Array],
) -> dict[str, Float32Array]:
    """Three documents, of 30, 1 and 9 chunks."""
    return {"b": unit_vectors(30, 1), "c": unit_vectors(1, 2), "a": unit_vectors(9, 3)}


@pytest.fixture
def shard_folder(
    tmp_path: Path, documents: dict[str, Float32Array], small_config: IndexConfig
) -> Path:
    """A built shard of the three documents."""
    folder = tmp_path / "shard"
    folder.mkdir()
    rows, table = shard_tables(documents, dim=DIM, metadata=METADATA)
    build_shard(rows, table, small_config, folder)
    return folder


@pytest.fixture
def shard(shard_folder: Path) -> Shard:
    """The built shard, opened."""
    return Shard(shard_folder, shard_id=2, ef_search=64)
