"""The HNSW graph of one shard. The only module that spells FAISS.

FAISS numbers nodes from 0 in the order they were added, keeps bottom-level links first, and reads
``NO_LINK`` as the end of a node's links.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from scp_ray.config import IndexConfig
from scp_ray.errors import IndexFormatError, IndexQualityError
from scp_ray.index.reachability import LinkTable, link_unreached
from scp_ray.protocols import Float32Array, Int64Array

NORM_TOLERANCE = 1e-3
_BLOCK_ROWS = 65_536


class HnswGraph:
    """A navigable graph over vectors of norm 1, ranked by inner product.

    Searching changes nothing, so threads may share an instance.

    Attributes:
        num_nodes: Vectors in the graph.
        dim: Length of a vector.
    """

    def __init__(self, index: Any) -> None:  # noqa: ANN401 - FAISS has no types
        self._index = index
        self.num_nodes = int(index.ntotal)
        self.dim = int(index.d)

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
        faiss = _faiss()
        parameters = faiss.SearchParametersHNSW(efSearch=max(ef_search, depth))
        if len(queries) == 1:  # FAISS uses one thread for one query
            products, nodes = self._index.search(queries, depth, params=parameters)
        else:
            with _threads(num_threads):
                products, nodes = self._index.search(queries, depth, params=parameters)
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
