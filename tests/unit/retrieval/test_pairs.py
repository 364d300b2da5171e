"""Pairs of neighbouring words."""

import numpy as np

from scp_ray.records import Stemmer
from scp_ray.retrieval.pairs import (
    FUNCTION_WORDS,
    NUM_PAIRS,
    pair_numbers,
    pair_term,
    pairs_of,
    term_hashes,
)
from scp_ray.retrieval.terms import terms_of


def words_of(text: str) -> list[tuple[str, str]]:
    terms = terms_of(text, Stemmer.LIGHT)
    return [(first, second) for first, second, _ in pairs_of(terms)]


def test_neighbours_make_a_pair_unless_one_is_a_function_word() -> None:
    assert words_of("Open the camera settings and select a photo size") == [
        ("camera", "setting"),
        ("photo", "size"),
    ]


def test_function_words_are_known_however_they_are_stemmed() -> None:
    for stemmer in Stemmer:
        assert set(terms_of("this was his and does", stemmer)) <= FUNCTION_WORDS


def test_one_word_or_none_makes_no_pair() -> None:
    assert pairs_of([]) == pairs_of(["camera"]) == []


def test_a_pair_is_not_its_reverse() -> None:
    [(_, _, pair)] = pairs_of(["camera", "settings"])
    [(_, _, reverse)] = pairs_of(["settings", "camera"])
    assert pair != reverse


def test_a_word_beside_itself_is_no_pair() -> None:
    assert pairs_of(["pump"] * 5) == []


def test_no_word_is_like_a_pair() -> None:
    text = " ".join(pair_term(number) for number in (0, 17, NUM_PAIRS - 1))
    assert all(term[0] != " " for term in terms_of(text, Stemmer.NONE))
    assert sorted([pair_term(2**20), pair_term(15), "00", "a"]) == [" 00000f", " 100000", "00", "a"]


def test_pairs_are_spread_evenly() -> None:
    hashes = term_hashes(f"word{number}" for number in range(400))
    first, second = (grid.ravel() for grid in np.meshgrid(hashes, hashes))
    numbers = pair_numbers(first[first != second], second[first != second])
    assert numbers.min() >= 0
    assert numbers.max() < NUM_PAIRS
    # Of n balls in m bins, m (1 - exp(-n / m)) bins are expected to hold one.
    expected = NUM_PAIRS * -np.expm1(-len(numbers) / NUM_PAIRS)
    assert abs(len(np.unique(numbers)) / expected - 1) < 0.005
