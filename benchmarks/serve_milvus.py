"""Milvus Lite behind a minimal HTTP endpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pymilvus import DataType, MilvusClient  # type: ignore[import-not-found]

from benchmarks.serve_endpoint import FIELDS, GRAPH, Hit, Vector, read_chunks, run_endpoint

_NAME = "chunks"
_BATCH = 1000
_ID_CHARACTERS = 512


class MilvusLite:
    """A collection with a graph, in a file."""

    ladder = tuple({"ef": ef} for ef in (32, 64, 128, 256, 512, 1024))

    def __init__(self, plain: Path, store: Path) -> None:
        is_filled = store.exists()
        store.mkdir(parents=True, exist_ok=True)
        self._client = MilvusClient(str(store / "chunks.db"))
        if not is_filled:
            _fill(self._client, plain)
        self._client.load_collection(_NAME)
        self._setting: Mapping[str, int] = self.ladder[-1]

    def use(self, setting: Mapping[str, int]) -> None:
        """Search with this ``ef``."""
        self._setting = setting

    def search(self, vector: Vector, top_k: int) -> list[Hit]:
        """Return the nearest chunks by cosine, best first."""
        (found,) = self._client.search(
            _NAME,
            data=[vector.tolist()],
            limit=top_k,
            output_fields=list(FIELDS),
            search_params={"metric_type": "COSINE", "params": dict(self._setting)},
        )
        return [Hit(score=one["distance"], **one["entity"]) for one in found]


def _fill(client: Any, plain: Path) -> None:  # noqa: ANN401 - the library has no types here
    chunks, vectors = read_chunks(plain)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_ID_CHARACTERS)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=vectors.shape[1])
    graph = client.prepare_index_params()
    parameters = {"M": GRAPH["m"], "efConstruction": GRAPH["ef_construction"]}
    graph.add_index("vector", index_type="HNSW", metric_type="COSINE", params=parameters)
    client.create_collection(_NAME, schema=schema, index_params=graph)
    rows = [
        {**chunk, "vector": vector.tolist()} for chunk, vector in zip(chunks, vectors, strict=True)
    ]
    for start in range(0, len(rows), _BATCH):
        client.insert(_NAME, rows[start : start + _BATCH])
    client.flush(_NAME)


if __name__ == "__main__":
    run_endpoint(MilvusLite)
