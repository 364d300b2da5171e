"""The cross-encoder's part in one query: it reads the head of the ranking."""

from collections.abc import Mapping, Sequence

from scp_ray.config import Settings
from scp_ray.embedding.cross_encoder import load_cross_encoder
from scp_ray.protocols import Reranker
from scp_ray.records import ChunkKey, ScoredChunk
from scp_ray.retrieval.rerank import RerankedChunk, rerank
from scp_ray.serve.models import DegradedModel


def load_reranker(settings: Settings) -> Reranker | None:
    """Load the cross-encoder that the settings name, if they name one.

    Raises:
        EncoderError: If it is not here or cannot be used.
    """
    if settings.rerank.model is None:
        return None
    threads = settings.embedding.num_threads or 1
    return load_cross_encoder(settings.rerank.model, settings.embedding, num_threads=threads)


def read_again(
    reranker: Reranker,
    question: str,
    chunks: Sequence[ScoredChunk],
    texts: Mapping[ChunkKey, str],
) -> list[RerankedChunk]:
    """Score chunks with the cross-encoder; returns them in its order.

    Args:
        reranker: The cross-encoder.
        question: The question's text.
        chunks: The head of the ranking, in rank order.
        texts: What was embedded of each chunk; one without, because its group left the query, is
            not read.

    Raises:
        EncoderError: If the question is too long for the cross-encoder.
    """
    head = [chunk for chunk in chunks if chunk.key in texts]
    return rerank(head, reranker.score(question, [texts[chunk.key] for chunk in head]))


def not_reranked(reason: object) -> DegradedModel:
    """Say in a reply that the order is that of the first scores, and why."""
    return DegradedModel(group="rerank", reason=str(reason))
