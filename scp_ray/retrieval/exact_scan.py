"""A full scan in float32: the nearest rows of a shard without a graph."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from scp_ray.protocols import Float32Array, Int64Array

Values = TypeVar("Values", npt.NDArray[np.float32], npt.NDArray[np.float64])


def scan_products(
    embeddings: Float32Array, codes: Float32Array, vector: Float32Array, code_weight: float
) -> Float32Array:
    """Return the inner products of all stored vectors with ``vector``, shape (n,), float32.

    The stored vectors are not needed: ``z.v = (x.v_x + a phi(p).v_phi) / sqrt(1 + a^2)``.

    Args:
        embeddings: x, shape (n, d).
        codes: Positional codes phi(p), shape (n, 2).
        vector: v, shape (d + 2,).
        code_weight: a.
    """
    dim = embeddings.shape[1]
    products = embeddings @ vector[:dim]
    if np.any(vector[dim:]):
        products += codes @ (vector[dim:] * np.float32(code_weight))
    products *= np.float32(1.0 / np.hypot(1.0, code_weight))
    return products


def largest(
    products: Values, depth: int, allowed: npt.NDArray[np.bool_] | None = None
) -> tuple[Values, Int64Array]:
    """Return the ``depth`` largest products, descending, and their rows.

    Args:
        products: Shape (n,).
        depth: How many; all there are when fewer.
        allowed: Rows that count, shape (n,); None = all.
    """
    rows = np.arange(len(products)) if allowed is None else np.flatnonzero(allowed)
    values = products if allowed is None else products[rows]
    if depth < len(values):
        best = np.argpartition(values, len(values) - depth)[len(values) - depth :]
        rows, values = rows[best], values[best]
    order = np.argsort(-values, kind="stable")
    return values[order], rows[order]
