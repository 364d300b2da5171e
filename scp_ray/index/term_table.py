"""Sorted tables of terms: the postings of a shard, and the statistics of a generation.

A table is one Arrow IPC file, mapped into memory. Rows are sorted by the UTF-8 bytes of the term,
which is the order of code points, so that a term is found by bisection without reading the rest.
"""

from bisect import bisect_left
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from scp_ray import schema
from scp_ray.errors import IndexFormatError, SchemaError

_COLLECTION_KEY = b"collection"


class Collection(BaseModel):
    """What BM25 needs to know of the chunks that a term table was made from.

    Attributes:
        terms_revision: How their text became terms.
        num_chunks: Chunks.
        num_terms: Terms of all of them, repeats counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    terms_revision: str
    num_chunks: int = Field(ge=0)
    num_terms: int = Field(ge=0)


class SortedTerms:
    """The term column of a table, as a sequence of UTF-8 bytes. Reads the file as it is asked.

    Args:
        table: With a ``term`` column in one piece, ascending, without nulls.
    """

    def __init__(self, table: pa.Table) -> None:
        terms: Any = table.column(schema.TERM).combine_chunks()
        _, offsets, data = terms.buffers()
        self._data = memoryview(data or b"")
        first, last = terms.offset, terms.offset + len(terms) + 1
        # Memory views: a lookup takes some twenty steps, and numpy's scalars are slow.
        values: Any = (
            np.frombuffer(offsets, dtype=np.int32)[first:last]
            if len(terms)
            else np.zeros(1, dtype=np.int32)
        )
        self._offsets = memoryview(values)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, place: int) -> bytes:
        return self._data[self._offsets[place] : self._offsets[place + 1]].tobytes()

    def find(self, term: str) -> int | None:
        """Return the row of a term, or None if it is not in the table."""
        wanted = term.encode("utf-8", "surrogatepass")
        place = bisect_left(self, wanted)
        return place if place < len(self) and self[place] == wanted else None


class TermTable(NamedTuple):
    """``schema.TERMS``, sorted, and what its collection is."""

    table: pa.Table
    collection: Collection


def write_term_table(terms: TermTable, path: Path) -> None:
    """Write a table; the same rows give the same bytes."""
    metadata = {_COLLECTION_KEY: terms.collection.model_dump_json()}
    table = terms.table.combine_chunks().replace_schema_metadata(metadata)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_term_table(path: Path) -> TermTable:
    """Map a table that ``write_term_table`` wrote.

    Raises:
        IndexFormatError: If the file is missing or not such a table.
    """
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        collection = Collection.model_validate_json((table.schema.metadata or {})[_COLLECTION_KEY])
        return TermTable(schema.ensure_schema(table, schema.TERMS, str(path)), collection)
    except (OSError, pa.ArrowException, ValueError, KeyError, SchemaError) as error:
        message = f"{path}: not a table of terms: {error}"
        raise IndexFormatError(message) from error
