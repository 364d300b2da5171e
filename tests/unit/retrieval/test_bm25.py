"""What a term weighs."""

import math

import numpy as np
import pytest

from scp_ray.retrieval.bm25 import (
    LexicalQuery,
    inverse_document_frequency,
    length_norms,
    term_scores,
)

QUERY = LexicalQuery({"a": 2.0, "b": 1.0}, mean_length=10.0, k1=1.5, b=0.5)


def test_the_bound_is_every_term_repeated_for_ever() -> None:
    assert QUERY.bound == 7.5
    norms = length_norms(np.array([1]), QUERY)
    most = np.array([255], dtype=np.uint8)
    total = sum(term_scores(most, norms, idf, QUERY)[0] for idf in QUERY.idf.values())
    assert 0.99 < total < 1.0


def test_norms_grow_with_length_and_b() -> None:
    assert length_norms(np.array([10, 20, 0]), QUERY).tolist() == pytest.approx([1.5, 2.25, 0.825])
    flat = LexicalQuery({}, mean_length=10.0, k1=1.5, b=0.0)
    assert length_norms(np.array([1, 1000]), flat).tolist() == [1.5, 1.5]


def test_a_term_that_does_not_occur_adds_nothing() -> None:
    counts = np.array([0, 1, 3], dtype=np.uint8)
    scores = term_scores(counts, np.array([1.5, 1.5, 1.5]), 2.0, QUERY)
    assert scores[0] == 0.0
    assert scores[1] == pytest.approx(2.0 * 2.5 * (1 / 2.5) / 7.5)
    assert scores[2] == pytest.approx(2.0 * 2.5 * (3 / 4.5) / 7.5)


def test_rare_terms_weigh_more_and_none_less_than_nothing() -> None:
    weights = [inverse_document_frequency(n, 1000) for n in (1, 10, 500, 1000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0.0
    assert weights[0] == pytest.approx(math.log(1 + 999.5 / 1.5))
