"""BM25 of all questions over all chunks."""

import numpy as np
import pytest

from scp_ray.evaluation.ablation.word_scores import CountedTerms
from scp_ray.records import Stemmer
from scp_ray.sections import LexicalConfig

TEXTS = ["the pump leaks", "the valve and the pump", "the lamp", ""]


def _score(*questions: str) -> tuple[np.ndarray, list[float]]:
    words = CountedTerms(TEXTS, questions, Stemmer.LIGHT).score(LexicalConfig(k1=1.2, b=0.75))
    return words.scores, [words.weight(row, 0.5) for row in range(len(questions))]


def test_a_score_is_the_share_of_its_bound() -> None:
    scores, _ = _score("pump")
    # idf cancels: tf (k1 + 1) / (tf + norm) over k1 + 1, with a mean length of 10 / 4
    norm = 1.2 * (0.25 + 0.75 * 3 / 2.5)
    assert scores[0, 0] == pytest.approx(1 / (1 + norm))
    assert scores[0, 0] > scores[0, 1] > scores[0, 2] == scores[0, 3] == 0.0


def test_words_weigh_less_where_few_are_known() -> None:
    _, weights = _score("pump", "pump gasket", "gasket", "")
    assert weights == [0.5, 0.25, 0.0, 0.0]


def test_a_repeated_word_of_a_question_counts_once() -> None:
    scores, _ = _score("pump pumps PUMP", "pump")
    np.testing.assert_array_equal(scores[0], scores[1])


def test_pairs_of_words_count_as_words_do() -> None:
    texts, question = ["camera settings", "settings of the camera"], ["camera settings"]
    counted = CountedTerms(texts, question, Stemmer.LIGHT)
    alone = counted.score(LexicalConfig(pair_weight=0.0, b=0.0)).scores[0]
    paired = counted.score(LexicalConfig(pair_weight=1.0, b=0.0)).scores[0]
    assert alone[0] == alone[1]
    assert paired[0] > paired[1]
