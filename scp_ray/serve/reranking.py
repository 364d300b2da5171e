"""The cross-encoder's part in one query: it reads the head of the ranking, and its order counts."""

from collections.abc import Mapping

from scp_ray.config import Settings
from scp_ray.embedding.cross_encoder import load_cross_encoder
from scp_ray.errors import ConfigError, EncoderError
from scp_ray.protocols import Reranker
from scp_ray.records import ChunkKey, QueryParams, ScoredChunk, Selection
from scp_ray.retrieval.rerank import RerankedChunk, RerankedSelection, rerank, select_reranked
from scp_ray.serve.models import QueryRequest
from scp_ray.serve.query_plan import QueryPlan


def load_reranker(settings: Settings) -> Reranker | None:
    """Load the cross-encoder that the settings name, if they name one.

    Raises:
        EncoderError: If it is not here or cannot be used.
    """
    if settings.rerank.model is None:
        return None
    threads = settings.embedding.num_threads or 1
    return load_cross_encoder(settings.rerank.model, settings.embedding, num_threads=threads)


def reranking_of(
    request: QueryRequest, plan: QueryPlan, reranker: Reranker | None
) -> "Reranking | None":
    """Return the rerank that a request is to have, if any."""
    if reranker is None or request.query is None or plan.rerank_candidates == 0:
        return None
    return Reranking(reranker, request.query, plan.rerank_candidates)


class Reranking:
    """The rerank of one question. The head is read once, however long the ranking gets.

    Args:
        reranker: The cross-encoder.
        question: The question's text.
        num_candidates: Chunks of the ranking to read, >= 1.
    """

    def __init__(self, reranker: Reranker, question: str, num_candidates: int) -> None:
        self._reranker = reranker
        self._question = question
        self._num_candidates = num_candidates
        self._reranked: list[RerankedChunk] = []

    @property
    def scores(self) -> dict[ChunkKey, float]:
        """What the cross-encoder gave to each chunk that it read."""
        return {hit.chunk.key: hit.rerank_score for hit in self._reranked}

    def head(self, selection: Selection) -> list[ScoredChunk]:
        """Return the chunks to read."""
        return list(selection.ranking[: self._num_candidates])

    def read(self, selection: Selection, texts: Mapping[ChunkKey, str]) -> None:
        """Score the head; a chunk without a text, because its group left the query, is not read.

        Raises:
            ConfigError: If the question is too long for the cross-encoder.
        """
        head = [chunk for chunk in self.head(selection) if chunk.key in texts]
        try:
            scores = self._reranker.score(self._question, [texts[chunk.key] for chunk in head])
        except EncoderError as error:
            message = f"query: {error}"
            raise ConfigError(message) from error
        self._reranked = rerank(head, scores)

    def select(self, selection: Selection, params: QueryParams) -> RerankedSelection:
        """Apply the gap rule to the new order; ``needs_more`` asks for a longer ranking."""
        read = {hit.chunk.key for hit in self._reranked}
        rest = [chunk for chunk in selection.ranking if chunk.key not in read]
        is_complete = len(selection.ranking) < params.num_ranked
        return select_reranked(self._reranked, rest, params, is_complete=is_complete)
