"""Positions, positional codes, and the vectors that store and search them.

Symbols of the formulas: a = weight of the code in a stored vector, w = position weight, l = weight
of the words, mu = position of the prior, p = position of a chunk, phi(p) = [sin(pi p), cos(pi p)].
"""

import numpy as np

from scp_ray.protocols import Float32Array, Float64Array, Int64Array
from scp_ray.records import PositionPrior

CODE_DIM = 2
LONE_CHUNK_POSITION = 0.5


def position(chunk_index: Int64Array, num_chunks: Int64Array) -> Float64Array:
    """Return where chunks lie in their documents: 0 = first, 1 = last chunk.

    Args:
        chunk_index: Indexes from 0, shape (n,).
        num_chunks: Chunks of the document of each, shape (n,), > ``chunk_index``.

    Returns:
        ``chunk_index / (num_chunks - 1)``, and 0.5 where a document is one chunk; shape (n,).

    Source: SCP-HNSW (arXiv:2606.01542) codes relative positions; the exact form is our choice.
    """
    last = np.asarray(num_chunks, dtype=np.float64) - 1.0
    relative = np.asarray(chunk_index, dtype=np.float64) / np.maximum(last, 1.0)
    return np.where(last > 0.0, relative, LONE_CHUNK_POSITION)


def positional_code(positions: Float64Array) -> Float64Array:
    """Return ``[sin(pi p), cos(pi p)]`` of each position in [0, 1], shape (n, 2), norm 1.

    Source: SCP-HNSW; the half cycle keeps a document's start and end from looking like neighbours.
    """
    angles = np.pi * np.asarray(positions, dtype=np.float64)
    codes = np.empty((len(angles), CODE_DIM))
    np.sin(angles, out=codes[:, 0])
    np.cos(angles, out=codes[:, 1])
    return codes


def store_vectors(
    embeddings: Float32Array, positions: Float64Array, code_weight: float
) -> Float32Array:
    """Return the vectors that go into the graph: ``z = [x ; a phi(p)] / sqrt(1 + a^2)``.

    Args:
        embeddings: Unit vectors x, shape (n, d), float32.
        positions: Position p of each chunk in [0, 1], shape (n,).
        code_weight: Weight a > 0. It changes what is near in the graph, and no score.

    Returns:
        Shape (n, d + 2), float32, every one of norm 1, so that inner product ranks as cosine.

    Source: SCP-HNSW concatenates and then normalizes; the weight is our addition.
    """
    num_vectors, dim = embeddings.shape
    scale = 1.0 / np.hypot(1.0, code_weight)
    stored = np.empty((num_vectors, dim + CODE_DIM), dtype=np.float32)
    np.multiply(embeddings, np.float32(scale), out=stored[:, :dim])
    stored[:, dim:] = positional_code(positions) * (code_weight * scale)
    return stored


def first_pass_vector(query: Float32Array) -> Float32Array:
    """Return ``[q ; 0]``, shape (d + 2,): it ranks stored vectors exactly as cosine ranks x.

    Source: SCP-HNSW's first pass is purely semantic; the zero padding is our reading.
    """
    return np.concatenate([query, np.zeros(CODE_DIM, dtype=np.float32)])


def second_pass_vector(
    query: Float32Array,
    prior: PositionPrior | None,
    position_weight: float,
    code_weight: float,
    *,
    lexical_weight: float = 0.0,
) -> Float32Array:
    """Return ``[(1 - l) q ; (w / a) phi(mu)]``, shape (d + 2,).

    Its inner product with a stored vector is the semantic and position part of the score,
    ``(1 - l) q.x + w cos(pi (p - mu))``, divided by ``sqrt(1 + a^2)``.

    Args:
        query: Unit vector q, shape (d,), float32.
        prior: Its ``position`` is mu; None leaves the position out, as ``w`` = 0 does.
        position_weight: w >= 0.
        code_weight: a > 0, the one that the stored vectors were made with.
        lexical_weight: l in [0, 1], the share of the score that words have.

    Source: SCP-HNSW's second pass concatenates the prior's code; w and l are our additions.
    """
    semantic = query * np.float32(1.0 - lexical_weight)
    if prior is None:
        return first_pass_vector(semantic)
    code = positional_code(np.array([prior.position]))[0] * (position_weight / code_weight)
    return np.concatenate([semantic, code.astype(np.float32)])
