"""Documents cut into chunks as an index would, and the questions that they can answer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scp_ray.corpus.chunker import chunk_spans
from scp_ray.embedding.factory import load_tokenizer
from scp_ray.evaluation.queries import Query
from scp_ray.sections import ChunkingConfig, EmbeddingConfig


@dataclass(frozen=True, slots=True)
class ChunkedText:
    """A document and its chunks.

    Attributes:
        doc_id: The document.
        text: Its text, or the beginning of it.
        spans: Half-open characters of the chunks, in order.
    """

    doc_id: str
    text: str
    spans: tuple[tuple[int, int], ...]

    @property
    def chunks(self) -> list[str]:
        """Texts of the chunks, in order."""
        return [self.text[start:end] for start, end in self.spans]


def read_chunked(
    corpus: Path,
    doc_ids: Sequence[str],
    embedding: EmbeddingConfig,
    chunking: ChunkingConfig,
    max_characters: int = 0,
) -> list[ChunkedText]:
    """Read text files and cut them into windows of the encoder's tokens.

    Args:
        corpus: Folder of the files.
        doc_ids: Their names.
        embedding: The encoder.
        chunking: Sizes of the windows.
        max_characters: Only so many of each text are kept; 0 = all.
    """
    tokenizer = load_tokenizer(embedding)
    longest = chunking.chunk_size_tokens + chunking.prefix_budget_tokens
    texts = []
    for doc_id in doc_ids:
        text = (corpus / doc_id).read_bytes().decode("utf-8")[: max_characters or None]
        spans = chunk_spans(text, tokenizer, chunking, longest)
        bounds = tuple((span.char_start, span.char_end) for span in spans)
        texts.append(ChunkedText(doc_id, text, bounds))
    return texts


def most_asked(queries: Sequence[Query], num_documents: int) -> list[str]:
    """Return the documents that most questions are about, ties by doc_id, most first."""
    counts = Counter(span.doc_id for query in queries for span in query.relevant[:1])
    ranked = sorted(counts, key=lambda doc_id: (-counts[doc_id], doc_id))
    return ranked[:num_documents]


def answered_by(queries: Sequence[Query], texts: Sequence[ChunkedText]) -> list[Query]:
    """Return the questions whose evidence lies wholly in the texts, in order."""
    lengths = {text.doc_id: len(text.text) for text in texts}
    return [
        query
        for query in queries
        if query.relevant
        and all(span.char_end <= lengths.get(span.doc_id, 0) for span in query.relevant)
    ]


def device_of(query: Query) -> str:
    """Return the device that a question names: what stands before its first colon."""
    name, colon, _ = query.query.partition(":")
    if not colon:
        message = f"question {query.query_id} names no device"
        raise ValueError(message)
    return name.strip()
