"""A whole query."""

import numpy as np
import pytest

from scp_ray.config import Settings
from scp_ray.protocols import Float32Array
from scp_ray.records import PositionPrior, PriorScope
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.two_pass import merge_outcomes, prior_of, query_shard, two_pass_query
from scp_ray.testing.exact_index import ExactIndex

SETTINGS = Settings()
QUERY = np.array([1.0, 0.0], dtype=np.float32)
QUESTION = Question(QUERY)


def towards(cosines: list[float]) -> Float32Array:
    values = np.array(cosines)
    return np.stack([values, np.sqrt(1 - values**2)], axis=1).astype(np.float32)


EARLY = ExactIndex({"early": towards([0.9, 0.2, 0.1, 0.1])}, dim=2, shard_id=0)
LATE = ExactIndex({"late": towards([0.1, 0.1, 0.2, 0.8])}, dim=2, shard_id=1)


def test_the_first_pass_decides_where_the_second_looks() -> None:
    tie = ExactIndex({"a": towards([0.5, 0.1, 0.5]), "b": towards([0.0, 0.1, 0.9])}, dim=2)
    params = SETTINGS.query_params(top_k=3, min_index_gap=1, prior_temperature=0.01)
    outcome = two_pass_query([tie], QUESTION, params)
    assert outcome.first_pass[0].key.doc_id == "b"
    assert outcome.prior is not None
    assert outcome.prior.position == pytest.approx(1.0)
    assert outcome.prior_applied
    ranking = [(hit.key.doc_id, hit.key.chunk_index) for hit in outcome.selection.kept]
    assert ranking == [("b", 2), ("a", 2), ("a", 0)]


def test_a_global_prior_comes_from_the_best_of_all_shards() -> None:
    params = SETTINGS.query_params(top_k=2, first_pass_candidates=1)
    outcome = two_pass_query([EARLY, LATE], QUESTION, params)
    assert outcome.prior == prior_of(outcome.first_pass, params)
    assert outcome.prior is not None
    assert outcome.prior.position == pytest.approx(0.0)
    late = next(hit for hit in outcome.selection.kept if hit.key.doc_id == "late")
    assert late.position_score == pytest.approx(-1.0)


def test_each_shard_may_have_its_own_prior() -> None:
    params = SETTINGS.query_params(top_k=2, first_pass_candidates=1, prior_scope=PriorScope.SHARD)
    outcome = two_pass_query([LATE, EARLY], QUESTION, params)
    assert [hit.position_score for hit in outcome.selection.kept] == [
        pytest.approx(1.0),
        pytest.approx(1.0),
    ]
    assert outcome.prior == query_shard(EARLY, QUESTION, params).prior
    assert outcome.prior_applied


def test_a_weak_prior_is_reported_but_not_applied() -> None:
    spread = ExactIndex({"a": towards([0.5, 0.5, 0.5, 0.5, 0.5])}, dim=2)
    outcome = two_pass_query([spread], QUESTION, SETTINGS.query_params(prior_gate=0.9))
    assert isinstance(outcome.prior, PositionPrior)
    assert not outcome.prior_applied
    assert {hit.position_score for hit in outcome.selection.kept} == {0.0}


@pytest.mark.parametrize("scope", list(PriorScope))
def test_an_index_without_chunks_answers_with_nothing(scope: PriorScope) -> None:
    params = SETTINGS.query_params(prior_scope=scope)
    outcome = two_pass_query([ExactIndex({}, dim=2)], QUESTION, params)
    assert outcome.first_pass == []
    assert outcome.prior is None
    assert not outcome.prior_applied
    assert outcome.selection.exhausted


def test_no_outcomes_merge_to_nothing() -> None:
    assert merge_outcomes([], SETTINGS.query_params()).selection.exhausted


def test_a_filter_is_given_by_shard() -> None:
    allowed = [np.array([False, True, False, False]), np.zeros(4, dtype=np.bool_)]
    outcome = two_pass_query([EARLY, LATE], QUESTION, SETTINGS.query_params(), allowed=allowed)
    assert [hit.key.chunk_index for hit in outcome.selection.kept] == [1]
    with pytest.raises(ValueError, match="zip"):
        two_pass_query([EARLY, LATE], QUESTION, SETTINGS.query_params(), allowed=allowed[:1])
