"""The full score of a chunk."""

import numpy as np
import pytest

from scp_ray.records import PositionPrior
from scp_ray.retrieval.score import (
    BLOCK_ROWS,
    Weights,
    position_scores,
    score_chunks,
    semantic_scores,
)

QUERY = np.array([0.6, 0.8], dtype=np.float32)
EMBEDDINGS = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
POSITIONS = np.array([0.0, 1.0])


def test_the_score_is_cosine_plus_weighted_position() -> None:
    terms = score_chunks(
        QUERY, EMBEDDINGS, POSITIONS, prior=PositionPrior(0.0, 1.0), weights=Weights(0.1)
    )
    np.testing.assert_allclose(terms.semantic, [0.6, 0.8], atol=1e-7)
    np.testing.assert_allclose(terms.position, [1.0, -1.0])
    np.testing.assert_allclose(terms.score, [0.7, 0.7], atol=1e-7)
    assert terms.lexical.tolist() == [0.0, 0.0]


def test_without_a_prior_the_score_is_the_cosine() -> None:
    terms = score_chunks(QUERY, EMBEDDINGS, POSITIONS, prior=None, weights=Weights(0.1))
    assert terms.score.tolist() == terms.semantic.tolist()
    assert terms.position.tolist() == [0.0, 0.0]


def test_words_and_cosine_share_the_score() -> None:
    words = np.array([1.0, 0.0])
    terms = score_chunks(
        QUERY, EMBEDDINGS, POSITIONS, prior=None, weights=Weights(0.0, 0.25), lexical=words
    )
    np.testing.assert_allclose(terms.score, [0.75 * 0.6 + 0.25, 0.75 * 0.8], atol=1e-7)
    assert terms.lexical.tolist() == [1.0, 0.0]


def test_scores_are_float64_of_float32_vectors() -> None:
    value = np.float32(1 / 3)
    scores = semantic_scores(np.array([value]), np.array([[value]]))
    assert scores.dtype == np.float64
    assert scores[0] == float(value) * float(value)


def test_nothing_to_score() -> None:
    empty = np.empty((0, 2), dtype=np.float32)
    assert score_chunks(
        QUERY, empty, np.empty(0), prior=PositionPrior(0.5, 1.0), weights=Weights(0.1)
    ).score.shape == (0,)


@pytest.mark.parametrize("dim", [1, 2, 7, 8, 9, 64, 129, 384])
def test_a_score_does_not_depend_on_its_neighbours(dim: int) -> None:
    generator = np.random.default_rng(dim)
    query = generator.standard_normal(dim).astype(np.float32)
    embeddings = generator.standard_normal((BLOCK_ROWS + 37, dim)).astype(np.float32)
    together = semantic_scores(query, embeddings)
    for row in (0, 1, 17, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 36):
        assert semantic_scores(query, embeddings[row : row + 1])[0] == together[row]
    some = generator.permutation(len(embeddings))[:101]
    assert semantic_scores(query, embeddings[some]).tobytes() == together[some].tobytes()


def test_a_position_score_does_not_depend_on_its_neighbours() -> None:
    positions = np.random.default_rng(0).uniform(size=1001)
    prior = PositionPrior(0.31, 1.0)
    together = position_scores(prior, positions)
    alone = [position_scores(prior, positions[row : row + 1])[0] for row in range(1001)]
    assert together.tolist() == alone
