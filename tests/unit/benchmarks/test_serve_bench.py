"""Figures of a load, and when there are none."""

import pytest

from benchmarks.serve_bench import checked, summed_up
from benchmarks.serve_load import LoadReport


def report(latencies_ms: list[float], errors: dict[str, int]) -> LoadReport:
    return LoadReport(latencies_ms, errors, 20.0, 0.1, 100.0)


def test_figures_of_a_load(capsys: pytest.CaptureFixture[str]) -> None:
    figures = checked("ours", 8, report([float(n) for n in range(1, 101)], {}))
    assert (figures["p50_ms"], figures["p99_ms"], figures["requests_per_s"]) == (50.0, 99.0, 20.0)
    assert "ours, 8 clients: p50 50.0 ms, p99 99.0 ms" in capsys.readouterr().out


def test_one_failed_request_fails_the_run() -> None:
    with pytest.raises(RuntimeError, match=r"ours, 8 clients: failed requests \{'503': 1\}"):
        checked("ours", 8, report([1.0] * 99, {"503": 1}))


def test_load_without_an_answer_fails_the_run() -> None:
    with pytest.raises(RuntimeError, match="failed requests all"):
        checked("ours", 8, report([], {}))


def test_groups_of_figures_are_summed_up_one_by_one() -> None:
    runs = [{"a": {"b": value}, "c": 1.0} for value in (3.0, 1.0, 2.0)]
    assert summed_up(runs)["a"]["b"] == {"median": 2.0, "min": 1.0, "max": 3.0, "runs": 3}
