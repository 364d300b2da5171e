"""A whole two-pass query over shards in one process."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from scp_ray.protocols import Float32Array
from scp_ray.records import PositionPrior, PriorScope, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.candidates import BoolArray, ShardSearcher
from scp_ray.retrieval.merge import merge_first_pass, merge_selections
from scp_ray.retrieval.prior import estimate_position_prior, prior_in_force
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.shard_search import first_pass, second_pass

T = TypeVar("T")
R = TypeVar("R")


class Mapper(Protocol):
    """Calls a function for each item, perhaps in threads; results in the order of the items."""

    def __call__(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterable[R]:
        """Return or yield the results."""
        ...


def one_by_one(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Be the ``Mapper`` of a single thread."""
    return [function(item) for item in items]


class FilteredShard(NamedTuple):
    """A shard, and which of its rows may be returned; None = all."""

    shard: ShardSearcher
    allowed: BoolArray | None


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


def first_pass_over(
    shards: Sequence[FilteredShard], vector: Float32Array, params: QueryParams, run: Mapper
) -> list[ScoredChunk]:
    """Return the best chunks of all shards by cosine, in rank order."""

    def of_one(one: FilteredShard) -> list[ScoredChunk]:
        return first_pass(one.shard, vector, params, allowed=one.allowed)

    return merge_first_pass(run(of_one, shards), params)


def second_pass_over(
    shards: Sequence[FilteredShard],
    question: Question,
    prior: PositionPrior | None,
    params: QueryParams,
    run: Mapper,
) -> Selection:
    """Return the selection over all shards under one prior."""

    def of_one(one: FilteredShard) -> Selection:
        return second_pass(one.shard, question, prior, params, allowed=one.allowed)

    return merge_selections(run(of_one, shards), params)


def query_shards(
    shards: Sequence[FilteredShard],
    question: Question,
    params: QueryParams,
    run: Mapper = one_by_one,
) -> QueryOutcome:
    """Answer a question: first pass, position prior, second pass with the gap selector.

    With an exact search the outcome is the same, bit for bit, however documents are spread over
    shards (but for ``row`` and ``shard_id``), unless each shard has its own prior.

    Args:
        shards: All shards of the index.
        question: Its vector, and its words weighted by the statistics of all shards.
        params: See ``QueryParams``.
        run: Searches the shards.

    Raises:
        ConfigError: If the question's vector does not fit the index.

    Source: SCP-HNSW (arXiv:2606.01542). Words and merging over shards are our additions.
    """
    if params.prior_scope is PriorScope.SHARD:

        def of_one(one: FilteredShard) -> QueryOutcome:
            return query_shard(one.shard, question, params, allowed=one.allowed)

        return merge_outcomes(list(run(of_one, shards)), params)
    hits = first_pass_over(shards, question.vector, params, run)
    prior = prior_of(hits, params)
    selection = second_pass_over(shards, question, prior, params, run)
    return QueryOutcome(hits, prior, prior_in_force(prior, params) is not None, selection)


def two_pass_query(
    shards: Sequence[ShardSearcher],
    question: Question,
    params: QueryParams,
    *,
    allowed: Sequence[BoolArray] | None = None,
) -> QueryOutcome:
    """Answer a question over shards of this process, as ``query_shards``.

    Args:
        shards: All shards of the index.
        question: Its vector, and its words weighted by the statistics of all shards.
        params: See ``QueryParams``.
        allowed: For each shard the rows that may be returned; None = no filter.

    Raises:
        ConfigError: If the question's vector does not fit the index.
    """
    masks = allowed if allowed is not None else [None] * len(shards)
    return query_shards(
        [FilteredShard(shard, mask) for shard, mask in zip(shards, masks, strict=True)],
        question,
        params,
    )
