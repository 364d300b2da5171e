"""Intervals against scipy and by hand."""

import math

import pytest
from scipy.stats import binomtest

from scp_ray.evaluation.intervals import Interval, clustered, normal, wilson


@pytest.mark.parametrize(("count", "number"), [(0, 10), (1, 10), (95, 100), (27, 60), (7, 7)])
def test_wilson_is_that_of_scipy(count: int, number: int) -> None:
    expected = binomtest(count, number).proportion_ci(method="wilson")
    found = wilson(count, number)
    assert found.point == count / number
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_has_width_where_none_was_counted() -> None:
    assert wilson(0, 10) == Interval(0.0, 0.0, pytest.approx(0.27753, abs=1e-5))


def test_ratings_that_always_agree_count_once_a_case() -> None:
    rate = wilson(40, 50)
    assert clustered(rate, 50, 10, 1.0) == wilson(8, 10)
    assert clustered(rate, 50, 10, 0.0) == rate
    assert clustered(rate, 50, 10, -0.2) == rate
    # 1 + (5 - 1) * 0.5 = 3, so 50 ratings tell as much as 50 / 3
    assert clustered(rate, 50, 10, 0.5) == wilson(40 / 3, 50 / 3)


def test_normal_interval_stays_on_the_scale() -> None:
    found = normal(3.0, 0.01, 1.0, 5.0)
    assert (found.low, found.high) == pytest.approx((3 - 0.196, 3 + 0.196), abs=1e-4)
    assert normal(4.9, 0.01, 1.0, 5.0).high == 5.0
    assert math.isclose(normal(4.9, 0.01, 1.0, 5.0).low, 4.704, abs_tol=1e-4)
