"""Which results each rule takes from one ranking."""

import numpy as np
import pytest

from scp_ray.evaluation.baselines.selectors import RankedRows, Selector, SelectorParams, select

# Rows 0 to 3 are of document a, 4 and 5 of b; rows 0 and 1 are nearly the same text.
DOC_IDS = ["a", "a", "a", "a", "b", "b"]
SCORES = np.array([0.9, 0.88, 0.5, 0.7, 0.6, 0.2])
ANGLES = np.array([0.0, 0.05, 1.0, 2.0, 3.0, 1.5])


@pytest.fixture
def ranking() -> RankedRows:
    vectors = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1).astype(np.float32)
    order = np.argsort(-SCORES, kind="stable")
    return RankedRows(order, SCORES, DOC_IDS, np.array([0, 1, 2, 3, 0, 1]), vectors)


@pytest.mark.parametrize("selector", [Selector.TOP_K, Selector.MERGE])
def test_plain_is_the_head_of_the_ranking(ranking: RankedRows, selector: Selector) -> None:
    assert select(ranking, 4, SelectorParams(selector)) == [0, 1, 3, 4]


def test_gap_keeps_a_distance_within_a_document(ranking: RankedRows) -> None:
    assert select(ranking, 6, SelectorParams(Selector.GAP, min_index_gap=2)) == [0, 3, 4]
    assert select(ranking, 6, SelectorParams(Selector.GAP, min_index_gap=1)) == [0, 1, 3, 4, 2, 5]


def test_mmr_prefers_what_is_unlike_what_was_taken(ranking: RankedRows) -> None:
    chosen = select(ranking, 3, SelectorParams(Selector.MMR, mmr_lambda=0.5))
    assert chosen[0] == 0
    assert 1 not in chosen
    assert select(ranking, 3, SelectorParams(Selector.MMR, mmr_lambda=1.0)) == [0, 1, 3]


def test_mmr_counts_the_nearest_of_what_was_taken(ranking: RankedRows) -> None:
    chosen = select(ranking, 6, SelectorParams(Selector.MMR, mmr_lambda=0.3))
    taken, left = [chosen[0]], set(chosen[1:])
    for row in chosen[1:]:
        gains = {
            one: 0.3 * SCORES[one] - 0.7 * max(np.cos(ANGLES[one] - ANGLES[kept]) for kept in taken)
            for one in left
        }
        assert gains[row] == pytest.approx(max(gains.values()))
        taken.append(row)
        left.remove(row)


def test_a_document_has_at_most_so_many(ranking: RankedRows) -> None:
    params = SelectorParams(Selector.MAX_PER_DOCUMENT, max_per_document=1)
    assert select(ranking, 6, params) == [0, 4]


def test_each_hit_brings_its_neighbours(ranking: RankedRows) -> None:
    params = SelectorParams(Selector.NEIGHBOURS)
    assert select(ranking, 6, params) == [0, 1, 2, 3, 4, 5]
    assert select(ranking, 4, params) == [0, 1, 2, 3]
