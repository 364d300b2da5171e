"""The position prior and its gate."""

import dataclasses

import numpy as np
import pytest

from scp_ray.config import Settings
from scp_ray.records import PositionPrior
from scp_ray.retrieval.prior import estimate_position_prior, prior_in_force


def test_hits_at_one_place_agree_fully() -> None:
    prior = estimate_position_prior(np.full(4, 0.3), np.array([0.9, 0.8, 0.7, 0.1]), temperature=1)
    assert prior.position == pytest.approx(0.3)
    assert prior.concentration == pytest.approx(1.0)


def test_a_single_hit_is_its_own_prior() -> None:
    prior = estimate_position_prior(np.array([0.7]), np.array([0.2]), temperature=0.05)
    assert (prior.position, prior.concentration) == (pytest.approx(0.7), pytest.approx(1.0))


@pytest.mark.parametrize("place", [0.0, 1.0])
def test_the_ends_of_a_document_stay_in_range(place: float) -> None:
    prior = estimate_position_prior(np.full(3, place), np.zeros(3), temperature=1.0)
    assert prior.position == pytest.approx(place, abs=1e-12)
    assert 0.0 <= prior.position <= 1.0


def test_evenly_spread_hits_have_no_concentration() -> None:
    positions = (np.arange(10_000) + 0.5) / 10_000
    prior = estimate_position_prior(positions, np.zeros(10_000), temperature=1.0)
    assert prior.position == pytest.approx(0.5)
    assert prior.concentration == pytest.approx(0.0, abs=1e-6)


def test_hits_at_both_ends_have_no_concentration() -> None:
    prior = estimate_position_prior(np.array([0.0, 1.0]), np.zeros(2), temperature=1.0)
    assert prior.concentration == 0.0


def test_concentration_counts_from_the_uniform_length() -> None:
    prior = estimate_position_prior(np.array([0.25, 0.75]), np.zeros(2), temperature=1.0)
    length = np.cos(np.pi / 4)
    expected = (length - 2 / np.pi) / (1 - 2 / np.pi)
    assert prior.position == pytest.approx(0.5)
    assert prior.concentration == pytest.approx(expected)


def test_better_hits_weigh_more_and_a_low_temperature_sharpens() -> None:
    positions, scores = np.array([0.2, 0.8]), np.array([0.9, 0.8])
    warm = estimate_position_prior(positions, scores, temperature=1.0)
    cold = estimate_position_prior(positions, scores, temperature=0.01)
    assert 0.2 < cold.position < warm.position < 0.5


def test_weights_are_a_softmax() -> None:
    positions, scores = np.array([0.1, 0.4, 0.6]), np.array([0.5, 0.4, 0.45])
    weights = np.exp(scores / 0.1) / np.exp(scores / 0.1).sum()
    sine = (weights * np.sin(np.pi * positions)).sum()
    cosine = (weights * np.cos(np.pi * positions)).sum()
    prior = estimate_position_prior(positions, scores, temperature=0.1)
    assert prior.position == pytest.approx(np.arctan2(sine, cosine) / np.pi)


def test_large_scores_over_a_small_temperature_do_not_overflow() -> None:
    prior = estimate_position_prior(np.array([0.2, 0.9]), np.array([1.0, -1.0]), temperature=1e-6)
    assert prior.position == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("num_positions", "num_scores", "temperature"), [(2, 1, 1.0), (0, 0, 1.0), (1, 1, 0.0)]
)
def test_unusable_hits_are_refused(num_positions: int, num_scores: int, temperature: float) -> None:
    with pytest.raises(ValueError, match="as many positions as scores"):
        estimate_position_prior(
            np.zeros(num_positions), np.zeros(num_scores), temperature=temperature
        )


def test_the_gate_lets_a_concentrated_prior_through() -> None:
    params = Settings().query_params(prior_gate=0.5)
    at_gate, under_gate = PositionPrior(0.3, 0.5), PositionPrior(0.3, 0.49)
    assert prior_in_force(at_gate, params) == at_gate
    assert prior_in_force(under_gate, params) is None
    assert prior_in_force(None, params) is None


def test_without_weight_no_prior_counts() -> None:
    params = dataclasses.replace(Settings().query_params(), position_weight=0.0)
    assert prior_in_force(PositionPrior(0.3, 1.0), params) is None
