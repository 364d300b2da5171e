"""The columns of a shard by row."""

import numpy as np
import pyarrow as pa
import pytest

from scp_ray import schema
from scp_ray.index.columns import ShardColumns
from scp_ray.records import ChunkKey, Cnm
from scp_ray.retrieval.filters import allowed_rows, parse_filter
from scp_ray.testing.shard_tables import shard_tables

METADATA = {"a": {"category": "pump", "year": 2019, "draft": True}, "b": {"year": 2021.5}}


@pytest.fixture
def columns() -> ShardColumns:
    documents = {name: np.eye(3, dtype=np.float32)[:count] for name, count in (("a", 3), ("b", 1))}
    rows, table = shard_tables(documents, dim=3, metadata=METADATA)
    nouns = pa.array([["pump filter", "valve"], [], [], []], pa.list_(pa.string()))
    place = rows.schema.get_field_index(schema.CNM_NOUNS)
    return ShardColumns(rows.set_column(place, rows.schema.field(place), nouns), table)


def test_keys_and_positions_of_rows(columns: ShardColumns) -> None:
    rows = np.array([3, 0, 2])
    assert columns.keys(rows) == [ChunkKey("b", 0), ChunkKey("a", 0), ChunkKey("a", 2)]
    assert columns.positions(rows).tolist() == [0.5, 0.0, 1.0]
    assert columns.keys(np.empty(0, dtype=np.int64)) == []


def test_all_that_is_stored_of_a_chunk(columns: ShardColumns) -> None:
    other, first = columns.stored_chunks([3, 0])
    assert first.key == ChunkKey("a", 0)
    assert (first.num_chunks, first.char_start, first.char_end) == (3, 0, 100)
    assert (first.text, first.prefix) == ("a 0", "")
    assert first.cnm == Cnm("pump", ("pump filter", "valve"), None)
    assert first.source_uri == "memory:a"
    assert first.metadata == METADATA["a"]
    assert (other.key, other.cnm) == (ChunkKey("b", 0), Cnm())


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ({"doc_id": "b"}, [3]),
        ({"cnm.category": "pump"}, [0, 1, 2]),
        ({"cnm.model": "225B"}, []),
        ({"metadata.year": {"gt": 2019}}, [3]),
        ({"metadata.draft": True}, [0, 1, 2]),
        ({"metadata.nothing": 1}, []),
    ],
)
def test_every_field_of_a_filter(
    columns: ShardColumns, given: dict[str, object], rows: list[int]
) -> None:
    class Rows:
        num_chunks = 4
        filter_column = columns.filter_column

    assert np.flatnonzero(allowed_rows(parse_filter(given), Rows())).tolist() == rows


def test_tables_that_do_not_belong_together_are_seen() -> None:
    rows, table = shard_tables({"a": np.eye(3, dtype=np.float32)}, dim=3)
    assert ShardColumns(rows, table).is_consistent
    assert not ShardColumns(rows.slice(1), table).is_consistent
