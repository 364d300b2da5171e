"""The minimum-index-gap selector: no two results that are too near in one document."""

from bisect import bisect_left, insort
from collections.abc import Iterable

from scp_ray.records import Decision, DecisionReason, ScoredChunk


class GapSelector:
    """Decides candidates one after another, best first.

    An instance belongs to one query and holds what was kept so far.

    Attributes:
        num_kept: How many chunks were kept.
    """

    def __init__(self, min_index_gap: int) -> None:
        """Start with nothing kept; ``min_index_gap`` >= 1, where 1 keeps every chunk."""
        self.num_kept = 0
        self._min_index_gap = min_index_gap
        self._kept_indexes: dict[str, list[int]] = {}
        self._kept_ranks: dict[tuple[str, int], int] = {}

    def decide(self, candidate: ScoredChunk) -> Decision:
        """Keep the candidate unless a kept chunk of its document is nearer than the gap.

        Args:
            candidate: Must not rank above a candidate that was decided before.
        """
        doc_id, chunk_index = candidate.key.doc_id, candidate.key.chunk_index
        near = self._too_near(doc_id, chunk_index)
        if near is not None:
            return Decision(candidate, DecisionReason.TOO_NEAR, near)
        insort(self._kept_indexes.setdefault(doc_id, []), chunk_index)
        self._kept_ranks[doc_id, chunk_index] = self.num_kept
        self.num_kept += 1
        return Decision(candidate, DecisionReason.KEPT)

    def _too_near(self, doc_id: str, chunk_index: int) -> int | None:
        kept = self._kept_indexes.get(doc_id)
        if kept is None:
            return None
        place = bisect_left(kept, chunk_index)
        # Kept chunks are a gap apart, so at most one on each side can be too near.
        near = [
            index
            for index in kept[max(place - 1, 0) : place + 1]
            if abs(index - chunk_index) < self._min_index_gap
        ]
        return min(near, key=lambda index: self._kept_ranks[doc_id, index], default=None)


def select_with_gap(
    candidates: Iterable[ScoredChunk], *, top_k: int, min_index_gap: int
) -> list[Decision]:
    """Go down the ranking and keep chunks that are a gap apart, until ``top_k`` are kept.

    Greedy within each document: a chunk is kept if its index differs by at least
    ``min_index_gap`` from every chunk of the document kept before.

    Args:
        candidates: In rank order (score descending, doc_id, chunk_index), each chunk once. No
            more of them are taken than are decided.
        top_k: Chunks wanted, >= 1.
        min_index_gap: Least distance, >= 1; 1 keeps every chunk.

    Returns:
        One decision a candidate, in rank order, down to the ``top_k``-th kept one; all of them
        where fewer could be kept.

    Source: SCP-HNSW (arXiv:2606.01542), minimum-index-gap selector. Several documents, ties and
        the audit are our choices.
    """
    selector = GapSelector(min_index_gap)
    decisions: list[Decision] = []
    for candidate in candidates:
        decisions.append(selector.decide(candidate))
        if selector.num_kept == top_k:
            break
    return decisions
