"""A shard in plain arrays: exact search, no files, no FAISS."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from scp_ray.protocols import Float32Array, Float64Array, Int64Array
from scp_ray.records import ChunkKey, MetadataValue
from scp_ray.retrieval.bm25 import MOST_COUNTED, LexicalQuery, length_norms, term_scores
from scp_ray.retrieval.candidates import BoolArray
from scp_ray.retrieval.exact_scan import largest, scan_products
from scp_ray.retrieval.filters import FilterColumn
from scp_ray.retrieval.pairs import pairs_of
from scp_ray.retrieval.positional_code import position, positional_code


class ExactIndex:
    """A shard in memory; implements ``retrieval.candidates.ShardSearcher``, always exact.

    Args:
        documents: For each doc_id the embeddings of its chunks, shape (num_chunks, dim), float32.
        dim: Length of an embedding, for a shard without documents too.
        shard_id: Number of the shard.
        code_weight: Weight a of the positional code.
        terms: For each doc_id the terms of its chunks; chunks of other documents have none.
        fields: Fields for filters, one value a row, in the order of doc_id and chunk_index.
    """

    def __init__(
        self,
        documents: Mapping[str, Float32Array],
        *,
        dim: int,
        shard_id: int = 0,
        code_weight: float = 0.2,
        terms: Mapping[str, Sequence[Sequence[str]]] | None = None,
        fields: Mapping[str, Sequence[MetadataValue | None]] | None = None,
    ) -> None:
        ordered = sorted(documents.items())
        counts = [len(embeddings) for _, embeddings in ordered]
        self._keys = [
            ChunkKey(doc_id, index)
            for (doc_id, _), count in zip(ordered, counts, strict=True)
            for index in range(count)
        ]
        self._embeddings = np.concatenate(
            [np.empty((0, dim), dtype=np.float32), *(embeddings for _, embeddings in ordered)]
        )
        indexes = np.array([key.chunk_index for key in self._keys], dtype=np.int64)
        self._positions = position(indexes, np.repeat(np.array(counts, dtype=np.int64), counts))
        known_terms = terms or {}
        terms_of_rows = [
            known_terms[key.doc_id][key.chunk_index] if key.doc_id in known_terms else ()
            for key in self._keys
        ]
        self._lengths = np.array([len(words) for words in terms_of_rows], dtype=np.int32)
        self._terms = [
            Counter([*words, *(pair for _, _, pair in pairs_of(words))]) for words in terms_of_rows
        ]
        self._fields = {"doc_id": [key.doc_id for key in self._keys], **(fields or {})}
        self.shard_id = shard_id
        self.num_chunks = len(self._keys)
        self.dim = dim
        self.code_weight = code_weight

    def nearest(
        self,
        vector: Float32Array,
        depth: int,
        *,
        exact: bool,  # noqa: ARG002 - it always is
        allowed: BoolArray | None = None,
    ) -> tuple[Float32Array, Int64Array]:
        """Implement ``ShardSearcher.nearest``."""
        codes = positional_code(self._positions).astype(np.float32)
        products = scan_products(self._embeddings, codes, vector, self.code_weight)
        return largest(products, depth, allowed)

    def keys(self, rows: Int64Array) -> list[ChunkKey]:
        """Implement ``ShardSearcher.keys``."""
        return [self._keys[row] for row in rows.tolist()]

    def positions(self, rows: Int64Array) -> Float64Array:
        """Implement ``ShardSearcher.positions``."""
        return self._positions[rows]

    def embeddings(self, rows: Int64Array) -> Float32Array:
        """Implement ``ShardSearcher.embeddings``."""
        embeddings: Float32Array = self._embeddings[rows]
        return embeddings

    def lexical_scores(self, words: LexicalQuery) -> Float64Array:
        """Implement ``ShardSearcher.lexical_scores``."""
        norms = length_norms(self._lengths, words)
        scores = np.zeros(self.num_chunks)
        for term, weight in words.weights.items():
            counts = [min(terms[term], MOST_COUNTED) for terms in self._terms]
            scores += term_scores(np.array(counts, dtype=np.uint8), norms, weight, words)
        return scores

    def filter_column(self, field: str) -> FilterColumn:
        """Implement ``retrieval.filters.FilterableShard``."""
        values = self._fields.get(field, [None] * self.num_chunks)
        return FilterColumn(values, np.arange(self.num_chunks))
