"""Candidate lists and the bound on what they leave out."""

import math

import numpy as np
import pytest

from scp_ray.errors import ConfigError
from scp_ray.protocols import Float32Array, Int64Array
from scp_ray.records import PositionPrior
from scp_ray.retrieval.candidates import (
    BoolArray,
    check_query,
    lexical_candidates,
    nearest_candidates,
)
from scp_ray.retrieval.positional_code import first_pass_vector, second_pass_vector
from scp_ray.retrieval.score import Weights, score_chunks
from scp_ray.testing.exact_index import ExactIndex


def unit_vectors(count: int, dim: int, seed: int) -> Float32Array:
    vectors = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class ForgetfulIndex(ExactIndex):
    """A graph that loses most of its nodes."""

    def nearest(
        self, vector: Float32Array, depth: int, *, exact: bool, allowed: BoolArray | None = None
    ) -> tuple[Float32Array, Int64Array]:
        products, rows = super().nearest(vector, depth, exact=exact, allowed=allowed)
        return (products, rows) if exact else (products[:2], rows[:2])


INDEX = ExactIndex({"a": unit_vectors(60, 16, 1), "b": unit_vectors(41, 16, 2)}, dim=16)
QUERY = unit_vectors(1, 16, 3)[0]


@pytest.mark.parametrize("depth", [1, 5, 50])
def test_the_bound_holds_for_every_chunk_left_out(depth: int) -> None:
    prior = PositionPrior(0.4, 1.0)
    vector = second_pass_vector(QUERY, prior, 0.3, INDEX.code_weight)
    rows, bound = nearest_candidates(INDEX, vector, depth, exact=True, allowed=None)
    every = np.arange(INDEX.num_chunks)
    scores = score_chunks(
        QUERY,
        INDEX.embeddings(every),
        INDEX.positions(every),
        prior=prior,
        weights=Weights(0.3),
    ).score
    assert len(rows) == depth
    assert scores[np.setdiff1d(every, rows)].max() <= bound
    assert scores[rows].min() == pytest.approx(bound, abs=1e-4)


def test_a_list_of_all_rows_leaves_nothing_out() -> None:
    rows, bound = nearest_candidates(
        INDEX, first_pass_vector(QUERY), 101, exact=False, allowed=None
    )
    assert sorted(rows.tolist()) == list(range(101))
    assert bound == -math.inf


def test_only_allowed_rows_are_candidates() -> None:
    allowed = np.zeros(101, dtype=np.bool_)
    allowed[[3, 70, 80]] = True
    vector = first_pass_vector(QUERY)
    some = nearest_candidates(INDEX, vector, 2, exact=False, allowed=allowed)
    assert set(some.rows.tolist()) < {3, 70, 80}
    assert some.bound > -math.inf
    every = nearest_candidates(INDEX, vector, 3, exact=False, allowed=allowed)
    assert (every.rows.tolist(), every.bound) == ([3, 70, 80], -math.inf)


def test_a_graph_that_comes_back_short_is_not_trusted() -> None:
    index = ForgetfulIndex({"a": unit_vectors(60, 16, 1)}, dim=16)
    rows, _ = nearest_candidates(index, first_pass_vector(QUERY), 10, exact=False, allowed=None)
    assert len(rows) == 10


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (np.ones(3, dtype=np.float32), r"shape \(3,\), the index wants \(2,\)"),
        (np.array([0.6, 0.6], dtype=np.float32), "norm 0.8"),
        (np.array([np.nan, 0.0], dtype=np.float32), "norm nan"),
    ],
)
def test_an_unusable_query_is_refused(query: Float32Array, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        check_query(query, 2)


def test_without_a_direction_no_row_is_nearer_than_another() -> None:
    nothing = np.zeros(INDEX.dim + 2, dtype=np.float32)
    rows, bound = nearest_candidates(INDEX, nothing, 5, exact=True, allowed=None)
    assert (len(rows), bound) == (0, 0.0)


def test_the_best_words_come_with_the_bound_on_the_others() -> None:
    scores = np.array([0.0, 0.4, 0.9, 0.0, 0.4, 0.1])
    rows, bound = lexical_candidates(scores, 2, None)
    assert rows[0] == 2
    assert bound == 0.4
    rows, bound = lexical_candidates(scores, 10, None)
    assert sorted(rows.tolist()) == [1, 2, 4, 5]
    assert bound == 0.0
    allowed = np.array([True, False, False, True, True, True])
    assert lexical_candidates(scores, 1, allowed).rows.tolist() == [4]
