"""Ranks all chunks of a variant for every question, in full and exactly.

Every part of a score is the product's own: cosines, BM25, prior and sum have the bits that a query
of an index with ``index.search: exact`` has.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from scp_ray.evaluation.ablation.config import CellSetting, Fusion
from scp_ray.evaluation.ablation.position_term import FirstPass, position_term
from scp_ray.evaluation.ablation.variant import Variant
from scp_ray.evaluation.ablation.word_scores import CountedTerms, WordScores
from scp_ray.evaluation.baselines.selectors import RankedRows
from scp_ray.protocols import Float32Array, Float64Array, Int64Array
from scp_ray.retrieval.score import semantic_scores

RRF_RANKS: Final = 60
"""The constant of reciprocal rank fusion, as Cormack et al. have it."""


class ScoredVariant:
    """A variant and all questions; what cells share is computed once. One thread.

    Args:
        variant: The chunks.
        embeddings: Their unit vectors, shape (n, dim).
        questions: The questions.
        question_vectors: Their unit vectors, shape (q, dim).
    """

    def __init__(
        self,
        variant: Variant,
        embeddings: Float32Array,
        questions: Sequence[str],
        question_vectors: Float32Array,
    ) -> None:
        self.variant = variant
        self._embeddings = embeddings
        self._questions = questions
        self._vectors = question_vectors
        self._counted: dict[str, CountedTerms] = {}
        self._words: dict[tuple[str, object], WordScores] = {}

    def rank(self, row: int, setting: CellSetting) -> RankedRows:
        """Return the ranking of a question: score descending, then doc_id, then chunk_index.

        Args:
            row: Which question.
            setting: The cell.
        """
        scores = self._smoothed(self._fused(row, setting), setting.smoothing)
        if setting.position_weight:
            term = self._position_term(row, setting)
            if term is not None:
                scores = scores + setting.position_weight * term
        variant = self.variant
        order = _order(scores)
        return RankedRows(order, scores, variant.doc_ids, variant.chunk_index, self._embeddings)

    @cached_property
    def _semantic(self) -> Float64Array:
        rows = [semantic_scores(vector, self._embeddings) for vector in self._vectors]
        return np.stack(rows)

    @cached_property
    def _first_orders(self) -> list[Int64Array]:
        """Rows by cosine of every question, best first."""
        return [_order(scores) for scores in self._semantic]

    def _fused(self, row: int, setting: CellSetting) -> Float64Array:
        words = self._word_scores(setting)
        weight = words.weight(row, setting.lexical_weight)
        semantic: Float64Array = self._semantic[row]
        lexical: Float64Array = words.scores[row]
        if setting.fusion is Fusion.RRF:
            semantic = _reciprocal_ranks(semantic, self._first_orders[row])
            lexical = np.where(lexical > 0.0, _reciprocal_ranks(lexical, _order(lexical)), 0.0)
        elif not weight:
            return semantic
        fused: Float64Array = (1.0 - weight) * semantic + weight * lexical
        return fused

    def _word_scores(self, setting: CellSetting) -> WordScores:
        stemmer, key = setting.stemmer, (setting.stemmer, setting.lexical)
        if stemmer not in self._counted:
            texts = self.variant.embedding_texts
            self._counted[stemmer] = CountedTerms(texts, self._questions, stemmer)
        if key not in self._words:
            self._words[key] = self._counted[stemmer].score(setting.lexical)
        return self._words[key]

    def _smoothed(self, scores: Float64Array, share: float) -> Float64Array:
        """Add to each score a share of the mean of its neighbours' in its document."""
        if not share:
            return scores
        documents = self.variant.documents
        is_linked = (documents[1:] == documents[:-1]).astype(np.float64)
        total, count = np.zeros(len(scores)), np.zeros(len(scores))
        total[1:] += scores[:-1] * is_linked
        total[:-1] += scores[1:] * is_linked
        count[1:] += is_linked
        count[:-1] += is_linked
        smoothed: Float64Array = scores + share * total / np.maximum(count, 1.0)
        return smoothed

    def _position_term(self, row: int, setting: CellSetting) -> Float64Array | None:
        variant = self.variant
        best = self._first_orders[row][: setting.first_pass_candidates]
        hits = FirstPass(
            variant.positions[best], self._semantic[row][best], variant.documents[best]
        )
        return position_term(hits, variant.positions, variant.documents, setting)


def _order(scores: Float64Array) -> Int64Array:
    """Return rows by score, descending; rows are in the order of doc_id and chunk_index."""
    return np.argsort(-scores, kind="stable")


def _reciprocal_ranks(scores: Float64Array, order: Int64Array) -> Float64Array:
    """Return ``61 / (60 + rank)`` of each, in (0, 1]: 1 for the best, so that weights compare.

    Source: Cormack, Clarke and Buettcher (2009); the factor 61 is our choice.
    """
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    shares: Float64Array = (RRF_RANKS + 1) / (RRF_RANKS + ranks)
    return shares
