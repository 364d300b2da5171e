"""Resampling of questions: how far a mean over them would move with others like them. Pure."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from scp_ray.evaluation.intervals import Interval
from scp_ray.protocols import Float64Array

NUM_RESAMPLES: Final = 10_000

_PERCENTILES: Final = (2.5, 97.5)
# Drawn at once, so that many questions need no more memory than few.
_DRAWN: Final = 2**21


def mean_interval(values: Sequence[float], *, seed: int = 0) -> Interval:
    """Return the mean of what each question counts, with its 95 % interval.

    Args:
        values: One a question, at least one, finite.
        seed: Of the resampling; the same seed gives the same interval.

    Raises:
        ValueError: If there is no value, or one is not finite.

    Source: percentile bootstrap over questions, Efron and Tibshirani (1993), 13.3.
    """
    if not values or not np.isfinite(values).all():
        message = "an interval needs at least one value, and finite ones"
        raise ValueError(message)
    array = np.asarray(values, dtype=np.float64)
    low, high = np.percentile(resampled_means(array, seed), _PERCENTILES).tolist()
    point = math.fsum(array.tolist()) / len(array)
    return Interval(point, min(low, point), max(high, point))


def resampled_means(values: Float64Array, seed: int) -> Float64Array:
    """Return the means of 10,000 samples with replacement, shape (10000,), float64.

    Args:
        values: Shape (n,), n >= 1.
        seed: The same seed draws the same questions, whatever the values.
    """
    generator, num_questions = np.random.default_rng(seed), len(values)
    num_at_once = max(1, _DRAWN // num_questions)
    means = [
        values[
            generator.integers(
                num_questions, size=(min(num_at_once, NUM_RESAMPLES - done), num_questions)
            )
        ].mean(axis=1)
        for done in range(0, NUM_RESAMPLES, num_at_once)
    ]
    return np.concatenate(means)
