"""Evaluation reports as text and as JSON."""

import json

from scp_ray.evaluation.metrics import EvaluationReport, QuestionOutcome
from scp_ray.evaluation.report import figures, render_table

PLAIN = EvaluationReport(
    (
        QuestionOutcome("q1", 3, 0.5, is_document_right=True),
        QuestionOutcome("q2", None, 0.0, is_document_right=False),
        QuestionOutcome("q3", 1, 0.75, is_document_right=True),
    )
)
PERFECT = EvaluationReport((QuestionOutcome("q1", 1, 1.0, is_document_right=True),))


def test_figures_are_rounded_and_ready_for_json() -> None:
    expected = {
        "n": 3,
        "hit@1": 0.3333,
        "hit@3": 0.6667,
        "hit@5": 0.6667,
        "hit@10": 0.6667,
        "mrr@10": 0.4444,
        "ndcg@10": 0.4167,
        "doc@1": 0.6667,
    }
    assert figures(PLAIN) == expected
    assert json.loads(json.dumps(figures(PLAIN))) == expected


def test_table_shows_systems_side_by_side() -> None:
    table = render_table({"plain": PLAIN, "CHOP + SCP-HNSW": PERFECT})
    head, first, second = table.split("\n")
    columns = ["system", "n", "hit@1", "hit@3", "hit@5", "hit@10", "mrr@10", "ndcg@10", "doc@1"]
    assert head.split() == columns
    cells = ["3", "0.3333", *["0.6667"] * 3, "0.4444", "0.4167", "0.6667"]
    assert first.split() == ["plain", *cells]
    assert second == "CHOP + SCP-HNSW" + f"{1:>9}" + "   1.0000" * 7
    assert len({len(line) for line in (head, first, second)}) == 1
