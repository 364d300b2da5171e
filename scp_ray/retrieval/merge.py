"""The router's side: one ranking out of those of the shards.

A chunk's score depends on that chunk alone and a document lies in one shard, so merging needs no
second look at scores or gaps, and gives what one shard with all documents would have given.
"""

from collections.abc import Iterable, Sequence
from heapq import merge
from itertools import islice

from scp_ray.records import Decision, QueryParams, ScoredChunk, Selection


def merge_first_pass(
    lists: Iterable[Sequence[ScoredChunk]], params: QueryParams
) -> list[ScoredChunk]:
    """Return the best ``first_pass_candidates`` of lists that are each in rank order.

    Order: score descending, then doc_id, then chunk_index.
    """
    ranked = merge(*lists, key=lambda chunk: chunk.rank_key)
    return list(islice(ranked, params.first_pass_candidates))


def merge_selections(selections: Iterable[Selection], params: QueryParams) -> Selection:
    """Merge the selections of shards that each looked for ``top_k`` results.

    Returns:
        Decisions in rank order (score descending, then doc_id, then chunk_index) down to the
        ``top_k``-th kept one, so that they do not depend on the number of shards; all of them,
        and ``exhausted``, where fewer were kept. The first ``num_ranked`` chunks of the ranking.
    """
    selections = list(selections)
    ranked = merge(
        *(selection.decisions for selection in selections),
        key=lambda decision: decision.candidate.rank_key,
    )
    decisions: list[Decision] = []
    num_kept = 0
    for decision in ranked:
        decisions.append(decision)
        num_kept += decision.kept
        if num_kept == params.top_k:
            break
    ranking = merge(
        *(selection.ranking for selection in selections), key=lambda chunk: chunk.rank_key
    )
    head = tuple(islice(ranking, params.num_ranked))
    num_deepenings = sum(selection.num_deepenings for selection in selections)
    return Selection(tuple(decisions), num_kept < params.top_k, head, num_deepenings)
