"""Axes, numbers and names of drawings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scp_ray.evaluation.pages.axes import axis_over, label, number


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0.32, 0.58, (0.3, 0.4, 0.5, 0.6)),
        (250, 4000, (0, 1000, 2000, 3000, 4000)),
        (-0.2, 0.1, (-0.2, -0.1, 0, 0.1)),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: tuple[float, ...]) -> None:
    assert axis_over(low, high).ticks == pytest.approx(ticks)


finite = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)


@given(finite, finite)
def test_both_values_lie_on_the_axis(one: float, other: float) -> None:
    low, high = sorted([one, other])
    axis = axis_over(low, high)
    assert -1e-6 <= axis.share(low) <= axis.share(high) <= 1 + 1e-6
    assert axis.share(axis.ticks[0]) == 0.0
    assert axis.share(axis.ticks[-1]) == 1.0
    assert 2 <= len(axis.ticks) <= 7


def test_values_that_differ_in_their_last_bits_have_an_axis() -> None:
    for low, high in ((0.6999999999999998, 0.7000000000000001), (0.0, 5e-324)):
        axis = axis_over(low, high)
        assert 0.0 <= axis.share(low) <= axis.share(high) <= 1.0


def test_numbers_and_names_are_short() -> None:
    shown = [number(value) for value in (0.0, 1.0, 0.02, 0.1 + 0.2, 1000.0, -0.25, 1e-7)]
    assert shown == ["0", "1", "0.02", "0.3", "1,000", "-0.25", "1e-07"]
    assert label("<b>" + "x" * 60) == "&lt;b&gt;" + "x" * 36 + "…"
    assert label("\x1b[2J") == r"\x1b[2J"
