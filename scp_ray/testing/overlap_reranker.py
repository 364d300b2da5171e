"""The ``Reranker`` port by the words that question and text share."""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from scp_ray.protocols import Float64Array

_WORD: Final = re.compile(r"\w+")
_REVISION: Final = "overlap reranker 1"


class OverlapReranker:
    """Scores a text by the share of the question's words that it has, in [0, 1].

    A word counts once, in lower case. A question without words gives every text 0.

    Attributes:
        name: ``overlap``.
        revision: SHA-256 that names this algorithm.
    """

    def __init__(self) -> None:
        self.name = "overlap"
        self.revision = hashlib.sha256(_REVISION.encode()).hexdigest()

    def score(self, question: str, texts: Sequence[str]) -> Float64Array:
        """Return one score a text, shape (n,), in the order given."""
        asked = _words(question)
        shares = [len(asked & _words(text)) / max(len(asked), 1) for text in texts]
        return np.array(shares, dtype=np.float64)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
