"""As many chunk texts as one likes, made from those of a corpus by exchanging words."""

from collections.abc import Iterator, Sequence

import numpy as np

from scp_ray.protocols import Int64Array

EXCHANGED = 0.15  # of a copy's words
NEW = 0.01  # of a copy's words
_ROWS_PER_NEW_WORD = 2


def varied_texts(texts: Sequence[str], num_texts: int, seed: int) -> Iterator[str]:
    """Yield ``num_texts`` texts: the given ones, then copies of them, no two alike but by chance.

    In a copy each word gives way to another with a chance of ``EXCHANGED``, drawn from all words of
    the corpus as often as they occur there, and with a chance of ``NEW`` to a number of five digits
    or so, drawn evenly from half as many as there are texts. So frequent words stay frequent, and
    most terms are rare, as serial numbers and names are.

    Args:
        texts: Texts of the corpus, at least one.
        num_texts: How many.
        seed: The same seed gives the same texts.
    """
    generator = np.random.default_rng(seed)
    split = [text.split() for text in texts]
    occurrences = np.array([word for words in split for word in words], dtype=object)
    new_words = np.arange(max(num_texts // _ROWS_PER_NEW_WORD, 1)) + num_texts
    for number in range(num_texts):
        words = split[number % len(split)]
        if number < len(split):
            yield texts[number]
        else:
            yield " ".join(_exchanged(words, occurrences, new_words, generator))


def _exchanged(
    words: list[str],
    occurrences: "np.ndarray[tuple[int], np.dtype[np.object_]]",
    new_words: Int64Array,
    generator: np.random.Generator,
) -> list[str]:
    chances = generator.random(len(words))
    exchanged = list(words)
    places = np.flatnonzero(chances < EXCHANGED)
    others = occurrences[generator.integers(0, len(occurrences), len(places))]
    for place, word in zip(places.tolist(), others.tolist(), strict=True):
        exchanged[place] = word
    for place in np.flatnonzero(chances > 1.0 - NEW).tolist():
        exchanged[place] = str(generator.choice(new_words))
    return exchanged
