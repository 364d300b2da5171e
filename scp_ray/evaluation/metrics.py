"""Metrics of ranked hits against marked evidence. Pure, on plain records.

metric       one question counts
---------    ---------------------------------------------------------------------
Hit@k        1 if one of the first k hits is relevant
MRR@10       1 / rank of the first relevant hit, 0 if it is not among ten
NDCG@10      see ``ndcg``
document@1   1 if the first hit is of a document that holds evidence
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scp_ray.evaluation.pairing import mean, require_pairs
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import HitSpan, RelevantSpan, is_relevant

HIT_RANKS: Final = (1, 3, 5, 10)
CUTOFF: Final = 10


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """How one question fared.

    Attributes:
        query_id: The question.
        first_relevant_rank: Rank from 1 to 10 of the first relevant hit; None if there is none.
        ndcg: NDCG@10 in [0, 1].
        is_document_right: Whether the first hit is of a document that holds evidence.
    """

    query_id: str
    first_relevant_rank: int | None
    ndcg: float
    is_document_right: bool

    @property
    def reciprocal_rank(self) -> float:
        """1 / rank of the first relevant hit, or 0."""
        return 1.0 / self.first_relevant_rank if self.first_relevant_rank else 0.0

    def is_hit(self, k: int) -> bool:
        """Whether one of the first ``k`` hits is relevant, for k from 1 to 10."""
        return self.first_relevant_rank is not None and self.first_relevant_rank <= k


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Means over the questions of a file.

    Attributes:
        outcomes: Every question, in the order of the file; at least one.
    """

    outcomes: tuple[QuestionOutcome, ...]

    def hit_at(self, k: int) -> float:
        """Share of the questions with a relevant hit among the first ``k``, for k from 1 to 10."""
        return mean([outcome.is_hit(k) for outcome in self.outcomes])

    @property
    def mrr(self) -> float:
        """MRR@10."""
        return mean([outcome.reciprocal_rank for outcome in self.outcomes])

    @property
    def ndcg(self) -> float:
        """NDCG@10."""
        return mean([outcome.ndcg for outcome in self.outcomes])

    @property
    def document_at_1(self) -> float:
        """Share of the questions whose first hit is of a right document."""
        return mean([outcome.is_document_right for outcome in self.outcomes])


def evaluate(
    queries: Sequence[Query], replies: Mapping[str, Sequence[HitSpan]]
) -> EvaluationReport:
    """Score the replies of one system.

    Args:
        queries: Questions with their evidence.
        replies: Hits of each question by query_id, best first; the first ten are looked at.

    Raises:
        QueriesFormatError: If there is no question, or one has no evidence.
        ValueError: If a question has no reply, or a reply no question.
    """
    require_pairs(queries, replies, "replies")
    return EvaluationReport(tuple(_outcome(query, replies[query.query_id]) for query in queries))


def ndcg(hits: Sequence[HitSpan], spans: Sequence[RelevantSpan]) -> float:
    """Return the normalized discounted cumulative gain of the first ten hits, in [0, 1].

    Each span gains once, at the first hit that covers it, so that overlapping chunks of one place
    do not gain again. The ideal covers one span at every rank from the first on. A hit may cover
    several spans: the n-th span to be covered gains at the hit's rank, but no earlier than at rank
    n, so that no ranking exceeds the ideal.

    Args:
        hits: Best first.
        spans: Evidence, at least one.

    Source: discount 1 / log2(rank + 1) and normalization as in Jarvelin and Kekalainen (2002), a
    place gains once as in alpha-NDCG with alpha = 1 (Clarke et al. 2008). The ideal from spans
    alone, and the rule for hits that cover several, are our choice.
    """
    first_ranks = (_first_rank(hits, [span]) for span in spans)
    ranks = sorted(rank for rank in first_ranks if rank is not None)
    gain = sum(_discount(max(rank, place)) for place, rank in enumerate(ranks[:CUTOFF], 1))
    ideal = sum(_discount(rank) for rank in range(1, min(len(spans), CUTOFF) + 1))
    return gain / ideal


def _outcome(query: Query, hits: Sequence[HitSpan]) -> QuestionOutcome:
    documents = {span.doc_id for span in query.relevant}
    return QuestionOutcome(
        query.query_id,
        _first_rank(hits, query.relevant),
        ndcg(hits, query.relevant),
        is_document_right=bool(hits) and hits[0].doc_id in documents,
    )


def _first_rank(hits: Sequence[HitSpan], spans: Sequence[RelevantSpan]) -> int | None:
    ranked = enumerate(hits[:CUTOFF], 1)
    return next((rank for rank, hit in ranked if is_relevant(hit, spans)), None)


def _discount(rank: int) -> float:
    return 1.0 / math.log2(rank + 1)
