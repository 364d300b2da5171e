"""Even and uneven documents through annotators with scripted engines."""

import pytest

from benchmarks.scripted_engine import ServiceModel
from benchmarks.skewed_corpus import (
    Fleet,
    annotation_seconds,
    bare_seconds,
    document_sizes,
    made_batches,
    needed_requests,
)

FLEET = Fleet(num_annotators=1, concurrent_calls=4, lookahead=8, piece_chunks=20)
SERVICE = ServiceModel(capacity=16, share_s=0.5, decision_s=1.0, extraction_s=1.0)


def test_sizes_add_up_and_half_of_the_chunks_are_in_one_document() -> None:
    assert document_sizes(4, 10, is_skewed=False) == [3, 3, 2, 2]
    assert document_sizes(4, 10, is_skewed=True) == [5, 2, 2, 1]


def test_batches_hold_the_same_texts_however_they_are_cut() -> None:
    even, skewed = (
        made_batches(document_sizes(5, 23, is_skewed=is_skewed), 2) for is_skewed in (False, True)
    )
    texts = [[text for batch in made for doc in batch for text in doc] for made in (even, skewed)]
    assert texts[0] == texts[1]
    assert [len(batch) for batch in even] == [2, 2, 1]


def test_every_question_is_asked_and_the_engine_is_nearly_always_busy() -> None:
    batches = made_batches(document_sizes(20, 200, is_skewed=False), 2)
    figures = annotation_seconds(batches, FLEET, SERVICE)
    assert figures["num_requests"] > 200  # 180 decisions, 20 signatures, and those of new spans
    assert 0.8 < figures["busy"] <= 1
    assert figures["ahead_s"] == 0


def test_the_bare_engine_is_asked_the_same_and_is_the_limit() -> None:
    batches = made_batches(document_sizes(20, 400, is_skewed=False), 2)
    figures = annotation_seconds(batches, FLEET, SERVICE)
    needed = [needed_requests(doc, SERVICE) for batch in batches for doc in batch]
    assert figures["num_requests"] == sum(map(len, needed))
    assert 0.8 * figures["seconds"] < bare_seconds(batches, SERVICE) <= 1.02 * figures["seconds"]


def test_one_request_at_a_time_leaves_the_engine_waiting() -> None:
    batches = made_batches([60], 1)
    slow = annotation_seconds(batches, Fleet(1, 1, lookahead=1, piece_chunks=1000), SERVICE)
    fast = annotation_seconds(batches, Fleet(1, 1, lookahead=8, piece_chunks=1000), SERVICE)
    assert slow["num_requests"] == fast["num_requests"]
    assert slow["seconds"] > 1.5 * fast["seconds"]


def test_several_annotators_share_a_long_document_and_pay_once() -> None:
    batches = made_batches(document_sizes(9, 400, is_skewed=True), 1)
    alone = annotation_seconds(batches, FLEET, SERVICE)
    shared = annotation_seconds(batches, Fleet(4, 4, 8, piece_chunks=20), SERVICE)
    assert shared["num_requests"] == alone["num_requests"]
    assert shared["ahead_s"] > 0
    assert shared["seconds"] == pytest.approx(alone["seconds"] / 4, rel=0.25)
