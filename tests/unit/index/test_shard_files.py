"""The files of a shard."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scp_ray import schema
from scp_ray.errors import IndexFormatError
from scp_ray.index import shard_files
from scp_ray.protocols import Float32Array
from scp_ray.testing.shard_tables import shard_tables


@pytest.fixture
def tables(documents: dict[str, Float32Array]) -> tuple[pa.Table, pa.Table]:
    return shard_tables(dict(sorted(documents.items())), dim=16)


def test_chunks_come_back_with_their_vectors_bit_for_bit(
    tables: tuple[pa.Table, pa.Table], tmp_path: Path
) -> None:
    shard_files.write_chunks(tables[0], tmp_path, 0.1)
    rows = shard_files.read_chunks(tmp_path)
    assert rows.equals(tables[0])
    assert shard_files.code_weight_of(rows) == 0.1
    matrix = shard_files.embedding_matrix(rows)
    assert matrix.tobytes() == shard_files.embedding_matrix(tables[0]).tobytes()
    assert not matrix.flags.writeable


def test_reading_chunks_maps_the_file(tables: tuple[pa.Table, pa.Table], tmp_path: Path) -> None:
    shard_files.write_chunks(tables[0], tmp_path, 0.2)
    before = pa.total_allocated_bytes()
    rows = shard_files.read_chunks(tmp_path)
    shard_files.embedding_matrix(rows)
    assert pa.total_allocated_bytes() - before < 1000
    assert shard_files.CHUNKS_FILE in Path("/proc/self/maps").read_text()


def test_embeddings_in_pieces_are_joined(tables: tuple[pa.Table, pa.Table]) -> None:
    rows = tables[0]
    pieces = pa.concat_tables([rows.slice(0, 7), rows.slice(7)])
    np.testing.assert_array_equal(
        shard_files.embedding_matrix(pieces), shard_files.embedding_matrix(rows)
    )
    assert shard_files.embedding_matrix(rows.slice(5, 3)).shape == (3, 16)
    assert shard_files.embedding_matrix(rows.slice(0, 0)).shape == (0, 16)


def test_no_rows_come_back(tmp_path: Path) -> None:
    rows, documents = shard_tables({}, dim=16)
    shard_files.write_chunks(rows, tmp_path, 0.2)
    shard_files.write_documents(documents, tmp_path)
    shard_files.write_nodes(np.empty(0, dtype=np.int64), tmp_path)
    assert shard_files.embedding_matrix(shard_files.read_chunks(tmp_path)).shape == (0, 16)
    assert shard_files.read_documents(tmp_path).num_rows == 0
    assert shard_files.read_nodes(tmp_path).shape == (0,)


def test_documents_and_nodes_come_back(tables: tuple[pa.Table, pa.Table], tmp_path: Path) -> None:
    shard_files.write_documents(tables[1], tmp_path)
    shard_files.write_nodes(np.array([0, 1, 0, 2]), tmp_path)
    assert shard_files.read_documents(tmp_path).equals(tables[1])
    assert shard_files.read_nodes(tmp_path).tolist() == [0, 1, 0, 2]


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    readers = {
        shard_files.CHUNKS_FILE: shard_files.read_chunks,
        shard_files.DOCUMENTS_FILE: shard_files.read_documents,
        shard_files.NODES_FILE: shard_files.read_nodes,
    }
    for name, read in readers.items():
        with pytest.raises(IndexFormatError, match=name):
            read(tmp_path)
        (tmp_path / name).write_bytes(b"something else, long enough to be looked at")
        with pytest.raises(IndexFormatError, match=name):
            read(tmp_path)


def test_other_tables_and_arrays_are_refused(
    tables: tuple[pa.Table, pa.Table], tmp_path: Path
) -> None:
    shard_files.write_chunks(tables[0].drop_columns([schema.TEXT]), tmp_path, 0.2)
    with pytest.raises(IndexFormatError, match=r"missing columns \['text'\]"):
        shard_files.read_chunks(tmp_path)
    shard_files.write_chunks(tables[1], tmp_path, 0.2)
    with pytest.raises(IndexFormatError, match="not a chunk table"):
        shard_files.read_chunks(tmp_path)
    np.save(tmp_path / shard_files.NODES_FILE, np.zeros((2, 2)))
    with pytest.raises(IndexFormatError, match="float64"):
        shard_files.read_nodes(tmp_path)
    with pytest.raises(IndexFormatError, match="no positional code weight"):
        shard_files.code_weight_of(tables[0])


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04 no archive", b"\x93NUMPY\x01\x00\x10\x00{'descr': '<i4'  ("]
)
def test_what_numpy_chokes_on_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / shard_files.NODES_FILE).write_bytes(data)
    with pytest.raises(IndexFormatError, match="nodes.npy: not an array of nodes"):
        shard_files.read_nodes(tmp_path)
