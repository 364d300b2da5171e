"""Figures of evaluation reports."""

import json

from scp_ray.evaluation.evidence import evaluate_contexts
from scp_ray.evaluation.intervals import Interval
from scp_ray.evaluation.metrics import evaluate
from scp_ray.evaluation.paired import PairedDifference
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import HitSpan, RelevantSpan
from scp_ray.evaluation.report import (
    at_budget,
    difference_tree,
    evidence_figures,
    figures,
    interval_tree,
)
from scp_ray.retrieval.context import Context, Passage

QUERIES = [
    Query("q1", "?", (RelevantSpan("a", 0, 30),)),
    Query("q2", "?", (RelevantSpan("b", 0, 30),)),
    Query("q3", "?", (RelevantSpan("b", 0, 30),)),
]


def test_figures_are_rounded_and_ready_for_json() -> None:
    replies = {"q1": [HitSpan("a", 50, 80), HitSpan("a", 10, 60)], "q2": [], "q3": []}
    found = figures(evaluate(QUERIES, replies))
    assert json.loads(json.dumps(found)) == found
    assert found == {
        "n": 3,
        "hit@1": 0.0,
        "hit@3": 0.3333,
        "hit@5": 0.3333,
        "hit@10": 0.3333,
        "mrr@3": 0.1667,
        "mrr@5": 0.1667,
        "mrr@10": 0.1667,
        "ndcg@3": 0.1402,
        "ndcg@5": 0.1402,
        "ndcg@10": 0.1402,
        "map@10": 0.1667,
        "doc@1": 0.3333,
        "coverage@5": 0.3333,
        "coverage@10": 0.3333,
        "redundancy@5": 0.0417,
        "redundancy@10": 0.0417,
        "documents@5": 0.3333,
        "documents@10": 0.3333,
    }


def test_evidence_is_named_by_its_budget() -> None:
    passage = Passage("a", 0, 60, "x" * 60, (0,), 1.0)
    contexts = {
        "q1": Context(20, (passage,), ()),
        "q2": Context(0, (), ()),
        "q3": Context(0, (), ()),
    }
    report = evaluate_contexts(QUERIES, contexts)
    assert evidence_figures(report, 500) == {
        "evidence_recall@500": 0.3333,
        "evidence_precision@500": 0.1667,
        "evidence_iou@500": 0.1667,
        "evidence_coverage@500": 0.3333,
        "context_redundancy": 0.0,
        "context_documents": 0.3333,
        "context_tokens": 6.7,
    }
    assert at_budget(report, 500)["evidence_recall@500"] == [1.0, 0.0, 0.0]


def test_intervals_and_differences_are_rounded_to_six_digits() -> None:
    assert interval_tree(Interval(1 / 3, 0.12345649, 2 / 3)) == {
        "mean": 0.333333,
        "low": 0.123456,
        "high": 0.666667,
    }
    assert difference_tree(PairedDifference(-1 / 3, -2 / 3, 1e-7, 2, 5, 0.453125)) == {
        "mean": -0.333333,
        "low": -0.666667,
        "high": 0.0,
        "num_better": 2,
        "num_worse": 5,
        "p_value": 0.4531,
    }


def test_no_p_value_becomes_0() -> None:
    certain = PairedDifference(0.5, 0.4, 0.6, 400, 0, 7.745183e-121)
    assert difference_tree(certain)["p_value"] == 7.745e-121
