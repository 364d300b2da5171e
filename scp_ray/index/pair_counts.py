"""Counts pairs of neighbouring words while a shard is inverted, many chunks at a time."""

from array import array
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scp_ray.protocols import Int64Array
from scp_ray.retrieval.bm25 import MOST_COUNTED
from scp_ray.retrieval.pairs import pair_numbers, term_hashes

# Words of one block: enough that numpy's own cost does not show, and about 40 MB at work.
_BLOCK_WORDS = 2**20
_ROW_BITS = 32


class PairCounts(NamedTuple):
    """One entry for each row and each of its distinct pairs; those of a pair in row order.

    Attributes:
        pairs: Numbers of pairs, int32.
        counts: Occurrences in the row, at most 255, uint8.
        rows: The rows, int32.
    """

    pairs: npt.NDArray[np.int32]
    counts: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.int32]


class PairCounter:
    """Takes the words of one row after another. An instance counts one shard."""

    def __init__(self) -> None:
        self._hashes = np.empty(0, dtype=np.uint64)
        self._words, self._lengths = array("i"), array("i")
        self._num_rows = 0
        self._counted: list[PairCounts] = []

    def add(self, words: Sequence[int], vocabulary: Mapping[str, int]) -> None:
        """Take the words of the next row, as numbers.

        Args:
            words: Places in the vocabulary, in the order of the text.
            vocabulary: All words so far, in the order of their numbers from 0.
        """
        self._words.extend(words)
        self._lengths.append(len(words))
        if len(self._words) >= _BLOCK_WORDS:
            self._count_block(vocabulary)

    def finish(self, vocabulary: Mapping[str, int]) -> PairCounts:
        """Return what was counted of all rows."""
        self._count_block(vocabulary)
        columns = zip(*self._counted, strict=True)
        return PairCounts(*(np.concatenate(column) for column in columns))

    def _count_block(self, vocabulary: Mapping[str, int]) -> None:
        new = term_hashes(islice(vocabulary, len(self._hashes), None))
        self._hashes = np.concatenate([self._hashes, new])
        hashes = self._hashes[np.asarray(self._words, dtype=np.int64)]
        first_row, num_rows = self._num_rows, len(self._lengths)
        rows = np.repeat(np.arange(first_row, first_row + num_rows), self._lengths)
        pairs = pair_numbers(hashes[:-1], hashes[1:])
        is_pair = (pairs >= 0) & (rows[:-1] == rows[1:])
        self._counted.append(_counted(pairs[is_pair].astype(np.int64), rows[:-1][is_pair]))
        self._num_rows += num_rows
        self._words, self._lengths = array("i"), array("i")


def _counted(pairs: Int64Array, rows: Int64Array) -> PairCounts:
    distinct, counts = np.unique((pairs << _ROW_BITS) | rows, return_counts=True)
    return PairCounts(
        (distinct >> _ROW_BITS).astype(np.int32),
        np.minimum(counts, MOST_COUNTED).astype(np.uint8),
        (distinct & (2**_ROW_BITS - 1)).astype(np.int32),
    )
