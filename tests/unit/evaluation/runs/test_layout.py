"""The summary and the page of an evaluation."""

from collections.abc import Callable

from scp_ray.evaluation.pages.summary import render_summary
from scp_ray.evaluation.runs.comparison import EarlierRun, compare
from scp_ray.evaluation.runs.layout import report_run, summarize_run
from scp_ray.evaluation.runs.record import EvaluationRun, Sweep, SweepPoint

MakeRun = Callable[..., EvaluationRun]


def _earlier(run: EvaluationRun, **values: list[float]) -> EarlierRun:
    same = {name: list(column) for name, column in run.values.items()}
    return EarlierRun("before/", "old/", 3, "", {}, {**same, **values})


def test_summary_has_each_metric_with_its_interval(make_run: MakeRun) -> None:
    shown = render_summary(summarize_run(make_run(budget=500), None))
    lines = {line.split()[0]: line.split() for line in shown.splitlines() if "@" in line}
    assert lines["mrr@10"] == ["mrr@10", "0.5000", "0.0000", "to", "1.0000"]
    assert lines["evidence_recall@500"][1] == "0.5000"
    assert "context_tokens" in shown
    assert "index/ generation 7, 3 questions of queries.jsonl, encoder hash://32" in shown
    plain = render_summary(summarize_run(make_run(), None))
    assert "evidence_recall" not in plain


def test_page_has_every_section(make_run: MakeRun) -> None:
    points = (SweepPoint(1.0, {"hit@1": [1.0, 0.0, 0.0]}),)
    run = make_run(budget=500, sweeps=(Sweep("Gap", "retrieval.min_index_gap", 1.0, points),))
    report = report_run(run, compare(run, _earlier(run)))
    assert [section.title for section in report.sections] == [
        "Results",
        "Contexts of at most 500 tokens",
        "Against the earlier evaluation",
        "Gap",
        "Where evidence and results lie",
        "Worst questions",
        "Settings",
        "Time",
    ]
    settings = report.sections[-2].table
    assert settings is not None
    assert settings.rows == (("retrieval.min_index_gap", "2"), ("rerank.model", "None"))


def test_differences_say_what_they_mean(make_run: MakeRun) -> None:
    run = make_run()
    earlier = _earlier(
        run,
        **{
            "mrr@3": [0.0, 0.0, -1.0],  # all rose
            "mrr@5": [1.0, 1.0, 0.0],  # one fell
            "ndcg@3": [2.0, 2.0, 2.0],  # all fell
            "redundancy@5": [0.5, 0.5, 0.5],  # all fell
            "redundancy@10": [-0.5, -0.5, -0.5],
            "documents@5": [3.0, 3.0, 3.0],
            "documents@10": [0.5, 0.5, 0.5],
            "novel": [0.0, 0.0, 0.0],
        },
    )
    section = summarize_run(run, compare(run, earlier)).sections[-1]
    assert section.table is not None
    verdicts = {row[0]: row[-1] for row in section.table.rows}
    assert verdicts == {
        **dict.fromkeys(run.values, "same"),
        "mrr@3": "better",
        "mrr@5": "noise",
        "ndcg@3": "worse",
        "redundancy@5": "better",
        "redundancy@10": "worse",
        "documents@5": "fewer",
        "documents@10": "more",
    }
    assert "Only one of the two has novel." in section.notes
