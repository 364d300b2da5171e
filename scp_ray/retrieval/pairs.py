"""Pairs of neighbouring words: terms of the lexical index beside the words themselves.

A pair says that two words stand together, which single words cannot: ``camera settings`` is a
heading, ``camera`` and ``settings`` are everywhere. A pair is any two different words that follow
each other and of which neither is a function word; it is scored as a word is. Pairs are hashed, so
that there are no more than ``NUM_PAIRS`` of them however large a collection is: in a small one two
pairs hardly ever share a number, and in a huge one a rare pair counts for a little less.
"""

import zlib
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from scp_ray.records import Stemmer
from scp_ray.retrieval.terms import terms_of

NUM_PAIRS: Final = 2**22
"""Numbers that pairs are hashed to."""

UInt64Array = npt.NDArray[np.uint64]

_SHIFT: Final = np.uint64(64 - 22)
# Odd numbers without a pattern; two of them, so that a pair is not its reverse.
_FIRST: Final = np.uint64(0x9E3779B97F4A7C15)
_SECOND: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_NO_WORD: Final = 0

_FUNCTION_WORDS: Final = """
a an the this that these those
i you he she it we they me him her us them my your his its our their
am is are was were be been being do does did have has had
can could may might must shall should will would
and or but nor if then than as so because while
at by for from in into of off on onto out over to under up with without about
how what when where which who whom whose why
not no there here
"""


def _stemmed(words: str) -> frozenset[str]:
    return frozenset(term for stemmer in Stemmer for term in terms_of(words, stemmer))


FUNCTION_WORDS: Final = _stemmed(_FUNCTION_WORDS)
"""English words that say little of what they stand beside, as terms of any stemmer."""


def term_hashes(terms: Iterable[str]) -> UInt64Array:
    """Return a number for each term, shape (n,), uint64; 0 for function words."""
    return np.array(
        [
            _NO_WORD if term in FUNCTION_WORDS else zlib.crc32(term.encode("utf-8", "replace"))
            for term in terms
        ],
        dtype=np.uint64,
    )


def pair_numbers(first: UInt64Array, second: UInt64Array) -> npt.NDArray[np.int32]:
    """Return the pair that neighbouring terms make, shape (n,), int32, in [0, ``NUM_PAIRS``).

    -1 stands for no pair: one of the two is a function word, or both are the same.

    Args:
        first: ``term_hashes`` of the first terms, shape (n,).
        second: Those of the terms after them, shape (n,).

    Source: the hashing trick, Weinberger et al. (2009), with Fibonacci hashing (Knuth, 6.4).
    """
    mixed = (first * _FIRST) ^ (second * _SECOND)
    mixed *= _FIRST
    numbers = (mixed >> _SHIFT).astype(np.int32)
    is_none = (first == _NO_WORD) | (second == _NO_WORD) | (first == second)
    return np.where(is_none, np.int32(-1), numbers)


def pair_term(number: int) -> str:
    """Return a pair as a term: no word is like it, since it begins with a space."""
    return f" {number:06x}"


def pairs_of(terms: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the pairs in a text, in order, repeats kept: both words, and the pair as a term.

    Args:
        terms: As ``terms_of`` gives them.
    """
    hashes = term_hashes(terms)
    numbers = pair_numbers(hashes[:-1], hashes[1:]).tolist()
    return [
        (first, second, pair_term(number))
        for first, second, number in zip(terms, terms[1:], numbers, strict=False)
        if number >= 0
    ]
