"""The harmonic mean."""

import pytest

from scp_ray.evaluation.generation.harmonic import harmonic_mean


@pytest.mark.parametrize(
    ("precision", "recall", "expected"), [(1.0, 1.0, 1.0), (0.5, 1.0, 2 / 3), (0, 0, 0), (0, 1, 0)]
)
def test_by_hand(precision: float, recall: float, expected: float) -> None:
    assert harmonic_mean(precision, recall) == pytest.approx(expected)
