"""How much better one system is than another on the same questions, and how sure that is. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from scp_ray.evaluation.bootstrap import mean_interval
from scp_ray.protocols import Float64Array


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """What a system gains over a base, by question.

    Attributes:
        mean: Mean difference, system minus base.
        low: Lower end of its 95 % interval.
        high: Upper end.
        num_better: Questions where the system has more.
        num_worse: Questions where it has less.
        p_value: Two-sided sign test: how probable so uneven a split of the questions that differ
            is where neither system is better.
    """

    mean: float
    low: float
    high: float
    num_better: int
    num_worse: int
    p_value: float

    @property
    def is_noise(self) -> bool:
        """Whether the interval holds 0."""
        return self.low <= 0.0 <= self.high


def paired_difference(
    base: Sequence[float], system: Sequence[float], *, seed: int = 0
) -> PairedDifference:
    """Compare two systems over the same questions.

    Args:
        base: What each question counts for the base, higher is better.
        system: The same questions in the same order for the other system.
        seed: Of the resampling; the same seed gives the same interval.

    Raises:
        ValueError: If there is no question, the lengths differ, or a value is not finite.

    Source: percentile bootstrap over questions, Efron and Tibshirani (1993), 13.3, on the
        differences, so that how hard a question is cancels; for 0/1 values the sign test is
        McNemar's exact test.
    """
    differences = np.asarray(system, dtype=np.float64) - _checked(base, system)
    interval = mean_interval(differences.tolist(), seed=seed)
    num_better, num_worse = int((differences > 0).sum()), int((differences < 0).sum())
    return PairedDifference(
        interval.point,
        interval.low,
        interval.high,
        num_better,
        num_worse,
        sign_test(num_better, num_worse),
    )


def sign_test(num_better: int, num_worse: int) -> float:
    """Return the two-sided p-value of a split of questions, in (0, 1]; 1 for no questions."""
    num_changed = num_better + num_worse
    ways, num_uneven = 1, 0
    for num_fewer in range(min(num_better, num_worse) + 1):
        num_uneven += ways
        ways = ways * (num_changed - num_fewer) // (num_fewer + 1)
    return min(1.0, float(Fraction(2 * num_uneven, 2**num_changed)))


def _checked(base: Sequence[float], system: Sequence[float]) -> Float64Array:
    if not base or len(base) != len(system):
        message = f"expected as many values of both systems, not {len(base)} and {len(system)}"
        raise ValueError(message)
    if not (np.isfinite(base).all() and np.isfinite(system).all()):
        message = "values must be finite"
        raise ValueError(message)
    return np.asarray(base, dtype=np.float64)
