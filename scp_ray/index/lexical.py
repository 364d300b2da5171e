"""The lexical index of one shard: its files, mapped into memory, and BM25 over all of its rows."""

from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from scp_ray import schema
from scp_ray.errors import IndexFormatError
from scp_ray.index.columns import integers
from scp_ray.index.postings import NO_ROWS, Postings
from scp_ray.index.term_table import (
    SortedTerms,
    read_term_table,
    write_term_table,
)
from scp_ray.protocols import Float64Array
from scp_ray.retrieval.bm25 import LexicalQuery, length_norms, term_scores

TERMS_FILE = "lexical.terms.arrow"
ROWS_FILE = "lexical.rows.npy"
COUNTS_FILE = "lexical.counts.npy"
LENGTHS_FILE = "lexical.lengths.npy"
LEXICAL_FILES = (TERMS_FILE, ROWS_FILE, COUNTS_FILE, LENGTHS_FILE)

# Rows of one block of a frequent term: what is in between stays in the processor's cache. Arrays of
# a whole shard would be fetched from the system and cleared for each term, which takes longer.
_BLOCK_ROWS = 2**16

Number = TypeVar("Number", np.int32, np.uint8)


def write_postings(postings: Postings, folder: Path) -> None:
    """Write the files of a lexical index."""
    write_term_table(postings.terms, folder / TERMS_FILE)
    np.save(folder / ROWS_FILE, postings.rows, allow_pickle=False)
    np.save(folder / COUNTS_FILE, postings.counts, allow_pickle=False)
    np.save(folder / LENGTHS_FILE, postings.lengths, allow_pickle=False)


def read_postings(folder: Path) -> Postings:
    """Map the files of a lexical index.

    Raises:
        IndexFormatError: If a file is missing, malformed, or does not fit the others.
    """
    terms = read_term_table(folder / TERMS_FILE, schema.POSTINGS)
    postings = Postings(
        terms,
        _mapped(folder / ROWS_FILE, np.int32),
        _mapped(folder / COUNTS_FILE, np.uint8),
        _mapped(folder / LENGTHS_FILE, np.int32),
    )
    if not _fit(postings):
        message = f"{folder}: its lexical files are not of one shard"
        raise IndexFormatError(message)
    return postings


def _mapped(path: Path, kind: type[Number]) -> npt.NDArray[Number]:
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        message = f"{path}: not an array: {error}"
        raise IndexFormatError(message) from error
    if values.dtype != kind or values.ndim != 1:
        message = (
            f"{path}: expected {kind.__name__} in one dimension, not {values.dtype}, {values.shape}"
        )
        raise IndexFormatError(message)
    return np.asarray(values)


def _fit(postings: Postings) -> bool:
    (table, collection), rows = postings.terms, postings.rows
    frequencies = integers(table, schema.CHUNK_FREQUENCY)
    rows_start = integers(table, schema.ROWS_START)
    is_dense = rows_start == NO_ROWS
    num_counts = np.where(is_dense, collection.num_chunks, frequencies)
    num_rows = np.where(is_dense, 0, frequencies)
    return bool(
        len(postings.lengths) == collection.num_chunks
        and len(postings.counts) == num_counts.sum()
        and len(rows) == num_rows.sum()
        and np.array_equal(integers(table, schema.COUNTS_START), np.cumsum(num_counts) - num_counts)
        and np.array_equal(rows_start[~is_dense], (np.cumsum(num_rows) - num_rows)[~is_dense])
        and (len(rows) == 0 or (rows.min() >= 0 and rows.max() < collection.num_chunks))
    )


class LexicalIndex:
    """The words of one shard. Threads may share an instance.

    Attributes:
        num_chunks: Rows of the shard.
        terms_revision: How text became terms.

    Args:
        postings: As ``build_postings`` made them, or ``read_postings`` mapped them.
    """

    def __init__(self, postings: Postings) -> None:
        table, collection = postings.terms
        self.num_chunks = collection.num_chunks
        self.terms_revision = collection.terms_revision
        self._terms = SortedTerms(table)
        self._frequencies = integers(table, schema.CHUNK_FREQUENCY)
        self._counts_start = integers(table, schema.COUNTS_START)
        self._rows_start = integers(table, schema.ROWS_START)
        self._rows, self._counts, self._lengths = postings[1:]
        self._norms: tuple[tuple[float, float, float], Float64Array] | None = None

    def scores(self, words: LexicalQuery) -> Float64Array:
        """Return BM25 over its bound of every row, in [0, 1], shape (num_chunks,)."""
        scores = np.zeros(self.num_chunks)
        if not words.idf:
            return scores
        norms = self._length_norms(words)
        for term, idf in words.idf.items():
            place = self._terms.find(term)
            if place is not None:
                self._add(place, idf, words, norms, scores)
        return scores

    def _add(
        self,
        place: int,
        idf: float,
        words: LexicalQuery,
        norms: Float64Array,
        scores: Float64Array,
    ) -> None:
        start, first = int(self._counts_start[place]), int(self._rows_start[place])
        if first == NO_ROWS:
            counts = self._counts[start : start + self.num_chunks]
            for block in range(0, self.num_chunks, _BLOCK_ROWS):
                part = slice(block, block + _BLOCK_ROWS)
                scores[part] += term_scores(counts[part], norms[part], idf, words)
            return
        frequency = int(self._frequencies[place])
        rows = self._rows[first : first + frequency].astype(np.intp)
        counts = self._counts[start : start + frequency]
        np.add.at(scores, rows, term_scores(counts, norms.take(rows), idf, words))

    def _length_norms(self, words: LexicalQuery) -> Float64Array:
        """Return the norms of all rows; they stay the same while a generation is served."""
        key, kept = (words.k1, words.b, words.mean_length), self._norms
        if kept is None or kept[0] != key:
            kept = self._norms = (key, length_norms(self._lengths, words))
        return kept[1]
