"""Evaluations against earlier ones."""

from collections.abc import Callable

import pytest

from scp_ray.errors import ConfigError
from scp_ray.evaluation.queries import Query, fingerprint
from scp_ray.evaluation.relevance import RelevantSpan
from scp_ray.evaluation.runs.comparison import EarlierRun, compare, require_same_questions
from scp_ray.evaluation.runs.record import EvaluationRun

A = RelevantSpan("a.md", 0, 10)


def _queries(*texts: str, end: int = 10) -> list[Query]:
    spans = (RelevantSpan("a.md", 0, end),)
    return [Query(f"q{number}", text, spans) for number, text in enumerate(texts, 1)]


def _earlier(queries: list[Query], **values: list[float]) -> EarlierRun:
    questions = {query.query_id: query.query for query in queries}
    return EarlierRun("before/", "old/", 3, fingerprint(queries), questions, values)


@pytest.mark.parametrize(
    ("there", "reason"),
    [
        (_queries("How?"), "2 here, 1 there"),
        (_queries("How?", "When?"), "they differ from 'q2' on"),
        (_queries("How?", "Why?", end=11), "their evidence differs"),
        ([*_queries("How?"), Query("q9", "Why?", (A,))], "they differ from 'q2' on"),
    ],
)
def test_other_questions_are_refused(there: list[Query], reason: str) -> None:
    here = _queries("How?", "Why?")
    require_same_questions(here, _earlier(here))
    with pytest.raises(ConfigError, match=rf"before/ was measured over other questions \({reason}"):
        require_same_questions(here, _earlier(there))


def test_metrics_that_both_have_are_paired(make_run: Callable[..., EvaluationRun]) -> None:
    run = make_run(budget=500)
    values = {"hit@1": [0.0, 0.0, 0.0], "evidence_recall@1000": [1.0, 1.0, 1.0]}
    found = compare(run, _earlier(_queries("1", "2", "3"), **values))
    assert list(found.differences) == ["hit@1"]
    difference = found.differences["hit@1"]
    assert difference.mean == pytest.approx(1 / 3)
    assert (difference.num_better, difference.num_worse, difference.p_value) == (1, 0, 1.0)
    assert "evidence_recall@1000" in found.left_out
    assert "evidence_recall@500" in found.left_out
