"""The files of one shard: names, formats, reading and writing.

    file               holds
    ----------------   --------------------------------------------------------------------
    chunks.arrow       ``schema.chunks_schema``, Arrow IPC, one uncompressed record batch, so that
                       every column can be mapped; embeddings are as the encoder made them
    documents.parquet  ``schema.DOCUMENTS``
    index.faiss        the graph over distinct stored vectors
    nodes.npy          int32, the node of each chunk; equal stored vectors share one
    lexical.*          the words, see ``scp_ray.index.lexical``

Rows are sorted by doc_id, and by chunk_index. The same rows give the same bytes.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from scp_ray import schema
from scp_ray.errors import IndexFormatError, SchemaError
from scp_ray.index.lexical import LEXICAL_FILES, NOT_AN_ARRAY
from scp_ray.protocols import Float32Array, Int64Array

CHUNKS_FILE = "chunks.arrow"
DOCUMENTS_FILE = "documents.parquet"
GRAPH_FILE = "index.faiss"
NODES_FILE = "nodes.npy"
FILES = (CHUNKS_FILE, DOCUMENTS_FILE, GRAPH_FILE, NODES_FILE, *LEXICAL_FILES)

# What Arrow raises where a file is not a table, or not of this schema.
_NOT_A_TABLE = (OSError, pa.ArrowException, ValueError, SchemaError)

_CODE_WEIGHT_KEY = b"positional_code_weight"


def write_chunks(rows: pa.Table, folder: Path, code_weight: float) -> None:
    """Write the chunk table, and with it the code weight of the vectors in the graph."""
    table = rows.replace_schema_metadata({_CODE_WEIGHT_KEY: repr(code_weight)})
    with (
        pa.OSFile(str(folder / CHUNKS_FILE), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table.combine_chunks())


def read_chunks(folder: Path) -> pa.Table:
    """Map the chunk table; its columns are read from the file when they are looked at.

    Raises:
        IndexFormatError: If the file is missing or not such a table.
    """
    path = folder / CHUNKS_FILE
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        metadata = table.schema.metadata
        dim = table.schema.field(schema.EMBEDDING).type.list_size
        rows = schema.ensure_schema(table, schema.chunks_schema(dim), str(path))
    except (*_NOT_A_TABLE, KeyError, AttributeError) as error:
        message = f"{path}: not a chunk table: {error}"
        raise IndexFormatError(message) from error
    return rows.replace_schema_metadata(metadata)


def code_weight_of(rows: pa.Table) -> float:
    """Return the code weight that a chunk table from ``read_chunks`` was written with.

    Raises:
        IndexFormatError: If it names none.
    """
    try:
        return float((rows.schema.metadata or {})[_CODE_WEIGHT_KEY])
    except (KeyError, ValueError) as error:
        message = f"{CHUNKS_FILE} names no positional code weight"
        raise IndexFormatError(message) from error


def embedding_matrix(rows: pa.Table) -> Float32Array:
    """Return the embeddings of a chunk table, shape (n, dim): a view if they lie in one piece."""
    column: Any = rows.column(schema.EMBEDDING)
    pieces = [piece.flatten().to_numpy(zero_copy_only=True) for piece in column.chunks]
    values = pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, np.float32), *pieces])
    matrix: Float32Array = values.reshape(-1, column.type.list_size)
    return matrix


def write_documents(documents: pa.Table, folder: Path) -> None:
    """Write the document table."""
    pq.write_table(
        documents,
        folder / DOCUMENTS_FILE,
        version="2.6",
        compression="zstd",
        data_page_version="1.0",
        store_schema=True,
    )


def read_documents(folder: Path) -> pa.Table:
    """Read the document table.

    Raises:
        IndexFormatError: If the file is missing or not such a table.
    """
    path = folder / DOCUMENTS_FILE
    try:
        with pq.ParquetFile(path) as file:
            return schema.ensure_schema(file.read(), schema.DOCUMENTS, str(path))
    except _NOT_A_TABLE as error:
        message = f"{path}: not a document table: {error}"
        raise IndexFormatError(message) from error


def write_nodes(nodes: Int64Array, folder: Path) -> None:
    """Write the node of each chunk."""
    np.save(folder / NODES_FILE, nodes.astype(np.int32), allow_pickle=False)


def read_nodes(folder: Path) -> Int64Array:
    """Read the node of each chunk, shape (num_chunks,).

    Raises:
        IndexFormatError: If the file is missing or not such an array.
    """
    path = folder / NODES_FILE
    try:
        with path.open("rb") as file:
            nodes: npt.NDArray[np.int32] = np.lib.format.read_array(  # type: ignore[no-untyped-call]
                file, allow_pickle=False
            )
    except NOT_AN_ARRAY as error:
        message = f"{path}: not an array of nodes: {error}"
        raise IndexFormatError(message) from error
    if nodes.dtype != np.int32 or nodes.ndim != 1:
        message = f"{path}: not an array of nodes: {nodes.dtype}, {nodes.shape}"
        raise IndexFormatError(message)
    return nodes.astype(np.int64)
