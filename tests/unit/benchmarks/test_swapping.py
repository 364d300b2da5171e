"""What is told of questions that met a swap, on made outcomes."""

import random

import pytest

from benchmarks.swapping import Asked, Outcome, Swap, weighted_percentile


def test_weights_count_like_repeated_values() -> None:
    assert weighted_percentile([(3.0, 1.0), (1.0, 2.0), (2.0, 1.0)], 0.5) == 1.0
    assert weighted_percentile([(3.0, 1.0), (1.0, 1.0), (2.0, 2.0)], 0.75) == 2.0
    assert weighted_percentile([(5.0, 0.1)], 1.0) == 5.0


def test_a_swap_that_changes_nothing_is_as_slow_as_other_moments() -> None:
    rng = random.Random(3)
    asked, sent = [], 0.0
    for _ in range(40_000):  # one in 200 is twenty times as slow
        seconds = 0.05 if rng.random() < 0.995 else 1.0
        asked.append(Asked(sent, seconds, 1, None))
        sent += 0.01
    swaps = [
        Swap(1, is_damaged=False, began=began, ended=began + 0.1) for began in range(5, 395, 3)
    ]
    outcome = Outcome(asked, swaps)
    assert outcome.mean_swap_s == pytest.approx(0.1)
    assert outcome.p99_ms_outside == 50.0
    assert outcome.p99_ms_in_swaps == outcome.p99_ms_in_other_moments == 1000.0


def test_other_moments_meet_slow_questions_oftener() -> None:
    asked = [Asked(0.1 * place, 0.01, 1, None) for place in range(995)]
    asked += [Asked(0.5 + place, 2.0, 1, None) for place in range(5)]
    outcome = Outcome(asked, [Swap(1, is_damaged=False, began=200.0, ended=200.1)])
    assert outcome.p99_ms_outside == pytest.approx(10.0)
    assert outcome.p99_ms_in_other_moments == pytest.approx(2000.0)
