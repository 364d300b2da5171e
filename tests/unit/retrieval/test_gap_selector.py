"""The minimum-index-gap selector."""

from collections.abc import Iterator

import pytest

from scp_ray.records import ChunkKey, Decision, DecisionReason, ScoredChunk
from scp_ray.retrieval.gap_selector import select_with_gap


def ranked(*keys: tuple[str, int]) -> list[ScoredChunk]:
    """Candidates whose scores fall in the order given."""
    return [
        ScoredChunk(
            key=ChunkKey(doc_id, index),
            position=0.5,
            score=1.0 - rank / 100,
            semantic_score=0.0,
            lexical_score=0.0,
            position_score=0.0,
            row=rank,
            shard_id=0,
        )
        for rank, (doc_id, index) in enumerate(keys)
    ]


def verdicts(decisions: list[Decision]) -> list[tuple[str, int, int | None]]:
    return [(d.candidate.key.doc_id, d.candidate.key.chunk_index, d.near) for d in decisions]


def test_neighbours_of_a_kept_chunk_are_dropped_and_name_it() -> None:
    candidates = ranked(("a", 5), ("a", 6), ("a", 4), ("a", 7))
    decisions = select_with_gap(candidates, top_k=5, min_index_gap=2)
    assert verdicts(decisions) == [("a", 5, None), ("a", 6, 5), ("a", 4, 5), ("a", 7, None)]
    assert [decision.reason for decision in decisions] == [
        DecisionReason.KEPT,
        DecisionReason.TOO_NEAR,
        DecisionReason.TOO_NEAR,
        DecisionReason.KEPT,
    ]


def test_the_gap_holds_within_a_document_only() -> None:
    decisions = select_with_gap(ranked(("a", 5), ("b", 5), ("b", 6)), top_k=5, min_index_gap=3)
    assert verdicts(decisions) == [("a", 5, None), ("b", 5, None), ("b", 6, 5)]


def test_dropped_chunks_do_not_push_others_out() -> None:
    decisions = select_with_gap(ranked(("a", 0), ("a", 1), ("a", 2)), top_k=5, min_index_gap=2)
    assert verdicts(decisions) == [("a", 0, None), ("a", 1, 0), ("a", 2, None)]


@pytest.mark.parametrize(("first", "second"), [(4, 8), (8, 4)])
def test_between_two_kept_chunks_the_better_one_is_named(first: int, second: int) -> None:
    decisions = select_with_gap(
        ranked(("a", first), ("a", second), ("a", 6)), top_k=5, min_index_gap=3
    )
    assert decisions[2].near == first


def test_a_gap_of_one_keeps_everything() -> None:
    decisions = select_with_gap(ranked(*(("a", i) for i in range(9))), top_k=9, min_index_gap=1)
    assert all(decision.kept for decision in decisions)


def test_it_stops_after_the_last_result_and_takes_no_more_candidates() -> None:
    taken = []

    def candidates() -> Iterator[ScoredChunk]:
        for candidate in ranked(("a", 0), ("a", 1), ("a", 9), ("b", 0)):
            taken.append(candidate.key)
            yield candidate

    decisions = select_with_gap(candidates(), top_k=2, min_index_gap=2)
    assert verdicts(decisions) == [("a", 0, None), ("a", 1, 0), ("a", 9, None)]
    assert len(taken) == 3


def test_no_candidates_no_decisions() -> None:
    assert select_with_gap([], top_k=3, min_index_gap=2) == []
