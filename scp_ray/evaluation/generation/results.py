"""What measured answers leave: figures as JSON, and the report as a page beside them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from scp_ray.evaluation.generation.answering import FoundQuestion
from scp_ray.evaluation.generation.published import CHOP_TABLE_2, differences
from scp_ray.evaluation.generation.scoring import Measured, ScoredAnswer, SizeFigures, sum_up
from scp_ray.evaluation.pages.content import Report
from scp_ray.evaluation.pages.page import render_page
from scp_ray.evaluation.report import FILE_DIGITS, interval_tree

FIGURES_FILE: Final = "generation.json"
PAGE_FILE: Final = "generation.html"


def figures_tree(measured: Measured) -> dict[str, Any]:
    """Return the figures and what they come from, ready for JSON, rounded to six digits."""
    setup = measured.setup
    num_questions = len(measured.questions)
    return {
        **setup._asdict(),
        "bert": setup.bert._asdict() if setup.bert else None,
        "num_questions": num_questions,
        "num_without_answer": measured.num_without_answer,
        "by_passages": {str(one.num_passages): _size_tree(one) for one in sum_up(measured.scored)},
        "paper": [row._asdict() for row in CHOP_TABLE_2],
        "differences": list(differences(setup, num_questions)),
    }


def question_rows(measured: Measured) -> list[dict[str, Any]]:
    """Return every answer with its scores and the places of its passages, ready for JSON."""
    by_id = {question.query_id: question for question in measured.questions}
    return [_row(one, by_id[one.answered.query_id], measured.references) for one in measured.scored]


def write_results(folder: Path, tree: Mapping[str, Any], report: Report) -> None:
    """Write ``generation.json`` and ``generation.html``; the same answers give the same bytes.

    Raises:
        OSError: If they cannot be written.
    """
    text = json.dumps(tree, ensure_ascii=False, indent=1) + "\n"
    readable = text.encode("utf-8", "replace")  # a model may write half of a surrogate pair
    (folder / FIGURES_FILE).write_bytes(readable)
    (folder / PAGE_FILE).write_text(render_page(report), encoding="utf-8")


def _size_tree(one: SizeFigures) -> dict[str, Any]:
    return {
        "num_answered": one.num_answered,
        "num_failed": one.num_failed,
        "num_not_stated": one.num_not_stated,
        "num_unjudged": one.num_unjudged,
        **{name: interval_tree(mean) for name, mean in one.means.items()},
    }


def _row(
    one: ScoredAnswer, question: FoundQuestion, references: Mapping[str, str]
) -> dict[str, Any]:
    answered = one.answered
    return {
        "query_id": answered.query_id,
        "num_passages": answered.num_passages,
        "question": question.question,
        "reference": references[answered.query_id],
        "answer": answered.answer,
        "failure": answered.failure,
        **{name: round(value, FILE_DIGITS) for name, value in one.scores.items()},
        "sentences": [
            {"text": sentence.text, "is_supported": sentence.is_supported}
            for sentence in answered.sentences
        ],
        "passages": [
            {"doc_id": passage.doc_id, "chunk_index": passage.chunk_index}
            for passage in question.passages[: answered.num_passages]
        ],
    }
