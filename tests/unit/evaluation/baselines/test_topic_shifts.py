"""Where the topic shifts between sentences."""

from collections.abc import Sequence

import numpy as np

from scp_ray.evaluation.baselines.sentence_windows import Stretch
from scp_ray.evaluation.baselines.topic_shifts import topic_stretches
from scp_ray.protocols import Float32Array

ANGLES = {"a": 0.0, "b": 0.5, "c": 1.0, "d": 3.0}


def embed(texts: Sequence[str]) -> Float32Array:
    angles = np.array([ANGLES[text] for text in texts])
    return np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)


def test_a_shift_is_where_neighbours_differ() -> None:
    assert topic_stretches(["a", "b", "c", "d", "d"], embed, 0.35) == [Stretch(0, 3), Stretch(3, 5)]


def test_a_slow_drift_is_no_shift() -> None:
    assert topic_stretches(["a", "b", "c"], embed, 0.85) == [Stretch(0, 3)]


def test_one_sentence_is_one_stretch() -> None:
    assert topic_stretches(["a"], embed, 0.35) == [Stretch(0, 1)]


def test_a_cosine_of_the_threshold_goes_on() -> None:
    assert topic_stretches(["a", "a"], embed, 1.0) == [Stretch(0, 2)]
