"""The lexical index of one shard: its files, mapped into memory, and BM25 over all of its rows."""

from pathlib import Path
from tokenize import TokenError
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from scp_ray import schema
from scp_ray.errors import IndexFormatError
from scp_ray.index.columns import integers
from scp_ray.index.postings import Layout, Postings
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
DENSE_FILE = "lexical.dense.npy"
LENGTHS_FILE = "lexical.lengths.npy"
LEXICAL_FILES = (TERMS_FILE, ROWS_FILE, COUNTS_FILE, DENSE_FILE, LENGTHS_FILE)

# What numpy raises where a file is not an array.
NOT_AN_ARRAY = (OSError, ValueError, EOFError, TokenError)

Number = TypeVar("Number", np.int32, np.uint8)

# Rows of a dense term that are added up at a time: temporaries of a whole shard would be fetched
# from the system for each term again.
_BLOCK_ROWS = 2**16


def write_postings(postings: Postings, folder: Path) -> None:
    """Write the files of a lexical index."""
    write_term_table(postings.terms, folder / TERMS_FILE)
    np.save(folder / ROWS_FILE, postings.rows, allow_pickle=False)
    np.save(folder / COUNTS_FILE, postings.counts, allow_pickle=False)
    np.save(folder / DENSE_FILE, postings.dense, allow_pickle=False)
    np.save(folder / LENGTHS_FILE, postings.lengths, allow_pickle=False)


def read_postings(folder: Path) -> Postings:
    """Map the files of a lexical index.

    Raises:
        IndexFormatError: If a file is missing, malformed, or does not fit the others.
    """
    postings = Postings(
        read_term_table(folder / TERMS_FILE),
        _mapped(folder / ROWS_FILE, np.int32),
        _mapped(folder / COUNTS_FILE, np.uint8),
        _mapped(folder / DENSE_FILE, np.uint8, num_axes=2),
        _mapped(folder / LENGTHS_FILE, np.int32),
    )
    if not _fit(postings):
        message = f"{folder}: its lexical files are not of one shard"
        raise IndexFormatError(message)
    return postings


def _mapped(path: Path, kind: type[Number], num_axes: int = 1) -> npt.NDArray[Number]:
    try:
        values = np.lib.format.open_memmap(path, mode="r")  # type: ignore[no-untyped-call]
    except NOT_AN_ARRAY as error:
        message = f"{path}: not an array: {error}"
        raise IndexFormatError(message) from error
    if values.dtype != kind or values.ndim != num_axes:
        message = (
            f"{path}: expected {kind.__name__} on {num_axes} axes, not {values.dtype} of shape "
            f"{values.shape}"
        )
        raise IndexFormatError(message)
    return np.asarray(values)


def _fit(postings: Postings) -> bool:
    (table, collection), rows, counts, dense, lengths = postings
    frequencies = integers(table, schema.CHUNK_FREQUENCY)
    is_dense = Layout.of(frequencies, collection.num_chunks).dense_row >= 0
    num_listed = int(frequencies[~is_dense].sum())
    return bool(
        len(lengths) == collection.num_chunks
        and len(rows) == len(counts) == num_listed
        and dense.shape == (np.count_nonzero(is_dense), collection.num_chunks)
        and (num_listed == 0 or (rows.min() >= 0 and rows.max() < collection.num_chunks))
    )


class LexicalIndex:
    """The words of one shard. Threads may share an instance.

    Attributes:
        num_chunks: Rows of the shard.

    Args:
        postings: As ``build_postings`` made them, or ``read_postings`` mapped them.
    """

    def __init__(self, postings: Postings) -> None:
        table, collection = postings.terms
        self.num_chunks = collection.num_chunks
        self._terms = SortedTerms(table)
        self._frequencies = integers(table, schema.CHUNK_FREQUENCY)
        self._layout = Layout.of(self._frequencies, self.num_chunks)
        self._postings = postings
        self._norms: tuple[tuple[float, float, float], Float64Array] | None = None

    def scores(self, words: LexicalQuery) -> Float64Array:
        """Return BM25 over its bound of every row, in [0, 1], shape (num_chunks,)."""
        scores = np.zeros(self.num_chunks)
        if not words.weights:
            return scores
        norms = self._length_norms(words)
        for term, weight in words.weights.items():
            place = self._terms.find(term)
            if place is not None:
                self._add(place, weight, words, norms, scores)
        return scores

    def _add(
        self,
        place: int,
        weight: float,
        words: LexicalQuery,
        norms: Float64Array,
        scores: Float64Array,
    ) -> None:
        dense_row = int(self._layout.dense_row[place])
        if dense_row >= 0:
            counts = self._postings.dense[dense_row]
            for block in range(0, self.num_chunks, _BLOCK_ROWS):
                part = slice(block, block + _BLOCK_ROWS)
                scores[part] += term_scores(counts[part], norms[part], weight, words)
            return
        start = int(self._layout.start[place])
        part = slice(start, start + int(self._frequencies[place]))
        rows = self._postings.rows[part].astype(np.intp)
        counts = self._postings.counts[part]
        np.add.at(scores, rows, term_scores(counts, norms.take(rows), weight, words))

    def _length_norms(self, words: LexicalQuery) -> Float64Array:
        """Return the norms of all rows; they stay the same while a generation is served."""
        key, kept = (words.k1, words.b, words.mean_length), self._norms
        if kept is None or kept[0] != key:
            kept = self._norms = (key, length_norms(self._postings.lengths, words))
        return kept[1]
