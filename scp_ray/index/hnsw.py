"""The HNSW graph of one shard. The only module that spells FAISS.

FAISS numbers nodes from 0 in the order they were added, keeps bottom-level links first, and reads
``NO_LINK`` as the end of a node's links.

A walk starts at the best of the upper levels' nodes, found by a scan of them, and not where a
greedy descent ends: among near-duplicate documents the descent gets stuck, and then a question
finds nothing that it should. On 100,000 vectors in 3,175 tight clusters, m 32, ef 128, real
questions: recall@10 0.972 to 0.987 after a descent, with 5 to 12 of 446 questions that found none
of their ten, 0.995 to 0.998 and none or one after a scan, which takes 0.1 ms. The bottom level,
its construction and its walk are FAISS's own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scp_ray.errors import IndexFormatError, IndexQualityError
from scp_ray.index.reachability import NO_LINK, LinkTable, link_unreached
from scp_ray.protocols import Float32Array, Int64Array
from scp_ray.sections import IndexConfig

NORM_TOLERANCE = 1e-3
MOST_ENTRIES = 4096
STARTS_PER_WALK = 4
_ONE_WALK = 2  # FAISS's search_type for one walk from all starts together
_BLOCK_ROWS = 65_536


class HnswGraph:
    """A navigable graph over vectors of norm 1, ranked by inner product.

    Searching changes nothing, so threads may share an instance. An instance holds copies of the
    vectors that walks start from, at most 4,096.

    Attributes:
        num_nodes: Vectors in the graph.
        dim: Length of a vector.
    """

    def __init__(self, index: Any) -> None:  # noqa: ANN401 - FAISS has no types
        self._index = index
        self.num_nodes = int(index.ntotal)
        self.dim = int(index.d)
        self._entries, self._entry_index = self._upper_nodes()

    @classmethod
    def build(cls, vectors: Float32Array, config: IndexConfig) -> "HnswGraph":
        """Build the graph, and link what its construction left unreachable.

        With ``build_threads`` 1 the same vectors give the same graph, byte for byte.

        Args:
            vectors: Shape (n, d), float32, of norm 1, in node order. They are copied.
            config: ``m``, ``ef_construction`` and ``build_threads``.

        Raises:
            IndexQualityError: If a vector's norm is not 1: inner product would not rank by angle.
        """
        faiss = _faiss()
        _check_norms(vectors)
        index = faiss.IndexHNSWFlat(vectors.shape[1], config.m, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = config.ef_construction
        with _threads(config.build_threads):
            index.add(vectors)
        graph = cls(index)
        link_unreached(graph.link_table(), graph.vectors)
        return graph

    @classmethod
    def open(cls, path: Path) -> "HnswGraph":
        """Map a graph's file into memory, read-only; processes of a machine share its pages.

        Raises:
            IndexFormatError: If the file is not such a graph.
        """
        faiss = _faiss()
        try:
            index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError as error:
            message = f"{path}: not a FAISS index: {error}"
            raise IndexFormatError(message) from error
        is_inner_product = index.metric_type == faiss.METRIC_INNER_PRODUCT
        if not (isinstance(index, faiss.IndexHNSWFlat) and is_inner_product):
            message = (
                f"{path}: expected an HNSW graph for inner product, not {type(index).__name__}"
            )
            raise IndexFormatError(message)
        return cls(index)

    def write(self, path: Path) -> None:
        """Write the graph with its vectors to one file."""
        faiss = _faiss()
        faiss.write_index(self._index, str(path))

    def search(
        self, queries: Float32Array, depth: int, *, ef_search: int, num_threads: int = 1
    ) -> tuple[Float32Array, Int64Array]:
        """Return the nearest nodes that a walk of the graph finds.

        Args:
            queries: Shape (n, d), float32.
            depth: Nodes wanted of each, >= 1.
            ef_search: Candidates of the walk; ``depth`` where that is more (faiss#1244).
            num_threads: Threads to share the queries.

        Returns:
            Inner products, descending, and nodes, each of shape (n, depth); -1 and a meaningless
            product where fewer were found.
        """
        products = np.empty((len(queries), depth), dtype=np.float32)
        nodes = np.full((len(queries), depth), NO_LINK, dtype=np.int64)
        if self.num_nodes == 0:
            return products, nodes
        faiss = _faiss()
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        num_starts = min(STARTS_PER_WALK, len(self._entries))
        # FAISS would start a team of threads for one query too (faiss#2502).
        with _threads(min(num_threads, len(queries))):
            start_products, places = self._entry_index.search(queries, num_starts)
            starts = self._entries[places]
            self._index.search_level_0(
                len(queries),
                faiss.swig_ptr(queries),
                depth,
                faiss.swig_ptr(starts),
                faiss.swig_ptr(start_products),
                faiss.swig_ptr(products),
                faiss.swig_ptr(nodes),
                num_starts,
                _ONE_WALK,
                faiss.SearchParametersHNSW(efSearch=max(ef_search, depth)),
            )
        return products, nodes

    @property
    def vectors(self) -> Float32Array:
        """The vectors of the nodes, shape (num_nodes, d); a view, valid while the graph is."""
        faiss = _faiss()
        if self.num_nodes == 0:
            return np.empty((0, self.dim), dtype=np.float32)
        storage = faiss.downcast_index(self._index.storage)
        values: Float32Array = faiss.rev_swig_ptr(storage.get_xb(), self.num_nodes * self.dim)
        return values.reshape(self.num_nodes, self.dim)

    def link_table(self) -> LinkTable:
        """Return the bottom-level links; ``slots`` is a view, valid while the graph is."""
        faiss = _faiss()
        hnsw = self._index.hnsw
        starts = faiss.vector_to_array(hnsw.offsets)[:-1].astype(np.int64)
        num_slots = int(hnsw.neighbors.size())
        slots = (
            faiss.rev_swig_ptr(hnsw.neighbors.data(), num_slots)
            if num_slots
            else np.empty(0, dtype=np.int32)
        )
        return LinkTable(slots, starts, int(hnsw.nb_neighbors(0)), int(hnsw.entry_point))

    def _upper_nodes(self) -> tuple[npt.NDArray[np.int32], Any]:
        """Return nodes to start from, highest level first, and a flat index over them."""
        faiss = _faiss()
        levels = faiss.vector_to_array(self._index.hnsw.levels)
        upper = np.flatnonzero(levels > 1)
        if len(upper) == 0:
            upper = np.arange(min(1, self.num_nodes))
        by_level = upper[np.argsort(-levels[upper], kind="stable")]
        entries = by_level[:MOST_ENTRIES].astype(np.int32)
        flat = faiss.IndexFlatIP(self.dim)
        flat.add(self.vectors[entries])
        return entries, flat


def _faiss() -> Any:  # noqa: ANN401 - its stubs know half of it
    import faiss

    return faiss


def _check_norms(vectors: Float32Array) -> None:
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS]
        norms = np.sqrt(np.einsum("ij,ij->i", block, block))
        wrong = np.flatnonzero(~(np.abs(norms - 1.0) <= NORM_TOLERANCE))  # also catches NaN
        if len(wrong):
            place = int(wrong[0])
            message = f"vector {start + place} has norm {norms[place]}, all must have norm 1"
            raise IndexQualityError(message)


@contextmanager
def _threads(num_threads: int) -> Iterator[None]:
    """Set the threads of FAISS for calls of this thread, and put back what was."""
    faiss = _faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(num_threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
