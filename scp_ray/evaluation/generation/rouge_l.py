"""ROUGE-L of an answer against a reference. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from scp_ray.evaluation.generation.harmonic import harmonic_mean

_TOKEN: Final = re.compile(r"[a-z0-9]+")


def rouge_l(answer: str, reference: str) -> float:
    """Return the F1 of the longest common subsequence of words, in [0, 1]; 0 where one has none.

    Words are runs of ASCII letters and digits in lower case, not stemmed. The time is that of the
    product of both lengths.

    Source: Lin, "ROUGE" (2004), at the level of whole texts with beta = 1, as Google's rouge-score
        computes it.
    """
    given, wanted = _TOKEN.findall(answer.lower()), _TOKEN.findall(reference.lower())
    if not given or not wanted:
        return 0.0
    num_common = _common_length(given, wanted)
    return harmonic_mean(num_common / len(given), num_common / len(wanted))


def _common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    lengths = [0] * (len(second) + 1)
    for word in first:
        diagonal = 0
        for place, other in enumerate(second, 1):
            above = lengths[place]
            lengths[place] = diagonal + 1 if word == other else max(above, lengths[place - 1])
            diagonal = above
    return lengths[-1]
