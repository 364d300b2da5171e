"""The columns of a shard's tables, by row: keys, positions, stored chunks, fields of filters."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scp_ray import schema
from scp_ray.protocols import Float64Array, Int64Array
from scp_ray.records import ChunkKey, Cnm, Metadata, MetadataValue
from scp_ray.retrieval.filters import METADATA_PREFIX, FilterColumn
from scp_ray.retrieval.positional_code import position


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """All that the index knows of one chunk, but for its vector.

    Attributes:
        key: Which chunk.
        num_chunks: Chunks of its document.
        char_start: First code point in the document's text.
        char_end: One past the last.
        text: The chunk.
        prefix: What was put in front of it to embed it; empty if nothing.
        cnm: Its signature.
        source_uri: Where the document was read.
        metadata: The document's metadata.
    """

    key: ChunkKey
    num_chunks: int
    char_start: int
    char_end: int
    text: str
    prefix: str
    cnm: Cnm
    source_uri: str
    metadata: Metadata


class ShardColumns:
    """The two tables of a shard, read by row of the chunk table.

    Texts stay where the tables lie, which is the page cache for a mapped one. An instance itself
    holds the documents and four bytes a chunk.

    Args:
        rows: ``schema.chunks_schema``, sorted by doc_id and chunk_index, complete.
        documents: ``schema.DOCUMENTS``, sorted by doc_id, of the same documents.
    """

    def __init__(self, rows: pa.Table, documents: pa.Table) -> None:
        self._rows = rows
        self._documents = documents
        self._doc_ids = _values(documents, schema.DOC_ID)
        self._chunk_index = integers(rows, schema.CHUNK_INDEX)
        self._num_chunks = integers(documents, schema.NUM_CHUNKS)
        self._document = np.repeat(np.arange(len(self._doc_ids), dtype=np.int32), self._num_chunks)

    @property
    def is_consistent(self) -> bool:
        """Whether the documents have as many chunks in all as there are rows."""
        return len(self._document) == self._rows.num_rows

    def keys(self, rows: Int64Array) -> list[ChunkKey]:
        """Return which chunks the rows hold."""
        documents = self._document[rows].tolist()
        indexes = self._chunk_index[rows].tolist()
        return [
            ChunkKey(self._doc_ids[document], index)
            for document, index in zip(documents, indexes, strict=True)
        ]

    def positions(self, rows: Int64Array) -> Float64Array:
        """Return the positions of the rows in their documents, in [0, 1]."""
        return position(self._chunk_index[rows], self._num_chunks[self._document[rows]])

    def stored_chunks(self, rows: Sequence[int]) -> list[StoredChunk]:
        """Return what is stored of some rows, in the order given."""
        return [self._stored_chunk(row) for row in rows]

    def filter_column(self, field: str) -> FilterColumn:
        """Return a field that ``retrieval.filters`` knows, over all rows."""
        if field.startswith(METADATA_PREFIX):
            key = field.removeprefix(METADATA_PREFIX)
            return FilterColumn([values.get(key) for values in self._metadata], self._document)
        if field in self._cnm_columns:
            return self._cnm_columns[field]
        return FilterColumn(self._doc_ids, self._document)

    def _stored_chunk(self, row: int) -> StoredChunk:
        values = {name: self._rows.column(name)[row].as_py() for name in _STORED}
        document = int(self._document[row])
        return StoredChunk(
            key=ChunkKey(self._doc_ids[document], values[schema.CHUNK_INDEX]),
            num_chunks=int(self._num_chunks[document]),
            char_start=values[schema.CHAR_START],
            char_end=values[schema.CHAR_END],
            text=values[schema.TEXT],
            prefix=values[schema.PREFIX],
            cnm=Cnm(
                category=values[schema.CNM_CATEGORY],
                nouns=tuple(values[schema.CNM_NOUNS]),
                model=values[schema.CNM_MODEL],
            ),
            source_uri=str(self._documents.column(schema.SOURCE_URI)[document]),
            metadata=json.loads(str(self._documents.column(schema.METADATA_JSON)[document])),
        )

    @cached_property
    def _metadata(self) -> list[dict[str, MetadataValue]]:
        return [json.loads(text) for text in _values(self._documents, schema.METADATA_JSON)]

    @cached_property
    def _cnm_columns(self) -> dict[str, FilterColumn]:
        columns = {"cnm.category": schema.CNM_CATEGORY, "cnm.model": schema.CNM_MODEL}
        return {field: _distinct(self._rows.column(name)) for field, name in columns.items()}


_STORED = (
    schema.CHUNK_INDEX,
    schema.CHAR_START,
    schema.CHAR_END,
    schema.TEXT,
    schema.PREFIX,
    schema.CNM_CATEGORY,
    schema.CNM_NOUNS,
    schema.CNM_MODEL,
)


def integers(table: pa.Table, name: str) -> Int64Array:
    """Return an int64 column as an array; a view where it lies in one piece."""
    values: Int64Array = table.column(name).to_numpy()
    return values


def _values(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table.column(name).to_pylist()
    return values


def _distinct(column: Any) -> FilterColumn:  # noqa: ANN401 - pyarrow's stubs know no dictionaries
    values = column.unique()
    codes = pc.index_in(column, value_set=values)
    return FilterColumn(values.to_pylist(), codes.to_numpy())
