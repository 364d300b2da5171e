"""When words count."""

import numpy as np

from scp_ray.config import Settings
from scp_ray.retrieval.bm25 import LexicalQuery
from scp_ray.retrieval.question import Question

VECTOR = np.array([1.0, 0.0], dtype=np.float32)
PARAMS = Settings().query_params(lexical_weight=0.3)


def words(*, num_unknown: int = 0, **idf: float) -> LexicalQuery:
    return LexicalQuery(idf, mean_length=1.0, k1=1.2, b=0.75, num_unknown=num_unknown)


def test_known_words_have_the_weight_that_is_asked() -> None:
    assert Question(VECTOR, words(a=1.0)).lexical_weight(PARAMS) == 0.3


def test_unknown_words_take_their_share_of_the_weight() -> None:
    question = Question(VECTOR, words(a=1.0, b=5.0, num_unknown=4))
    assert question.lexical_weight(PARAMS) == 0.3 * 2 / 6


def test_without_known_words_the_weight_is_zero() -> None:
    assert Question(VECTOR, words(num_unknown=3)).lexical_weight(PARAMS) == 0.0
    assert Question(VECTOR).lexical_weight(PARAMS) == 0.0
