"""The least that a two-pass query can cost: the encoder once and each graph twice."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scp_ray.index.shard_files import GRAPH_FILE
from scp_ray.protocols import Float32Array
from scp_ray.records import PositionPrior
from scp_ray.retrieval.positional_code import first_pass_vector, second_pass_vector
from scp_ray.sections import IndexConfig, RetrievalConfig

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_ANY_PRIOR = PositionPrior(position=0.5, concentration=1.0)


class QueryFloor:
    """Bare libraries on the files of an index: nothing is scored, selected or fetched.

    Args:
        model: Encodes questions.
        shards: Folders of the shards' files.
        index: Gives ``ef_search`` and the code's weight.
        retrieval: Gives the number of hits and the position weight.
    """

    def __init__(
        self,
        model: "SentenceTransformer",
        shards: Sequence[Path],
        index: IndexConfig,
        retrieval: RetrievalConfig,
    ) -> None:
        faiss = _faiss()
        self._model = model
        self._graphs = [
            faiss.read_index(str(shard / GRAPH_FILE), faiss.IO_FLAG_MMAP_IFC) for shard in shards
        ]
        self._code_weight = index.positional_code_weight
        self._retrieval = retrieval
        self._depth = retrieval.first_pass_candidates
        ef_search = max(index.ef_search, self._depth)
        self._parameters = faiss.SearchParametersHNSW(efSearch=ef_search)

    def encode(self, question: str) -> Float32Array:
        """Return the question's vector, shape (dim,)."""
        (vector,) = self._model.encode([question], show_progress_bar=False)
        query: Float32Array = vector
        return query

    def search(self, query: Float32Array) -> None:
        """Search every graph once for each pass."""
        second = second_pass_vector(
            query, _ANY_PRIOR, self._retrieval.position_weight, self._code_weight
        )
        for vector in (first_pass_vector(query), second):
            for graph in self._graphs:
                graph.search(vector[np.newaxis], self._depth, params=self._parameters)


def _faiss() -> Any:  # noqa: ANN401 - its stubs know half of it
    import faiss

    return faiss
