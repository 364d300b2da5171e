"""Scaling to unit norm."""

import numpy as np
import pytest

from scp_ray.embedding.unit_rows import unit_rows
from scp_ray.errors import EncoderError


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rows_keep_their_direction(dtype: type) -> None:
    unit = unit_rows(np.array([[3, 4], [-5, 0], [1e-3, 0]], dtype=dtype))
    assert unit.dtype == np.float32
    np.testing.assert_allclose(unit, [[0.6, 0.8], [-1, 0], [1, 0]], atol=1e-6)


def test_no_rows() -> None:
    assert unit_rows(np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [1e38, 1e38]])
def test_unusable_rows_are_named(bad: list[float]) -> None:
    with pytest.raises(EncoderError, match="no usable vector for text 1 of 3: it is zero or not"):
        unit_rows(np.array([[1.0, 0.0], bad, bad]))
