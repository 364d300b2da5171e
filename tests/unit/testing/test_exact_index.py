"""The shard in memory; the contract suite holds it to what real ones do."""

import numpy as np

from scp_ray.records import ChunkKey
from scp_ray.retrieval.filters import allowed_rows, parse_filter
from scp_ray.testing.exact_index import ExactIndex


def test_documents_are_put_in_order() -> None:
    index = ExactIndex(
        {"b": np.eye(2, dtype=np.float32), "a": np.eye(2, dtype=np.float32)[:1]},
        dim=2,
        shard_id=4,
        code_weight=0.5,
    )
    assert (index.shard_id, index.num_chunks, index.dim, index.code_weight) == (4, 3, 2, 0.5)
    assert index.keys(np.array([0, 1, 2])) == [
        ChunkKey("a", 0),
        ChunkKey("b", 0),
        ChunkKey("b", 1),
    ]


def test_fields_are_by_row_and_unknown_ones_match_nothing() -> None:
    index = ExactIndex(
        {"b": np.eye(2, dtype=np.float32)}, dim=2, fields={"metadata.year": [2020, None]}
    )
    for given, expected in (
        ({"metadata.year": 2020}, [True, False]),
        ({"doc_id": "b"}, [True, True]),
        ({"cnm.model": "x"}, [False, False]),
    ):
        assert allowed_rows(parse_filter(given), index).tolist() == expected
