"""Rankings of a few chunks, by each part of the score."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from scp_ray.evaluation.ablation.config import CellSetting
from scp_ray.evaluation.ablation.scoring import ScoredVariant
from scp_ray.evaluation.ablation.variant import Variant

DOCUMENTS = {"a": ["pump", "valve", "pump lamp"], "b": ["lamp", "pump pump"]}
COSINES = [0.6, 0.9, 0.5, 0.1, 0.6]


def _scored(variant: Callable[..., Variant], question: str = "pump") -> ScoredVariant:
    cosines = np.array(COSINES)
    vectors = np.stack([cosines, np.sqrt(1.0 - cosines**2)], axis=1).astype(np.float32)
    query = np.array([[1.0, 0.0]], dtype=np.float32)
    return ScoredVariant(variant(DOCUMENTS), vectors, [question], query)


def _order(scored: ScoredVariant, setting: CellSetting) -> Sequence[int]:
    order: list[int] = scored.rank(0, setting).order.tolist()
    return order


def test_vectors_alone_rank_by_cosine_and_ties_by_place(
    variant: Callable[..., Variant], setting: Callable[..., CellSetting]
) -> None:
    cosine = setting(lexical_weight=0.0, position_weight=0.0)
    assert _order(_scored(variant), cosine) == [1, 0, 4, 2, 3]


def test_words_alone_rank_by_bm25(
    variant: Callable[..., Variant], setting: Callable[..., CellSetting]
) -> None:
    words = setting(lexical_weight=1.0, position_weight=0.0)
    order = _order(_scored(variant), words)
    assert set(order[:3]) == {0, 2, 4}
    assert order[3:] == [1, 3]


def test_unknown_words_leave_the_vectors(
    variant: Callable[..., Variant], setting: Callable[..., CellSetting]
) -> None:
    words = setting(lexical_weight=1.0, position_weight=0.0)
    assert _order(_scored(variant, "gasket"), words) == [1, 0, 4, 2, 3]


def test_reciprocal_ranks_see_no_scores(
    variant: Callable[..., Variant], setting: Callable[..., CellSetting]
) -> None:
    setting_of = {"position_weight": 0.0, "fusion": "rrf"}
    ranking = _scored(variant).rank(0, setting(**setting_of, lexical_weight=0.0))
    assert ranking.scores[[1, 0, 4]].tolist() == pytest.approx([1.0, 61 / 62, 61 / 63])
    words = _scored(variant).rank(0, setting(**setting_of, lexical_weight=1.0)).scores
    assert words[[1, 3]].tolist() == [0.0, 0.0]  # they do not have the word


def test_smoothing_takes_from_neighbours_in_the_document(
    variant: Callable[..., Variant], setting: Callable[..., CellSetting]
) -> None:
    smooth = setting(lexical_weight=0.0, position_weight=0.0, smoothing=0.5)
    scores = _scored(variant).rank(0, smooth).scores
    expected = [0.6 + 0.5 * 0.9, 0.9 + 0.25 * 1.1, 0.5 + 0.5 * 0.9, 0.1 + 0.3, 0.6 + 0.05]
    assert scores.tolist() == pytest.approx(expected)


def test_position_moves_the_ranking_by_its_weight(
    variant: Callable[..., Variant], setting: Callable[..., CellSetting]
) -> None:
    first = setting(lexical_weight=0.0, position_weight=1.0, first_pass_candidates=1)
    scores = _scored(variant).rank(0, first).scores  # the best hit lies in the middle
    assert scores.tolist() == pytest.approx([0.6, 1.9, 0.5, 0.1, 0.6], abs=1e-6)
