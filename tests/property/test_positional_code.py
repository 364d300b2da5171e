"""Positional codes and stored vectors have norm 1, whatever the document."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.records import PositionPrior
from scp_ray.retrieval.positional_code import (
    first_pass_vector,
    position,
    positional_code,
    second_pass_vector,
    store_vectors,
)

fractions = st.floats(0.0, 1.0)
seeds = st.integers(0, 2**32)
code_weights = st.floats(0.01, 10.0)


@given(st.lists(fractions, max_size=20))
def test_codes_have_norm_one(positions: list[float]) -> None:
    codes = positional_code(np.array(positions, dtype=np.float64))
    np.testing.assert_allclose(np.linalg.norm(codes, axis=1), 1.0, rtol=1e-15)


@given(st.integers(1, 10_000), st.data())
def test_positions_rise_from_zero_to_one(num_chunks: int, data: st.DataObject) -> None:
    indexes = np.arange(num_chunks)
    positions = position(indexes, np.full(num_chunks, num_chunks))
    assert np.all(np.diff(positions) > 0)
    assert positions[0] == (0.0 if num_chunks > 1 else 0.5)
    assert positions[-1] == (1.0 if num_chunks > 1 else 0.5)
    row = data.draw(st.integers(0, num_chunks - 1))
    assert position(indexes[row : row + 1], np.array([num_chunks]))[0] == positions[row]


@given(seeds, st.integers(1, 30), st.integers(1, 40), code_weights)
def test_stored_vectors_have_norm_one(seed: int, count: int, dim: int, weight: float) -> None:
    generator = np.random.default_rng(seed)
    embeddings = generator.standard_normal((count, dim)).astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    stored = store_vectors(embeddings, generator.uniform(size=count), weight)
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), 1.0, atol=1e-6)


@given(seeds, st.integers(1, 40), code_weights, st.floats(0.0, 1.0), fractions)
def test_products_are_scores_over_the_stored_norm(
    seed: int, dim: int, code_weight: float, position_weight: float, mu: float
) -> None:
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((6, dim)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query, embeddings = vectors[0], vectors[1:]
    positions = generator.uniform(size=5)
    stored = store_vectors(embeddings, positions, code_weight)
    norm = np.hypot(1.0, code_weight)
    cosines = embeddings.astype(np.float64) @ query.astype(np.float64)
    scores = cosines + position_weight * np.cos(np.pi * (positions - mu))
    second = second_pass_vector(query, PositionPrior(mu, 1.0), position_weight, code_weight)
    assert stored @ first_pass_vector(query) * norm == pytest.approx(cosines, abs=1e-4)
    assert stored @ second * norm == pytest.approx(scores, abs=1e-4)
