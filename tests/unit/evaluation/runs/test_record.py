"""What an evaluation holds."""

from collections.abc import Callable

import pytest

from scp_ray.evaluation.runs.record import EvaluationRun, Sweep, SweepPoint


def test_values_of_contexts_come_last_and_say_the_budget(
    make_run: Callable[..., EvaluationRun],
) -> None:
    plain, with_contexts = make_run(), make_run(budget=500)
    assert list(plain.values) == list(with_contexts.values)[: len(plain.values)]
    assert plain.values["mrr@10"] == [1.0, 0.5, 0.0]
    assert with_contexts.values["evidence_recall@500"] == [0.5, 0.5, 0.5]


def test_intervals_are_around_the_means(make_run: Callable[..., EvaluationRun]) -> None:
    found = make_run().intervals["mrr@10"]
    assert found.point == pytest.approx(0.5)
    assert 0.0 <= found.low < found.point < found.high <= 1.0


def test_base_of_a_sweep_is_the_value_in_force() -> None:
    points = tuple(SweepPoint(value, {"hit@1": [value, 0.0]}) for value in (0.0, 0.5))
    assert Sweep("t", "s", 0.5, points).base is points[1]
    assert Sweep("t", "s", 0.2, points).base is None
    assert Sweep("t", "s", 0.2, points).num_questions == 2
