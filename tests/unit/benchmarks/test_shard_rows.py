"""Rows made from the rows of an index."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.shard_rows import ShardRows, enlarged, jittered
from scp_ray import schema
from scp_ray.config import Settings
from scp_ray.index.build import build_shard
from scp_ray.index.shard_files import embedding_matrix
from scp_ray.protocols import Float32Array

DIM = 64


def unit_vectors(count: int) -> Float32Array:
    vectors = np.random.default_rng(0).standard_normal((count, DIM)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def rows() -> ShardRows:
    """Documents ``a`` with two chunks and ``b`` with three."""
    keys = [("a", 0, 2), ("a", 1, 2), ("b", 0, 3), ("b", 1, 3), ("b", 2, 3)]
    chunks = [
        {
            schema.DOC_ID: doc_id,
            schema.CHUNK_INDEX: index,
            schema.NUM_CHUNKS: count,
            schema.CHAR_START: 0,
            schema.CHAR_END: 1,
            schema.NUM_TOKENS: 1,
            schema.TEXT: f"{doc_id}{index}",
            schema.PREFIX: "",
            schema.CNM_CATEGORY: None,
            schema.CNM_NOUNS: [],
            schema.CNM_MODEL: None,
            schema.STARTS_SPAN: index == 0,
            schema.EMBEDDING: vector,
        }
        for (doc_id, index, count), vector in zip(keys, unit_vectors(5).tolist(), strict=True)
    ]
    documents = [
        {
            schema.DOC_ID: doc_id,
            schema.SOURCE_URI: doc_id,
            schema.CONTENT_SHA256: "0",
            schema.FINGERPRINT: "0",
            schema.METADATA_JSON: "{}",
            schema.NUM_CHARACTERS: 1,
            schema.NUM_CHUNKS: count,
        }
        for doc_id, count in (("a", 2), ("b", 3))
    ]
    return ShardRows(
        pa.Table.from_pylist(chunks, schema=schema.chunks_schema(DIM)),
        pa.Table.from_pylist(documents, schema=schema.DOCUMENTS),
    )


def test_jittered_vectors_are_units_at_the_cosine_asked_for() -> None:
    vectors = unit_vectors(500)
    moved = jittered(vectors, 0.9, np.random.default_rng(1))
    cosines = np.einsum("ij,ij->i", vectors, moved)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1.0, atol=1e-6)
    assert cosines.mean() == pytest.approx(0.9, abs=0.005)
    assert moved.dtype == np.float32


def test_enlarged_copies_documents_and_cuts_the_last_one(rows: ShardRows) -> None:
    many = enlarged(rows, 9, np.random.default_rng(1))
    first, second = "000000/a", "000000/b"
    third, fourth = "000001/a", "000001/b"
    assert many.documents[schema.DOC_ID].to_pylist() == [first, second, third, fourth]
    assert many.documents[schema.NUM_CHUNKS].to_pylist() == [2, 3, 2, 2]
    expected = [first] * 2 + [second] * 3 + [third] * 2 + [fourth] * 2
    assert many.chunks[schema.DOC_ID].to_pylist() == expected
    assert many.chunks[schema.TEXT].to_pylist()[:5] == ["a0", "a1", "b0", "b1", "b2"]
    assert len(many.chunks[schema.TEXT]) == 9
    assert many.positions.tolist() == [0.0, 1.0, 0.0, 0.5, 1.0, 0.0, 1.0, 0.0, 1.0]


def test_enlarged_rows_are_a_shard_that_builds(rows: ShardRows, tmp_path: Path) -> None:
    many = enlarged(rows, 33, np.random.default_rng(1))
    report = build_shard(many.chunks, many.documents, Settings().index, tmp_path)
    assert (report.num_documents, report.num_chunks, report.num_nodes) == (14, 33, 33)


def test_enlarged_follows_its_generator(rows: ShardRows) -> None:
    first, again, other = (
        embedding_matrix(enlarged(rows, 7, np.random.default_rng(seed)).chunks)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
