"""A whole two-pass query over shards in one process."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scp_ray.records import PositionPrior, PriorScope, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.candidates import BoolArray, ShardSearcher
from scp_ray.retrieval.merge import merge_first_pass, merge_selections
from scp_ray.retrieval.prior import estimate_position_prior, prior_in_force
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.shard_search import first_pass, second_pass


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """What a query came to, of one shard or of all merged.

    Attributes:
        first_pass: Best chunks by cosine, in rank order.
        prior: The estimate from them, or None without any. Where each shard has its own
            (``PriorScope.SHARD``), merging keeps that of the shard with the best first-pass hit.
        prior_applied: Whether ``prior`` moved the ranking: position has weight and the
            concentration reached the gate.
        selection: Results and decisions.
    """

    first_pass: list[ScoredChunk]
    prior: PositionPrior | None
    prior_applied: bool
    selection: Selection


def prior_of(hits: Sequence[ScoredChunk], params: QueryParams) -> PositionPrior | None:
    """Estimate the prior from first-pass hits in rank order; None when there are none."""
    if not hits:
        return None
    return estimate_position_prior(
        np.array([hit.position for hit in hits]),
        np.array([hit.score for hit in hits]),
        temperature=params.prior_temperature,
    )


def query_shard(
    shard: ShardSearcher,
    question: Question,
    params: QueryParams,
    *,
    allowed: BoolArray | None = None,
) -> QueryOutcome:
    """Run both passes in one shard, with the shard's own prior."""
    hits = first_pass(shard, question.vector, params, allowed=allowed)
    prior = prior_of(hits, params)
    selection = second_pass(shard, question, prior, params, allowed=allowed)
    return QueryOutcome(hits, prior, prior_in_force(prior, params) is not None, selection)


def merge_outcomes(outcomes: Sequence[QueryOutcome], params: QueryParams) -> QueryOutcome:
    """Merge the outcomes of shards that each had their own prior."""
    hits = merge_first_pass([outcome.first_pass for outcome in outcomes], params)
    selection = merge_selections([outcome.selection for outcome in outcomes], params)
    best = next(
        (outcome for outcome in outcomes if hits and hits[0] in outcome.first_pass[:1]), None
    )
    if best is None:
        return QueryOutcome(hits, None, prior_applied=False, selection=selection)
    return QueryOutcome(hits, best.prior, best.prior_applied, selection)


def two_pass_query(
    shards: Sequence[ShardSearcher],
    question: Question,
    params: QueryParams,
    *,
    allowed: Sequence[BoolArray] | None = None,
) -> QueryOutcome:
    """Answer a question: first pass, position prior, second pass with the gap selector.

    With an exact search the outcome is the same, bit for bit, however documents are spread over
    shards (but for ``row`` and ``shard_id``), unless each shard has its own prior.

    Args:
        shards: All shards of the index.
        question: Its vector, and its words weighted by the statistics of all shards.
        params: See ``QueryParams``.
        allowed: For each shard the rows that may be returned; None = no filter.

    Raises:
        ConfigError: If the question's vector does not fit the index.

    Source: SCP-HNSW (arXiv:2606.01542). Words and merging over shards are our additions.
    """
    masks = allowed if allowed is not None else [None] * len(shards)
    pairs = list(zip(shards, masks, strict=True))
    if params.prior_scope is PriorScope.SHARD:
        outcomes = [query_shard(shard, question, params, allowed=mask) for shard, mask in pairs]
        return merge_outcomes(outcomes, params)
    hits = merge_first_pass(
        [first_pass(shard, question.vector, params, allowed=mask) for shard, mask in pairs], params
    )
    prior = prior_of(hits, params)
    selection = merge_selections(
        [second_pass(shard, question, prior, params, allowed=mask) for shard, mask in pairs],
        params,
    )
    return QueryOutcome(hits, prior, prior_in_force(prior, params) is not None, selection)
