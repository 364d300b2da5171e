"""Merging what shards found."""

from dataclasses import replace

from scp_ray.config import Settings
from scp_ray.records import ChunkKey, Decision, DecisionReason, ScoredChunk, Selection
from scp_ray.retrieval.merge import merge_first_pass, merge_selections


def chunk(doc_id: str, index: int, score: float) -> ScoredChunk:
    return ScoredChunk(ChunkKey(doc_id, index), 0.5, score, score, 0.0, 0.0, 0, 0)


def kept(doc_id: str, index: int, score: float) -> Decision:
    return Decision(chunk(doc_id, index, score), DecisionReason.KEPT)


def near(doc_id: str, index: int, score: float, other: int) -> Decision:
    return Decision(chunk(doc_id, index, score), DecisionReason.TOO_NEAR, other)


def test_first_pass_lists_merge_by_score_then_document_then_index_and_are_cut() -> None:
    left = [chunk("a", 3, 0.9), chunk("c", 0, 0.5), chunk("c", 1, 0.5)]
    right = [chunk("b", 0, 0.9), chunk("b", 7, 0.5)]
    merged = merge_first_pass([left, right], Settings().query_params(first_pass_candidates=4))
    assert [(hit.key.doc_id, hit.key.chunk_index) for hit in merged] == [
        ("a", 3),
        ("b", 0),
        ("b", 7),
        ("c", 0),
    ]


def test_decisions_below_the_last_result_are_dropped() -> None:
    left = Selection((kept("a", 0, 0.9), near("a", 1, 0.8, 0), kept("a", 5, 0.3)), exhausted=False)
    right = Selection((kept("b", 0, 0.7), near("b", 1, 0.6, 0), kept("b", 4, 0.5)), exhausted=False)
    merged = merge_selections([left, right], Settings().query_params(top_k=2))
    assert [decision.candidate.key.doc_id for decision in merged.decisions] == ["a", "a", "b"]
    assert [hit.score for hit in merged.kept] == [0.9, 0.7]
    assert not merged.exhausted


def test_exhausted_shards_together_may_have_enough() -> None:
    left = Selection((kept("a", 0, 0.9), near("a", 1, 0.2, 0)), exhausted=True)
    right = Selection((kept("b", 0, 0.7),), exhausted=True)
    assert not merge_selections([left, right], Settings().query_params(top_k=2)).exhausted
    merged = merge_selections([left, right], Settings().query_params(top_k=3))
    assert merged.exhausted
    assert len(merged.decisions) == 3


def test_no_shards_are_exhausted_at_once() -> None:
    assert merge_selections([], Settings().query_params(top_k=1)) == Selection((), exhausted=True)


def test_rankings_are_merged_down_to_the_number_wanted() -> None:
    left = Selection((), exhausted=True, ranking=(chunk("a", 0, 0.9), chunk("a", 1, 0.2)))
    right = Selection((), exhausted=True, ranking=(chunk("b", 0, 0.9), chunk("b", 3, 0.3)))
    params = replace(Settings().query_params(), num_ranked=3)
    ranking = merge_selections([right, left], params).ranking
    assert [(hit.key.doc_id, hit.key.chunk_index) for hit in ranking] == [
        ("a", 0),
        ("b", 0),
        ("b", 3),
    ]
    assert merge_selections([right, left], Settings().query_params()).ranking == ()
