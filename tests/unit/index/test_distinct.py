"""Grouping equal vectors."""

import numpy as np
import pytest

from scp_ray.index import distinct
from scp_ray.index.distinct import COORDINATE_TOLERANCE, distinct_rows


def test_equal_rows_share_a_group_led_by_the_first() -> None:
    vectors = np.array(
        [[0.1, 0.2], [0.3, 0.4], [0.1, 0.2], [0.5, 0.6], [0.3, 0.4], [0.1, 0.2]], dtype=np.float32
    )
    leaders, groups = distinct_rows(vectors)
    assert leaders.tolist() == [0, 1, 3]
    assert groups.tolist() == [0, 1, 0, 2, 1, 0]


def test_groups_are_those_of_the_vectors() -> None:
    generator = np.random.default_rng(0)
    pool = generator.uniform(-1, 1, (300, 5)).astype(np.float32)
    vectors = pool[generator.integers(0, 300, 20_000)]
    leaders, groups = distinct_rows(vectors)
    assert np.all(np.diff(leaders) > 0)
    np.testing.assert_array_equal(vectors[leaders][groups], vectors)
    assert len(leaders) == len({row.tobytes() for row in vectors})


def test_rounding_of_an_encoder_does_not_count() -> None:
    generator = np.random.default_rng(1)
    vectors = generator.uniform(-0.1, 0.1, (40, 384)).astype(np.float32)
    noisy = np.repeat(vectors, 50, axis=0)
    noisy += 1e-7 * generator.standard_normal(noisy.shape).astype(np.float32)
    leaders, groups = distinct_rows(noisy)
    assert 40 <= len(leaders) <= 120
    assert np.abs(noisy[leaders][groups] - noisy).max() <= COORDINATE_TOLERANCE


def test_near_vectors_stay_apart() -> None:
    base = np.full((1, 6), 0.25, dtype=np.float32)
    vectors = np.concatenate([base, base + np.float32(2 * COORDINATE_TOLERANCE), base])
    leaders, groups = distinct_rows(vectors)
    assert (leaders.tolist(), groups.tolist()) == ([0, 1], [0, 1, 0])


def test_all_distinct_and_none_at_all() -> None:
    leaders, groups = distinct_rows(np.eye(3, dtype=np.float32))
    assert (leaders.tolist(), groups.tolist()) == ([0, 1, 2], [0, 1, 2])
    leaders, groups = distinct_rows(np.empty((0, 4), dtype=np.float32))
    assert (leaders.tolist(), groups.tolist()) == ([], [])


def test_a_collision_of_hashes_does_not_merge_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "_cell_hashes", lambda rows: np.zeros(len(rows), np.uint64))
    vectors = np.array([[0.1, 0.2], [0.3, 0.4], [0.1, 0.2], [0.5, 0.6]], dtype=np.float32)
    leaders, groups = distinct_rows(vectors)
    np.testing.assert_array_equal(vectors[leaders][groups], vectors)
    assert leaders.tolist() == [0, 1, 3]
