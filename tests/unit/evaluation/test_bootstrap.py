"""Intervals of means over questions."""

import numpy as np
import pytest

from scp_ray.evaluation.bootstrap import NUM_RESAMPLES, mean_interval, resampled_means


def test_interval_is_that_of_a_binomial_share() -> None:
    # The mean of a resample is Binomial(100, 0.2) / 100, whose percentiles are 0.12 and 0.28.
    found = mean_interval([1.0] * 20 + [0.0] * 80)
    assert found.point == pytest.approx(0.2)
    assert (found.low, found.high) == (
        pytest.approx(0.12, abs=0.011),
        pytest.approx(0.28, abs=0.011),
    )


def test_equal_values_have_no_spread() -> None:
    found = mean_interval([0.1] * 7)
    assert (found.low, found.point, found.high) == pytest.approx((0.1, 0.1, 0.1))
    assert found.low <= found.point <= found.high


def test_the_same_seed_draws_the_same_questions() -> None:
    values = np.random.default_rng(1).random(30)
    means = resampled_means(values, 0)
    assert means.shape == (NUM_RESAMPLES,)
    assert np.array_equal(means, resampled_means(values, 0))
    assert not np.array_equal(means, resampled_means(values, 1))
    # Which questions are drawn does not depend on what they count.
    assert resampled_means(2.0 * values, 0) == pytest.approx(2.0 * means)


def test_what_has_no_mean_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        mean_interval([])
    with pytest.raises(ValueError, match="finite"):
        mean_interval([1.0, float("nan")])
