"""One peak over all documents, one in each, or several."""

from collections.abc import Callable

import numpy as np
import pytest

from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.position_term import FirstPass, position_term, several_peaks

POSITIONS = np.linspace(0.0, 1.0, 11)
ALL = np.zeros(11, dtype=np.int64)


def _hits(positions: list[float], documents: list[int] | None = None) -> FirstPass:
    count = len(positions)
    return FirstPass(np.array(positions), np.full(count, 0.5), np.array(documents or [0] * count))


def test_global_prior_is_a_cosine_around_the_mean(setting: Callable[..., CellSetting]) -> None:
    term = position_term(_hits([0.25, 0.35]), POSITIONS, ALL, setting())
    assert term is not None
    np.testing.assert_allclose(term, np.cos(np.pi * (POSITIONS - 0.3)), atol=1e-12)


@pytest.mark.parametrize("prior", ["global", "document"])
def test_hits_that_do_not_agree_leave_position_out(
    setting: Callable[..., CellSetting], prior: str
) -> None:
    hits = _hits([0.0, 0.25, 0.5, 0.75, 1.0])
    assert position_term(hits, POSITIONS, ALL, setting(prior=prior)) is None
    assert position_term(hits, POSITIONS, ALL, setting(prior=prior, prior_gate=0.0)) is not None


def test_each_document_has_the_prior_of_its_own_hits(
    setting: Callable[..., CellSetting],
) -> None:
    positions, documents = np.tile([0.0, 0.5, 1.0], 3), np.repeat([0, 1, 2], 3)
    hits = _hits([0.0, 1.0], [0, 2])
    term = position_term(hits, positions, documents, setting(prior="document"))
    assert term is not None
    np.testing.assert_allclose(term, [1, 0, -1, 0, 0, 0, -1, 0, 1], atol=1e-12)


def test_density_has_a_peak_at_each_hit() -> None:
    density = several_peaks(_hits([0.2, 0.8]), POSITIONS, 0.05)
    peaks = np.sort(np.argsort(-density)[:2])
    assert POSITIONS[peaks].tolist() == pytest.approx([0.2, 0.8])
    assert several_peaks(_hits([0.2]), np.array([0.2]), 0.05)[0] == pytest.approx(1.0)
    assert np.abs(density).max() <= 1.0


def test_better_hits_have_higher_peaks() -> None:
    hits = FirstPass(np.array([0.2, 0.8]), np.array([0.5, 0.6]), np.array([0, 0]))
    low, high = several_peaks(hits, np.array([0.2, 0.8]), 0.05)
    assert low < high
