"""Paired comparison of two systems, against figures worked out by hand."""

import math

import numpy as np
import pytest

from scp_ray.evaluation.paired import paired_difference, sign_test


def test_identical_systems_differ_by_nothing() -> None:
    values = [1.0, 0.0, 0.5, 0.25]

    found = paired_difference(values, values)

    assert (found.mean, found.low, found.high) == (0.0, 0.0, 0.0)
    assert (found.num_better, found.num_worse, found.p_value) == (0, 0, 1.0)
    assert found.is_noise


def test_a_constant_gain_has_no_spread() -> None:
    base = [0.0, 0.25, 0.5, 0.75]

    found = paired_difference(base, [value + 0.25 for value in base])

    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)
    assert (found.num_better, found.num_worse, found.p_value) == (4, 0, 0.125)
    assert not found.is_noise


def test_counts_of_questions_that_changed() -> None:
    found = paired_difference([0, 0, 0, 1, 1], [1, 1, 0, 0, 1])

    assert (found.num_better, found.num_worse) == (2, 1)
    assert found.mean == pytest.approx(0.2)
    assert found.is_noise


def test_swapping_the_systems_turns_the_sign() -> None:
    generator = np.random.default_rng(3)
    base, system = generator.random((2, 40)).tolist()

    there, back = paired_difference(base, system), paired_difference(system, base)

    assert (back.mean, back.low, back.high) == pytest.approx((-there.mean, -there.high, -there.low))
    assert (back.num_better, back.num_worse) == (there.num_worse, there.num_better)
    assert back.p_value == there.p_value


def test_the_interval_is_that_of_a_binomial_share() -> None:
    # A fifth of 100 questions gains 1: the mean of a resample is Binomial(100, 0.2) / 100, whose
    # percentiles are 0.12 and 0.28.
    found = paired_difference([0.0] * 100, [1.0] * 20 + [0.0] * 80)

    assert (found.low, found.high) == (
        pytest.approx(0.12, abs=0.011),
        pytest.approx(0.28, abs=0.011),
    )


def test_the_interval_has_the_width_of_the_standard_error() -> None:
    gains = np.random.default_rng(11).normal(0.1, 1.0, size=400)

    found = paired_difference([0.0] * 400, gains.tolist())

    standard_error = gains.std() / math.sqrt(400)
    assert found.high - found.low == pytest.approx(2 * 1.96 * standard_error, rel=0.05)
    assert found.low < found.mean < found.high


def test_pairing_takes_out_how_hard_questions_are() -> None:
    hardness = np.random.default_rng(5).normal(0.0, 100.0, size=50)

    found = paired_difference(hardness.tolist(), (hardness + 1.0).tolist())

    assert (found.low, found.high) == pytest.approx((1.0, 1.0))


def test_a_seed_gives_the_same_interval_again() -> None:
    base, system = np.random.default_rng(2).random((2, 30)).tolist()

    assert paired_difference(base, system, seed=4) == paired_difference(base, system, seed=4)
    assert paired_difference(base, system, seed=4) != paired_difference(base, system, seed=5)


@pytest.mark.parametrize(
    ("num_better", "num_worse", "expected"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 5, 1.0), (6, 0, 2 / 64), (1, 9, 22 / 1024), (9, 1, 22 / 1024)],
)
def test_sign_test(num_better: int, num_worse: int, expected: float) -> None:
    assert sign_test(num_better, num_worse) == expected


def test_sign_test_of_many_questions() -> None:
    assert 0.0 < sign_test(4000, 3000) < 1e-30


@pytest.mark.parametrize(("base", "system"), [([], []), ([1.0], []), ([1.0], [1.0, 2.0])])
def test_values_must_pair_up(base: list[float], system: list[float]) -> None:
    with pytest.raises(ValueError, match=f"not {len(base)} and {len(system)}"):
        paired_difference(base, system)


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_values_must_be_finite(odd: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        paired_difference([0.0, 1.0], [0.0, odd])
