"""Metrics of ranked hits, against figures worked out by hand."""

import importlib.util
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scp_ray.errors import QueriesFormatError
from scp_ray.evaluation.metrics import average_precision, evaluate, ndcg
from scp_ray.evaluation.queries import Query, read_queries
from scp_ray.evaluation.relevance import HitSpan, RelevantSpan
from scp_ray.evaluation.report import figures

SHARED = Path(__file__).parents[4] / "shared"
A = RelevantSpan("a", 0, 100)
B = RelevantSpan("b", 0, 100)
C = RelevantSpan("a", 200, 300)
MISS = HitSpan("c", 0, 100)
HIT_A, HIT_B, HIT_C = (HitSpan(span.doc_id, span.char_start, span.char_end) for span in (A, B, C))
HALF_A = HitSpan("a", 50, 120)
HIT_A_AND_C = HitSpan("a", 0, 300)


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)


@pytest.mark.parametrize(
    ("hits", "spans", "expected"),
    [
        ([], [A], 0.0),
        ([MISS] * 10, [A], 0.0),
        ([HIT_A], [A], 1.0),
        ([MISS, HIT_A], [A], 0.63093),
        ([MISS, MISS, HIT_A], [A], 0.5),
        ([MISS] * 9 + [HIT_A], [A], _gain(10)),
        ([MISS] * 10 + [HIT_A], [A], 0.0),  # the eleventh is not looked at
        ([HIT_A, HIT_A, HIT_A], [A], 1.0),  # one place gains once
        ([HIT_A, HIT_B], [A, B], 1.0),
        ([HIT_A], [A, B], 1 / (1 + _gain(2))),
        ([HIT_A, HIT_A, HIT_B], [A, B], (1 + 0.5) / (1 + _gain(2))),
        ([MISS, HIT_B, HIT_A], [A, B], (_gain(2) + 0.5) / (1 + _gain(2))),
        ([HIT_A_AND_C], [A, C], 1.0),  # covers both places with the first hit
        ([MISS, HIT_A_AND_C], [A, C], 2 * _gain(2) / (1 + _gain(2))),
        ([HIT_A_AND_C, HIT_A, HIT_B], [A, B, C], 1.0),  # all three by the third rank
        ([HIT_A, MISS, HIT_A_AND_C], [A, C], (1 + 0.5) / (1 + _gain(2))),
        ([HIT_A] * 3, [A] * 12, 1.0),  # more places than ranks
        ([HALF_A], [A], 0.5),
        ([HALF_A, HIT_A], [A], 0.5 + 0.5 * _gain(2)),  # the rest of it
        ([HIT_A, HALF_A], [A], 1.0),  # nothing new
        ([HALF_A, MISS, HIT_B], [A, B], (0.5 + 0.5) / (1 + _gain(2))),
        ([HitSpan("a", 50, 250)], [A, C], 1 / (1 + _gain(2))),  # half of both
        ([HitSpan("a", 25, 300)], [A, C], (1 + 0.75 * _gain(2)) / (1 + _gain(2))),
    ],
)
def test_ndcg(hits: list[HitSpan], spans: list[RelevantSpan], expected: float) -> None:
    assert ndcg(hits, spans) == pytest.approx(expected, abs=1e-5)


def test_ndcg_looks_at_k_ranks() -> None:
    hits = [MISS, MISS, HIT_A, HIT_B]
    assert ndcg(hits, [A, B], 2) == 0.0
    assert ndcg(hits, [A, B], 3) == pytest.approx(0.5 / (1 + _gain(2)))
    assert ndcg([HIT_A, MISS, HIT_B], [A, B, C, C], 1) == 1.0


@pytest.mark.parametrize(
    ("hits", "spans", "expected"),
    [
        ([], [A], 0.0),
        ([HIT_A], [A], 1.0),
        ([MISS, HIT_A], [A], 1 / 2),
        ([MISS] * 10 + [HIT_A], [A], 0.0),
        ([HIT_A, HIT_A, HIT_A], [A], 1.0),
        ([HIT_A, MISS, HIT_B], [A, B], (1 + 2 / 3) / 2),
        ([HIT_A, HIT_A, HIT_B], [A, B], (1 + 2 / 3) / 2),  # seen before is no gain
        ([MISS, HIT_B], [A, B, C], 1 / 2 / 3),
        ([HIT_A_AND_C], [A, C], 1.0),
        ([MISS, HIT_A_AND_C], [A, C], (1 / 2 + 1) / 2),
        ([HALF_A], [A], 1.0),  # half of it is enough
    ],
)
def test_average_precision(hits: list[HitSpan], spans: list[RelevantSpan], expected: float) -> None:
    assert average_precision(hits, spans) == pytest.approx(expected)


