"""The one routine that scores chunks in full, in float64.

The score of a chunk does not depend on what else is scored in the same call, nor on how the rows
lie in memory: products are taken element by element and summed along the contiguous last axis,
one row at a time. A matrix product would not do, since its blocking changes the last bit with the
number of rows. This is what makes one shard and many agree bit for bit.
"""

from typing import NamedTuple

import numpy as np

from scp_ray.protocols import Float32Array, Float64Array
from scp_ray.records import PositionPrior

# Rows of one block: bounds the float64 copy to about 12 MB at 768 dimensions.
BLOCK_ROWS = 2048


class Weights(NamedTuple):
    """Weights of a score.

    Attributes:
        position: w >= 0.
        lexical: l in [0, 1].
    """

    position: float
    lexical: float = 0.0


class ScoreTerms(NamedTuple):
    """Scores of chunks and their unweighted terms, each of shape (n,), float64."""

    score: Float64Array
    semantic: Float64Array
    lexical: Float64Array
    position: Float64Array


def semantic_scores(query: Float32Array, embeddings: Float32Array) -> Float64Array:
    """Return ``q.x`` of each row, shape (n,), float64, independent of the other rows.

    Args:
        query: Unit vector, shape (d,).
        embeddings: Unit vectors, shape (n, d).
    """
    wide_query = np.asarray(query, dtype=np.float64)
    scores = np.empty(len(embeddings), dtype=np.float64)
    for start in range(0, len(embeddings), BLOCK_ROWS):
        products = embeddings[start : start + BLOCK_ROWS] * wide_query
        np.add.reduce(products, axis=-1, out=scores[start : start + BLOCK_ROWS])
    return scores


def position_scores(prior: PositionPrior, positions: Float64Array) -> Float64Array:
    """Return ``cos(pi (p - mu))`` of each position, shape (n,), float64."""
    return np.cos(np.pi * (positions - prior.position))


def score_chunks(
    query: Float32Array,
    embeddings: Float32Array,
    positions: Float64Array,
    *,
    prior: PositionPrior | None,
    weights: Weights,
    lexical: Float64Array | None = None,
) -> ScoreTerms:
    """Score chunks in full: ``(1 - l) q.x + l words + w cos(pi (p - mu))``.

    Args:
        query: Unit vector q, shape (d,), float32.
        embeddings: Unit vectors x, shape (n, d), float32.
        positions: Positions p in [0, 1], shape (n,), float64.
        prior: The prior in force, its position mu; None leaves the position term out.
        weights: l and w.
        lexical: Lexical score of each chunk in [0, 1], shape (n,); None = no words, l is 0 then.
    """
    semantic = semantic_scores(query, embeddings)
    if lexical is None:
        lexical, score = np.zeros_like(semantic), semantic
    else:
        score = (1.0 - weights.lexical) * semantic + weights.lexical * lexical
    if prior is None:
        return ScoreTerms(score, semantic, lexical, np.zeros_like(semantic))
    position = position_scores(prior, positions)
    return ScoreTerms(score + weights.position * position, semantic, lexical, position)
