"""Grouping equal vectors."""

import numpy as np
import pytest

from scp_ray.index import distinct
from scp_ray.index.distinct import distinct_rows


def test_equal_rows_share_a_group_led_by_the_first() -> None:
    vectors = np.array([[1, 2], [3, 4], [1, 2], [5, 6], [3, 4], [1, 2]], dtype=np.float32)
    leaders, groups = distinct_rows(vectors)
    assert leaders.tolist() == [0, 1, 3]
    assert groups.tolist() == [0, 1, 0, 2, 1, 0]


def test_groups_are_those_of_the_bytes() -> None:
    generator = np.random.default_rng(0)
    pool = generator.standard_normal((300, 5)).astype(np.float32)
    vectors = pool[generator.integers(0, 300, 20_000)]
    leaders, groups = distinct_rows(vectors)
    assert np.all(np.diff(leaders) > 0)
    np.testing.assert_array_equal(vectors[leaders][groups], vectors)
    assert len(leaders) == len({row.tobytes() for row in vectors})


def test_all_distinct_and_none_at_all() -> None:
    leaders, groups = distinct_rows(np.eye(3, dtype=np.float32))
    assert (leaders.tolist(), groups.tolist()) == ([0, 1, 2], [0, 1, 2])
    leaders, groups = distinct_rows(np.empty((0, 4), dtype=np.float32))
    assert (leaders.tolist(), groups.tolist()) == ([], [])


def test_a_collision_of_hashes_does_not_merge_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "_row_hashes", lambda rows: np.zeros(len(rows), np.uint64))
    vectors = np.array([[1, 2], [3, 4], [1, 2], [5, 6]], dtype=np.float32)
    leaders, groups = distinct_rows(vectors)
    np.testing.assert_array_equal(vectors[leaders][groups], vectors)
    assert leaders.tolist() == [0, 1, 3]
