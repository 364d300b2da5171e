"""BM25 with statistics of the whole generation: the words of a question, and how a term weighs.

What a term counts for depends on the generation and not on the shard, so a chunk has the same
lexical score wherever it lies.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from scp_ray.protocols import Float64Array

# More occurrences of a term in one chunk count as this many: one byte holds them, and BM25 has
# saturated long before.
MOST_COUNTED = 255


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The known words of a question.

    Attributes:
        idf: Weight of each distinct term, > 0, in the order of the question. Terms that the
            generation does not know are left out.
        mean_length: Mean number of terms of a chunk in the generation; > 0 where a term is known.
        k1: Saturation of repeats, > 0.
        b: Weight of a chunk's length, in [0, 1].
        num_unknown: Distinct terms of the question that the generation does not know.
        bound: More than BM25 can give to any chunk: every term of the question, repeated for ever.
    """

    idf: Mapping[str, float]
    mean_length: float
    k1: float
    b: float
    num_unknown: int = 0
    bound: float = field(init=False)

    def __post_init__(self) -> None:
        bound = math.fsum(self.idf.values()) * (self.k1 + 1.0)
        object.__setattr__(self, "bound", bound)


def inverse_document_frequency(chunk_frequency: int, num_chunks: int) -> float:
    """Return the weight of a term that ``chunk_frequency`` of ``num_chunks`` chunks hold, > 0.

    Source: ``ln(1 + (N - n + 0.5) / (n + 0.5))``, the form of Lucene, which is never negative.
    """
    return math.log1p((num_chunks - chunk_frequency + 0.5) / (chunk_frequency + 0.5))


def length_norms(lengths: npt.NDArray[np.integer], query: LexicalQuery) -> Float64Array:
    """Return ``k1 (1 - b + b length / mean length)`` of chunks, shape (n,), > 0.

    Args:
        lengths: Terms of each chunk; one without any counts as one, so that no norm is 0.
        query: Gives ``k1``, ``b`` and the mean length.
    """
    relative = np.maximum(lengths, 1) / query.mean_length
    norms: Float64Array = query.k1 * (1.0 - query.b + query.b * relative)
    return norms


def term_scores(
    counts: npt.NDArray[np.uint8], norms: Float64Array, idf: float, query: LexicalQuery
) -> Float64Array:
    """Return what one term adds to the lexical score of chunks, shape (n,), in [0, 1].

    ``idf tf (k1 + 1) / (tf + norm)`` over ``query.bound``; 0 where the term does not occur.

    Args:
        counts: Occurrences tf of the term in each chunk, at most ``MOST_COUNTED``.
        norms: Their ``length_norms``.
        idf: Weight of the term.
        query: Gives ``k1`` and the bound.

    Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009). Dividing by
        the bound is our choice: it puts words beside cosine and depends on the question alone.
    """
    frequencies = counts.astype(np.float64)
    scores = frequencies / (frequencies + norms)
    scores *= idf * (query.k1 + 1.0) / query.bound
    return scores
