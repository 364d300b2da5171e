"""BERTScore of given vectors, by hand. Against the library: test_token_encoder.py."""

import numpy as np
import pytest

from scp_ray.evaluation.generation.bert_score import TokenVectors, bert_score


def vectors(*degrees: float, marks: int = 0) -> TokenVectors:
    """Return unit vectors in the plane, the first ``marks`` of which are no text."""
    angles = np.deg2rad(degrees)
    unit = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    return unit, np.arange(len(degrees)) >= marks


def test_the_same_tokens_in_any_order_are_a_full_match() -> None:
    assert bert_score(vectors(0, 90), vectors(90, 0)) == pytest.approx(1.0)


def test_each_token_is_matched_with_the_nearest() -> None:
    # precision: (1 + cos 60) / 2; recall: 1
    assert bert_score(vectors(0, 60), vectors(0)) == pytest.approx(2 * 0.75 / 1.75)


def test_marks_are_matched_but_do_not_count() -> None:
    # precision: 60 degrees finds the mark at 60; recall: the text at 0 finds 60
    score = bert_score(vectors(60), vectors(60, 0, marks=1))
    assert score == pytest.approx(2 * 0.5 / 1.5)


def test_a_text_without_tokens_scores_nothing() -> None:
    assert bert_score(vectors(0, 0, marks=2), vectors(0, 0, marks=1)) == 0.0
