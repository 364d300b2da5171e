"""LanceDB behind a minimal HTTP endpoint."""

from collections.abc import Mapping
from pathlib import Path

import lancedb  # type: ignore[import-not-found]
import pyarrow as pa
from lancedb.index import HnswSq  # type: ignore[import-not-found]

from benchmarks.serve_endpoint import FIELDS, GRAPH, Hit, Vector, read_chunks, run_endpoint

_NAME = "chunks"


class LanceDb:
    """A table with a graph of 8-bit vectors, whose best are scored again with the whole ones."""

    ladder = (
        {"ef": 32, "refine_factor": 2},
        {"ef": 64, "refine_factor": 2},
        {"ef": 128, "refine_factor": 2},
        {"ef": 256, "refine_factor": 2},
        {"ef": 256, "refine_factor": 4},
        {"ef": 512, "refine_factor": 8},
        {"ef": 1024, "refine_factor": 16},
    )

    def __init__(self, plain: Path, store: Path) -> None:
        is_filled = store.exists()
        database = lancedb.connect(str(store))
        self._table = database.open_table(_NAME) if is_filled else _filled(database, plain)
        self._setting: Mapping[str, int] = self.ladder[-1]

    def use(self, setting: Mapping[str, int]) -> None:
        """Search with these ``ef`` and ``refine_factor``."""
        self._setting = setting

    def search(self, vector: Vector, top_k: int) -> list[Hit]:
        """Return the nearest chunks by cosine, best first."""
        query = (
            self._table.search(vector)
            .distance_type("cosine")
            .ef(self._setting["ef"])
            .refine_factor(self._setting["refine_factor"])
            .select([*FIELDS, "_distance"])
            .limit(top_k)
        )
        return [Hit(score=1.0 - row.pop("_distance"), **row) for row in query.to_list()]


def _filled(database: "lancedb.DBConnection", plain: Path) -> "lancedb.table.Table":
    chunks, vectors = read_chunks(plain)
    columns = {name: [chunk[name] for chunk in chunks] for name in FIELDS}
    vector = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    table = database.create_table(_NAME, pa.table({**columns, "vector": vector}))
    graph = HnswSq(distance_type="cosine", num_partitions=1, **GRAPH)
    table.create_index("vector", config=graph)
    return table


if __name__ == "__main__":
    run_endpoint(LanceDb)
