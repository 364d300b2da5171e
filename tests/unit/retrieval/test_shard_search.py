"""Both passes in one shard."""

import numpy as np
import pytest

from scp_ray.config import Settings
from scp_ray.errors import ConfigError
from scp_ray.protocols import Float32Array, Int64Array
from scp_ray.records import PositionPrior, ScoredChunk
from scp_ray.retrieval.candidates import BoolArray
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.shard_search import first_pass, second_pass
from scp_ray.testing.exact_index import ExactIndex

SETTINGS = Settings()


class CountingIndex(ExactIndex):
    """Remembers how deep it was asked."""

    def nearest(
        self, vector: Float32Array, depth: int, *, exact: bool, allowed: BoolArray | None = None
    ) -> tuple[Float32Array, Int64Array]:
        self.depths = [*getattr(self, "depths", []), depth]
        return super().nearest(vector, depth, exact=exact, allowed=allowed)


def towards(cosines: list[float]) -> Float32Array:
    """Unit vectors that have these cosines with [1, 0]."""
    values = np.array(cosines)
    return np.stack([values, np.sqrt(1 - values**2)], axis=1).astype(np.float32)


def names(hits: list[ScoredChunk]) -> list[tuple[str, int]]:
    return [(hit.key.doc_id, hit.key.chunk_index) for hit in hits]


QUERY = np.array([1.0, 0.0], dtype=np.float32)
QUESTION = Question(QUERY)


def test_first_pass_ranks_by_cosine() -> None:
    index = ExactIndex({"a": towards([0.1, 0.9, 0.5]), "b": towards([0.7])}, dim=2, shard_id=3)
    hits = first_pass(index, QUERY, SETTINGS.query_params(first_pass_candidates=3))
    assert names(hits) == [("a", 1), ("b", 0), ("a", 2)]
    best = hits[0]
    assert best.score == best.semantic_score == pytest.approx(0.9)
    assert (best.lexical_score, best.position_score) == (0.0, 0.0)
    assert (best.position, best.row, best.shard_id) == (0.5, 1, 3)


def test_ties_at_the_cut_go_to_the_first_document_however_many_there_are() -> None:
    documents = {f"doc-{i:03d}": towards([0.5, 0.5]) for i in reversed(range(100))}
    index = CountingIndex({"z": towards([0.9]), **documents}, dim=2)
    hits = first_pass(index, QUERY, SETTINGS.query_params(first_pass_candidates=4))
    assert names(hits) == [("z", 0), ("doc-000", 0), ("doc-000", 1), ("doc-001", 0)]


def test_second_pass_prefers_the_prior_s_place() -> None:
    index = ExactIndex({"a": towards([0.7, 0.1, 0.1, 0.1, 0.7])}, dim=2)
    params = SETTINGS.query_params(top_k=2, min_index_gap=1)
    selection = second_pass(index, QUESTION, PositionPrior(0.9, 1.0), params)
    assert names(selection.kept) == [("a", 4), ("a", 0)]
    best = selection.kept[0]
    assert best.position_score == pytest.approx(np.cos(np.pi * 0.1))
    assert best.score == pytest.approx(0.7 + 0.02 * best.position_score)


def test_under_the_gate_the_ranking_is_plain_cosine() -> None:
    index = ExactIndex({"a": towards([0.7, 0.1, 0.1, 0.1, 0.7])}, dim=2)
    params = SETTINGS.query_params(top_k=2, min_index_gap=1, prior_gate=0.5)
    selection = second_pass(index, QUESTION, PositionPrior(0.9, 0.4), params)
    assert names(selection.kept) == [("a", 0), ("a", 4)]
    assert [hit.position_score for hit in selection.kept] == [0.0, 0.0]


def test_it_searches_deeper_until_the_gap_lets_enough_through() -> None:
    near = towards([0.9 - i / 10_000 for i in range(300)])
    index = CountingIndex({"long": near, "other": towards([0.2, 0.1])}, dim=2)
    params = SETTINGS.query_params(top_k=3, min_index_gap=200)
    selection = second_pass(index, QUESTION, None, params)
    assert names(selection.kept) == [("long", 0), ("long", 200), ("other", 0)]
    assert not selection.exhausted
    assert index.depths == [32, 128]


def test_all_chunks_are_decided_before_it_says_exhausted() -> None:
    index = ExactIndex({"a": towards([0.9 - i / 1000 for i in range(200)])}, dim=2)
    selection = second_pass(
        index, QUESTION, None, SETTINGS.query_params(top_k=3, min_index_gap=150)
    )
    assert names(selection.kept) == [("a", 0), ("a", 150)]
    assert selection.exhausted
    assert len(selection.decisions) == 200


def test_exactly_enough_is_not_exhausted() -> None:
    index = ExactIndex({"a": towards([0.9, 0.8, 0.7])}, dim=2)
    params = SETTINGS.query_params(top_k=3, min_index_gap=1)
    assert not second_pass(index, QUESTION, None, params).exhausted


def test_only_allowed_rows_are_results() -> None:
    index = ExactIndex({"a": towards([0.9, 0.8]), "b": towards([0.7, 0.6])}, dim=2)
    allowed = np.array([False, True, False, True])
    params = SETTINGS.query_params(top_k=3, min_index_gap=1)
    assert names(first_pass(index, QUERY, params, allowed=allowed)) == [("a", 1), ("b", 1)]
    selection = second_pass(index, QUESTION, None, params, allowed=allowed)
    assert names(selection.kept) == [("a", 1), ("b", 1)]
    assert selection.exhausted


def test_an_empty_shard_has_nothing() -> None:
    index = ExactIndex({}, dim=2)
    params = SETTINGS.query_params()
    assert first_pass(index, QUERY, params) == []
    selection = second_pass(index, QUESTION, PositionPrior(0.5, 1.0), params)
    assert (selection.decisions, selection.exhausted) == ((), True)


def test_a_query_of_another_length_is_refused() -> None:
    index = ExactIndex({"a": towards([0.9])}, dim=2)
    query = np.array([1.0, 0.0, 0.0], dtype=np.float32)
    with pytest.raises(ConfigError, match="the index wants"):
        first_pass(index, query, SETTINGS.query_params())
    with pytest.raises(ConfigError, match="the index wants"):
        second_pass(index, Question(query), None, SETTINGS.query_params())
