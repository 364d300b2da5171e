"""Limits, and figures against them."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from benchmarks.figures import Result
from benchmarks.thresholds import (
    Threshold,
    judge,
    read_results,
    read_thresholds,
    shown_number,
)


def threshold(**values: object) -> Threshold:
    return Threshold.model_validate({"result": "bench", "path": "ratio", "title": "t", **values})


@pytest.mark.parametrize(
    ("limits", "value"),
    [
        ({"min_value": 0.85}, 0.85),
        ({"max_value": 1.2}, 1.2),
        ({"min_value": 0.5, "goal": 0.9}, 0.6),
        ({}, 100.0),
    ],
)
def test_figures_within_limits_are_met(limits: dict[str, float], value: float) -> None:
    assert threshold(**limits).is_met(value)


@pytest.mark.parametrize(
    ("limits", "value"),
    [({"min_value": 0.85}, 0.849), ({"max_value": 1.2}, 1.201), ({}, None)],
)
def test_figures_outside_or_absent_are_not(limits: dict[str, float], value: float | None) -> None:
    assert not threshold(**limits).is_met(value)


def test_requirement_names_the_limits() -> None:
    assert threshold(min_value=0.85, goal=0.95).requirement == "at least 0.85, goal 0.95"
    assert threshold(max_value=1.2).requirement == "at most 1.2"
    assert threshold().requirement == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.91234, "0.9123"), (24.31, "24.31"), (999.0, "999"), (1832.4, "1,832"), (1e5, "100,000")],
)
def test_shown_number(value: float, expected: str) -> None:
    assert shown_number(value) == expected


def test_judge_keeps_order_and_tells_what_is_missing() -> None:
    spread = {"median": 24.0, "min": 20.0, "max": 25.0, "runs": 3}
    results = {"bench": Result({}, {}, {"rate": spread})}
    rows = [
        threshold(path="rate", unit="chunks/s", min_value=1.0),
        threshold(path="gone"),
        threshold(result="other", path="rate"),
    ]
    verdicts = judge(rows, results)
    assert [verdict.threshold for verdict in verdicts] == rows
    assert [verdict.is_met for verdict in verdicts] == [True, False, False]
    assert [verdict.text for verdict in verdicts] == [
        "24 (20 to 25) chunks/s",
        "not measured",
        "not measured",
    ]


def test_results_that_were_not_written_are_left_out(tmp_path: Path) -> None:
    Result({}, {}, {"ratio": 1.0}).write("bench", tmp_path)
    rows = [threshold(), threshold(result="other")]
    assert list(read_results(rows, tmp_path)) == ["bench"]


def test_committed_thresholds_name_each_figure_once() -> None:
    rows = read_thresholds()
    assert len({(row.result, row.path) for row in rows}) == len(rows)
    assert any(row.requirement for row in rows)


def test_unknown_keys_of_a_threshold_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_text('[[figure]]\nresult = "a"\npath = "b"\ntitle = "c"\nminimum = 1.0\n')
    with pytest.raises(ValidationError, match="minimum"):
        read_thresholds(path)
