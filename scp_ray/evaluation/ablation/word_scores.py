"""BM25 of every question over every chunk of a variant, term by term as the product adds them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scp_ray.protocols import Float64Array
from scp_ray.records import Stemmer
from scp_ray.retrieval.bm25 import (
    MOST_COUNTED,
    CollectionSize,
    length_norms,
    term_scores,
    weigh_question,
)
from scp_ray.retrieval.pairs import pairs_of
from scp_ray.retrieval.terms import terms_of
from scp_ray.sections import LexicalConfig


@dataclass(frozen=True, slots=True, eq=False)
class WordScores:
    """The words of all questions.

    Attributes:
        scores: BM25 over its bound, in [0, 1], shape (questions, chunks).
        num_known: Distinct terms of each question that some chunk has.
        num_terms: Distinct terms of each question.
    """

    scores: Float64Array
    num_known: list[int]
    num_terms: list[int]

    def weight(self, row: int, lexical_weight: float) -> float:
        """Return the weight in force for a question, see ``Question.lexical_weight``."""
        if not self.num_known[row]:
            return 0.0
        return lexical_weight * self.num_known[row] / self.num_terms[row]


class CountedTerms:
    """How often each chunk has the terms of the questions: their words, and pairs of them.

    Args:
        texts: What the words are of, one a chunk.
        questions: The questions.
        stemmer: What becomes of the endings of words.
    """

    def __init__(self, texts: Sequence[str], questions: Sequence[str], stemmer: Stemmer) -> None:
        self._asked = [terms_of(one, stemmer) for one in questions]
        wanted = {term for words in self._asked for term in _with_pairs(words)}
        self._num_chunks = len(texts)
        self._lengths = np.zeros(len(texts), dtype=np.int64)
        self._counts: dict[str, npt.NDArray[np.uint8]] = {}
        for row, text in enumerate(texts):
            words = terms_of(text, stemmer)
            self._lengths[row] = len(words)
            found = Counter(term for term in _with_pairs(words) if term in wanted)
            for term, count in found.items():
                counts = self._counts.setdefault(term, np.zeros(len(texts), dtype=np.uint8))
                counts[row] = min(count, MOST_COUNTED)
        self._frequencies = {term: int(np.count_nonzero(of)) for term, of in self._counts.items()}

    def score(self, config: LexicalConfig) -> WordScores:
        """Return BM25 of every question over every chunk."""
        scores = np.zeros((len(self._asked), self._num_chunks))
        num_known: list[int] = []
        num_terms: list[int] = []
        size = CollectionSize(self._num_chunks, int(self._lengths.sum()))
        for row, terms in enumerate(self._asked):
            words = weigh_question(terms, self._frequency_of, size, config)
            num_known.append(len(words.idf))
            num_terms.append(len(words.idf) + words.num_unknown)
            if not words.weights:
                continue
            norms = length_norms(self._lengths, words)
            for term, weight in words.weights.items():
                scores[row] += term_scores(self._counts[term], norms, weight, words)
        return WordScores(scores, num_known, num_terms)

    def _frequency_of(self, term: str) -> int:
        return self._frequencies.get(term, 0)


def _with_pairs(words: Sequence[str]) -> list[str]:
    return [*words, *(pair for _, _, pair in pairs_of(words))]