def test_what_the_first_results_hold() -> None:
    hits = [HIT_A, HitSpan("a", 50, 150), MISS, MISS, HIT_A_AND_C, HIT_B]
    (outcome,) = evaluate([Query("q", "?", (A, B, C))], {"q": hits}).outcomes
    values = outcome.values
    assert (values["coverage@5"], values["coverage@10"]) == pytest.approx((2 / 3, 1))
    # Of 700 characters 400 are there once: 0-300 of a and 0-100 of c; then 100 new ones of b.
    assert (values["redundancy@5"], values["redundancy@10"]) == pytest.approx((3 / 7, 3 / 8))
    assert (values["documents@5"], values["documents@10"]) == (2, 3)


def test_ranks_count_down_to_their_cutoff() -> None:
    report = evaluate([Query("q", "?", (A,))], {"q": [MISS, MISS, MISS, HIT_A]})
    values = {name: column[0] for name, column in report.values().items()}
    assert [values[f"hit@{k}"] for k in (1, 3, 5, 10)] == [0, 0, 1, 1]
    assert [values[f"mrr@{k}"] for k in (3, 5, 10)] == [0, 1 / 4, 1 / 4]
    assert [values[f"ndcg@{k}"] for k in (3, 5, 10)] == pytest.approx([0, _gain(4), _gain(4)])


def test_report_of_three_questions() -> None:
    queries = [Query("q1", "?", (A, B)), Query("q2", "?", (C,)), Query("q3", "?", (B,))]
    replies = {
        "q1": [HIT_B, HIT_A],  # right at once
        "q2": [HIT_A, MISS, MISS, HIT_C],  # right document, right place at rank 4
        "q3": [MISS, HIT_A],  # nothing
    }
    report = evaluate(queries, replies)
    assert [outcome.query_id for outcome in report.outcomes] == ["q1", "q2", "q3"]
    assert [outcome.first_relevant_rank for outcome in report.outcomes] == [1, 4, None]
    values = report.values()
    assert [values[f"hit@{k}"] for k in (1, 3, 5, 10)] == [
        [1, 0, 0],
        [1, 0, 0],
        [1, 1, 0],
        [1, 1, 0],
    ]
    assert values["mrr@10"] == [1, 1 / 4, 0]
    assert values["ndcg@10"] == pytest.approx([1, _gain(4), 0])
    assert values["doc@1"] == [1, 1, 0]


def test_empty_reply_is_a_miss() -> None:
    (outcome,) = evaluate([Query("q1", "?", (A,))], {"q1": []}).outcomes
    assert outcome.first_relevant_rank is None
    assert set(outcome.values.values()) == {0}


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(QueriesFormatError, match="there is no query to evaluate"):
        evaluate([], {})
    with pytest.raises(QueriesFormatError, match="query 'q1' has no relevant span"):
        evaluate([Query("q1", "?", ())], {"q1": []})
    with pytest.raises(ValueError, match="queries and replies do not pair up: q1, q2"):
        evaluate([Query("q1", "?", (A,))], {"q2": []})


@pytest.fixture(scope="module")
def independent_figures() -> Callable[[list[Any], list[Any]], dict[str, float]]:
    """Return the figures of a scorer that was written by somebody else."""
    script = SHARED / "tools" / "score.py"
    if not script.is_file():
        pytest.skip(f"no independent scorer at {script}")
    spec = importlib.util.spec_from_file_location("score", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.figures


@pytest.mark.parametrize("name", ["manuals", "passages"])
def test_figures_are_those_of_an_independent_scorer(
    independent_figures: Callable[[list[Any], list[Any]], dict[str, float]], name: str
) -> None:
    file = SHARED / "data" / name / "queries.jsonl"
    queries = read_queries(file)
    replies = {query.query_id: _noisy_hits(query, number) for number, query in enumerate(queries)}
    ours = figures(evaluate(queries, replies))
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    answers = [{"results": [hit._asdict() for hit in replies[row["query_id"]]]} for row in rows]
    theirs = independent_figures(rows, answers)
    assert 0.1 < theirs["hit@1"] < theirs["hit@10"] < 1
    assert {key: ours[key] for key in theirs} == theirs


def _noisy_hits(query: Query, seed: int) -> list[HitSpan]:
    """Return up to 12 spans near and far from the evidence."""
    generator = random.Random(seed)
    hits = []
    for _ in range(generator.randint(0, 12)):
        span = generator.choice(query.relevant)
        start = max(0, span.char_start + generator.randint(-1500, 1500))
        doc_id = generator.choice([span.doc_id, span.doc_id, "elsewhere"])
        hits.append(HitSpan(doc_id, start, start + generator.randint(1, 1200)))
    return hits
