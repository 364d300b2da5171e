"""Positions, their codes, and the vectors made of them."""

import numpy as np
import pytest

from scp_ray.records import PositionPrior
from scp_ray.retrieval.positional_code import (
    first_pass_vector,
    position,
    positional_code,
    second_pass_vector,
    store_vectors,
)


def test_position_runs_from_first_to_last_chunk() -> None:
    positions = position(np.array([0, 1, 2, 3, 4]), np.array([5, 5, 5, 5, 5]))
    assert positions.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_a_lone_chunk_is_in_the_middle() -> None:
    assert position(np.array([0, 0, 1]), np.array([1, 2, 2])).tolist() == [0.5, 0.0, 1.0]


def test_no_chunks_have_no_positions() -> None:
    empty = np.empty(0, dtype=np.int64)
    assert position(empty, empty).shape == (0,)
    assert positional_code(position(empty, empty)).shape == (0, 2)


def test_codes_of_start_middle_and_end() -> None:
    codes = positional_code(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(codes, [[0, 1], [1, 0], [0, -1]], atol=1e-15)


def test_start_and_end_of_a_document_are_far_apart() -> None:
    start, near_start, end = positional_code(np.array([0.0, 0.1, 1.0]))
    assert start @ end == pytest.approx(-1.0)
    assert start @ near_start > 0.9


def test_stored_vectors_have_norm_one_and_hold_both_parts() -> None:
    embeddings = np.array([[0.6, 0.8], [1.0, 0.0]], dtype=np.float32)
    stored = store_vectors(embeddings, np.array([0.0, 0.5]), 0.5)
    assert stored.dtype == np.float32
    scale = np.sqrt(1.25)
    np.testing.assert_allclose(
        stored * scale, [[0.6, 0.8, 0.0, 0.5], [1.0, 0.0, 0.5, 0.0]], atol=1e-6
    )
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), 1.0, atol=1e-6)


def test_storing_leaves_the_embeddings_alone() -> None:
    embeddings = np.array([[0.6, 0.8]], dtype=np.float32)
    store_vectors(embeddings, np.array([0.3]), 0.2)
    assert embeddings.tolist() == np.array([[0.6, 0.8]], dtype=np.float32).tolist()


def test_first_pass_vector_has_no_position() -> None:
    query = np.array([0.6, 0.8], dtype=np.float32)
    vector = first_pass_vector(query)
    assert vector.dtype == np.float32
    assert vector.tolist() == [*query.tolist(), 0.0, 0.0]


def test_second_pass_product_is_the_score_over_the_stored_norm() -> None:
    query = np.array([0.6, 0.8], dtype=np.float32)
    embeddings = np.array([[1.0, 0.0]], dtype=np.float32)
    stored = store_vectors(embeddings, np.array([0.75]), 0.2)
    vector = second_pass_vector(query, PositionPrior(0.25, 1.0), 0.1, 0.2, lexical_weight=0.5)
    expected = (0.5 * 0.6 + 0.1 * np.cos(np.pi * 0.5)) / np.sqrt(1.04)
    assert vector.dtype == np.float32
    assert float(stored[0] @ vector) == pytest.approx(expected, abs=1e-6)
