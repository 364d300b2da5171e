"""Which chunks of a ranking become results: the gap rule, and what it is compared with."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np

from scp_ray.protocols import Float32Array, Float64Array, Int64Array
from scp_ray.records import ChunkKey, ScoredChunk
from scp_ray.retrieval.gap_selector import select_with_gap

MMR_CANDIDATES = 200
"""Chunks of the ranking that MMR chooses among; no more can be wanted of it."""


class Selector(StrEnum):
    """A rule by which results are taken from a ranking."""

    TOP_K = "top_k"
    GAP = "gap"
    MMR = "mmr"
    MAX_PER_DOCUMENT = "max_per_document"
    NEIGHBOURS = "neighbours"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class SelectorParams:
    """How a rule selects.

    Attributes:
        selector: The rule.
        min_index_gap: Of ``gap``, >= 1; 1 keeps every chunk.
        mmr_lambda: Of ``mmr``, in [0, 1]; 1 is the ranking as it is.
        max_per_document: Of ``max_per_document``, >= 1.
    """

    selector: Selector
    min_index_gap: int = 2
    mmr_lambda: float = 0.7
    max_per_document: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """A ranking over the chunks of a corpus.

    Attributes:
        order: Row of each chunk, best first, each once, shape (n,).
        scores: Score of every row of the corpus, shape (n,).
        doc_ids: Document of every row. The rows of a document lie together, in reading order.
        chunk_index: Place of every row in its document, shape (n,).
        embeddings: Unit vector of every row, shape (n, d).
    """

    order: Int64Array
    scores: Float64Array
    doc_ids: Sequence[str]
    chunk_index: Int64Array
    embeddings: Float32Array


def select(ranking: RankedRows, num_wanted: int, params: SelectorParams) -> list[int]:
    """Return the rows that a rule takes from a ranking, in its order.

    Args:
        ranking: All chunks.
        num_wanted: Rows wanted, >= 1; fewer only where the rule finds no more.
        params: The rule.

    Returns:
        Distinct rows. Fewer wanted rows are the first of more. ``top_k`` and ``merge`` take the
        same ones: they differ in how a context is made of them.
    """
    head = partial(_head, ranking, num_wanted)
    rules: dict[Selector, Callable[[], list[int]]] = {
        Selector.TOP_K: head,
        Selector.MERGE: head,
        Selector.GAP: lambda: _with_gap(ranking, num_wanted, params.min_index_gap),
        Selector.MMR: lambda: _by_marginal_relevance(ranking, num_wanted, params.mmr_lambda),
        Selector.MAX_PER_DOCUMENT: lambda: _few_per_document(
            ranking, num_wanted, params.max_per_document
        ),
        Selector.NEIGHBOURS: lambda: _with_neighbours(ranking, num_wanted),
    }
    return rules[params.selector]()


def _head(ranking: RankedRows, num_wanted: int) -> list[int]:
    return _rows(ranking.order[:num_wanted])


def _rows(order: Int64Array) -> list[int]:
    rows: list[int] = order.tolist()
    return rows


def _with_gap(ranking: RankedRows, num_wanted: int, min_index_gap: int) -> list[int]:
    decisions = select_with_gap(_chunks(ranking), top_k=num_wanted, min_index_gap=min_index_gap)
    return [decision.candidate.row for decision in decisions if decision.kept]


def _chunks(ranking: RankedRows) -> Iterator[ScoredChunk]:
    for row in _rows(ranking.order):
        key = ChunkKey(ranking.doc_ids[row], int(ranking.chunk_index[row]))
        yield ScoredChunk(key, 0.0, float(ranking.scores[row]), 0.0, 0.0, 0.0, row, 0)


def _by_marginal_relevance(ranking: RankedRows, num_wanted: int, weight: float) -> list[int]:
    """Take the chunk with the most of score and of being unlike what was taken, again and again.

    Source: Carbonell and Goldstein (1998), MMR, over the head of the ranking; ties go to the
        better rank.
    """
    pool = ranking.order[:MMR_CANDIDATES]
    vectors = ranking.embeddings[pool].astype(np.float64)
    scores = ranking.scores[pool]
    likeness = np.zeros(len(pool))  # the first one is the best: nothing was taken yet
    is_left = np.ones(len(pool), dtype=np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(num_wanted, len(pool)):
        gains = np.where(is_left, weight * scores - (1.0 - weight) * likeness, -np.inf)
        if not chosen:
            gains[1:] = -np.inf
        best = int(np.argmax(gains))
        is_left[best] = False
        # Summed row by row, as scores are: a matrix product's last bit depends on its blocking.
        cosines = np.add.reduce(vectors * vectors[best], axis=-1)
        likeness = np.maximum(likeness, cosines) if chosen else cosines
        chosen.append(int(pool[best]))
    return chosen


def _few_per_document(ranking: RankedRows, num_wanted: int, most: int) -> list[int]:
    counts: dict[str, int] = {}
    chosen: list[int] = []
    for row in _rows(ranking.order):
        doc_id = ranking.doc_ids[row]
        if counts.get(doc_id, 0) == most:
            continue
        counts[doc_id] = counts.get(doc_id, 0) + 1
        chosen.append(row)
        if len(chosen) == num_wanted:
            break
    return chosen


def _with_neighbours(ranking: RankedRows, num_wanted: int) -> list[int]:
    """Take each hit, then the chunk before and the chunk after it."""
    chosen: dict[int, None] = {}
    for row in _rows(ranking.order):
        for near in (row, row - 1, row + 1):
            if 0 <= near < len(ranking.order) and ranking.doc_ids[near] == ranking.doc_ids[row]:
                chosen.setdefault(near)
        if len(chosen) >= num_wanted:
            break
    return list(chosen)[:num_wanted]
