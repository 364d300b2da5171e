"""BM25 with statistics of the whole generation: the words of a question, and how a term weighs.

Pairs of neighbouring words (``pairs``) are terms as words are. What a term counts for depends on
the generation and not on the shard, so a chunk has the same lexical score wherever it lies.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from scp_ray.protocols import Float64Array
from scp_ray.retrieval.pairs import pairs_of
from scp_ray.sections import LexicalConfig

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
        pairs: Weight of each distinct pair of neighbouring words, > 0, by its term; those that the
            generation does not know are left out.
        weights: ``idf``, then ``pairs``.
        bound: More than BM25 can give to any chunk: every term of the question, repeated for ever.
    """

    idf: Mapping[str, float]
    mean_length: float
    k1: float
    b: float
    num_unknown: int = 0
    pairs: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(init=False)
    bound: float = field(init=False)

    def __post_init__(self) -> None:
        weights = {**self.idf, **self.pairs}
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bound", math.fsum(weights.values()) * (self.k1 + 1.0))


@dataclass(frozen=True, slots=True)
class CollectionSize:
    """How much text a generation has.

    Attributes:
        num_chunks: Its chunks.
        num_terms: Words of all of them, repeats counted.
    """

    num_chunks: int
    num_terms: int


def weigh_question(
    terms: Sequence[str],
    frequency_of: Callable[[str], int],
    size: CollectionSize,
    config: LexicalConfig,
) -> LexicalQuery:
    """Weigh the words of a question, and the pairs that they make.

    Args:
        terms: As ``terms_of`` gives them for the question.
        frequency_of: In how many chunks of the generation a term occurs; 0 = it does not know it.
        size: Of the generation.
        config: Gives ``k1``, ``b`` and ``pair_weight``.

    Returns:
        Every known term once, in the order of the question. Pairs are weighed as words are, times
        ``pair_weight``; one of an unknown word is not looked for.
    """

    def weigh(term: str) -> float:
        frequency = frequency_of(term)
        return inverse_document_frequency(frequency, size.num_chunks) if frequency else 0.0

    distinct = list(dict.fromkeys(terms))
    idf = {term: weight for term in distinct if (weight := weigh(term))}
    pairs = pairs_of(terms) if config.pair_weight else []
    return LexicalQuery(
        idf,
        mean_length=size.num_terms / max(size.num_chunks, 1),
        k1=config.k1,
        b=config.b,
        num_unknown=len(distinct) - len(idf),
        pairs={
            pair: config.pair_weight * weight
            for first, second, pair in pairs
            if first in idf and second in idf and (weight := weigh(pair))
        },
    )


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
