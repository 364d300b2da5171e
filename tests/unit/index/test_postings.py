"""Inverting the texts of a shard."""

import numpy as np

from scp_ray import schema
from scp_ray.index.postings import Postings, build_postings
from scp_ray.records import Stemmer
from scp_ray.retrieval.pairs import pairs_of

TEXTS = ["red red fox", "", "blue fox", "fox", "grey", *["owl"] * 20]


def occurrences(postings: Postings) -> dict[str, dict[int, int]]:
    """Read the arrays as the format says: how often each term occurs in each row."""
    num_rows = len(postings.lengths)
    found: dict[str, dict[int, int]] = {}
    start = num_dense = 0
    for row in postings.terms.table.to_pylist():
        frequency = row[schema.CHUNK_FREQUENCY]
        if 5 * frequency >= num_rows:
            counts = postings.dense[num_dense].tolist()
            num_dense += 1
            pairs = {place: count for place, count in enumerate(counts) if count}
        else:
            rows = postings.rows[start : start + frequency].tolist()
            assert rows == sorted(set(rows))
            counts = postings.counts[start : start + frequency].tolist()
            pairs = dict(zip(rows, counts, strict=True))
            start += frequency
        assert len(pairs) == frequency
        found[row[schema.TERM]] = pairs
    assert start == len(postings.rows)
    assert num_dense == len(postings.dense)
    return found


def pair(first: str, second: str) -> str:
    [(_, _, term)] = pairs_of([first, second])
    return term


def test_every_term_has_its_rows_and_counts() -> None:
    assert occurrences(build_postings(TEXTS, Stemmer.NONE)) == {
        pair("red", "fox"): {0: 1},
        pair("blue", "fox"): {2: 1},
        "blue": {2: 1},
        "fox": {0: 1, 2: 1, 3: 1},
        "grey": {4: 1},
        "owl": dict.fromkeys(range(5, 25), 1),
        "red": {0: 2},
    }


def test_lengths_count_repeats() -> None:
    postings = build_postings(TEXTS[:4], Stemmer.NONE)
    assert postings.lengths.tolist() == [3, 0, 2, 1]
    assert postings.terms.collection.num_terms == 6
    assert postings.terms.collection.num_chunks == 4


def test_a_frequent_term_has_no_list_of_rows() -> None:
    # Five bytes a posting against one a row: of 25 rows, five make a term dense.
    postings = build_postings(TEXTS, Stemmer.NONE)
    assert postings.dense.tolist() == [[0] * 5 + [1] * 20]
    assert len(postings.rows) == 8  # one of blue, grey and red, three of fox, two pairs


def test_terms_are_sorted_by_their_bytes() -> None:
    postings = build_postings(["zebra ähre 𝔘nter apfel ｚ"], Stemmer.NONE)
    terms = postings.terms.table[schema.TERM].to_pylist()
    assert terms == sorted(terms, key=str.encode)


def test_a_term_counts_at_most_255_times() -> None:
    postings = build_postings(["bell " * 300, "bell"], Stemmer.NONE)
    assert occurrences(postings) == {"bell": {0: 255, 1: 1}}
    assert postings.lengths.tolist() == [300, 1]


def test_a_pair_counts_at_most_255_times() -> None:
    postings = build_postings(["red bell " * 300, "red", "bell"], Stemmer.NONE)
    found = occurrences(postings)
    assert found[pair("red", "bell")] == {0: 255}
    assert pair("bell", "red") in found


def test_pairs_do_not_cross_rows() -> None:
    assert set(occurrences(build_postings(["red", "fox"], Stemmer.NONE))) == {"red", "fox"}


def test_no_texts_and_no_words() -> None:
    for texts in ([], ["", "!?"]):
        postings = build_postings(texts, Stemmer.NONE)
        assert postings.terms.table.num_rows == 0
        assert len(postings.rows) == len(postings.counts) == postings.dense.size == 0
        assert postings.lengths.dtype == np.int32
        assert postings.lengths.tolist() == [0] * len(texts)


def test_the_stemmer_decides_which_terms_are_one() -> None:
    light = build_postings(["filters", "filter"], Stemmer.LIGHT)
    assert list(occurrences(light)) == ["filter"]
    assert len(occurrences(build_postings(["filters", "filter"], Stemmer.NONE))) == 2
