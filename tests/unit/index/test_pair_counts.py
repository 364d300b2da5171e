"""Counting pairs while a shard is inverted."""

from collections import Counter

import pytest

from scp_ray.index import pair_counts
from scp_ray.index.pair_counts import PairCounter
from scp_ray.retrieval.pairs import pair_term, pairs_of

ROWS = [["red", "fox", "red", "fox"], [], ["fox"], ["den", "of", "fox"], ["red", "fox"] * 400]


@pytest.mark.parametrize("block_words", [1, 5, 2**20])
def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch, block_words: int) -> None:
    monkeypatch.setattr(pair_counts, "_BLOCK_WORDS", block_words)
    vocabulary: dict[str, int] = {}
    counter = PairCounter()
    for row in ROWS:
        counter.add([vocabulary.setdefault(word, len(vocabulary)) for word in row], vocabulary)
    pairs, counts, rows = counter.finish(vocabulary)
    found = {
        (pair_term(pair), row): count
        for pair, count, row in zip(pairs.tolist(), counts.tolist(), rows.tolist(), strict=True)
    }
    expected = Counter(
        (pair, number) for number, row in enumerate(ROWS) for _, _, pair in pairs_of(row)
    )
    assert found == {key: min(count, 255) for key, count in expected.items()}


def test_no_rows_have_no_pairs() -> None:
    assert [column.tolist() for column in PairCounter().finish({})] == [[], [], []]
