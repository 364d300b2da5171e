"""Token F1 of an answer against a reference, as SQuAD counts it. Pure."""

import re
import string
from collections import Counter
from typing import Final

from scp_ray.evaluation.generation.harmonic import harmonic_mean

_ARTICLE: Final = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 of the words that answer and reference share, in [0, 1].

    Where one of them has no word left, it is 1 if the other has none either, else 0.

    Source: Rajpurkar et al., SQuAD (2016) and 2.0 (2018), as the official evaluation computes it:
        lower case, without ASCII punctuation marks and English articles.
    """
    given, wanted = _words(answer), _words(reference)
    if not given or not wanted:
        return float(given == wanted)
    num_shared = (Counter(given) & Counter(wanted)).total()
    return harmonic_mean(num_shared / len(given), num_shared / len(wanted))


def _words(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()
