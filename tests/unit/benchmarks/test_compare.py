"""The check of results against limits."""

from pathlib import Path

import pytest

from benchmarks.compare import main
from benchmarks.figures import Result

LIMITS = """
[[figure]]
result = "bench_a"
path = "ratio"
title = "a"
min_value = 0.85

[[figure]]
result = "bench_a"
path = "rate"
title = "shown, not checked"

[[figure]]
result = "bench_b"
path = "large.ratio"
title = "b"
max_value = 1.2
"""


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    limits = tmp_path / "limits.toml"
    limits.write_text(LIMITS)
    return ["--results", str(tmp_path), "--thresholds", str(limits)]


def test_all_limits_held(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Result({}, {}, {"ratio": 0.9}).write("bench_a", tmp_path)
    Result({}, {}, {"large": {"ratio": 1.1}}).write("bench_b", tmp_path)
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok      bench_a.ratio: 0.9, at least 0.85",
        "ok      bench_b.large.ratio: 1.1, at most 1.2",
    ]


def test_a_missed_limit_fails(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Result({}, {}, {"ratio": 0.9}).write("bench_a", tmp_path)
    Result({}, {}, {"large": {"ratio": 1.25}}).write("bench_b", tmp_path)
    assert main(arguments) == 1
    assert "MISSED  bench_b.large.ratio: 1.25" in capsys.readouterr().out


def test_a_benchmark_that_was_not_run_fails(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Result({}, {}, {"ratio": 0.9}).write("bench_a", tmp_path)
    assert main(arguments) == 1
    assert "MISSED  bench_b.large.ratio: not measured" in capsys.readouterr().out
