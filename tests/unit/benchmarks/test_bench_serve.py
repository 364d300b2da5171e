"""A part that is measured again does not lose the others."""

from pathlib import Path

from benchmarks.bench_serve import merged
from benchmarks.figures import Result


def test_parts_of_an_earlier_result_stay(tmp_path: Path) -> None:
    Result({}, {}, {"load": {"a": 1}, "passes": {"b": 1}}).write("bench_serve", tmp_path)
    figures = merged({"passes": {"b": 2}}, tmp_path)
    assert figures == {"load": {"a": 1}, "passes": {"b": 2}}


def test_first_result_has_what_was_measured(tmp_path: Path) -> None:
    assert merged({"load": {"a": 1}}, tmp_path) == {"load": {"a": 1}}
