"""BERTScore of an answer against a reference, from the vectors of their tokens. Pure."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from scp_ray.evaluation.generation.harmonic import harmonic_mean
from scp_ray.protocols import Float32Array

TokenVectors: TypeAlias = tuple[Float32Array, npt.NDArray[np.bool_]]
"""Unit vectors of a text's tokens, shape (n, dim), and which tokens are text, shape (n,): the marks
that a model puts around a text are not."""


def bert_score(answer: TokenVectors, reference: TokenVectors) -> float:
    """Return the F1 of greedy matching: each token with the nearest one of the other text.

    Marks may be matched, but do not count. 0 where one text has no token.

    Source: Zhang et al., "BERTScore" (2020), without idf weights and without rescaling by a
        baseline, as the bert-score library computes it by default.
    """
    (given, is_given), (wanted, is_wanted) = answer, reference
    if not is_given.any() or not is_wanted.any():
        return 0.0
    cosines = given @ wanted.T
    precision = float(cosines.max(axis=1)[is_given].mean(dtype=np.float64))
    recall = float(cosines.max(axis=0)[is_wanted].mean(dtype=np.float64))
    return harmonic_mean(precision, recall)
