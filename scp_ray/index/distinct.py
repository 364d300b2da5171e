"""Equal vectors share one node of the graph.

A node keeps a bounded number of links and prefers the nearest, so beyond that number equal vectors
link to each other alone: searches that enter such a sink do not come out, and vectors in it are
lost (faiss#1097, qdrant#10239). With one node for all of them there is no sink. Equal means equal
but for rounding, since an encoder gives one text slightly different vectors in different batches.
"""

import numpy as np
import numpy.typing as npt

from scp_ray.protocols import Float32Array, Int64Array

# Batches change a coordinate by about 1e-7; vectors that differ by less than this in each are one.
COORDINATE_TOLERANCE = 1e-5
# Vectors are compared when they round to the same grid; one that lies on the edge of a cell only
# costs a second node.
_CELLS_PER_UNIT = 1024
_BLOCK_ROWS = 8192
_HASH_SEED = 20260602


def distinct_rows(vectors: Float32Array) -> tuple[Int64Array, Int64Array]:
    """Group rows that are equal but for rounding.

    Args:
        vectors: Shape (n, d), coordinates in [-1, 1].

    Returns:
        The first row of each group, ascending, shape (num_nodes,), and for each row the group it
        is in, shape (n,). No coordinate of a row is more than ``COORDINATE_TOLERANCE`` from that
        of its group's first row.
    """
    rows = np.arange(len(vectors))
    _, first, group = np.unique(_cell_hashes(vectors), return_index=True, return_inverse=True)
    leader = first[group].astype(np.int64)
    followers = np.flatnonzero(leader != rows)
    for start in range(0, len(followers), _BLOCK_ROWS):
        block = followers[start : start + _BLOCK_ROWS]
        distance = np.abs(vectors[block] - vectors[leader[block]]).max(axis=1)
        other = block[distance > COORDINATE_TOLERANCE]
        leader[other] = other
    leaders = np.flatnonzero(leader == rows)
    return leaders, np.searchsorted(leaders, leader)


def _cell_hashes(vectors: Float32Array) -> npt.NDArray[np.uint64]:
    """Hash the grid cell of each row; rows of one cell have equal hashes."""
    generator = np.random.default_rng(_HASH_SEED)
    multipliers = generator.integers(0, 2**64, size=vectors.shape[1], dtype=np.uint64)
    hashes = np.empty(len(vectors), dtype=np.uint64)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        cells = np.rint(vectors[start : start + _BLOCK_ROWS] * _CELLS_PER_UNIT)
        hashes[start : start + _BLOCK_ROWS] = cells.astype(np.int64).view(np.uint64) @ multipliers
    return hashes
