"""Text that a reader gets again: runs of words that stood before. Pure."""

from collections.abc import Sequence
from typing import Final

RUN_WORDS: Final = 8
"""Words of a run; shorter ones repeat by accident."""


def repeated_share(texts: Sequence[str]) -> float:
    """Return the share of the words that stand in a run of eight words that came before.

    Words are what white space parts, in lower case, where it has a letter or a digit: the rules
    of tables are none. Runs lie within one text, and repeat one of the same text or of one before
    it; a word in several repeated runs counts once. 0 where there is no word.

    Args:
        texts: In the order in which they are read.

    Source: our choice; near-duplicate documents repeat each other at different places, which
        offsets do not show.
    """
    seen: set[tuple[str, ...]] = set()
    num_words = num_repeated = 0
    for text in texts:
        words = [word for word in text.lower().split() if any(map(str.isalnum, word))]
        reached = 0
        for start in range(len(words) - RUN_WORDS + 1):
            run = tuple(words[start : start + RUN_WORDS])
            if run in seen:
                num_repeated += start + RUN_WORDS - max(reached, start)
                reached = start + RUN_WORDS
            seen.add(run)
        num_words += len(words)
    return num_repeated / num_words if num_words else 0.0
