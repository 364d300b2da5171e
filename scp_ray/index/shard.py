"""One shard, opened for searching: its files mapped into memory, read-only."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from scp_ray.errors import IndexFormatError
from scp_ray.index import shard_files
from scp_ray.index.columns import ShardColumns, StoredChunk
from scp_ray.index.hnsw import HnswGraph
from scp_ray.index.lexical import LexicalIndex, read_postings
from scp_ray.index.node_rows import NodeRows
from scp_ray.protocols import Float32Array, Float64Array, Int64Array
from scp_ray.records import ChunkKey
from scp_ray.retrieval.bm25 import LexicalQuery
from scp_ray.retrieval.candidates import BoolArray
from scp_ray.retrieval.exact_scan import largest, scan_products
from scp_ray.retrieval.filters import FilterColumn
from scp_ray.retrieval.positional_code import CODE_DIM, positional_code

__all__ = ["Shard", "StoredChunk"]

# A walk of the graph for more than this share of the shard takes about as long as a scan of it
# (100,000 vectors of 384 numbers: both 16 ms at a depth of 4,000).
SCAN_SHARE = 1 / 32
# Of a filter that leaves less than this share of the rows, just those are read. A filtered search
# is always a scan: a walk of the graph that passes through hidden rows finds 0.74 of the true ten
# where they lie around the question (50,000 vectors, shares of 0.25 to 0.95 allowed, four times
# the candidates).
NARROW_SHARE = 1 / 4


class Shard:
    """A shard that can be searched.

    Implements ``retrieval.candidates.ShardSearcher`` and ``retrieval.filters.FilterableShard``.
    Columns, vectors and links stay in the page cache, which the processes of a machine share.
    Threads may share an instance.

    Attributes:
        shard_id: Its number.
        num_chunks: Its rows.
        num_documents: Its documents.
        dim: Length of an embedding.
        code_weight: Weight a of the positional code in its graph.
    """

    def __init__(self, folder: Path, *, shard_id: int, ef_search: int) -> None:
        """Map the files of a shard, as ``build.build_shard`` wrote them.

        Args:
            folder: Holds the files; their checksums were verified.
            shard_id: The shard's number.
            ef_search: Least number of candidates of a graph search.

        Raises:
            IndexFormatError: If a file is missing, malformed, or does not fit the others.
        """
        rows = shard_files.read_chunks(folder)
        documents = shard_files.read_documents(folder)
        nodes = shard_files.read_nodes(folder)
        self.shard_id = shard_id
        self.num_chunks = rows.num_rows
        self.num_documents = documents.num_rows
        self.code_weight = shard_files.code_weight_of(rows)
        self._embeddings = shard_files.embedding_matrix(rows)
        self.dim = self._embeddings.shape[1]
        self._columns = ShardColumns(rows, documents)
        self._graph = HnswGraph.open(folder / shard_files.GRAPH_FILE)
        self._lexical = LexicalIndex(read_postings(folder))
        self._ef_search = ef_search
        self._check_fit(folder, nodes)
        self._node_rows = NodeRows(nodes, self._graph.num_nodes)

    def nearest(
        self, vector: Float32Array, depth: int, *, exact: bool, allowed: BoolArray | None = None
    ) -> tuple[Float32Array, Int64Array]:
        """Implement ``ShardSearcher.nearest``; a deep or filtered search is a scan."""
        if exact or allowed is not None or depth > SCAN_SHARE * self._graph.num_nodes:
            return self._scan(vector, depth, allowed)
        products, nodes = self._graph.search(vector[np.newaxis], depth, ef_search=self._ef_search)
        is_found = nodes[0] >= 0
        return self._node_rows.expand(products[0, is_found], nodes[0, is_found])

    def _scan(
        self, vector: Float32Array, depth: int, allowed: BoolArray | None
    ) -> tuple[Float32Array, Int64Array]:
        """Scan the rows that are allowed, or all where picking those out would take longer."""
        rows = None if allowed is None else np.flatnonzero(allowed)
        if rows is None or len(rows) > NARROW_SHARE * self.num_chunks:
            products = scan_products(self._embeddings, self._codes, vector, self.code_weight)
            return largest(products, depth, allowed)
        products = scan_products(
            self._embeddings[rows], self._codes[rows], vector, self.code_weight
        )
        values, places = largest(products, depth)
        return values, rows[places]

    def keys(self, rows: Int64Array) -> list[ChunkKey]:
        """Implement ``ShardSearcher.keys``."""
        return self._columns.keys(rows)

    def positions(self, rows: Int64Array) -> Float64Array:
        """Implement ``ShardSearcher.positions``."""
        return self._columns.positions(rows)

    def embeddings(self, rows: Int64Array) -> Float32Array:
        """Implement ``ShardSearcher.embeddings``."""
        return self._embeddings[rows]

    def lexical_scores(self, words: LexicalQuery) -> Float64Array:
        """Implement ``ShardSearcher.lexical_scores``."""
        return self._lexical.scores(words)

    def filter_column(self, field: str) -> FilterColumn:
        """Implement ``FilterableShard.filter_column``."""
        return self._columns.filter_column(field)

    def stored_chunks(self, rows: Sequence[int]) -> list[StoredChunk]:
        """Return what is stored of some rows, in the order given."""
        return self._columns.stored_chunks(rows)

    @cached_property
    def _codes(self) -> Float32Array:
        positions = self.positions(np.arange(self.num_chunks))
        return positional_code(positions).astype(np.float32)

    def _check_fit(self, folder: Path, nodes: Int64Array) -> None:
        num_nodes = self._graph.num_nodes
        fits = (
            self._columns.is_consistent
            and self._graph.dim == self.dim + CODE_DIM
            and len(nodes) == self.num_chunks
            and self._lexical.num_chunks == self.num_chunks
            and np.all((nodes >= 0) & (nodes < num_nodes))
            and np.bincount(nodes, minlength=num_nodes).all()
        )
        if not fits:
            message = f"{folder}: its files are not of one shard"
            raise IndexFormatError(message)
