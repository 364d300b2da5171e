"""Rows of a shard: those of an index, and as many as one likes made from them."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.varied_texts import varied_texts
from scp_ray import schema
from scp_ray.index.columns import integers
from scp_ray.index.shard_files import embedding_matrix, read_chunks, read_documents
from scp_ray.protocols import Float32Array, Float64Array, Int64Array
from scp_ray.retrieval.positional_code import position
from scp_ray.storage.checksums import fetch_verified
from scp_ray.storage.opening import open_store
from scp_ray.storage.publish import load_current

COSINE = 0.9  # of a jittered vector to its original
_TEXT_SEED = 1


class ShardRows(NamedTuple):
    """Chunks and documents, sorted by doc_id and chunk_index.

    Attributes:
        chunks: ``schema.chunks_schema``.
        documents: ``schema.DOCUMENTS``.
    """

    chunks: pa.Table
    documents: pa.Table

    @property
    def positions(self) -> Float64Array:
        """Position of each chunk in its document."""
        return position(
            integers(self.chunks, schema.CHUNK_INDEX), integers(self.chunks, schema.NUM_CHUNKS)
        )


def shard_folders(index: Path) -> list[Path]:
    """Return the files' folder of every shard with documents of an index in a folder."""
    store = open_store(str(index))
    return [
        fetch_verified(store, entry.folder, entry.checksums, index)
        for entry in load_current(store).shards
        if entry.folder is not None
    ]


def stored_rows(index: Path) -> ShardRows:
    """Return all rows of the current generation of an index in a folder."""
    folders = shard_folders(index)
    chunks = pa.concat_tables(
        read_chunks(folder).replace_schema_metadata(None) for folder in folders
    )
    documents = pa.concat_tables(read_documents(folder) for folder in folders)
    by_chunk = chunks.sort_by([(schema.DOC_ID, "ascending"), (schema.CHUNK_INDEX, "ascending")])
    return ShardRows(by_chunk, documents.sort_by(schema.DOC_ID))


def texts(table: pa.Table, name: str) -> list[str]:
    """Return a column of strings."""
    return [str(value) for value in table.column(name).to_pylist()]


def enlarged(rows: ShardRows, num_chunks: int, generator: np.random.Generator) -> ShardRows:
    """Return ``num_chunks`` chunks: copies of the documents with jittered vectors, varied texts.

    A copy's doc_id is the original's after the number of the copy. The last document is cut
    short where the number asks for it.
    """
    copies, originals = np.divmod(np.arange(num_chunks), rows.chunks.num_rows)
    chunks = rows.chunks.take(originals).combine_chunks()
    doc_ids = _numbered(copies.tolist(), texts(chunks, schema.DOC_ID))
    _, inverse, counts = np.unique(doc_ids, return_inverse=True, return_counts=True)
    varied = varied_texts(texts(rows.chunks, schema.TEXT), num_chunks, _TEXT_SEED)
    vectors = jittered(embedding_matrix(chunks), COSINE, generator)
    chunks = with_columns(
        chunks,
        {
            schema.DOC_ID: pa.array(doc_ids),
            schema.NUM_CHUNKS: pa.array(counts[inverse]),
            schema.TEXT: pa.array(varied, pa.large_string()),
            schema.EMBEDDING: pa.FixedSizeListArray.from_arrays(
                pa.array(vectors.reshape(-1)), vectors.shape[1]
            ),
        },
    )
    return ShardRows(chunks, _copied_documents(rows.documents, counts))


def jittered(
    embeddings: Float32Array, cosine: float, generator: np.random.Generator
) -> Float32Array:
    """Return unit vectors of about this cosine to the given ones, in random directions."""
    noise_norm = math.sqrt(1.0 / cosine**2 - 1.0)
    scale = np.float32(noise_norm / math.sqrt(embeddings.shape[1]))
    noisy = embeddings + scale * generator.standard_normal(embeddings.shape, dtype=np.float32)
    unit: Float32Array = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
    return unit


def _copied_documents(documents: pa.Table, counts: Int64Array) -> pa.Table:
    """Return as many documents as there are counts, copy after copy."""
    copies, originals = np.divmod(np.arange(len(counts)), documents.num_rows)
    taken = documents.take(originals).combine_chunks()
    doc_ids = _numbered(copies.tolist(), texts(taken, schema.DOC_ID))
    return with_columns(
        taken, {schema.DOC_ID: pa.array(doc_ids), schema.NUM_CHUNKS: pa.array(counts)}
    )


def _numbered(copies: list[int], doc_ids: list[str]) -> list[str]:
    return [f"{copy:06d}/{doc_id}" for copy, doc_id in zip(copies, doc_ids, strict=True)]


def with_columns(table: pa.Table, columns: dict[str, Any]) -> pa.Table:
    """Return a table with the values of some columns replaced."""
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), values)
    return table
