"""Tables of a shard made from bare embeddings."""

import json

import numpy as np

from scp_ray import schema
from scp_ray.testing.shard_tables import shard_tables


def test_chunks_and_documents_agree() -> None:
    documents = {"b": np.eye(3, dtype=np.float32)[:2], "a": np.eye(3, dtype=np.float32)[2:]}
    rows, table = shard_tables(documents, dim=3, metadata={"a": {"category": "pump", "year": 1}})
    assert rows.schema.equals(schema.chunks_schema(3))
    assert table.schema.equals(schema.DOCUMENTS)
    assert rows[schema.DOC_ID].to_pylist() == ["b", "b", "a"]
    assert rows[schema.CHUNK_INDEX].to_pylist() == [0, 1, 0]
    assert rows[schema.CNM_CATEGORY].to_pylist() == [None, None, "pump"]
    assert rows[schema.EMBEDDING].to_pylist() == np.eye(3).tolist()
    assert table[schema.NUM_CHUNKS].to_pylist() == [2, 1]
    assert json.loads(table[schema.METADATA_JSON][1].as_py()) == {"category": "pump", "year": 1}


def test_no_documents_have_the_schemas_too() -> None:
    rows, table = shard_tables({}, dim=3)
    assert (rows.num_rows, table.num_rows) == (0, 0)
    assert rows.schema.equals(schema.chunks_schema(3))
