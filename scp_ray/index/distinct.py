"""Equal vectors share one node of the graph.

A node keeps a bounded number of links and prefers the nearest, so beyond that number equal vectors
link to each other alone: searches that enter such a sink do not come out, and vectors in it are
lost (faiss#1097, qdrant#10239). With one node for all of them there is no sink.
"""

import numpy as np

from scp_ray.protocols import Float32Array, Int64Array

_BLOCK_ROWS = 8192
_HASH_SEED = 20260602


def distinct_rows(vectors: Float32Array) -> tuple[Int64Array, Int64Array]:
    """Group rows that are equal bit by bit.

    Args:
        vectors: Shape (n, d), C-contiguous.

    Returns:
        The first row of each group, ascending, shape (num_nodes,), and for each row the group it
        is in, shape (n,).
    """
    rows = np.arange(len(vectors))
    _, first, group = np.unique(_row_hashes(vectors), return_index=True, return_inverse=True)
    leader = first[group].astype(np.int64)
    followers = np.flatnonzero(leader != rows)
    for start in range(0, len(followers), _BLOCK_ROWS):
        block = followers[start : start + _BLOCK_ROWS]
        is_collision = (vectors[block] != vectors[leader[block]]).any(axis=1)
        leader[block[is_collision]] = block[is_collision]
    leaders = np.flatnonzero(leader == rows)
    return leaders, np.searchsorted(leaders, leader)


def _row_hashes(vectors: Float32Array) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Hash the bits of each row; equal rows have equal hashes."""
    words = vectors.view(np.uint32)
    generator = np.random.default_rng(_HASH_SEED)
    multipliers = generator.integers(0, 2**64, size=words.shape[1], dtype=np.uint64) | np.uint64(1)
    hashes = np.empty(len(words), dtype=np.uint64)
    for start in range(0, len(words), _BLOCK_ROWS):
        block = words[start : start + _BLOCK_ROWS].astype(np.uint64)
        hashes[start : start + _BLOCK_ROWS] = block @ multipliers
    return hashes
