"""Rows of which a share are exact duplicates."""

import numpy as np
import pytest

from benchmarks.duplicates import with_copied_documents, with_repeated_passages
from benchmarks.shard_rows import ShardRows, texts
from scp_ray.index.shard_files import embedding_matrix
from scp_ray.protocols import Float32Array
from scp_ray.testing.shard_tables import shard_tables

DIM = 8


def unit_vectors(count: int, seed: int) -> Float32Array:
    drawn = np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)
    unit: Float32Array = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


@pytest.fixture
def rows() -> ShardRows:
    """Thirty documents of ten chunks."""
    documents = {f"doc-{number:02d}": unit_vectors(10, number) for number in range(30)}
    return ShardRows(*shard_tables(documents, dim=DIM))


def num_distinct(rows: ShardRows) -> int:
    return len(np.unique(embedding_matrix(rows.chunks), axis=0))


def test_copies_of_documents_make_the_share(rows: ShardRows) -> None:
    made = with_copied_documents(rows, 0.25)
    assert made.chunks.num_rows == 400
    assert made.documents.num_rows == 40
    assert num_distinct(made) == 300
    assert texts(made.documents, "doc_id")[-1] == "copy/doc-09"
    copied, original = made.chunks.slice(300, 100), rows.chunks.slice(0, 100)
    names = [name for name in rows.chunks.column_names if name != "doc_id"]
    assert copied.select(names).equals(original.select(names))


def test_repeated_passages_leave_the_rest_as_it_is(rows: ShardRows) -> None:
    made = with_repeated_passages(rows, 0.5, np.random.default_rng(1))
    before, after = embedding_matrix(rows.chunks), embedding_matrix(made.chunks)
    is_same = (before == after).all(axis=1)
    assert is_same.sum() == 200  # 150 that were not drawn, and the passages themselves
    assert num_distinct(made) == 200
    assert made.documents.equals(rows.documents)
    assert made.chunks.drop_columns("embedding").equals(rows.chunks.drop_columns("embedding"))
