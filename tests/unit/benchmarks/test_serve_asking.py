"""Answers held against what they should be."""

import pytest

from benchmarks.serve_asking import ids_of, recall


def test_chunks_of_an_answer_in_its_order() -> None:
    results = [{"doc_id": "b", "chunk_index": 1}, {"doc_id": "a", "chunk_index": 12}]
    assert ids_of({"results": results}) == ["b#1", "a#12"]


def test_recall_is_the_mean_share_that_was_found() -> None:
    wanted = [{"a", "b"}, {"c", "d"}]
    assert recall([["a", "x", "b"], ["c"]], wanted) == pytest.approx(0.75)
    assert recall([[], []], wanted) == 0.0
    with pytest.raises(ValueError, match="argument 2 is longer"):
        recall([["a"]], wanted)
