"""Files of an evaluation, written and read."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scp_ray.errors import ConfigError
from scp_ray.evaluation.runs.comparison import compare
from scp_ray.evaluation.runs.files import (
    FIGURES_FILE,
    PAGE_FILE,
    QUESTIONS_FILE,
    figures_of,
    read_earlier,
    write_run,
)
from scp_ray.evaluation.runs.record import AskedQuestion, EvaluationRun, Sweep, SweepPoint

MakeRun = Callable[..., EvaluationRun]


def test_files_hold_figures_questions_and_page(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(budget=500)
    write_run(tmp_path, run, None, "<!doctype html>")
    assert (tmp_path / PAGE_FILE).read_text() == "<!doctype html>"
    figures = json.loads((tmp_path / FIGURES_FILE).read_text())
    assert figures == figures_of(run, None)
    assert (figures["generation"], figures["queries"]["n"]) == (7, 3)
    assert figures["metrics"]["mrr@10"]["mean"] == 0.5
    assert figures["timings_ms"]["total"] == {"median": 3.0, "p95": 3.0}
    rows = pq.read_table(tmp_path / QUESTIONS_FILE).to_pylist()
    assert [row["query_id"] for row in rows] == ["q1", "q2", "q3"]
    assert [row["mrr@10"] for row in rows] == [1.0, 0.5, 0.0]
    second = rows[1]
    assert second["relevant"] == [{"doc_id": "a.md", "char_start": 100, "char_end": 200}]
    assert [(one["rank"], one["is_relevant"]) for one in second["results"]] == [
        (1, False),
        (2, True),
    ]
    assert (second["prior_position"], second["total_ms"]) == (0.4, 3.0)
    assert second["evidence_recall@500"] == 0.5


def test_what_was_written_is_read_as_an_earlier_evaluation(
    make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run(budget=500)
    write_run(tmp_path, run, None, "")
    earlier = read_earlier(tmp_path)
    assert (earlier.index, earlier.generation) == ("index/", 7)
    assert earlier.fingerprint == run.fingerprint
    assert earlier.questions == {name: f"What of {name}?" for name in ("q1", "q2", "q3")}
    assert earlier.values == run.values


def test_timings_may_be_missing_for_a_step(
    asked: Callable[..., AskedQuestion], make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run(asked("q1", timings_ms={"total": 1.0}), asked("q2"))
    write_run(tmp_path, run, None, "")
    assert pq.read_table(tmp_path / QUESTIONS_FILE)["search_ms"].to_pylist() == [None, 2.0]
    assert figures_of(run, None)["timings_ms"]["search"]["median"] == 2.0


def test_sweeps_and_comparisons_are_told(make_run: MakeRun, tmp_path: Path) -> None:
    points = tuple(SweepPoint(value, {"hit@1": [value, 0.0]}) for value in (0.0, 0.5))
    run = make_run(sweeps=(Sweep("Gap", "retrieval.min_index_gap", 0.5, points),))
    write_run(tmp_path, make_run(), None, "")
    figures = figures_of(run, compare(run, read_earlier(tmp_path)))
    (sweep,) = figures["sweeps"]
    assert (sweep["setting"], sweep["in_force"], sweep["n"]) == ("retrieval.min_index_gap", 0.5, 2)
    assert [point["metrics"]["hit@1"]["mean"] for point in sweep["points"]] == [0.0, 0.25]
    assert figures["against"]["differences"]["hit@1"] == {
        "mean": 0.0,
        "low": 0.0,
        "high": 0.0,
        "num_better": 0,
        "num_worse": 0,
        "p_value": 1.0,
    }


def test_folders_that_are_no_evaluation_are_refused(make_run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no folder of `scp-ray evaluate --out`: No such file"):
        read_earlier(tmp_path / "absent")
    write_run(tmp_path, make_run(), None, "")
    figures = json.loads((tmp_path / FIGURES_FILE).read_text())
    other_means = {**figures["metrics"], "hit@1": {**figures["metrics"]["hit@1"], "mean": 0.9}}
    for damaged, reason in (
        ("{", r"evaluation\.json or questions\.parquet is damaged"),
        ("[]", "is damaged"),
        (json.dumps({**figures, "format": 2}), "has format 2, this version reads 1"),
        (json.dumps({**figures, "metrics": {"novel": {}}}), "is damaged"),
        (json.dumps({**figures, "queries": {"n": 2, "sha256": ""}}), "of different evaluations"),
        (json.dumps({**figures, "metrics": other_means}), "of different evaluations"),
        ("[" * 100_000, "is damaged"),
    ):
        (tmp_path / FIGURES_FILE).write_text(damaged)
        with pytest.raises(ConfigError, match=reason):
            read_earlier(tmp_path)
    (tmp_path / FIGURES_FILE).write_text(json.dumps(figures))
    (tmp_path / QUESTIONS_FILE).write_bytes(b"PAR1")
    with pytest.raises(ConfigError, match="is damaged"):
        read_earlier(tmp_path)
