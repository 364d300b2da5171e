"""Metrics of ranked hits against marked evidence. Pure, on plain records.

metric         one question counts
-----------    ---------------------------------------------------------------------
hit@k          1 if one of the first k hits is relevant
mrr@k          1 / rank of the first relevant hit, 0 if it is not among the first k
ndcg@k         see ``ndcg``
map@10         see ``average_precision``
doc@1          1 if the first hit is of a document that holds evidence
coverage@k     share of the evidence's spans that one of the first k hits covers
redundancy@k   share of the first k hits' characters that a hit before had; lower is better
documents@k    documents that the first k hits are of
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scp_ray.evaluation.pairing import mean, require_pairs
from scp_ray.evaluation.queries import Query
from scp_ray.evaluation.relevance import HitSpan, RelevantSpan, covers, is_relevant
from scp_ray.evaluation.stretches import num_characters, num_shared, union

HIT_RANKS: Final = (1, 3, 5, 10)
GRADED_RANKS: Final = (3, 5, 10)
RESULT_RANKS: Final = (5, 10)
CUTOFF: Final = 10


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """How one question fared.

    Attributes:
        query_id: The question.
        first_relevant_rank: Rank from 1 to 10 of the first relevant hit; None if there is none.
        values: What it counts in each metric, by name, in the order of this module's table.
    """

    query_id: str
    first_relevant_rank: int | None
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """How the questions of a file fared.

    Attributes:
        outcomes: Every question, in the order of the file; at least one.
    """

    outcomes: tuple[QuestionOutcome, ...]

    def values(self) -> dict[str, list[float]]:
        """Return what each question counts in each metric, in the order of the file."""
        names = self.outcomes[0].values
        return {name: [outcome.values[name] for outcome in self.outcomes] for name in names}


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


def ndcg(hits: Sequence[HitSpan], spans: Sequence[RelevantSpan], k: int = CUTOFF) -> float:
    """Return the graded normalized discounted cumulative gain of the first ``k`` hits, in [0, 1].

    A hit gains, for each span, the share of the span's characters that it holds and no hit before
    it held, so that overlapping chunks of one place do not gain again. The ideal holds one whole
    span at every rank from the first on. A hit may hold several spans: what was gained down to
    rank n is at most n, and the rest counts at the ranks after it, so that no ranking exceeds the
    ideal.

    Args:
        hits: Best first.
        spans: Evidence, at least one.
        k: Ranks looked at, >= 1.

    Source: graded gain, discount 1 / log2(rank + 1) and normalization as in Jarvelin and
    Kekalainen (2002); a place gains once as in alpha-NDCG with alpha = 1 (Clarke et al. 2008). The
    share of characters as the grade, the ideal from spans alone, and the rule for hits that hold
    several, are our choice.
    """
    gained = _gained(hits[:k], spans)
    gain = reached = 0.0
    for rank in range(1, k + 1):
        # After the last hit the rest of what hits with several spans held still counts.
        total = min(gained[min(rank, len(gained)) - 1] if gained else 0.0, float(rank))
        gain += (total - reached) * _discount(rank)
        reached = total
    ideal = math.fsum(_discount(rank) for rank in range(1, min(len(spans), k) + 1))
    return min(gain / ideal, 1.0)


def average_precision(hits: Sequence[HitSpan], spans: Sequence[RelevantSpan]) -> float:
    """Return the average precision of the first ten hits, in [0, 1].

    The n-th span to be covered counts n over the rank of the hit that covers it, at most 1, and
    one that no hit covers counts 0; their mean over all spans. A hit that covers only what was
    covered before is no gain, and lowers those after it as one that covers nothing.

    Args:
        hits: Best first.
        spans: Evidence, at least one.

    Source: AP at a cutoff as trec_eval's ``map_cut``, with spans as the relevant items; the limit
    of 1, for hits that cover several, is our choice.
    """
    first_ranks = (_first_rank(hits, [span]) for span in spans)
    ranks = sorted(rank for rank in first_ranks if rank is not None)
    precisions = (min(1.0, place / rank) for place, rank in enumerate(ranks, 1))
    return math.fsum(precisions) / len(spans)


def _outcome(query: Query, hits: Sequence[HitSpan]) -> QuestionOutcome:
    spans = query.relevant
    rank = _first_rank(hits, spans)
    documents = {span.doc_id for span in spans}
    values = {
        **{f"hit@{k}": float(rank is not None and rank <= k) for k in HIT_RANKS},
        **{f"mrr@{k}": 1.0 / rank if rank and rank <= k else 0.0 for k in GRADED_RANKS},
        **{f"ndcg@{k}": ndcg(hits, spans, k) for k in GRADED_RANKS},
        f"map@{CUTOFF}": average_precision(hits, spans),
        "doc@1": float(bool(hits) and hits[0].doc_id in documents),
        **{f"coverage@{k}": _coverage(hits[:k], spans) for k in RESULT_RANKS},
        **{f"redundancy@{k}": _redundancy(hits[:k]) for k in RESULT_RANKS},
        **{f"documents@{k}": float(len({hit.doc_id for hit in hits[:k]})) for k in RESULT_RANKS},
    }
    return QuestionOutcome(query.query_id, rank, values)


def _gained(hits: Sequence[HitSpan], spans: Sequence[RelevantSpan]) -> list[float]:
    """Return after each hit the sum over spans of the share that was held so far."""
    totals = []
    for place in range(1, len(hits) + 1):
        held = union(hits[:place])
        totals.append(
            math.fsum(num_shared(held, [span]) / num_characters([span]) for span in spans)
        )
    return totals


def _coverage(hits: Sequence[HitSpan], spans: Sequence[RelevantSpan]) -> float:
    return mean([any(covers(hit, span) for hit in hits) for span in spans])


def _redundancy(hits: Sequence[HitSpan]) -> float:
    total = num_characters(hits)
    return 1.0 - num_characters(union(hits)) / total if total else 0.0


def _first_rank(hits: Sequence[HitSpan], spans: Sequence[RelevantSpan]) -> int | None:
    ranked = enumerate(hits[:CUTOFF], 1)
    return next((rank for rank, hit in ranked if is_relevant(hit, spans)), None)


def _discount(rank: int) -> float:
    return 1.0 / math.log2(rank + 1)
