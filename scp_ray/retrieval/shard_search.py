"""Both passes of a query in one shard.

Candidates come from two lists, the nearest vectors and the best words, and are scored in full in
float64. The lists are deepened until what they rank is final: no chunk outside them can rank
above, ties included. An unseen chunk has at most the last value of the one list plus the last
value of the other.

Source: the threshold algorithm, Fagin, Lotem and Naor (2001), with both lists read in blocks.
"""

import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from scp_ray.protocols import Float32Array, Float64Array, Int64Array
from scp_ray.records import PositionPrior, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.candidates import (
    BoolArray,
    ShardSearcher,
    check_query,
    lexical_candidates,
    nearest_candidates,
)
from scp_ray.retrieval.gap_selector import select_with_gap
from scp_ray.retrieval.positional_code import first_pass_vector, second_pass_vector
from scp_ray.retrieval.prior import prior_in_force
from scp_ray.retrieval.question import Question
from scp_ray.retrieval.score import ScoreTerms, Weights, score_chunks

# Rows fetched at first, at least and for each chunk wanted: the gap rule drops some, and ties need
# a look beyond the cut. A graph search costs by its ef, so fetching fewer would save little.
LEAST_DEPTH = 32
DEPTH_PER_CHUNK = 2
DEEPENING = 4
# The word list is read so much deeper than the other: every row has its value already, and its
# values fall faster.
WORDS_PER_VECTOR = 4


class _Search(NamedTuple):
    """What one pass looks for; ``words`` are the lexical scores of all rows of the shard."""

    shard: ShardSearcher
    query: Float32Array
    vector: Float32Array
    prior: PositionPrior | None
    params: QueryParams
    allowed: BoolArray | None
    words: Float64Array | None = None
    lexical_weight: float = 0.0


class _Ranking(NamedTuple):
    """The part of a shard's ranking that is final: whatever may rank above it is in it."""

    rows: Int64Array
    positions: Float64Array
    terms: ScoreTerms
    is_complete: bool


def first_pass(
    shard: ShardSearcher,
    query: Float32Array,
    params: QueryParams,
    *,
    allowed: BoolArray | None = None,
) -> list[ScoredChunk]:
    """Return the shard's best chunks by cosine.

    Args:
        shard: The shard.
        query: Unit vector, shape (dim,), float32.
        params: ``first_pass_candidates`` says how many, ``exact`` how they are found.
        allowed: Rows that may be returned, shape (num_chunks,); None = all.

    Returns:
        In rank order: cosine descending, then doc_id, then chunk_index; fewer than asked only
        where the shard has no more. The cut is exact among equal scores too, as far as the graph
        missed nothing.

    Raises:
        ConfigError: If ``query`` does not fit the index.

    Source: SCP-HNSW (arXiv:2606.01542), first pass.
    """
    check_query(query, shard.dim)
    search = _Search(shard, query, first_pass_vector(query), None, params, allowed)
    num_wanted = params.first_pass_candidates
    depth = _first_depth(num_wanted)
    while True:
        ranking = _rank(search, depth)
        if ranking.is_complete or len(ranking.rows) >= num_wanted:
            return list(islice(_ranked_chunks(shard, ranking), num_wanted))
        depth *= DEEPENING


def second_pass(
    shard: ShardSearcher,
    question: Question,
    prior: PositionPrior | None,
    params: QueryParams,
    *,
    allowed: BoolArray | None = None,
) -> Selection:
    """Return the shard's results: ranked with the prior, a gap apart, with every decision.

    Args:
        shard: The shard.
        question: Its vector and its words.
        prior: The first pass's prior; ``prior_in_force`` says whether position counts.
        params: ``top_k``, ``num_ranked``, ``min_index_gap``, the weights, ``prior_gate``,
            ``exact``.
        allowed: Rows that may be returned, shape (num_chunks,); None = all.

    Returns:
        Decisions in rank order down to the ``top_k``-th kept chunk. Where fewer could be kept
        every chunk of the shard has its decision, and the selection is ``exhausted``.

    Raises:
        ConfigError: If the question's vector does not fit the index.

    Source: SCP-HNSW (arXiv:2606.01542), second pass and selector; the words and the deepening are
        our choice.
    """
    check_query(question.vector, shard.dim)
    search = _second_search(shard, question, prior_in_force(prior, params), params, allowed)
    depth = _first_depth(max(params.top_k, params.num_ranked))
    num_deepenings = 0
    while True:
        ranking = _rank(search, depth)
        chunks = _ranked_chunks(shard, ranking)
        head = tuple(islice(chunks, params.num_ranked))
        decisions = select_with_gap(
            chain(head, chunks), top_k=params.top_k, min_index_gap=params.min_index_gap
        )
        num_kept = sum(decision.kept for decision in decisions)
        is_enough = num_kept == params.top_k and len(head) == params.num_ranked
        if ranking.is_complete or is_enough:
            exhausted = num_kept < params.top_k
            return Selection(tuple(decisions), exhausted, head, num_deepenings)
        depth *= DEEPENING
        num_deepenings += 1


def _second_search(
    shard: ShardSearcher,
    question: Question,
    prior: PositionPrior | None,
    params: QueryParams,
    allowed: BoolArray | None,
) -> _Search:
    weight = question.lexical_weight(params)
    vector = second_pass_vector(
        question.vector,
        prior,
        params.position_weight,
        shard.code_weight,
        lexical_weight=weight,
    )
    words = shard.lexical_scores(question.words) if question.words and weight else None
    return _Search(shard, question.vector, vector, prior, params, allowed, words, weight)


def _first_depth(num_wanted: int) -> int:
    return max(LEAST_DEPTH, DEPTH_PER_CHUNK * num_wanted)


def _rank(search: _Search, depth: int) -> _Ranking:
    shard, params, words = search.shard, search.params, search.words
    rows, bound = nearest_candidates(
        shard, search.vector, depth, exact=params.exact, allowed=search.allowed
    )
    if words is not None:
        lexical = lexical_candidates(words, WORDS_PER_VECTOR * depth, search.allowed)
        rows = np.union1d(rows, lexical.rows)
        bound += search.lexical_weight * lexical.bound
    positions = shard.positions(rows)
    terms = score_chunks(
        search.query,
        shard.embeddings(rows),
        positions,
        prior=search.prior,
        weights=Weights(params.position_weight, search.lexical_weight),
        lexical=None if words is None else words[rows],
    )
    # Rows are in the order of doc_id and chunk_index, so they decide ties.
    order = np.lexsort((rows, -terms.score))
    # An unseen chunk may have exactly the score of the bound, so a final one must be above it.
    num_final = int(np.searchsorted(-terms.score[order], -bound, side="left"))
    final = order[:num_final]
    return _Ranking(
        rows[final],
        positions[final],
        ScoreTerms(*(term[final] for term in terms)),
        is_complete=bound == -math.inf,
    )


def _ranked_chunks(shard: ShardSearcher, ranking: _Ranking) -> Iterator[ScoredChunk]:
    """Make records of the ranking, a few at a time, since a reader may stop early."""
    for start in range(0, len(ranking.rows), LEAST_DEPTH):
        part = slice(start, start + LEAST_DEPTH)
        rows = ranking.rows[part]
        columns = (ranking.positions, *ranking.terms, ranking.rows)
        values = zip(*(column[part].tolist() for column in columns), strict=True)
        for key, (position, score, semantic, lexical, positional, row) in zip(
            shard.keys(rows), values, strict=True
        ):
            yield ScoredChunk(
                key, position, score, semantic, lexical, positional, row, shard.shard_id
            )
