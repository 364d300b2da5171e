"""95 % intervals of shares and means."""

import math
from dataclasses import dataclass
from typing import Final

NORMAL_95: Final = 1.959963984540054
"""Quantile 0.975 of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval; ``low <= point <= high``."""

    point: float
    low: float
    high: float


def wilson(count: float, num_observed: float) -> Interval:
    """Return the Wilson score interval of a share.

    It stays in [0, 1], and has width where none or all were counted; the normal interval does
    neither, and a bootstrap gives no width there either.

    Args:
        count: How many had it, from 0 to ``num_observed``; may be a fraction.
        num_observed: How many were looked at, > 0; may be an effective number.

    Source: Wilson (1927), JASA 22(158), as statsmodels has it.
    """
    from statsmodels.stats.proportion import proportion_confint

    point = count / num_observed
    low, high = proportion_confint(count, num_observed, method="wilson")
    return Interval(point, max(0.0, min(float(low), point)), min(1.0, max(float(high), point)))


def clustered(rate: Interval, num_observed: int, num_clusters: int, correlation: float) -> Interval:
    """Return the interval of a share whose observations come in clusters that are alike.

    Args:
        rate: The share as if every observation were independent.
        num_observed: Observations.
        num_clusters: Clusters that they belong to, >= 1.
        correlation: How alike the observations of a cluster are, at most 1; below 0 counts as 0.

    Source: the design effect 1 + (m - 1) rho for clusters of m observations, Kish (1965); Wilson
        over the effective number is our choice.
    """
    effect = 1.0 + (num_observed / num_clusters - 1.0) * max(correlation, 0.0)
    return wilson(rate.point * num_observed / effect, num_observed / effect)


def normal(point: float, variance: float, low: float, high: float) -> Interval:
    """Return the normal interval of a mean that cannot leave ``[low, high]``."""
    half = NORMAL_95 * math.sqrt(variance)
    return Interval(point, max(low, point - half), min(high, point + half))
