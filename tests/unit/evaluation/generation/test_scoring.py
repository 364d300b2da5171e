"""Scores of answers and their means, by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from scp_ray.evaluation.generation.answering import Answered
from scp_ray.evaluation.generation.bert_score import TokenVectors
from scp_ray.evaluation.generation.scoring import score_answers, sum_up

REFERENCES = {"q1": "Wait an hour.", "q2": "Press it."}


def test_each_answer_has_the_scores_that_it_can_have(answered: list[Answered]) -> None:
    scored = [one.scores for one in score_answers(answered, REFERENCES, None)]
    assert scored[0] == {"token_f1": 1.0, "rouge_l": 1.0, "groundedness": 1.0}
    assert scored[1] == {
        "token_f1": pytest.approx(4 / 7),  # wait hour of wait hour then go x: 2 of 5 and 2 of 2
        "rouge_l": pytest.approx(2 / 3),  # 3 of 6 and 3 of 3
        "groundedness": 0.5,
    }
    assert scored[2] == {}
    assert scored[3] == {"token_f1": 0.0, "rouge_l": 0.0}


def test_bert_score_compares_an_answer_with_its_reference(answered: list[Answered]) -> None:
    asked: list[Sequence[str]] = []

    def encode(texts: Sequence[str]) -> list[TokenVectors]:
        asked.append(list(texts))
        angles = np.deg2rad([len(texts[0]) - len(text) for text in texts])
        units = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
        return [(unit[np.newaxis], np.array([True])) for unit in units]

    scored = score_answers(answered, REFERENCES, encode)
    assert asked == [
        ["Wait an hour.", "Wait an hour.", "Wait an hour. Then go. x"],
        ["Press it.", "", "The passages do not say."],
    ]
    assert scored[0].scores["bert_score"] == pytest.approx(1.0)
    assert scored[1].scores["bert_score"] == pytest.approx(np.cos(np.deg2rad(11)))
    assert "bert_score" not in scored[2].scores


def test_means_are_over_what_was_answered(answered: list[Answered]) -> None:
    one, three = sum_up(score_answers(answered, REFERENCES, None))
    assert (one.num_passages, one.num_answered, one.num_failed) == (1, 1, 1)
    assert one.means["token_f1"].point == 1.0
    assert (three.num_passages, three.num_answered, three.num_failed) == (3, 2, 0)
    assert (three.num_not_stated, three.num_unjudged) == (1, 1)
    assert three.means["token_f1"].point == pytest.approx(2 / 7)
    assert three.means["groundedness"].point == 0.5
    assert "bert_score" not in three.means


def test_a_size_without_an_answer_has_no_means() -> None:
    failed = [Answered("q1", 1, None, failure="no")]
    [figures] = sum_up(score_answers(failed, REFERENCES, None))
    assert figures.means == {}
    assert figures.num_failed == 1
