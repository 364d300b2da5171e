"""Summing up, writing and finding figures."""

from pathlib import Path

import pytest

from benchmarks.figures import Result, figure_at, range_at, read_result, rounded, spread, spreads

FIGURES = {
    "ratio": {"median": 0.9, "min": 0.8, "max": 1.0, "runs": 3},
    "once": {"median": 4.0, "min": 4.0, "max": 4.0, "runs": 1},
    "large": {"ours_ms": {"p50": 7.5}},
    "num_chunks": 1832,
}


def test_spread_has_median_and_range() -> None:
    assert spread([3.0, 1.0, 2.5]) == {"median": 2.5, "min": 1.0, "max": 3.0, "runs": 3}


def test_spreads_sums_up_each_figure_of_all_runs() -> None:
    runs = [{"a": 1.0, "b": 10.0}, {"a": 3.0, "b": 30.0}]
    assert {name: row["median"] for name, row in spreads(runs).items()} == {"a": 2.0, "b": 20.0}


@pytest.mark.parametrize(
    ("value", "expected"), [(0.123456, 0.1235), (1234.56, 1235.0), (123_456, 123_456)]
)
def test_rounded_keeps_four_digits_and_whole_numbers(value: float, expected: float) -> None:
    assert rounded(value) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("ratio", 0.9),
        ("large.ours_ms.p50", 7.5),
        ("num_chunks", 1832),
        ("large.ours_ms", None),
        ("large.ours_ms.p50.more", None),
        ("other", None),
    ],
)
def test_figure_at(path: str, expected: float | None) -> None:
    assert figure_at(FIGURES, path) == expected


def test_range_is_of_several_runs_only() -> None:
    assert range_at(FIGURES, "ratio") == (0.8, 1.0)
    assert range_at(FIGURES, "once") is None
    assert range_at(FIGURES, "num_chunks") is None


def test_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    result = Result({"cores": 2}, {"seed": 1}, FIGURES)
    result.write("bench", tmp_path / "results")
    assert read_result("bench", tmp_path / "results") == result
    assert read_result("another", tmp_path / "results") is None
