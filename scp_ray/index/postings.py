"""Inverts the chunks of a shard: for each term the rows that hold it, and how often.

A term that many rows hold has a count for every row of the shard, in row order, and no list of
rows: that takes less room and is added up faster.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scp_ray import schema
from scp_ray.index.term_table import Collection, TermTable
from scp_ray.protocols import Int64Array
from scp_ray.records import Stemmer
from scp_ray.retrieval.bm25 import MOST_COUNTED
from scp_ray.retrieval.terms import TERMS_REVISION, terms_of

NO_ROWS = -1
# A posting takes a row number of four bytes and a count of one, a dense count one byte a row.
_POSTING_BYTES = 5

Counts = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]


class Postings(NamedTuple):
    """The words of a shard.

    Attributes:
        terms: ``schema.POSTINGS``; where the counts and rows of each term start.
        rows: Rows of all terms that are not dense, ascending within a term.
        counts: Occurrences, at most 255: one a row of a term, or one a row of the shard.
        lengths: Terms of each row, repeats counted, int32, shape (num_chunks,).
    """

    terms: TermTable
    rows: Rows
    counts: Counts
    lengths: npt.NDArray[np.int32]


class _Occurrences(NamedTuple):
    """One entry for each row and each of its distinct terms, in row order."""

    vocabulary: list[str]
    terms: Int64Array
    counts: Counts
    rows: Rows


def build_postings(texts: Iterable[str], stemmer: Stemmer) -> Postings:
    """Invert texts, one a row; the same texts give the same arrays."""
    return invert(terms_of(text, stemmer) for text in texts)


def invert(chunks: Iterable[Sequence[str]]) -> Postings:
    """Invert the terms of chunks, one chunk a row, as ``terms_of`` gives them."""
    vocabulary: dict[str, int] = {}
    terms, counts, distinct, lengths = array("q"), array("B"), array("l"), array("l")
    for found in chunks:
        counted = Counter(found)
        terms.extend([vocabulary.setdefault(term, len(vocabulary)) for term in counted])
        counts.extend([min(count, MOST_COUNTED) for count in counted.values()])
        distinct.append(len(counted))
        lengths.append(len(found))
    num_rows = len(lengths)
    ordered = sorted(vocabulary, key=str.encode)
    rank = np.empty(len(ordered), dtype=np.int64)
    rank[[vocabulary[term] for term in ordered]] = np.arange(len(ordered))
    occurrences = _Occurrences(
        ordered,
        rank[np.asarray(terms, dtype=np.int64)],
        np.asarray(counts, dtype=np.uint8),
        np.repeat(np.arange(num_rows, dtype=np.int32), distinct),
    )
    collection = Collection(
        terms_revision=TERMS_REVISION, num_chunks=num_rows, num_terms=sum(lengths)
    )
    return _laid_out(occurrences, np.asarray(lengths, dtype=np.int32), collection)


def _laid_out(
    found: _Occurrences, lengths: npt.NDArray[np.int32], collection: Collection
) -> Postings:
    num_rows, num_terms = len(lengths), len(found.vocabulary)
    frequencies = np.bincount(found.terms, minlength=num_terms)
    is_dense = frequencies * _POSTING_BYTES >= num_rows
    is_listed = ~is_dense[found.terms]
    by_term = np.argsort(found.terms[is_listed], kind="stable")
    num_rows_listed = np.where(is_dense, 0, frequencies)
    num_counts = np.where(is_dense, num_rows, frequencies)
    counts_start = np.cumsum(num_counts) - num_counts
    rows_start = np.cumsum(num_rows_listed) - num_rows_listed

    counts = np.zeros(int(num_counts.sum()), dtype=np.uint8)
    within = np.arange(len(by_term)) - np.repeat(rows_start, num_rows_listed)
    counts[np.repeat(counts_start, num_rows_listed) + within] = found.counts[is_listed][by_term]
    dense = ~is_listed
    counts[counts_start[found.terms[dense]] + found.rows[dense]] = found.counts[dense]

    table = pa.table(
        {
            schema.TERM: pa.array(found.vocabulary, pa.string()),
            schema.CHUNK_FREQUENCY: pa.array(frequencies),
            schema.COUNTS_START: pa.array(counts_start),
            schema.ROWS_START: pa.array(np.where(is_dense, NO_ROWS, rows_start)),
        }
    )
    terms = TermTable(schema.ensure_schema(table, schema.POSTINGS, "postings"), collection)
    return Postings(terms, found.rows[is_listed][by_term], counts, lengths)
