"""Scales embeddings to unit norm, and refuses those that cannot be."""

from typing import Final

import numpy as np
import numpy.typing as npt

from scp_ray.errors import EncoderError
from scp_ray.protocols import Float32Array

_NORM_TOLERANCE: Final = 1e-5


def unit_rows(embeddings: npt.NDArray[np.floating]) -> Float32Array:
    """Return the rows of ``embeddings`` scaled to norm 1.

    Args:
        embeddings: Shape (n, dim), any float type; the arithmetic is in float32.

    Returns:
        Shape (n, dim), float32, finite, every norm within 1e-5 of 1.

    Raises:
        EncoderError: If a row is zero or not finite; its index is named.
    """
    rows = np.asarray(embeddings, dtype=np.float32)
    with np.errstate(all="ignore"):  # unusable rows are found below
        unit: Float32Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        is_usable = np.abs(np.linalg.norm(unit, axis=1) - 1.0) <= _NORM_TOLERANCE
    unusable = np.flatnonzero(~is_usable)
    if unusable.size:
        message = (
            f"the encoder gave no usable vector for text {unusable[0]} of {len(rows)}: it is zero "
            "or not finite"
        )
        raise EncoderError(message)
    return unit
