"""Lexical cohesion: whether two stretches of text use the same words."""

import math
import re
from collections import Counter

_CONTENT_WORD = re.compile(r"[^\W\d_]{4,}")  # short words are the same everywhere
_MIN_WORDS = 40  # less says nothing


def cohesion(before: str, after: str) -> float | None:
    """Return the cosine of the word counts of two texts, in [0, 1]; None if one is too short.

    Source: Hearst, TextTiling (1997), block comparison.
    """
    counts, others = _word_counts(before), _word_counts(after)
    if min(counts.total(), others.total()) < _MIN_WORDS:
        return None
    shared = sum(count * others[word] for word, count in counts.items())
    return shared / math.sqrt(_square_sum(counts) * _square_sum(others))


def _word_counts(text: str) -> Counter[str]:
    return Counter(_CONTENT_WORD.findall(text.casefold()))


def _square_sum(counts: Counter[str]) -> int:
    return sum(count * count for count in counts.values())
