"""Inverts the chunks of a shard: for each term the rows that hold it, and how often.

The terms are the words of a chunk and the pairs of neighbouring words (``retrieval.pairs``).
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
from scp_ray.index.pair_counts import PairCounter
from scp_ray.index.term_table import Collection, TermTable
from scp_ray.protocols import Int64Array
from scp_ray.records import Stemmer
from scp_ray.retrieval.bm25 import MOST_COUNTED
from scp_ray.retrieval.pairs import pair_term
from scp_ray.retrieval.terms import TERMS_REVISION, terms_of

# A posting takes a row number of four bytes and a count of one, a dense count one byte a row.
_POSTING_BYTES = 5

Counts = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int32]


class Postings(NamedTuple):
    """The words of a shard.

    Attributes:
        terms: ``schema.TERMS``, sorted. ``Layout`` says which of them are dense.
        rows: Rows of the terms that are not dense, term after term, ascending within a term, int32.
        counts: Occurrences in each of these rows, at most 255, uint8.
        dense: Occurrences of each dense term in every row, shape (num_dense, num_chunks), uint8.
        lengths: Words of each row, repeats counted, int32, shape (num_chunks,).
    """

    terms: TermTable
    rows: Integers
    counts: Counts
    dense: Counts
    lengths: Integers


class Layout(NamedTuple):
    """Where the postings of each term lie; derived from the frequencies.

    Attributes:
        dense_row: Row of a dense term in ``Postings.dense``; -1 for the others.
        start: Where the rows and counts of the others start.
    """

    dense_row: Int64Array
    start: Int64Array

    @classmethod
    def of(cls, frequencies: Int64Array, num_chunks: int) -> "Layout":
        """Lay out terms that occur in so many of the chunks each."""
        is_dense = frequencies * _POSTING_BYTES >= num_chunks
        listed = np.where(is_dense, 0, frequencies)
        return cls(np.where(is_dense, np.cumsum(is_dense) - 1, -1), np.cumsum(listed) - listed)


def build_postings(texts: Iterable[str], stemmer: Stemmer) -> Postings:
    """Invert texts, one a row; the same texts give the same arrays."""
    return invert(terms_of(text, stemmer) for text in texts)


def invert(chunks: Iterable[Sequence[str]]) -> Postings:
    """Invert the terms of chunks, one chunk a row, as ``terms_of`` gives them."""
    vocabulary: dict[str, int] = {}
    terms, counts, distinct, lengths = array("i"), array("B"), array("i"), array("i")
    pairs = PairCounter()
    for found in chunks:
        words = [vocabulary.setdefault(term, len(vocabulary)) for term in found]
        counted = Counter(words)
        terms.extend(counted)
        counts.extend([min(count, MOST_COUNTED) for count in counted.values()])
        distinct.append(len(counted))
        lengths.append(len(found))
        pairs.add(words, vocabulary)
    counted_pairs = pairs.finish(vocabulary)
    numbers, pair_places = np.unique(counted_pairs.pairs, return_inverse=True)
    ordered = sorted(vocabulary, key=str.encode)
    rank = np.empty(len(ordered), dtype=np.int32)
    rank[[vocabulary[term] for term in ordered]] = np.arange(len(numbers), len(numbers) + len(rank))
    rows = np.repeat(np.arange(len(lengths), dtype=np.int32), distinct)
    occurrences = _Occurrences(
        np.concatenate([rank[np.asarray(terms, dtype=np.int32)], pair_places.astype(np.int32)]),
        np.concatenate([np.asarray(counts, dtype=np.uint8), counted_pairs.counts]),
        np.concatenate([rows, counted_pairs.rows]),
    )
    collection = Collection(
        terms_revision=TERMS_REVISION, num_chunks=len(lengths), num_terms=sum(lengths)
    )
    # A pair begins with a space, so all pairs are before all words.
    sorted_terms = [*map(pair_term, numbers.tolist()), *ordered]
    return _laid_out(sorted_terms, occurrences, np.asarray(lengths, dtype=np.int32), collection)


class _Occurrences(NamedTuple):
    """One entry for each row and each of its distinct terms; those of a term in row order."""

    terms: Integers
    counts: Counts
    rows: Integers


def _laid_out(
    vocabulary: list[str], found: _Occurrences, lengths: Integers, collection: Collection
) -> Postings:
    frequencies = np.bincount(found.terms, minlength=len(vocabulary))
    dense_row = Layout.of(frequencies, len(lengths)).dense_row
    dense = np.zeros((int(dense_row.max(initial=-1)) + 1, len(lengths)), dtype=np.uint8)
    is_dense = dense_row[found.terms] >= 0
    dense[dense_row[found.terms[is_dense]], found.rows[is_dense]] = found.counts[is_dense]
    listed = np.flatnonzero(~is_dense)
    by_term = listed[np.argsort(found.terms[listed], kind="stable")]
    table = pa.table(
        {
            schema.TERM: pa.array(vocabulary, pa.string()),
            schema.CHUNK_FREQUENCY: pa.array(frequencies),
        }
    )
    terms = TermTable(schema.ensure_schema(table, schema.TERMS, "postings"), collection)
    return Postings(terms, found.rows[by_term], found.counts[by_term], dense, lengths)
