"""Samples of stacks, counted."""

from benchmarks.serve_profile import sampled

LINES = ["main;answer;encode 3", "main;answer;encode;encode 2", "main;answer 1", "", "no count"]


def test_samples_count_for_the_frame_and_once_for_each_that_called_it() -> None:
    own, total = sampled(LINES)
    assert own == {"encode": 5, "answer": 1}
    assert total == {"main": 6, "answer": 6, "encode": 5}
